// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/check_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/exhaustive_layout.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

namespace test_memory_check_layout {

using namespace ballast_test;
using namespace ballast;

namespace {

using buffers = std::vector<buffer>;
using fault = verdict;

buffers const three{{.lower = 0, .upper = 2, .size = 10, .alignment = 2},
                    {.lower = 1, .upper = 3, .size = 20},
                    {.lower = 2, .upper = 4, .size = 5, .fixed = 20}};
memory_layout const good{
    .status = status::feasible, .height = {30, 30}, .bound = layout_bound::max_load, .offsets = {20, 0, 20}, .nodes = 0, .complete = true};

}  // namespace

TEST_CASE("check_layout: an alignment of 0 is refused") {
  memory_layout const layout{.status = status::feasible, .height = {}, .bound = {}, .offsets = {0}, .nodes = 0, .complete = true};
  CHECK(refusal([&] { return check_layout(buffers{{.lower = 0, .upper = 1, .size = 1, .alignment = 0}}, layout); }) ==
        "buffers[0].alignment = 0 must be at least 1");
}

TEST_CASE("check_layout: each rule, its place and its sentence") {
  auto const broken = [](auto change, std::int64_t capacity = 0) {
    auto layout = good;
    change(layout);
    return check_layout(three, layout, capacity);
  };
  CHECK(check_layout(three, good, 30) == fault{});
  CHECK(describe(fault{}) == "valid");
  auto v = broken([](auto& l) { l.offsets.pop_back(); });
  CHECK(v == fault{layout_fault::wrong_size, 0, 2, 3});
  CHECK(describe(v) == "there are 2 offsets, and should be 3");
  v = broken([](auto& l) { l.status = status::unknown; });
  CHECK(v == fault{layout_fault::wrong_size, 0, 3, 0});
  v = broken([](auto& l) { l.offsets[1] = -4; });
  CHECK(v == fault{layout_fault::negative, 1, -4, 0});
  CHECK(describe(v) == "offsets[1] = -4 is negative");
  v = broken([](auto& l) { l.offsets[0] = 21; });
  CHECK(v == fault{layout_fault::misaligned, 0, 21, 2});
  CHECK(describe(v) == "offsets[0] = 21 is not a multiple of the alignment 2");
  v = broken([](auto& l) { l.offsets[2] = 21; });
  CHECK(v == fault{layout_fault::wrong_address, 2, 21, 20});
  CHECK(describe(v) == "offsets[2] = 21 is not the fixed address 20");
  v = broken([](auto& l) { l.offsets[1] = 1; });
  CHECK(v == fault{layout_fault::overlap, 1, 1, 30});
  CHECK(describe(v) == "offsets[1] = 1 overlaps an earlier buffer, which ends at 30");
  v = broken([](auto& l) { l.height.value = 31; });
  CHECK(v == fault{layout_fault::wrong_height, 0, 31, 30});
  CHECK(describe(v) == "height.value = 31, but the offsets make it 30");
  v = broken([](auto&) {}, 29);
  CHECK(v == fault{layout_fault::over_capacity, 0, 30, 29});
  CHECK(describe(v) == "height.value = 30 exceeds the capacity 29");
  v = broken([](auto& l) { l.height.lower_bound = 31; });
  CHECK(v == fault{layout_fault::wrong_bound, 0, 31, 30});
  CHECK(describe(v) == "the lower bound 31 contradicts 30, the value or the limit");
  auto const none = [](auto& l) { l.offsets.clear(), l.status = status::infeasible, l.height.value = 0; };
  CHECK(broken(none, 29) == fault{});
  CHECK(broken(none, 30) == fault{layout_fault::wrong_bound, 0, 30, 30});
  v = broken([](auto& l) { l.offsets[0] = (std::numeric_limits<std::int64_t>::max)() - 1; });
  CHECK(v.fault == layout_fault::wrong_height);
}

TEST_CASE("check_layout: finds the first overlap that there is") {
  int overlaps = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 3000; seed += round_step, ++cases) {
    splitmix64 draw(seed);
    auto all = random_buffers(1 + uniform_below(8, draw), 6, 6, draw);
    if (seed % 3 == 0) all[0].size = 0;
    memory_layout layout{.status = status::feasible, .height = {}, .bound = {}, .offsets = {}, .nodes = 0, .complete = true};
    for (auto const& b : all) {
      layout.offsets.push_back(static_cast<std::int64_t>(uniform_below(40, draw)));
      layout.height.value = (std::max)(layout.height.value, layout.offsets.back() + b.size);
    }
    std::size_t first = all.size();
    for (std::size_t i = all.size(); i-- > 0;)
      for (std::size_t j = 0; j < i; ++j)
        for (auto at = layout.offsets[i]; at < layout.offsets[i] + all[i].size; ++at)
          if (share_time(all[i], all[j]) && at >= layout.offsets[j] && at < layout.offsets[j] + all[j].size) first = i;
    auto const v = check_layout(all, layout);
    REQUIRE(v.valid() == (first == all.size()));
    if (v.valid()) continue;
    REQUIRE(v.fault == layout_fault::overlap);
    REQUIRE(v.index == first);
    ++overlaps;
  }
  CHECK((overlaps > cases / 5 && overlaps < cases * 4 / 5));
}

}  // namespace test_memory_check_layout
