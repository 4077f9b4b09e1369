// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/sampled_packs.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/near_optimal.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/rank_distance.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `pack_portfolio`: tries several packers and returns the best plan; and `pack`, the default packer for samples of several
/// measures.

namespace ballast::inline v0_2 {

namespace detail {

// Tries several packers of several measures in turn.

/// The plan of a member on the classes, and the figures by which it is compared.
struct member_plan {
  pack_patterns patterns{};
  vector_packs_needed bound{};  // a better bound than that by formula, or none
  bool complete = true;
  std::int64_t packs = 0;
  double distance = 0;  // sum of rank distances, if that is a criterion
};

/// The plan of one packer; `start` is the best plan so far, or null.
template <index_type Index>
[[nodiscard]] member_plan plan_member(vector_packer member, vector_items<Index> const& items, vector_packing_options const& options,
                                      member_plan const* start, std::size_t at_most, search_limits const& limits) {
  if (member == vector_packer::completion) return {plan_bin_completion(items.classes, items.capacity)};
  if (member == vector_packer::best_fit) return {plan_vector_best_fit(items.classes, items.capacity)};
  if (member == vector_packer::near_optimal) {
    auto plan = plan_near_optimal(items.classes, items.capacity, limits, start != nullptr ? &start->patterns : nullptr);
    return {std::move(plan.patterns), plan.bound, plan.complete};
  }
  return {plan_iterative_sampling(items.classes, items.capacity, with_filter({}, options), items.seed, at_most)};
}

/// The largest cost of a near-optimal search, which continues until an optimum is proven.
[[nodiscard]] constexpr std::uint64_t most_search(std::uint64_t samples) noexcept {
  return (std::min)(samples, std::uint64_t{1} << 40) << 14;
}

/// Estimates the elementary operations of a packer, from measurements on mixtures of a thousand to a million samples with few and with many
/// classes.
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

/// Tries the members of a portfolio one after the other and keeps the best plan.
template <index_type Index>
class portfolio_search {
 public:
  /// `measures` is the number of measures of the samples, without the limit of samples per pack.
  portfolio_search(vector_items<Index> const& items, std::size_t measures, vector_packing_options const& options,
                   portfolio_options const& portfolio)
      : items_(items), measures_(measures), options_(options), portfolio_(portfolio), left_(portfolio.limits.work) {
    auto const& [members, order, ranks, limits] = portfolio;
    cheapest_ = *std::min_element(members.begin(), members.end(), [&](auto a, auto b) { return expected(a) < expected(b); });
    searches_ = std::find(members.begin(), members.end(), vector_packer::near_optimal) != members.end();
    by_distance_ = std::find(order.begin(), order.end(), portfolio_criterion::rank_distance) != order.end();
    fewest_first_ = order[0] == portfolio_criterion::packs;
  }

  /// Returns the best patterns; `out` gets their packer, their lower bound and whether a stop request skipped members.
  [[nodiscard]] pack_patterns try_members(vector_packing<Index>& out) {
    for (auto const member : portfolio_.members) {
      if (planned_ && fewest_first_ && gap() <= portfolio_.limits.gap) break;
      if (is_skipped(member)) continue;
      if (planned_ && is_interrupted()) {
        out.complete = false;
        break;
      }
      auto plan = plan_of(member);
      out.complete = out.complete && plan.complete;
      if (!planned_) bound_ = vector_lower_bound(items_.classes, items_.capacity, plan.packs);
      if (plan.bound.packs > bound_.packs) bound_ = plan.bound;
      if (planned_ && !is_better(plan, best_, portfolio_.order)) continue;
      best_ = std::move(plan);
      out.packer = member;
      planned_ = true;
    }
    out.count.lower_bound = bound_.packs;
    out.bound = bound_.bound;
    out.measure = bound_.measure;
    return std::move(best_.patterns);
  }

 private:
  [[nodiscard]] std::uint64_t expected(vector_packer member) const { return expected_work(member, items_.classes); }
  [[nodiscard]] double gap() const { return certificate{best_.packs, bound_.packs}.gap(); }
  [[nodiscard]] bool is_skipped(vector_packer member) const {
    auto const is_search = member == vector_packer::near_optimal;
    if (planned_ && is_search && gap() <= pack_gap) return true;
    auto const work = expected(member);
    auto const expensive = work > left_ || (searches_ && !is_search && work > portfolio_.limits.work / 8);
    return expensive && (planned_ || member != cheapest_);
  }
  [[nodiscard]] bool is_interrupted() const {
    auto const& limits = portfolio_.limits;
    return limits.stop.stop_requested() || (limits.wall_clock.count() != 0 && passed() >= limits.wall_clock);
  }
  [[nodiscard]] std::chrono::nanoseconds passed() const { return std::chrono::steady_clock::now() - start_; }

