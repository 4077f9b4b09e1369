// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/pack.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/pattern_distances.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/near_optimal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Tries several packers of several measures in turn.

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
