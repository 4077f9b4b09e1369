// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/chunk_search.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Virtual stages of an interleaved pipeline: chunk `c` runs on device `c mod devices`, and a device runs all its chunks.

namespace ballast::inline v0_2 {

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
  require(p >= 1 && v >= 1 && p <= most && v <= most / p, [&] {
    return "devices = " + std::to_string(p) + " and chunks = " + std::to_string(v) + " must be positive, with a product of at most 2^31";
  });
  partition_workspace workspace;
  staged<Index> out;
  detail::cut_every_stage(layers, {.stages = p * v, .min_layers = options.min_layers}, cost, workspace, out);
  if (out.status != status::feasible) return out;
  auto const& d = detail::memory_of(workspace).chain;
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
