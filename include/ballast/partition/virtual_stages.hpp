// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief Virtual stages of an interleaved pipeline: chunk `c` runs on device `c mod devices`, and a device runs all its chunks.

namespace ballast::inline v0_2 {

namespace detail {
/// Local search over the cuts of an interleaved pipeline that balances the loads of the devices.
template <class = when_called>
class chunk_search {
 public:
  chunk_search(chain_data const& chain, std::size_t devices, std::size_t min_layers, std::uint64_t work)
      : chain_(chain), min_(min_layers), work_(work), load_(devices) {}

  /// Starts from given cuts, and moves single cuts until no move improves the plan.
  void descend(std::vector<std::size_t> cuts) {
    cuts_ = std::move(cuts);
    std::fill(load_.begin(), load_.end(), std::int64_t{0});
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) load_[c % load_.size()] += chain_.work[cuts_[c + 1]] - chain_.work[cuts_[c]];
    for (bool moved = load_.size() > 1; moved && tried_ < work_;) {
      moved = false;
      for (std::size_t k = 1; k + 1 < cuts_.size(); ++k) moved = even_out(k) || moved;
    }
    keep();
  }
  /// Moves a few cuts of the best plan at random and descends again, until the work is spent or `bound` is met.
  void kick(std::uint64_t seed, std::int64_t bound) {
    splitmix64 draw(seed);
    auto const inner = best_cuts_.size() - 2;
    while (inner > 0 && load_.size() > 1 && best_ > bound && tried_ < work_) {
      auto cuts = best_cuts_;
      for (int kicks = 0; kicks < 3; ++kicks) {
        auto const k = 1 + static_cast<std::size_t>(uniform_below(inner, draw));
        auto const low = cuts[k - 1] + min_, high = cuts[k + 1] - min_;
        cuts[k] = low + static_cast<std::size_t>(uniform_below(high - low + 1, draw));
      }
      ++tried_;
      descend(std::move(cuts));
    }
  }
  [[nodiscard]] std::int64_t value() const { return best_; }
  [[nodiscard]] std::vector<std::size_t> const& cuts() const { return best_cuts_; }

 private:
  /// Moves a cut to where its two devices are most balanced; returns whether that improves the plan.
  bool even_out(std::size_t k) {
    auto &left = load_[(k - 1) % load_.size()], &right = load_[k % load_.size()];
    auto const at = chain_.work[cuts_[k]];
    auto const shift = [&](std::size_t to) { return chain_.work[to] - at; };
    auto const larger = [&](std::size_t to) { return (std::max)(left + shift(to), right - shift(to)); };
    auto const first = cuts_[k - 1] + min_;
    auto low = first_where(first, cuts_[k + 1] - min_, [&](std::size_t to) {  // where the left device has as much as the right one
      ++tried_;
      return left + shift(to) >= right - shift(to);
    });
    if (low > first && larger(low - 1) < larger(low)) --low;
    if (larger(low) >= (std::max)(left, right)) return false;
    auto const moved = shift(low);
    left += moved;
    right -= moved;
    cuts_[k] = low;
    return true;
  }
  void keep() {
    auto const value = *std::max_element(load_.begin(), load_.end());
    wide squares;
    for (auto const l : load_) squares = squares + multiply(static_cast<std::uint64_t>(l), static_cast<std::uint64_t>(l));
    if (!best_cuts_.empty() && (value > best_ || (value == best_ && !(squares < best_squares_)))) return;
    best_ = value;
    best_squares_ = squares;
    best_cuts_ = cuts_;
  }

  chain_data const& chain_;
  std::size_t min_;
  std::uint64_t work_, tried_ = 0;
  std::vector<std::int64_t> load_;  ///< load of each device
  std::vector<std::size_t> cuts_, best_cuts_;
  std::int64_t best_ = 0;
  wide best_squares_;
};

}  // namespace detail

