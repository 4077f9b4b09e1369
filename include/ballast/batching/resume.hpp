// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Going on after step k, also with another number of ranks.
///
/// With the same ranks there is nothing to do: the plan is a pure function of its arguments, so a restarted run plans again and begins at
/// step k. With other ranks, the samples that are still to come are planned as a data set of their own.

namespace ballast::inline v0_1 {

/// @brief The samples that steps 0 … `step` - 1 have not trained on, and that the plan has not dropped.
///
/// @tparam Index  index type of the plan
/// @param plan  a plan of steps
/// @param step  how many steps are done, at most `plan.steps()`
/// @return their indices, ascending
/// @throws invalid_input if the plan has fewer steps
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] std::vector<Index> samples_from_step(batching<Index> const& plan, std::size_t step) {
  require(step <= plan.steps(),
          [&] { return "step = " + std::to_string(step) + " is beyond the " + std::to_string(plan.steps()) + " steps of the plan"; });
  Index count = 0;
  for (auto i : plan.packs.members) count = (std::max)(count, static_cast<Index>(i + 1));
  std::vector<char> comes(count, 0);
  for (auto const come : {char{1}, char{0}})
    for (auto s = come ? step : 0; s < (come ? plan.steps() : step); ++s)
      for (auto p : plan.step(s))
        if (p != plan.none)
          for (auto i : plan.packs[p]) comes[i] = come;
  std::vector<Index> rest;
  for (Index i = 0; i < count; ++i)
    if (comes[i]) rest.push_back(i);
  return rest;
}

/// @brief Renumbers the samples of a plan that was made for a part of the data.
///
/// @tparam Index  index type of the plan
/// @param plan     a plan for `samples.size()` samples
/// @param samples  which samples of the data these are, ascending
/// @throws invalid_input if the plan refers to a sample beyond them; the plan is then unchanged
/// @par Complexity
/// O(samples).
template <index_type Index>
void renumber(batching<Index>& plan, std::span<Index const> samples) {
  auto const known = [&](Index i) {
    require(i < samples.size(),
            [&] { return "sample " + std::to_string(i) + " is none of the " + std::to_string(samples.size()) + " given"; });
  };
  for (auto const* list : {&plan.packs.members, &plan.dropped, &plan.repeated}) std::for_each(list->begin(), list->end(), known);
  for (auto* list : {&plan.packs.members, &plan.dropped, &plan.repeated})
    for (auto& i : *list) i = samples[i];
  for (auto& s : plan.shared) s.sample = samples[s.sample];
}

}  // namespace ballast::inline v0_1
