// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/sampled_packs.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Iterative sampling and filtering: makes random packs, of which each round keeps the full ones. Which samples share a pack stays
/// random.

namespace ballast::inline v0_2 {

namespace detail {

/// The remaining samples, given by their classes, and the full packs of all rounds. Samples of a class are assigned to packs when the packs
/// are expanded.
template <class = when_called>
class sampling_rounds {
 public:
  sampling_rounds(measure_classes const& classes, std::span<std::int64_t const> capacity, std::span<std::int64_t const> filter)
      : classes_(classes), capacity_(capacity), filter_(filter), load_(capacity.size()) {
    for (std::size_t m = 0; m < classes.measures; ++m) total_left_.push_back(classes.total(m));
    left_.members.reserve(static_cast<std::size_t>(classes.samples()));
    for (std::size_t c = 0; c < classes.size(); ++c)
      left_.members.insert(left_.members.end(), static_cast<std::size_t>(classes.counts[c]), static_cast<std::uint32_t>(c));
  }

  /// Makes one round: next fit over the remaining samples in a random order; full packs are kept.
  void sample(std::uint64_t seed) {
    auto& pool = left_.members;
    splitmix64 random(seed);
    shuffle(std::span(pool), random);
    left_.offsets.assign(1, 0);
    std::size_t kept = 0;
    for (std::size_t begin = 0, end = 0; begin < pool.size(); begin = end) {
      std::fill(load_.begin(), load_.end(), 0);
      while (end < pool.size() && add(pool[end])) ++end;
      if (full()) {
        full_.push_back({pool.data() + begin, end - begin});
        for (std::size_t m = 0; m < load_.size(); ++m) total_left_[m] -= load_[m];
      } else {
        std::copy(pool.data() + begin, pool.data() + end, pool.data() + kept);
        left_.offsets.push_back(kept += end - begin);
      }
    }
    pool.resize(kept);
  }
  /// The full packs of all rounds, in the order in which they were made.
  [[nodiscard]] groups<std::uint32_t> const& taken() const noexcept { return full_; }
  /// The other packs of the last round.
  [[nodiscard]] groups<std::uint32_t> const& left() const noexcept { return left_; }

  /// A lower bound on the number of packs of any plan with these full packs: the volume bound of the remaining samples. It never decreases.
  [[nodiscard]] std::size_t least_packs() const {
    std::int64_t most = 0;
    for (std::size_t m = 0; m < load_.size(); ++m) most = (std::max)(most, divide_up(total_left_[m], capacity_[m]));
    return full_.size() + static_cast<std::size_t>(most);
  }