  [[nodiscard]] member_plan plan_of(vector_packer member) {
    auto limits = portfolio_.limits;
    limits.work = (std::min)(left_, most_search(items_.classes.samples()));
    if (limits.wall_clock.count() != 0) limits.wall_clock -= (std::min)(passed(), limits.wall_clock - std::chrono::nanoseconds{1});
    left_ -= (std::min)(left_, expected(member));
    auto const at_most = planned_ && fewest_first_ ? static_cast<std::size_t>(best_.packs) : (std::numeric_limits<std::size_t>::max)();
    auto plan = plan_member(member, items_, options_, planned_ ? &best_ : nullptr, at_most, limits);
    plan.packs = static_cast<std::int64_t>(plan.patterns.packs());
    if (by_distance_)
      for (auto const d : pattern_distances(plan.patterns, items_.classes, measures_, portfolio_.ranks, items_.seed)) plan.distance += d;
    return plan;
  }

  vector_items<Index> const& items_;
  std::size_t measures_;
  vector_packing_options const& options_;
  portfolio_options const& portfolio_;
  std::uint64_t left_;  // remaining work
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  vector_packer cheapest_{};
  bool searches_ = false, by_distance_ = false, fewest_first_ = false, planned_ = false;
  member_plan best_;
  vector_packs_needed bound_;
};

}  // namespace detail

/// @brief Packs samples of several measures by several packers and returns the best plan; `packer` of the result names its packer.
///
/// No packer is best on all data. Completion is best if samples of different proportions complement each other, iterative sampling if most
/// samples are similar, and best fit if large samples leave room for small ones. Near-optimal search improves on the best of them. Samples
/// are classified once, and the lower bound is computed once.
///
/// @tparam Index  type of the sample indices
/// @param samples    measures of each sample
/// @param options    capacities and limits
/// @param portfolio  members, criteria and limits of the search
/// @return the best plan by the criteria; `complete` is false if a stop request or the wall clock skipped members
/// @post no member that was tried has a better plan by the criteria
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of the members that the limits allow.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search.
/// @par Source
/// This library (docs/omnibal.md).
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack_portfolio(sample_measures const& samples, vector_packing_options const& options,
                                                   portfolio_options const& portfolio = {}) {
  require_valid(portfolio);
  return detail::drive<Index>(
      samples, options, portfolio.members[0], [&](detail::vector_items<Index> const& items, vector_packing<Index>& out) {
        auto const best = detail::portfolio_search<Index>(items, samples.measures(), options, portfolio).try_members(out);
        auto const mixed = out.packer == vector_packer::iterative_sampling ? detail::mixed_order(items) : std::vector<Index>{};
        detail::expand_all<Index>(
            best, {items.classes, mixed.empty() ? items.order : std::span<Index const>(mixed), items.begin, items.capacity, items.seed},
            out.packs);
      });
}

/// @brief Packs samples of several measures by the default portfolio: `pack({{tiles, tokens}}, {.capacity = {9, 4096}})`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample
/// @param options  capacities and limits
/// @param limits   limits of the search; by default it ends after about a second at most, and much earlier if there are few or similar
/// samples
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post no pack exceeds a capacity, except under `oversize::alone`; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of `pack_portfolio`: a bounded number of operations, far fewer for small inputs.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then). A release that
/// changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack(sample_measures const& samples, vector_packing_options const& options,
                                         search_limits const& limits = {}) {
  return pack_portfolio<Index>(samples, options, {.limits = limits});
}

BALLAST_INSTANTIATE(vector_packing<std::uint32_t> pack_portfolio(sample_measures const&, vector_packing_options const&,
                                                                 portfolio_options const&))
BALLAST_INSTANTIATE(vector_packing<std::uint64_t> pack_portfolio(sample_measures const&, vector_packing_options const&,
                                                                 portfolio_options const&))

}  // namespace ballast::inline v0_2
