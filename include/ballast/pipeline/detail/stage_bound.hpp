// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// The lower bound on the makespan, from checked works.

namespace ballast::inline v0_2::detail {

inline constexpr auto no_virtual_stage = (std::numeric_limits<std::size_t>::max)();

struct stage_bound {
  std::int64_t before = (std::numeric_limits<std::int64_t>::max)();  // shortest way to the stage's first virtual stage
  std::int64_t after = (std::numeric_limits<std::int64_t>::max)();   // shortest way back from there
  std::int64_t tasks = 0;
  std::int64_t weights = 0;              // sum of the weight parts of split backwards
  std::size_t first = no_virtual_stage;  // the stage's first virtual stage
};

// If `split`, the weight part may wait; otherwise it is on the way back.
template <class = when_called>
[[nodiscard]] inline makespan_bound bound_of(work_table const& table, std::span<std::uint32_t const> stage_of, std::size_t stages,
                                             bool split, std::vector<stage_bound>& on) {
  auto const n = table.virtual_stages;
  on.assign(stages, {});
  for (auto k = n; k-- > 0;) on[stage_of[k]].first = k;
  makespan_bound best;
  for (std::size_t m = 0; m < table.micro_batches; ++m) {
    auto const* const works = table.works.data() + m * n;
    auto const last_weight = split ? works[0].weight : 0;  // the end of its way back
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

}  // namespace ballast::inline v0_2::detail
