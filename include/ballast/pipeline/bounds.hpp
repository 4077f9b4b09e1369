// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief What no order of a pipeline's tasks can go below.

namespace ballast::inline v0_2 {

/// @brief A lower bound on the makespan, and the argument behind it.
struct makespan_bound {
  std::int64_t time = 0;                                ///< no order ends earlier
  pipeline_bound bound = pipeline_bound::longest_path;  ///< why
  friend constexpr bool operator==(makespan_bound const&, makespan_bound const&) = default;
};

namespace detail {

inline constexpr auto no_virtual_stage = (std::numeric_limits<std::size_t>::max)();

struct stage_bound {
  std::int64_t before = (std::numeric_limits<std::int64_t>::max)();  // the shortest way to its first virtual stage
  std::int64_t after = (std::numeric_limits<std::int64_t>::max)();   // and back from there
  std::int64_t tasks = 0;
  std::int64_t weights = 0;              // of split backwards
  std::size_t first = no_virtual_stage;  // its first virtual stage
};

// `split`: the weight part may wait; otherwise it lies on the way back.
[[nodiscard]] inline makespan_bound bound_of(work_table const& table, std::span<std::uint32_t const> stage_of, std::size_t stages,
                                             bool split, std::vector<stage_bound>& on) {
  auto const n = table.virtual_stages;
  on.assign(stages, {});
  for (auto k = n; k-- > 0;) on[stage_of[k]].first = k;
  makespan_bound best;
  for (std::size_t m = 0; m < table.micro_batches; ++m) {
    auto const* const works = table.works.data() + m * n;
    auto const last_weight = split ? works[0].weight : 0;  // its end of the way back
    std::int64_t way_there = 0, way_back = last_weight;
    for (std::size_t k = 0; k < n; ++k) {
      auto const& w = works[k];
      auto& s = on[stage_of[k]];
      if (s.first == k) {
        s.before = (std::min)(s.before, way_there);
        s.after = (std::min)(s.after, way_back);
      }
      auto const back = w.recompute + w.backward + (split ? 0 : w.weight);
      auto const way = k + 1 < n && stage_of[k + 1] != stage_of[k] ? w.transfer : 0;
      way_there += w.forward + way;
      way_back += back + way;
      s.tasks += w.forward + back;
      s.weights += split ? w.weight : 0;
    }
    best.time = (std::max)(best.time, way_there + way_back);
  }
  for (auto const& s : on) {
    if (s.first == no_virtual_stage) continue;
    auto const time = s.before + s.tasks + (std::max)(s.weights, s.after);
    if (time >= best.time) best = {time, pipeline_bound::busiest_stage};
  }
  return best;
}

}  // namespace detail

/// @brief A lower bound on the makespan of any order of the tasks of a pipeline.
///
/// One micro-batch takes the sum of its times on its way through all virtual stages and back, and of its transfers. A stage does all
/// that is on it, after the shortest way to its first virtual stage and before the shortest way back from there; a split weight part need
/// not wait for that way back.
///
/// @tparam Work  a `stage_work_model`
/// @param stage_of       by virtual stage: the stage that it is on
/// @param micro_batches  of a step, at least 1
/// @param split          whether backwards are split
/// @param work           times of a micro-batch on a virtual stage
/// @return the greater of the two arguments
/// @throws invalid_input if a count is 0, a member of a work negative, or a sum 2^63
/// @par Complexity
/// O(virtual stages x micro-batches) time and memory.
/// @par Determinism
/// A pure function of its arguments.
template <stage_work_model Work>
[[nodiscard]] makespan_bound pipeline_lower_bound(std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches, bool split,
                                                  Work const& work) {
  require(!stage_of.empty() && micro_batches > 0, [] { return std::string("there must be at least one virtual stage and micro-batch"); });
  detail::work_table table;
  table.load(stage_of.size(), static_cast<std::size_t>(micro_batches), work);
  std::vector<detail::stage_bound> scratch;
  return detail::bound_of(table, stage_of, std::size_t{*std::max_element(stage_of.begin(), stage_of.end())} + 1, split, scratch);
}

}  // namespace ballast::inline v0_2
