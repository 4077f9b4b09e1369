// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/node_exchange.hpp>
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/balance/detail/replica_nodes.hpp>
#include <ballast/balance/detail/replica_search.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `balance_replicated`: experts to ranks where experts may have several equal copies, within nodes or across them.

namespace ballast::inline v0_2 {

/// @brief Units of a row in the loads of `balance_replicated`: 720,720, the least common multiple of 1 to 16.
///
/// A copy of an expert with w rows and c copies has a load of w / c rows. In these units it is an integer for up to 16 copies, and for
/// every other divisor; it is rounded up else.
inline constexpr std::int64_t row_units = detail::replica_units;

/// @brief Where experts and their copies may be.
struct replication_options {
  std::uint64_t ranks = 0;  ///< number of ranks; a multiple of `nodes`
  std::uint64_t slots = 0;  ///< number of copies of all experts together, a multiple of `ranks`; 0: one copy of each expert
  std::uint64_t nodes = 1;  ///< number of nodes; adjacent ranks are on the same node
  /// Number of groups of adjacent experts, a multiple of `nodes`: all copies of a group are on one node, and every node has as many groups.
  /// 1: experts may be anywhere.
  std::uint64_t groups = 1;
  bool may_share = false;  ///< whether two copies of an expert may be on the same rank; if not, an expert has at most a copy on each rank
};

/// @brief Experts and their copies on ranks.
struct replicated_experts {
  std::vector<std::uint32_t> copies;     ///< number of copies of each expert
  std::vector<std::uint32_t> expert_of;  ///< expert of each slot; with s slots each, rank r has slots [r s, (r + 1) s), experts ascending
  std::vector<std::int64_t> loads;       ///< load of each rank, in `row_units` of a row
  certificate load{};                    ///< the largest of them; no plan has less than its lower bound
  certificate between{};                 ///< units of rows that travel between nodes; no plan, of any load, has less than its lower bound
  bool complete = true;                  ///< false if a requested stop or the clock ended the search

  friend bool operator==(replicated_experts const&, replicated_experts const&) = default;
};

/// @brief Throws unless options suit a number of experts.
/// @param options  the options
/// @param experts  number of experts
/// @throws invalid_input naming the field
template <class = when_called>
void require_valid(replication_options const& options, std::uint64_t experts) {
  auto const [ranks, asked, nodes, groups, may_share] = options;
  constexpr auto most = std::uint64_t{1} << 20;
  auto const within = [&](char const* name, std::uint64_t value, std::uint64_t least) {
    require(value >= least && value <= most, [&] { return sentence(name, " = ", value, " must be in [", least, ", ", most, "]"); });
  };
  within("experts", experts, 1);
  within("ranks", ranks, 1);
  within("nodes", nodes, 1);
  within("groups", groups, 1);
  auto const slots = asked == 0 ? experts : asked;
  within("slots", slots, experts);
  auto const divides = [&](char const* part, std::uint64_t a, char const* whole, std::uint64_t b) {
    require(b % a == 0, [&] { return sentence(part, " = ", a, " must divide ", whole, " = ", b); });
  };
  divides("ranks", ranks, "slots", slots);
  divides("nodes", nodes, "ranks", ranks);
  divides("groups", groups, "experts", experts);
  if (groups > 1) divides("nodes", nodes, "groups", groups);
  auto const here = groups > 1 ? experts / nodes : experts, each = slots / ranks;
  require(may_share || each <= here, [&] {
    return sentence("slots = ", slots, " are ", each, " on a rank, more than the ", here,
                    " experts that can be there: set may_share, or ask for fewer slots");
  });
}

/// @brief Chooses how many copies each expert has and where they are, so that the most loaded rank has least load.
///
/// The rows of an expert are shared equally between its copies, and every slot holds a copy. Second, if several nodes may hold the same
/// expert, fewest rows travel between nodes: every node has an equal part of the rows of each expert, and its own copies take these first.
///
/// Numbers of copies begin with those that make the largest copy smallest. Copies are dealt to ranks, largest first, then exchanged; with
/// up to six slots on a rank, two ranks are also split anew in every way. Then experts of the most loaded rank get copies from others. With
/// up to 32 slots (of each node, with groups) a search tries all numbers of copies and all placements. Up to 12 groups are partitioned in
/// every way that could be better than the best plan. Last, ranks and copies of different nodes are exchanged.
///
/// @param loads    rows of each expert, not negative; their sum is below 2^42
/// @param options  ranks, slots, nodes and groups
/// @param limits   when the search stops; by default after about a millisecond for each of its phases
/// @return the plan; `load` is proven optimal if its value equals its lower bound
/// @post passes `check_replicated`
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// With n experts, S slots and R ranks, O(n log n + S R) for the first plan, then at most `limits.work`, and less than twice that if a
/// phase has begun.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends it. All decisions are on integers.
/// @par Source
/// The problem is that of DeepSeek's expert-parallel load balancer (deepseek-ai/EPLB), see methods/eplb.hpp.
template <class = when_called>
[[nodiscard]] replicated_experts balance_replicated(std::span<std::int64_t const> loads, replication_options const& options,
                                                    search_limits const& limits = {.work = 1'000'000}) {
  require_valid(options, loads.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    require(loads[i] >= 0 && loads[i] < (std::int64_t{1} << 42) - sum,
            [&] { return entry("loads", i, loads[i]) + " is negative, or brings the sum of loads to 2^42 or more"; });
    sum += loads[i];
  }
  auto const slots = static_cast<std::size_t>(options.slots == 0 ? loads.size() : options.slots);
  auto const ranks = static_cast<std::size_t>(options.ranks), nodes = static_cast<std::size_t>(options.nodes);
  detail::replica_problem const problem{
      .weights = {loads.begin(), loads.end()}, .ranks = ranks, .each = slots / ranks, .may_share = options.may_share};
  search_budget budget(limits, 65'536);
  auto const grouped = options.groups > 1 && nodes > 1;
  auto found = grouped ? detail::replica_groups<>(problem, static_cast<std::size_t>(options.groups), nodes, budget).plan()
                       : detail::plan_replicas(problem, budget);
  auto& plan = found.plan;
  auto last = budget.part(1);
  detail::node_exchanger<> exchanger(problem, nodes, last, plan);
  if (!grouped && nodes > 1) exchanger.exchange();
  replicated_experts out;
  out.between.value = exchanger.between();
  out.between.lower_bound = grouped ? out.between.value : detail::between_bound(problem, nodes);
  for (std::size_t r = 0; r < ranks; ++r) {
    auto const first = plan.held.begin() + static_cast<std::ptrdiff_t>(r * problem.each);
    std::sort(first, first + static_cast<std::ptrdiff_t>(problem.each));
  }
  for (auto const c : plan.copies) out.copies.push_back(static_cast<std::uint32_t>(c));
  out.expert_of = std::move(plan.held);
  out.loads = std::move(plan.loads);
  out.load = {plan.value, found.bound};
  out.complete = !budget.interrupted() && !last.interrupted();
  return out;
}

BALLAST_INSTANTIATE(replicated_experts balance_replicated(std::span<std::int64_t const>, replication_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