/// @brief Options of `virtual_stages`. `devices` and `chunks` have no default.
struct virtual_stage_options {
  std::uint64_t devices = 0;     ///< number of devices of the pipeline, at least 1
  std::uint64_t chunks = 0;      ///< number of chunks of each device, at least 1; `devices * chunks` is at most 2^31
  std::uint64_t min_layers = 1;  ///< smallest number of layers of a chunk; 0 allows empty chunks
  std::uint64_t work = 1 << 20;  ///< number of cut positions that the search may try; more never gives a worse plan
  std::uint64_t seed = 0;        ///< seed of the random perturbations of the search
};

/// @brief Cuts a chain into the chunks of an interleaved pipeline such that the most expensive device costs little, by local search, with a
/// lower bound.
///
/// The load of a device is the sum of chunks that are not neighbours, and no fast exact method is known to us. The search starts from the
/// most balanced exact partition into `devices * chunks` stages and from the proportional one. It moves single cuts to where their two
/// devices are most balanced until no move improves the plan, then moves a few cuts of the best plan at random, and repeats. The
/// certificate says how far the plan can be from the optimum; `optimal()` is true if it meets the lower bound.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param options  devices, chunks and work
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return `devices * chunks + 1` boundaries; the bottleneck is the load of the most expensive device. Infeasible if there are too few
/// layers
/// @throws invalid_input if an option is out of range, or a cost or sum is outside [0, 2^63)
/// @par Complexity
/// O(n + work), plus two partitions.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// This library (docs/partition.md). The layout of chunks: Narayanan et al., arXiv 2104.04473, section 2.2.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] staged<Index> virtual_stages(R const& layers, virtual_stage_options const& options, Cost const& cost = {}) {
  constexpr auto most = std::uint64_t{1} << 31;
  auto const p = options.devices, v = options.chunks;
  require(p >= 1 && v >= 1 && p <= most && v <= most / p,
          [&] { return sentence("devices = ", p, " and chunks = ", v, " must be positive, with a product of at most 2^31"); });
  partition_workspace workspace;
  staged<Index> out;
  auto& d = detail::memory_of(workspace).chain;
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  detail::load_chain(layers, {.stages = p * v, .min_layers = options.min_layers}, cost, d);
  detail::least_bottleneck(workspace, out);
  if (out.status != status::feasible) return out;
  auto const n = d.layers, q = static_cast<std::size_t>(p * v);
  if (n == 0) return out;

  auto bound = detail::unequal_bound(d.total(), d.largest, {}, p);
  auto cheapest = d.total();
  for (std::size_t i = 0; i < n; ++i) cheapest = (std::min)(cheapest, d.work[i + 1] - d.work[i]);
  auto const others = cheapest * static_cast<std::int64_t>((v - 1) * options.min_layers);  // no more than all layers cost
  if (out.bottleneck.value + others > bound.cost) bound = {out.bottleneck.value + others, partition_bound::company};

  detail::chunk_search<> search(d, static_cast<std::size_t>(p), d.min_layers, options.work);
  std::vector<std::size_t> cuts(q + 1);
  for (std::size_t k = 1; k <= q; ++k) {  // the proportional partition
    auto const share = static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(d.total()), k, q));
    auto const at = static_cast<std::size_t>(std::lower_bound(d.work.begin(), d.work.end(), share) - d.work.begin());
    cuts[k] = std::clamp(at, cuts[k - 1] + d.min_layers, n - (q - k) * d.min_layers);
  }
  cuts[q] = n;
  search.descend(cuts);
  detail::sum_state sums;
  static_cast<void>(detail::least_sum(
      detail::plain_chain{d}, out.bottleneck.value,
      [&](std::size_t begin, std::size_t end, std::size_t) {
        auto const load = static_cast<std::uint64_t>(d.work[end] - d.work[begin]);
        return multiply(load, load);
      },
      sums, detail::memory_of(workspace).probe));
  search.descend(detail::memory_of(workspace).probe.plan);
  search.kick(options.seed, bound.cost);
  out.bottleneck = {search.value(), bound.cost};
  out.bound = bound.bound;
  for (std::size_t k = 0; k <= q; ++k) out.boundaries[k] = static_cast<Index>(search.cuts()[k]);
  return out;
}

}  // namespace ballast::inline v0_2
