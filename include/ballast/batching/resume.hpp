// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Continues a plan after an interruption, also with another number of ranks.
///
/// With the same number of ranks, a restarted trainer makes the same plan again, since a plan is a pure function of its arguments, and
/// continues at step k. With another number of ranks, it makes a new plan for `samples_left`, and calls `renumber`.

namespace ballast::inline v0_2 {

/// @brief Returns the samples that are still to be trained on: those of the steps that are not done, without the samples of steps that are.
///
/// Which steps are done depends on the order of training. Without a curriculum, these are the first k steps of the plan,
/// `std::views::iota(0, k)`; with a curriculum, the first k entries of its order, `std::span(order.index).first(k)`.
///
/// @tparam Index  index type of the plan
/// @tparam Steps  range of integers
/// @param plan  a plan of steps
/// @param done  numbers of the steps that were trained on, in any order; a number may occur twice
/// @return sample indices, ascending
/// @throws invalid_input unless every entry of `done` is a step of the plan
/// @par Complexity
/// O(samples + steps).
template <index_type Index, std::ranges::input_range Steps>
  requires std::integral<std::ranges::range_value_t<Steps>>
[[nodiscard]] std::vector<Index> samples_left(batching<Index> const& plan, Steps&& done) {
  std::vector<char> is_done(plan.steps(), 0);
  for (auto const s : done) {
    require(std::cmp_greater_equal(s, 0) && std::cmp_less(s, is_done.size()),
            [&] { return sentence("step ", s, " is out of range: the plan has ", is_done.size(), " steps"); });
    is_done[static_cast<std::size_t>(s)] = 1;
  }
  Index count = 0;
  for (auto i : plan.packs.members) count = (std::max)(count, static_cast<Index>(i + 1));
  std::vector<char> comes(count, 0);
  for (auto const come : {char{1}, char{0}})
    for (std::size_t s = 0; s < is_done.size(); ++s)
      if (is_done[s] != come)
        for (auto const pack : plan.packs_of(s))
          for (auto i : pack) comes[i] = come;
  std::vector<Index> rest;
  for (Index i = 0; i < count; ++i)
    if (comes[i]) rest.push_back(i);
  return rest;
}

/// @brief Renumbers the samples of a plan for a part of the data, by their indices in all data.
///
/// @tparam Index  index type of the plan
/// @param plan     a plan for `samples.size()` samples
/// @param samples  index in all data of each sample of the part, ascending
/// @throws invalid_input if the plan refers to a sample that is not in the part; the plan is then unchanged
/// @par Complexity
/// O(samples).
template <index_type Index>
void renumber(batching<Index>& plan, std::span<Index const> samples) {
  auto const known = [&](Index i) {
    require(i < samples.size(), [&] { return sentence("sample ", i, " is out of range: ", samples.size(), " samples are given"); });
  };
  for (auto const* list : {&plan.packs.members, &plan.dropped, &plan.repeated}) std::for_each(list->begin(), list->end(), known);
  for (auto* list : {&plan.packs.members, &plan.dropped, &plan.repeated})
    for (auto& i : *list) i = samples[i];
  for (auto& s : plan.shared) s.sample = samples[s.sample];
}

/// @brief Returns the steps of a plan from one step on, as a plan of its own, valued under costs that may be new.
///
/// @tparam Index  index type of the plan
/// @param plan     a plan in which ranks share no sample
/// @param first    number of the step that becomes step 0; if it is `plan.steps()`, the result has no steps
/// @param tokens   tokens of each sample of the plan
/// @param cost     cost of each sample of these steps
/// @param options  where ranks wait, and the fixed costs of micro-batches and steps
/// @return the steps, with `dropped` and `repeated` of the plan; its other figures are those of the samples in these steps
/// @throws invalid_input if the plan has fewer steps, a sample is shared by ranks or has no tokens and cost, or as `weigh`
/// @par Complexity
/// O(samples + places).
template <index_type Index>
[[nodiscard]] batching<Index> steps_from(batching<Index> const& plan, std::size_t first, std::span<std::int64_t const> tokens,
                                         std::span<std::int64_t const> cost, batching_options const& options) {
  require(first <= plan.steps(), [&] { return sentence("step ", first, " is out of range: the plan has ", plan.steps(), " steps"); });
  require(plan.shared.empty(), [&] { return sentence("sample ", plan.shared[0].sample, " is shared by ranks"); });
  batching<Index> rest;
  rest.ranks = plan.ranks;
  rest.micro_batches = plan.micro_batches;
  std::vector<Index> member_of, pack;  // the sample of each member: one that is repeated is several members
  std::vector<std::int64_t> tokens_of, cost_of;
  for (auto s = first; s < plan.steps(); ++s)
    for (auto const p : plan.step(s)) {
      rest.table.push_back(p == plan.none ? plan.none : static_cast<Index>(rest.packs.size()));
      if (p == plan.none) continue;
      pack.clear();
      for (auto const i : plan.packs[p]) {
        require(i < tokens.size() && i < cost.size(), [&] { return sentence("sample ", i, " has no tokens or no cost"); });
        pack.push_back(static_cast<Index>(member_of.size()));
        member_of.push_back(i);
        tokens_of.push_back(tokens[i]);
        cost_of.push_back(cost[i]);
      }
      rest.packs.push_back(pack);
    }
  detail::certify(rest, weigh(tokens_of, cost_of, options), options);
  for (auto& i : rest.packs.members) i = member_of[i];
  rest.dropped = plan.dropped;
  rest.repeated = plan.repeated;
  rest.method = plan.method;
  rest.window = plan.window;
  return rest;
}

}  // namespace ballast::inline v0_2
