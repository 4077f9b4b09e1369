// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/range_maximum.hpp>
#include <ballast/core/status.hpp>
#include <ballast/partition/consecutive_micro_batches.hpp>
#include <ballast/partition/consecutive_options.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief DynaPipe's planner of micro-batches (Jiang et al., EuroSys 2024): ordered samples, a consecutive cut, Karmarkar-Karp over the
/// replicas.

namespace ballast::inline v0_2::dynapipe {

/// @brief A micro-batch whose samples are padded to the longest.
struct padded {
  std::uint64_t samples = 0;        ///< number of samples
  std::int64_t longest = 0;         ///< tokens of the longest sample, of the encoder if there are two lengths
  std::int64_t longest_target = 0;  ///< tokens of the longest target sequence, of the decoder; 0 with one length
  friend constexpr bool operator==(padded const&, padded const&) = default;
};

/// @brief A callable that gives the time or the memory of a micro-batch under a mode of recomputation, numbered from 0; not less for more
/// or longer samples.
template <class C>
concept padded_cost =
    std::regular_invocable<C const&, padded const&, std::uint64_t> && integer<std::invoke_result_t<C const&, padded const&, std::uint64_t>>;

/// @brief How samples with two lengths are ordered. The order decides how much padding a consecutive cut has.
enum class sample_order : std::uint8_t {
  two_keys,  ///< by the first length, then by the second, longest first, as published
  /// Samples sorted by the first length are divided into bands of equal numbers, which are sorted by the second length, in turn longest and
  /// shortest first, so that both lengths change little between neighbours. 1, 2, 4, ... bands are tried, up to the root of the number
  /// of samples, and the two keys.
  bands,
};

/// @brief Shape of a pipeline. The memory has no default.
struct options {
  std::uint64_t stages = 1;    ///< stages of a pipeline, below 2^16
  std::uint64_t replicas = 1;  ///< data-parallel pipelines, below 2^15
  std::uint64_t chunks = 1;    ///< chunks of a stage (interleaved schedules), below 2^15
  std::int64_t memory = 0;     ///< what is left of a device for activations, in the unit of the memory callable, at least 1
  std::uint64_t modes = 1;     ///< modes of recomputation, the fastest first, at least 1
  bool best_mode = false;      ///< whether all modes are planned and the best is taken; as published, it is the first that fits
  sample_order order = sample_order::two_keys;  ///< with two lengths
  std::int64_t candidate_step = 0;              ///< as in `consecutive_options`: 0 is exact, as published it is 5 units of time
  std::uint64_t work = 1'000'000'000;           ///< limit of each cut, as in `consecutive_options`
  /// Whether the time is known to meet the quadrangle inequality, as in `consecutive_options`. With one length, a time does that is the
  /// number of samples times a rate which rises with the longest, plus a fixed time.
  bool quadrangle = false;
};

/// @brief One global batch in micro-batches of similar samples, dealt to the replicas.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct plan {
  ballast::status status = ballast::status::feasible;  ///< whether there is a plan
  groups<Index> micro_batches{};                       ///< the samples of each micro-batch, in their order
  std::vector<std::int64_t> times{};                   ///< time of each micro-batch on a stage
  groups<std::uint32_t> replicas{};                    ///< micro-batches of each replica, ascending
  std::uint64_t mode = 0;                              ///< mode of recomputation
  /// Whether a micro-batch may need more than its share, `memory / stages`. Then the schedule has to watch the memory: a stage cannot hold
  /// as many micro-batches as there are stages.
  bool exceeds_share = false;
  /// (stages - 1) * replicas * slowest micro-batch + chunks * sum of times, and a lower bound on it for all cuts of this order in this mode
  /// and this share of the memory. If infeasible: the memory and what the first sample that exceeds it needs in the last mode.
  certificate objective{};
  std::int64_t time = 0;  ///< modelled: the largest over replicas of sum + (stages - 1) * slowest / chunks, rounded up
};

namespace detail {

/// Samples in their order, with both lengths of each.
template <index_type Index>
struct ordered {
  std::vector<Index> sample;
  std::vector<std::int64_t> source, target;
};

/// Sorts by the first length, longest first, divides into bands, and sorts these by the second, the first band longest first. With as many
/// bands as samples, or with `bands` = 0, ties of the first length are sorted by the second.
template <index_type Index>
ordered<Index> in_bands(std::vector<std::int64_t> const& source, std::vector<std::int64_t> const& target, std::size_t bands) {
  using entry = std::tuple<std::int64_t, std::int64_t, Index>;  // negated, so that the longest come first
  std::vector<entry> all;
  for (std::size_t i = 0; i < source.size(); ++i) all.emplace_back(-source[i], -target[i], static_cast<Index>(i));
  std::sort(all.begin(), all.end());
  for (std::size_t b = 0; b < bands; ++b) {
    auto const at = [&](std::size_t of) { return all.begin() + static_cast<std::ptrdiff_t>(of * all.size() / bands); };
    auto const sign = b % 2 == 0 ? 1 : -1;
    std::sort(at(b), at(b + 1), [&](entry const& x, entry const& y) {
      return std::tuple(sign * std::get<1>(x), std::get<0>(x), std::get<2>(x)) <
             std::tuple(sign * std::get<1>(y), std::get<0>(y), std::get<2>(y));
    });
  }
  ordered<Index> out;
  for (auto const& [s, t, i] : all) {
    out.sample.push_back(i);
    out.source.push_back(-s);
    out.target.push_back(-t);
  }
  return out;
}

/// The shape of each span of an order.
template <index_type Index>
class shapes {
 public:
  explicit shapes(ordered<Index> const& of) : source_(of.source), target_(of.target) {}
  padded operator()(std::uint64_t begin, std::uint64_t end) const {
    auto const b = static_cast<std::size_t>(begin), e = static_cast<std::size_t>(end);
    return {end - begin, source_(b, e), target_(b, e)};
  }

