// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/options.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_staging_chunk_options {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("held_by_chunk: the rows of an interleaved schedule and of ZB-V") {
  using rows = std::vector<std::vector<std::uint64_t>>;
  auto const interleaved = held_by_chunk(interleaved_schedule{.chunks = 2}, 4, 32);
  CHECK(interleaved.stage_of == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(interleaved.held == rows{{7, 4, 8, 3}, {5, 4, 6, 3, 7, 2, 8, 1}, {4, 3, 5, 2, 6, 1, 7, 0}, {4, 1, 5, 0}});
  auto const zbv = held_by_chunk(zbv_schedule{}, 2, 32);
  CHECK(zbv.stage_of == std::vector<std::uint32_t>{0, 1, 1, 0});
  for (std::size_t s = 0; s < 2; ++s)
    for (std::size_t i = 0; i < zbv.held[s].size(); i += 2) CHECK(zbv.held[s][i] + zbv.held[s][i + 1] <= 4);
  CHECK(refusal([] { return held_by_chunk(interleaved_schedule{.chunks = 2}, 4, 6); }) ==
        "micro_batches = 6 must be a multiple of stages = 4 for an interleaved schedule");
}

TEST_CASE("held_by_chunk: as many as the schedule says, and as held_by_stage with one chunk") {
  std::vector<any_schedule> const schedules{
      gpipe_schedule{}, one_f_one_b_schedule{}, interleaved_schedule{.chunks = 2}, interleaved_schedule{.chunks = 3}, zb1p_schedule{},
      zb2p_schedule{},  zbv_schedule{}};
  for (auto const& schedule : schedules)
    for (std::uint64_t stages = 1; stages <= 6; ++stages)
      for (std::uint64_t groups = 1; groups <= 4; ++groups) {
        auto const micro_batches = groups * stages;
        CAPTURE(schedule.index(), stages, micro_batches);
        auto const of = held_by_chunk(schedule, stages, micro_batches);
        auto const chunks = of.stage_of.size() / stages;
        std::vector<std::uint64_t> most(stages);
        for (std::size_t s = 0; s < stages; ++s)
          for (auto row = of.held[s].begin(); row != of.held[s].end(); row += static_cast<std::ptrdiff_t>(chunks))
            most[s] = (std::max)(most[s], std::accumulate(row, row + static_cast<std::ptrdiff_t>(chunks), std::uint64_t{0}));
        for (std::size_t s = 0; s < stages; ++s) REQUIRE(most[s] == in_flight(schedule, s, stages, micro_batches).held);
        if (chunks == 1) REQUIRE(most == held_by_stage(schedule, stages, micro_batches));
      }
}

TEST_CASE("held_by_chunk: the rows of an interleaved schedule are those of its order, however many micro-batches follow") {
  for (std::uint64_t stages = 1; stages <= 5; ++stages)
    for (std::uint64_t chunks = 2; chunks <= 4; ++chunks)
      for (std::uint64_t const groups : {1U, 2U, 3U, 7U}) {
        CAPTURE(stages, chunks, groups);
        interleaved_schedule const schedule{.chunks = chunks};
        auto const order = order_of(schedule, stages, groups * stages);
        auto const of = held_by_chunk(schedule, stages, groups * stages);
        for (std::size_t s = 0; s < stages; ++s) {
          std::vector<std::vector<std::uint64_t>> rows, kept;
          std::vector<std::uint64_t> row(chunks);
          for (auto i = static_cast<std::size_t>(order.offsets[s]); i < order.offsets[s + 1]; ++i) {
            auto const forward = order.tasks[i].pass == pipeline_pass::forward;
            row[order.tasks[i].virtual_stage / stages] += forward ? 1U : ~std::uint64_t{0};
            rows.push_back(row);
          }
          std::sort(rows.begin(), rows.end());
          rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
          for (auto const& one : rows)
            if (std::none_of(rows.begin(), rows.end(), [&](auto const& by) {
                  return by != one && std::equal(one.begin(), one.end(), by.begin(), [](auto a, auto b) { return a <= b; });
                }))
              kept.insert(kept.end(), one);
          std::vector<std::uint64_t> flat;
          for (auto const& one : kept) flat.insert(flat.end(), one.begin(), one.end());
          REQUIRE(of.held[s] == flat);
        }
      }
}

}  // namespace test_staging_chunk_options