 private:
  bool add(std::uint32_t item_class) {
    auto const* const row = classes_.values.data() + item_class * load_.size();
    for (std::size_t m = 0; m < load_.size(); ++m)
      if (row[m] > capacity_[m] - load_[m]) return false;
    for (std::size_t m = 0; m < load_.size(); ++m) load_[m] += row[m];
    return true;
  }
  [[nodiscard]] bool full() const {
    for (std::size_t m = 0; m < load_.size(); ++m)
      if (load_[m] >= filter_[m]) return true;
    return false;
  }

  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_, filter_;
  std::vector<std::int64_t> load_, total_left_;
  groups<std::uint32_t> left_, full_;
};

}  // namespace detail

/// @brief How the samples that are in no full pack are packed at the end.
enum class sampling_finish : std::uint8_t {
  next_fit,  ///< in the packs of the last round, which next fit made: as published
  best_fit,  ///< by best fit, unless next fit made fewer packs
};

/// @brief Which round's plan is returned.
enum class kept_round : std::uint8_t {
  last,  ///< that of the last round: as published
  best,  ///< that of the round after which the plan has fewest packs; of equal rounds, the last
};

/// @brief Options of `iterative_sampling`: how long to sample, when a pack counts as full, and which plan is returned.
struct sampling_options {
  std::uint32_t rounds = 50;  ///< most rounds over the remaining samples, at least 1
  /// A pack is full if some measure reaches its entry here. Entries are at least 1; an entry above the capacity is never reached. Empty:
  /// `full_packs`.
  std::vector<std::int64_t> filter{};
  sampling_finish finish = sampling_finish::best_fit;  ///< how the samples that are in no full pack are packed
  kept_round keep = kept_round::best;                  ///< which round's plan is returned
};

/// @brief Returns a filter: a pack is full at the capacity of any measure, or if it has little room in the last measure.
/// @param capacity capacity of one pack in each measure @param spare the largest room of a full pack in the last measure; published
/// settings of OmniBal are 28 to 128 of 4096 tokens @return one entry for each measure, at least 1 for positive capacities
[[nodiscard]] inline std::vector<std::int64_t> full_packs(std::span<std::int64_t const> capacity, std::int64_t spare) {
  std::vector<std::int64_t> filter(capacity.begin(), capacity.end());
  if (!filter.empty()) filter.back() = (std::max)(filter.back() - spare, std::int64_t{1});
  return filter;
}

/// @brief Returns the default filter: a pack is full at the capacity of any measure, or at 127/128 of the capacity of the last measure.
/// @param capacity capacity of one pack in each measure @return one entry for each measure
[[nodiscard]] inline std::vector<std::int64_t> full_packs(std::span<std::int64_t const> capacity) {
  return full_packs(capacity, capacity.empty() ? 0 : capacity.back() / 128);
}

namespace detail {

inline void require_valid(sampling_options const& sampling, std::size_t measures) {
  require(sampling.rounds > 0, [] { return std::string("rounds = 0 must be positive"); });
  require(sampling.filter.empty() || sampling.filter.size() == measures,
          [&] { return sentence("filter has ", sampling.filter.size(), " entries for ", measures, " measures"); });
  for (std::size_t m = 0; m < sampling.filter.size(); ++m)
    require(sampling.filter[m] > 0, [&] { return entry("filter", m, sampling.filter[m]) + " must be positive"; });
}

/// Options with the filter for all measures that a packer sees; a pack with `max_samples` samples is full.
template <class = when_called>
[[nodiscard]] inline sampling_options with_filter(sampling_options sampling, vector_packing_options const& options) {
  auto& filter = sampling.filter;
  if (filter.empty()) filter = full_packs(options.capacity);
  if (options.max_samples != 0) filter.push_back(static_cast<std::int64_t>((std::min)(options.max_samples, std::uint64_t{1} << 62)));
  return sampling;
}

}  // namespace detail

/// @brief Packs classes by iterative sampling and filtering; `iterative_sampling` describes the method.
///
/// @param classes   any number of classes, with no measure above its capacity
/// @param capacity  capacity of one pack in each measure
/// @param sampling  rounds, filter with one entry for each measure, finish and kept round
/// @param seed      seed of the random orders
/// @param at_most   number of packs of a known plan: if the best round is kept, the rounds end if they can only give more packs, and a plan
/// with more packs may be returned
/// @return patterns of classes; those of the packs kept by the filter come first, one pattern for each pack
template <class = when_called>
[[nodiscard]] inline pack_patterns plan_iterative_sampling(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                           sampling_options const& sampling, std::uint64_t seed,
                                                           std::size_t at_most = (std::numeric_limits<std::size_t>::max)()) {
  constexpr std::size_t many =
      std::size_t{1} << 19;  // classes packed by best fit; beyond this, best fit is only called in rounds 1, 2, 4, 8, …
  detail::sampling_rounds<> state(classes, capacity, sampling.filter);
  // The best plan so far: the first `prefix` full packs, and either `finish` or `rest`.
  std::size_t fewest = (std::numeric_limits<std::size_t>::max)(), prefix = 0, finished = 0;
  auto finished_at = fewest;  // full packs at the last call of best fit; with the same number, the result would be the same
  pack_patterns finish;
  groups<std::uint32_t> rest;
  splitmix64 seeds(seed);
  auto const keeps_best = sampling.keep == kept_round::best;
  for (std::uint32_t round = 0;; ++round) {
    auto const& left = state.left();
    auto const taken = state.taken().size();
    auto const done = round == sampling.rounds || (round > 0 && left.members.empty());
    if (keeps_best || done) {
      if (round > 0 && taken + left.size() <= fewest) {
        fewest = taken + left.size();
        prefix = taken;
        rest = left;
        finish.clear();
      }
      auto const least = state.least_packs();
      if (left.members.empty() || least > fewest || (keeps_best && round > 0 && least > at_most)) break;
      if (sampling.finish == sampling_finish::best_fit && taken != finished_at && (finished < many || std::has_single_bit(round))) {
        finished_at = taken;
        auto patterns = detail::finish_by_best_fit(classes, capacity, left.members);
        finished += (std::min)(classes.size(), left.members.size());
        if (auto const packs = taken + static_cast<std::size_t>(patterns.packs()); packs <= fewest) {
          fewest = packs;
          prefix = taken;
          rest.clear();
          finish = std::move(patterns);
        }
      }
    }
    if (done) break;
    state.sample(seeds());
  }

  pack_patterns out;
  detail::append_packs(state.taken(), prefix, out);
  detail::append_packs(rest, rest.size(), out);
  for (std::size_t p = 0; p < finish.size(); ++p) out.push_back(finish[p], finish.repeats[p]);
  return out;
}

/// @brief Packs samples of several measures by iterative sampling and filtering (ISF): repeatedly makes random packs and keeps those that
/// are nearly full in some measure.
///
/// Each round puts the remaining samples into a random order and packs them by next fit. Packs that are full in some measure are kept, and
/// the samples of all other packs remain for the next round. By default, unlike the published procedure, the samples that remain after a
/// round are packed by best fit, and the plan after the round with fewest packs is returned (zero rounds are also possible). More rounds
/// may give more packs, since the filter can use up small samples that fit beside large ones. Rounds end once a lower bound shows that no
/// later round can give fewer packs. `{.finish = sampling_finish::next_fit, .keep = kept_round::last}` is the procedure as published.
/// Samples above a capacity are listed in `set_aside`, or the call throws; no other sample is lost.
///
/// @tparam Index  type of the sample indices
/// @param samples   measures of each sample
/// @param options   capacities and limits: `{.capacity = {9, 4096}}`; another `seed` gives another plan
/// @param sampling  rounds, filter, finish and kept round
/// @return packs of sample indices, those kept by the filter first; samples of a class take random places of the class
/// @post no pack exceeds a capacity, except under `oversize::alone`; each sample is in exactly one pack or in `set_aside`; by
/// default, no more packs than the published procedure makes from the same random orders in any number of rounds up to `rounds`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// O(rounds * n * measures) at most; O(n * measures) if the filter keeps a fixed share of the packs in each round; plus that of
/// `plan_vector_best_fit`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section 4.1, and its code.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> iterative_sampling(sample_measures const& samples, vector_packing_options const& options,
                                                       sampling_options const& sampling = {}) {
  detail::require_valid(sampling, samples.measures());
  return detail::drive<Index>(samples, options, vector_packer::iterative_sampling, [&](auto const& items, vector_packing<Index>& out) {
    auto const patterns = plan_iterative_sampling(items.classes, items.capacity, detail::with_filter(sampling, options), items.seed);
    auto const order = detail::mixed_order(items);
    detail::expand_all<Index>(patterns, {items.classes, order, items.begin, items.capacity, items.seed}, out.packs);
  });
}

}  // namespace ballast::inline v0_2