 private:
  range_maximum<std::int64_t> source_, target_;
};

/// The cut of an order, by the first share of the memory and mode that have one.
template <index_type Index>
struct attempt {
  consecutive_cut<Index> cut{.status = status::infeasible};
  std::uint64_t mode = 0;
  bool exceeds_share = false;
  [[nodiscard]] auto rank() const { return std::tuple(cut.status != status::feasible, exceeds_share, cut.objective.value); }
};

template <index_type Index, class Time, class Memory>
attempt<Index> cut_order(ordered<Index> const& order, options const& o, Time const& time, Memory const& memory) {
  shapes<Index> const shape(order);
  attempt<Index> best;
  for (auto const exceeds : {false, true}) {
    consecutive_options by{.capacity = exceeds ? o.memory : o.memory / static_cast<std::int64_t>(o.stages),
                           .slowest_weight = (o.stages - 1) * o.replicas,
                           .sum_weight = o.chunks,
                           .candidate_step = o.candidate_step,
                           .work = o.work,
                           .quadrangle = o.quadrangle};
    if (by.capacity == 0) continue;
    for (std::uint64_t mode = 0; mode < o.modes; ++mode) {
      attempt<Index> next{.mode = mode, .exceeds_share = exceeds};
      next.cut = consecutive_micro_batches<Index>(
          order.sample.size(), by, [&](std::uint64_t b, std::uint64_t e) { return time(shape(b, e), mode); },
          [&](std::uint64_t b, std::uint64_t e) { return memory(shape(b, e), mode); });
      if (best.cut.status != status::feasible || next.rank() < best.rank()) best = std::move(next);
      if (best.cut.status == status::feasible && !o.best_mode) return best;
    }
    if (best.cut.status == status::feasible) break;
  }
  return best;
}

inline void require_valid(options const& o) {
  auto const in = [](std::uint64_t value, std::uint64_t most, char const* name) {
    require(value > 0 && value < most, [&] { return sentence(name, " = ", value, " must be in 1 ... ", most - 1); });
  };
  in(o.stages, 1U << 16, "stages");
  in(o.replicas, 1U << 15, "replicas");
  in(o.chunks, 1U << 15, "chunks");
  in(o.modes, 1U << 16, "modes");
  require(o.memory > 0, [&] { return sentence("memory = ", o.memory, " must be positive"); });
}

template <index_type Index, class Time, class Memory>
plan<Index> schedule(std::vector<std::int64_t> const& source, std::vector<std::int64_t> const& target, options const& o, Time const& time,
                     Memory const& memory) {
  auto order = in_bands<Index>(source, target, 0);
  auto best = cut_order(order, o, time, memory);
  if (o.order == sample_order::bands)
    for (std::size_t bands = 1; bands * bands <= source.size(); bands *= 2) {
      auto other = in_bands<Index>(source, target, bands);
      auto next = cut_order(other, o, time, memory);
      if (next.rank() < best.rank()) {
        best = std::move(next);
        order = std::move(other);
      }
    }
  plan<Index> out{.status = best.cut.status, .mode = best.mode, .exceeds_share = best.exceeds_share, .objective = best.cut.objective};
  if (out.status != status::feasible) return out;
  shapes<Index> const shape(order);
  out.micro_batches.offsets.assign(best.cut.boundaries.begin(), best.cut.boundaries.end());
  out.micro_batches.members = std::move(order.sample);
  for (std::size_t m = 0; m < out.micro_batches.size(); ++m)
    out.times.push_back(static_cast<std::int64_t>(time(shape(out.micro_batches.offsets[m], out.micro_batches.offsets[m + 1]), best.mode)));
  out.replicas = karmarkar_karp<std::uint32_t>(out.times, {.sets = o.replicas}).sets;
  for (std::size_t r = 0; r < o.replicas; ++r) {
    std::sort(out.replicas.members.begin() + static_cast<std::ptrdiff_t>(out.replicas.offsets[r]),
              out.replicas.members.begin() + static_cast<std::ptrdiff_t>(out.replicas.offsets[r + 1]));
    std::int64_t sum = 0, slowest = 0;
    for (auto const m : out.replicas[r]) {
      sum += out.times[m];
      slowest = (std::max)(slowest, out.times[m]);
    }
    out.time =
        (std::max)(out.time, sum + divide_up(static_cast<std::int64_t>(o.stages - 1) * slowest, static_cast<std::int64_t>(o.chunks)));
  }
  return out;
}

template <length_range R>
std::vector<std::int64_t> copied(R const& lengths) {
  static_cast<void>(extent_of(lengths));
  auto const at = read_by_position(lengths);
  std::vector<std::int64_t> out(static_cast<std::size_t>(std::ranges::size(lengths)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(at[i]);
  return out;
}

}  // namespace detail

/// @brief Plans a global batch as DynaPipe does: sorts the samples, cuts them into consecutive micro-batches, and deals these to replicas.
///
/// Samples are sorted by length, longest first, and cut such that (stages - 1) / chunks times the slowest micro-batch plus the sum of all
/// divided by the replicas is least (`consecutive_micro_batches`). Micro-batches may first need at most `memory / stages`, so that as many
/// as a stage holds at a time fit; the modes of recomputation are tried in turn. If none fits, each micro-batch may need all of the memory.
/// Micro-batches are dealt to the replicas by Karmarkar-Karp.
///
/// As published, only limits on the slowest micro-batch that are more than 5 units of time apart are tried (`candidate_step = 5`). Where
/// all times are so close that no kept candidate is as long as the most expensive sample, this finds no plan (`unknown`); the exact search,
/// which is the default, solves fewer programs.
///
/// @tparam Index   type of the sample indices
/// @tparam R       range of integers
/// @tparam Time    a `padded_cost`
/// @tparam Memory  a `padded_cost`
/// @param lengths  tokens of each sample, positive; may be empty
/// @param o        shape of the pipeline, its memory, and variants
/// @param time     time of forward and backward of a micro-batch on a stage, under a mode
/// @param memory   memory that a micro-batch takes on a stage until its backward is done, under a mode
/// @return the plan; infeasible if a sample exceeds the memory in every mode
/// @post each sample is in one micro-batch, each micro-batch in one replica, and none needs more than its share of the memory, or than all
///       of it if `exceeds_share`; without a `candidate_step` and within `work`, the objective is optimal for this order, mode and share
/// @throws invalid_input for a bad length or option, or as `consecutive_micro_batches`, which checks that times do not fall
/// @par Complexity
/// That of `consecutive_micro_batches` for each mode that is tried, and of `karmarkar_karp`.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines", EuroSys 2024, arXiv 2311.10418; memory, modes and
/// thinning as in awslabs/optimizing-multitask-training-through-dynamic-pipelines, `data_opt/optimizer.py` and `dp_helper.cpp`.
template <index_type Index = std::uint32_t, length_range R, padded_cost Time, padded_cost Memory>
[[nodiscard]] plan<Index> schedule(R const& lengths, options const& o, Time const& time, Memory const& memory) {
  detail::require_valid(o);
  auto const source = detail::copied(lengths);
  return detail::schedule<Index>(source, std::vector<std::int64_t>(source.size(), 0), o, time, memory);
}

/// @brief As above, for encoder-decoder models: each sample has two lengths, and a micro-batch is padded to the longest of both.
///
/// Samples are sorted by the first length, then by the second. That leaves much padding on the second; the published system can order the
/// pairs by a travelling salesman tour instead. `sample_order::bands` changes both lengths little between neighbours, without a tour.
///
/// @tparam Index   type of the sample indices
/// @tparam R       range of integers
/// @tparam Target  range of integers
/// @tparam Time    a `padded_cost`
/// @tparam Memory  a `padded_cost`
/// @param lengths  tokens of each source sequence, positive
/// @param targets  tokens of each target sequence, positive; one for each source sequence
/// @param o        shape of the pipeline, its memory, and variants
/// @param time     time of forward and backward of a micro-batch on a stage, under a mode
/// @param memory   memory that a micro-batch takes on a stage until its backward is done, under a mode
/// @return the plan
/// @throws invalid_input as the overload above, or if there are not as many targets as lengths
/// @par Complexity
/// As above, and log n times that for `sample_order::bands`.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t, length_range R, length_range Target, padded_cost Time, padded_cost Memory>
[[nodiscard]] plan<Index> schedule(R const& lengths, Target const& targets, options const& o, Time const& time, Memory const& memory) {
  detail::require_valid(o);
  require(std::ranges::size(lengths) == std::ranges::size(targets),
          [&] { return sentence("targets has ", std::ranges::size(targets), " entries for ", std::ranges::size(lengths), " lengths"); });
  return detail::schedule<Index>(detail::copied(lengths), detail::copied(targets), o, time, memory);
}

}  // namespace ballast::inline v0_2::dynapipe
