// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/pattern_distances.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/near_optimal.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Several packers on the same samples, the best plan kept; and `pack`, the default for samples of several measures.

namespace ballast::inline v0_2 {

/// @brief What makes one plan better than another.
enum class portfolio_criterion : std::uint8_t {
  packs,          ///< fewer packs
  rank_distance,  ///< a lower sum over the measures of `rank_distances`, packs in random order
};

/// @brief Which packers are tried, for how long, and how their plans are compared.
struct portfolio_options {
  /// Tried in this order, at least one.
  std::vector<vector_packer> members{vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling,
                                     vector_packer::near_optimal};
  /// The first criterion in which two plans differ decides; where none does, the earlier plan stays. At least one.
  std::vector<portfolio_criterion> order{portfolio_criterion::packs, portfolio_criterion::rank_distance};
  std::uint64_t ranks = 8;  ///< of `rank_distance`: packs of a step, at least 1
  /// A member whose expected work exceeds what is left of `work` is passed over, and so is one that would take more than an eighth of it
  /// from near-optimal search; where that leaves none, the least dear one runs. Near-optimal search is passed over where a plan is within
  /// `pack_gap` of its bound. `gap` ends the search where fewer packs are the first criterion.
  search_limits limits{};
};

namespace detail {

/// A member's plan on the classes, and what it is judged by.
struct member_plan {
  pack_patterns patterns{};
  vector_packs_needed bound{};  // a better one than that by formulas, or none
  bool complete = true;
  std::int64_t packs = 0;
  double distance = 0;  // where it is a criterion
};

/// Plans as one packer does; `start` is the best plan so far, or none.
template <index_type Index>
[[nodiscard]] member_plan plan_member(vector_packer member, vector_items<Index> const& items, vector_packing_options const& options,
                                      member_plan const* start, std::size_t at_most, search_limits const& limits) {
  if (member == vector_packer::completion) return {plan_bin_completion(items.classes, items.capacity)};
  if (member == vector_packer::best_fit) return {plan_vector_best_fit(items.classes, items.capacity)};
  if (member == vector_packer::near_optimal) {
    auto plan = plan_near_optimal(items.classes, items.capacity, limits, start != nullptr ? &start->patterns : nullptr);
    return {std::move(plan.patterns), plan.bound, plan.complete};
  }
  sampling_options const sampling;
  return {plan_iterative_sampling(items.classes, items.capacity, filter_of(sampling, options), sampling.rounds, items.seed, at_most)};
}

/// What a near-optimal search may cost at most: it goes on where an optimum is not proven.
[[nodiscard]] constexpr std::uint64_t most_search(std::uint64_t samples) noexcept {
  return (std::min)(samples, std::uint64_t{1} << 40) << 14;
}

/// Elementary operations that a packer takes, from measurements on mixtures of a thousand to a million samples, most classes alike or none.
[[nodiscard]] inline std::uint64_t expected_work(vector_packer member, measure_classes const& classes) {
  auto const samples = classes.samples(), distinct = std::uint64_t{classes.size()};
  if (member == vector_packer::completion) return 14'000 * distinct;
  if (member == vector_packer::best_fit) return 2'000 * distinct;
  if (member == vector_packer::near_optimal) return (std::min)(most_search(samples), 20'000 * distinct);
  return 60 * samples + 16'000 * distinct;
}

[[nodiscard]] inline bool is_better(member_plan const& a, member_plan const& b, std::vector<portfolio_criterion> const& order) {
  for (auto const criterion : order) {
    if (criterion == portfolio_criterion::packs && a.packs != b.packs) return a.packs < b.packs;
    if (criterion == portfolio_criterion::rank_distance && a.distance != b.distance) return a.distance < b.distance;
  }
  return false;
}

inline void require_valid(portfolio_options const& portfolio) {
  require(!portfolio.members.empty(), [] { return std::string("a portfolio needs at least one member"); });
  require(!portfolio.order.empty(), [] { return std::string("a portfolio needs at least one criterion"); });
  require(portfolio.ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
}

}  // namespace detail

/// @brief Packs samples of several measures by several packers and keeps the best plan; `packer` of the result says whose it is.
///
/// No packer is best on all data: completion wins where samples of different proportions complement each other, iterative sampling where
/// most samples are alike, best fit where large samples leave holes; near-optimal search improves on the best of them. Samples are sorted
/// into classes once, and bounded once.
///
/// @tparam Index  type of the sample indices
/// @param samples    measures of each sample
/// @param options    capacities and limits
/// @param portfolio  members, criteria and limits of the search
/// @return the plan that is best by the criteria; incomplete where a stop or the clock passed over members
/// @post not worse by the criteria than the plan of any member that was tried
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of the members that the limits admit.
/// @par Determinism
/// A pure function of its arguments where neither `stop` nor `wall_clock` strikes.
/// @par Source
/// This library (docs/omnibal.md).
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack_portfolio(sample_measures const& samples, vector_packing_options const& options,
                                                   portfolio_options const& portfolio = {}) {
  detail::require_valid(portfolio);
  return detail::drive<Index>(
      samples, options, portfolio.members[0], [&](detail::vector_items<Index> const& items, vector_packing<Index>& out) {
        auto const& [members, order, ranks, limits] = portfolio;
        auto const start = std::chrono::steady_clock::now();
        auto const expected = [&](vector_packer member) { return detail::expected_work(member, items.classes); };
        auto const cheapest = *std::min_element(members.begin(), members.end(), [&](auto a, auto b) { return expected(a) < expected(b); });
        auto const by_distance = std::find(order.begin(), order.end(), portfolio_criterion::rank_distance) != order.end();
        auto const fewest_first = order[0] == portfolio_criterion::packs;
        auto const searches = std::find(members.begin(), members.end(), vector_packer::near_optimal) != members.end();
        detail::member_plan best;
        bool planned = false;
        auto left = limits.work;
        for (auto const member : members) {
          if (planned && fewest_first && certificate{best.packs, out.count.lower_bound}.gap() <= limits.gap) break;
          if (planned && member == vector_packer::near_optimal && certificate{best.packs, out.count.lower_bound}.gap() <= pack_gap)
            continue;
          auto const work = expected(member);
          auto const dear = work > left || (searches && member != vector_packer::near_optimal && work > limits.work / 8);
          if (dear && (planned || member != cheapest)) continue;
          if (planned && (limits.stop.stop_requested() ||
                          (limits.wall_clock.count() != 0 && std::chrono::steady_clock::now() - start >= limits.wall_clock))) {
            out.complete = false;
            break;
          }
          auto const at_most = planned && fewest_first ? static_cast<std::size_t>(best.packs) : (std::numeric_limits<std::size_t>::max)();
          auto searched = limits;
          searched.work = (std::min)(left, detail::most_search(items.classes.samples()));
          if (limits.wall_clock.count() != 0)
            searched.wall_clock -= (std::min)(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start),
                                              limits.wall_clock - std::chrono::nanoseconds{1});
          left -= (std::min)(left, work);
          auto plan = detail::plan_member(member, items, options, planned ? &best : nullptr, at_most, searched);
          out.complete = out.complete && plan.complete;
          plan.packs = static_cast<std::int64_t>(plan.patterns.packs());
          if (by_distance)
            for (auto const d : detail::pattern_distances(plan.patterns, items.classes, samples.measures(), ranks, items.seed))
              plan.distance += d;
          if (!planned) {
            auto const bound = vector_lower_bound(items.classes, items.capacity, plan.packs);
            out.count.lower_bound = bound.packs;
            out.bound = bound.bound;
            out.measure = bound.measure;
          }
          if (plan.bound.packs > out.count.lower_bound) {
            out.count.lower_bound = plan.bound.packs;
            out.bound = plan.bound.bound;
            out.measure = plan.bound.measure;
          }
          if (planned && !detail::is_better(plan, best, order)) continue;
          best = std::move(plan);
          out.packer = member;
          planned = true;
        }
        auto const mixed = out.packer == vector_packer::iterative_sampling ? detail::mixed_order(items) : std::vector<Index>{};
        detail::expand_all<Index>(
            best.patterns,
            {items.classes, mixed.empty() ? items.order : std::span<Index const>(mixed), items.begin, items.capacity, items.seed},
            out.packs);
      });
}

/// @brief Packs samples of several measures into as few packs as the default portfolio finds: `pack({{tiles, tokens}}, {.capacity = {9,
/// 4096}})`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample
/// @param options  capacities and limits
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds a capacity; every sample stands in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of `pack_portfolio` with its defaults: a bounded number of operations, of which small sets use few.
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack(sample_measures const& samples, vector_packing_options const& options) {
  return pack_portfolio<Index>(samples, options);
}

}  // namespace ballast::inline v0_2
