// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `choose_capacities`: chooses the capacities of two measures (image tiles and text tokens, for example) such that packs hold a
/// wanted number of samples and ranks are balanced.

namespace ballast::inline v0_2 {

/// @brief How `choose_capacities` tries capacities.
struct capacity_tuning {
  std::int64_t start = 4096;       ///< capacity of measure 1 in the first trial, at least 1
  std::uint32_t most_trials = 32;  ///< largest number of trials, at least 1
};

/// @brief Options of `choose_capacities`.
struct capacity_search {
  std::uint64_t ranks = 8;            ///< packs of a step, at least 1
  double samples_per_pack_least = 4;  ///< least wanted mean number of samples in a pack
  double samples_per_pack_most = 5;   ///< largest wanted mean number of samples in a pack
  std::int64_t spare = 128;           ///< a pack with at most this much room in measure 1 is full
  sampling_options sampling{};        ///< rounds, finish and kept round of the packings; the filter must be empty: `spare` sets it
  std::uint64_t seed = 0;             ///< seed of the packings
  capacity_tuning tuning{};           ///< what is seldom set
};

/// @brief One pair of capacities, with figures of the packs.
struct capacity_trial {
  std::vector<std::int64_t> capacity{};  ///< capacities of measures 0 and 1
  std::int64_t packs = 0;                ///< number of packs, by iterative sampling
  double samples_per_pack = 0;           ///< mean number of samples in a pack
  std::vector<double> rank_distance{};   ///< rank distance of each measure, with the packs in a random order (see `rank_distances`)
  double score = 0;                      ///< sum of the rank distances: lower is better
  friend bool operator==(capacity_trial const&, capacity_trial const&) = default;
};

/// @brief The trials of a search, and the chosen trial.
struct capacity_choice {
  std::vector<capacity_trial> trials{};  ///< all trials in order, at least one
  std::size_t best = 0;                  ///< index of the chosen trial
  bool wanted = false;  ///< whether the chosen trial has the wanted samples per pack; if no trial has, the closest trial is chosen

  /// @brief The chosen trial.
  [[nodiscard]] capacity_trial const& chosen() const noexcept { return trials[best]; }
  friend bool operator==(capacity_choice const&, capacity_choice const&) = default;
};

namespace detail {
inline void require_valid(capacity_search const& search) {
  require(search.ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
  require(search.tuning.start > 0, [&] { return sentence("start = ", search.tuning.start, " must be positive"); });
  require(search.tuning.most_trials > 0, [] { return std::string("most_trials = 0 must be positive"); });
  require(search.samples_per_pack_least <= search.samples_per_pack_most, [&] {
    return sentence("samples_per_pack_least = ", std::to_string(search.samples_per_pack_least),
                    " must not exceed samples_per_pack_most = ", std::to_string(search.samples_per_pack_most));
  });
  require(search.sampling.rounds > 0, [] { return std::string("rounds = 0 must be positive"); });
  require(search.sampling.filter.empty(), [] { return std::string("filter must be empty: spare sets it"); });
}
}  // namespace detail

/// @brief Chooses the capacities of two measures by trials in which both capacities change in proportion, as image tiles grow with text.
///
/// Let r be the text per tile: the mean of measure 1, each value rounded up to a multiple of 256, over the mean of measure 0, which counts
/// as 1 at least. Let a be r + 1 rounded down to a multiple of 16, and 16 at least. The first trial is (start / a, start). Each further
/// trial adds (1, a), until packs hold more samples than wanted. If already the first trial holds more, further trials subtract (1, a),
/// until packs hold fewer. Capacities are never below the measures of a sample, so all samples are packed. Of the trials with the wanted
/// samples per pack, the one of lowest score is chosen (of equal scores, the earliest).
///
/// @param samples  measures of each sample: two measures, at least one sample
/// @param search   ranks, wanted samples per pack and limits
/// @return all trials, at most `most_trials`, and the chosen one
/// @throws invalid_input for a bad option or measure, or unless there are a sample and exactly two measures
/// @par Complexity
/// One call of `plan_iterative_sampling` for each trial.
/// @par Determinism
/// A pure function of its arguments; scores are sums of quotients of exact integers.
/// @par Source
/// `search_arguments` in the code of Yao et al., OmniBal, arXiv 2407.20761, which steps up and down without a limit. Its score also has the
/// padding ratio, which is 0 for packs.
template <class = when_called>
[[nodiscard]] inline capacity_choice choose_capacities(sample_measures const& samples, capacity_search const& search = {}) {
  require(samples.measures() == 2, [&] { return sentence(samples.measures(), " measures, but capacities are chosen for 2"); });
  require(samples.size() > 0, [] { return std::string("samples are needed to choose capacities"); });
  detail::require_valid(search);
  auto const classes = classify<std::uint64_t>(samples).classes;
  auto const count = classes.samples();

  constexpr auto most = (std::numeric_limits<std::int64_t>::max)() / 2;
  std::uint64_t text = 0;
  std::vector<std::int64_t> largest(2, 1);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (std::size_t m = 0; m < 2; ++m) largest[m] = (std::max)(largest[m], classes[c][m]);
    text += round_up(static_cast<std::uint64_t>(classes[c][1]), std::uint64_t{256}) * classes.counts[c];
  }
  auto const per_tile = text / (std::max)(static_cast<std::uint64_t>(classes.total(0)), count);
  auto const step = static_cast<std::int64_t>((std::max)(round_down(per_tile + 1, std::uint64_t{16}), std::uint64_t{16}));

  capacity_choice out;
  auto const holds = [&](capacity_trial const& t) {
    return t.samples_per_pack < search.samples_per_pack_least ? -1 : t.samples_per_pack > search.samples_per_pack_most ? 1 : 0;
  };
  auto const off = [&](capacity_trial const& t) {
    return (std::max)({search.samples_per_pack_least - t.samples_per_pack, t.samples_per_pack - search.samples_per_pack_most, 0.0});
  };
  auto const try_one = [&](std::int64_t first, std::int64_t second) {
    capacity_trial t{.capacity = {first, second}};
    auto sampling = search.sampling;
    sampling.filter = full_packs(t.capacity, search.spare);
    auto const patterns = plan_iterative_sampling(classes, t.capacity, sampling, search.seed);
    t.packs = static_cast<std::int64_t>(patterns.packs());
    t.samples_per_pack = static_cast<double>(count) / static_cast<double>(t.packs);
    t.rank_distance = detail::pattern_distances(patterns, classes, 2, search.ranks, search.seed);
    t.score = t.rank_distance[0] + t.rank_distance[1];
    auto const better = [&](capacity_trial const& best) { return off(t) != off(best) ? off(t) < off(best) : t.score < best.score; };
    if (out.trials.empty() || better(out.chosen())) out.best = out.trials.size();
    out.trials.push_back(std::move(t));
    out.wanted = holds(out.chosen()) == 0;
    return holds(out.trials.back());
  };

  auto first = (std::max)(search.tuning.start / step, largest[0]), second = (std::max)(search.tuning.start, largest[1]);
  auto const more_to_try = [&] { return out.trials.size() < search.tuning.most_trials; };
  if (try_one(first, second) <= 0) {
    while (more_to_try() && out.trials.back().packs > 1 && first < most && second < most - step)
      if (try_one(++first, second += step) > 0) break;
  } else {
    while (more_to_try() && first > largest[0] && second - step >= largest[1])
      if (try_one(--first, second -= step) < 0) break;
  }
  return out;
}

}  // namespace ballast::inline v0_2
