// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/check_layout.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/exhaustive_layout.hpp"
#include "support/layout_files.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

namespace test_memory_buffer_addresses {

using namespace ballast_test;
using namespace ballast;

namespace {

using buffers = std::vector<buffer>;

/// How often the search was right.
struct tally {
  int feasible = 0;
  int infeasible = 0;  // by search, and confirmed
};

/// Searches without a dive before it, so that every layout is the search's own. True: found; false: none exists.
bool search_alone(buffers const& all, std::int64_t capacity, std::uint64_t seed) {
  detail::layout_problem<> const problem(all);
  search_limits const limits;
  ballast::search_budget budget(limits);
  detail::layout_search<> search(problem, seed, budget);
  auto answer = search.start(capacity) ? detail::layout_answer::cut_short : detail::layout_answer::none;
  for (auto run = seed % 3; answer == detail::layout_answer::cut_short; ++run) answer = search.run(run);
  if (answer == detail::layout_answer::none) return false;
  memory_layout layout{.status = {}, .height = {}, .bound = {}, .offsets = {}, .nodes = 0, .complete = true};
  detail::write_layout(all, problem, search.state().lowest, layout);
  REQUIRE(check_layout(all, layout, capacity).valid());
  return true;
}

/// What `layout_buffers` does under a capacity, with a first round of little work.
memory_layout search_in_rounds(buffers const& all, std::int64_t capacity, std::uint64_t seed, std::uint64_t work, std::uint64_t round) {
  detail::layout_problem<> const problem(all);
  search_limits const limits{.work = work};
  ballast::search_budget budget(limits);
  auto start = detail::lowest_dive(all, problem, layout_lower_bound(all), 5, budget);
  if (start.height.value <= capacity) return start;
  detail::layout_ladder<> ladder(all, problem, seed, 0, budget, std::move(start));
  return ladder.fit(capacity, detail::search_entries(problem), round);
}

/// Lays out under a capacity, twice, and checks the answer: a layout by the validator, its absence by the second method.
void lay_out(buffers const& all, std::int64_t capacity, std::uint64_t seed, tally& counts) {
  auto const layout = layout_buffers(all, {.capacity = capacity, .seed = seed});
  REQUIRE(check_layout(all, layout, capacity).valid());
  REQUIRE(layout.complete);
  REQUIRE(layout.status != status::unknown);
  auto const feasible = layout.status == status::feasible;
  if (layout.bound != layout_bound::fixed_addresses) REQUIRE(search_alone(all, capacity, seed) == feasible);
  if (!feasible) REQUIRE(!layout_exists(all, capacity).value());
  (feasible ? counts.feasible : counts.infeasible) += feasible || layout.bound == layout_bound::search ? 1 : 0;
}

}  // namespace

TEST_CASE("layout_buffers: nothing, one, side by side, one after the other") {
  auto const height = [](buffers const& all) { return layout_buffers(all).height; };
  CHECK(height({}) == certificate{0, 0});
  CHECK(height({{.lower = -4, .upper = 2, .size = 7}}) == certificate{7, 7});
  CHECK(height(buffers(6, {.lower = 0, .upper = 2, .size = 7})) == certificate{42, 42});
  CHECK(height({{.lower = 0, .upper = 2, .size = 7}, {.lower = 2, .upper = 3, .size = 5}}) == certificate{7, 7});
  CHECK(height({{.lower = 0, .upper = 2, .size = 0}, {.lower = 0, .upper = 3, .size = 5}}) == certificate{5, 5});
  CHECK(height(buffers(3, {.lower = 0, .upper = 2, .size = 5, .alignment = 8})) == certificate{21, 21});
}

TEST_CASE("layout_buffers: the least height of all orders") {
  int above = 0;
  for (std::uint64_t seed = 0; seed < 1500; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const count = seed % 50 == 0 ? std::size_t{7} : 1 + uniform_below(5, draw);
    auto all = random_buffers(count, 6, 8, draw);
    for (auto& b : all) {
      if (seed % 3 > 0 && uniform_below(2, draw) == 0) b.alignment = 1 + static_cast<std::int64_t>(uniform_below(5, draw));
      if (seed % 3 > 1 && uniform_below(4, draw) == 0) b.fixed = b.alignment * static_cast<std::int64_t>(uniform_below(4, draw));
    }
    auto const layout = layout_buffers(all, {.seed = seed});
    auto const least = least_height_of_all_orders(all);
    REQUIRE(check_layout(all, layout).valid());
    if (!least) {
      REQUIRE(layout.status == status::infeasible);
      continue;
    }
    REQUIRE(layout.height == certificate{*least, *least});
    above += layout.bound == layout_bound::search ? 1 : 0;
    REQUIRE(layout == layout_buffers(all, {.seed = seed}));
  }
  CHECK(above > 0);
}

TEST_CASE("layout_buffers: 15,000 tight instances, where every time is full or nearly so") {
  tally counts;
  for (std::uint64_t seed = 0; seed < 15000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const height = 6 + static_cast<std::int64_t>(uniform_below(20, draw)),
               steps = 6 + static_cast<std::int64_t>(uniform_below(10, draw));
    auto all = tight_buffers(height, steps, 12 + uniform_below(6, draw), draw);
    if (seed % 3 > 0)  // a unit of slack here and there
      for (auto& b : all) b.size -= b.size > 1 && uniform_below(4, draw) == 0 ? 1 : 0;
    lay_out(all, max_load(all), seed, counts);
  }
  CHECK(counts.feasible > 10 * counts.infeasible);
  CHECK(counts.infeasible * round_step > 40);
}

TEST_CASE("layout_buffers: 5,000 instances with slack and alignments") {
  tally counts;
  for (std::uint64_t seed = 0; seed < 5000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto all = random_buffers(4 + uniform_below(6, draw), 8, 9, draw);
    for (auto& b : all) {
      b.alignment = 1 + static_cast<std::int64_t>(uniform_below(4, draw));
      if (uniform_below(5, draw) == 0) b.fixed = b.alignment * static_cast<std::int64_t>(uniform_below(5, draw));
      if (seed % 2 == 0) b.alignment = 2 * b.alignment, b.fixed = b.fixed < 0 ? -1 : 2 * b.fixed;
    }
    auto const bound = layout_lower_bound(all).height;
    for (std::int64_t above = 0; above < 3; ++above) lay_out(all, bound + above, seed, counts);
  }
  CHECK(counts.feasible * round_step > 2000);
  CHECK(counts.infeasible * round_step > 2000);
}

TEST_CASE("layout_buffers: infeasible, and by which bound") {
  buffers all(3, {.lower = 0, .upper = 2, .size = 4, .alignment = 8});
  auto none = layout_buffers(all, {.capacity = 19});
  CHECK(none.status == status::infeasible);
  CHECK(none.bound == layout_bound::max_load);
  CHECK(none.height == certificate{0, 20});
  CHECK(layout_buffers(all, {.capacity = 20}).height == certificate{20, 20});
  all[1].fixed = 4 * 8;
  none = layout_buffers(all, {.capacity = 35});
  CHECK(none.status == status::infeasible);
  CHECK(none.bound == layout_bound::one_buffer);
  CHECK(none.height == certificate{0, 36});
  all[2].fixed = 4 * 8;
  none = layout_buffers(all);
  CHECK(none.status == status::infeasible);
  CHECK(none.bound == layout_bound::fixed_addresses);
  // One at 3 leaves 3 bytes below it and 5 above, where two of 4 do not fit in 8 + 1 bytes.
  buffers const split{
      {.lower = 0, .upper = 2, .size = 1, .fixed = 3}, {.lower = 0, .upper = 2, .size = 4}, {.lower = 0, .upper = 2, .size = 4}};
  none = layout_buffers(split, {.capacity = 11});
  CHECK(none.status == status::infeasible);
  CHECK(none.bound == layout_bound::search);
  CHECK(none.height == certificate{0, 12});
  CHECK(layout_buffers(split).height == certificate{12, 12});
  CHECK(to_string(none.bound) == "search");
}

TEST_CASE("layout_buffers: golden") {
  if (round_step > 1) return;
  std::uint64_t nodes = 0;
  fnv1a all_offsets;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    splitmix64 draw(seed);
    auto const all = tight_buffers(300, 40, 90, draw);
    auto const least = layout_buffers(all, {.seed = seed}, {.work = 3000000}), fast = layout_buffers_quickly(all);
    nodes += least.nodes;
    for (auto const& layout : {least, fast})
      for (auto const offset : layout.offsets) all_offsets.append(static_cast<std::uint64_t>(offset));
  }
  CHECK(all_offsets.value() == 13121565144103012288U);
  CHECK(nodes == 42527U);
}

TEST_CASE("layout_buffers: a seed that is lost for long lets others begin anew") {
  ballast::splitmix64 draw(23);
  auto const below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(ballast::uniform_below(bound, draw)); };
  std::vector<ballast::buffer> all(100);
  for (auto& b : all) {
    b.lower = below(100);
    b.upper = b.lower + 1 + below(30);
    b.size = 1 + below(100);
  }
  auto const capacity = ballast::max_load(all);
  CHECK(search_in_rounds(all, capacity, 2, 10'000'000, 10'000'000).status == ballast::status::unknown);  // alone
  auto const layout = search_in_rounds(all, capacity, 2, 10'000'000, 5'000'000);
  CHECK(layout.status == ballast::status::feasible);
  CHECK(ballast::check_layout(all, layout, capacity).valid());
  for (auto const work : {20'000'000U, 40'000'000U, 80'000'000U}) CHECK(search_in_rounds(all, capacity, 2, work, 5'000'000) == layout);
}

TEST_CASE("layout_buffers: more work is never worse") {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 60; seed += round_step) {
    splitmix64 draw(seed);
    auto const all = random_buffers(80, 40, 97, draw);
    auto const first = layout_buffers_quickly(all, {.dives = 1}).height.value;
    auto height = first;
    for (std::uint64_t const work : {1U, 100000U, 300000U, 3000000U}) {
      auto const layout = layout_buffers(all, {}, {.work = work});
      REQUIRE(check_layout(all, layout).valid());
      REQUIRE(layout.complete);
      REQUIRE(layout.height.value <= height);
      height = layout.height.value;
    }
    better += height < layout_buffers_quickly(all).height.value ? 1 : 0;
  }
  CHECK(better > 0);
}

TEST_CASE("layout_buffers: with a capacity, what less work has answered stays the answer") {
  int answers = 0, unknown = 0;
  for (std::uint64_t seed = 0; seed < 120; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const all = random_buffers(100, 100, 97, draw);
    memory_layout last;
    for (std::uint64_t work = 250'000; work <= 16'000'000; work = work / 2 * 3) {
      CAPTURE(work);
      auto const layout = search_in_rounds(all, max_load(all), seed, work, 400'000);
      REQUIRE(check_layout(all, layout, max_load(all)).valid());
      if (last.status != status::unknown) REQUIRE(layout == last);
      answers += last.status == status::unknown && layout.status != status::unknown && layout.nodes > 0 ? 1 : 0;
      unknown += layout.status == status::unknown ? 1 : 0;
      last = layout;
    }
  }
  CHECK((answers > 0 && unknown > 0));
}

TEST_CASE("layout_buffers: a stop keeps the best so far") {
  splitmix64 draw(5);
  auto const stop = std::make_unique<std::stop_source>();
  stop->request_stop();
  auto const hard = tight_buffers(1000, 60, 150, draw);
  auto const stopped = layout_buffers(hard, {}, {.stop = stop->get_token()});
  CHECK(check_layout(hard, stopped).valid());
  CHECK(!stopped.complete);
  CHECK(stopped.status == status::feasible);
  ballast_test::progress_log told;
  CHECK(layout_buffers(hard, {}, {.work = 20'000'000, .progress = told}) == layout_buffers(hard, {}, {.work = 20'000'000}));
  CHECK((told.sound && told.calls > 4));
  auto const late = layout_buffers(hard, {.capacity = max_load(hard)}, {.wall_clock = std::chrono::nanoseconds{1}});
  CHECK(late.status == status::unknown);
  CHECK(late.offsets.empty());
  CHECK(!late.complete);
  CHECK(layout_buffers(hard, {}, {.gap = 1}).nodes == 0);
}

TEST_CASE("layout_buffers: MiniMalloc's files at their capacity") {
  for (auto const& [name, all] : layout_files()) {
    CAPTURE(name);
    auto const layout = layout_buffers(all, {.capacity = 1048576});
    CHECK(layout.status == status::feasible);
    CHECK(check_layout(all, layout, 1048576).valid());
    auto const least = layout_buffers(all);
    CHECK(check_layout(all, least).valid());
    if (name != "D") CHECK(least.height.optimal());
    if (name == "C") CHECK(least.height.value == 1039360);
    if (name == "D") CHECK((least.height.lower_bound == 986112 && least.height.value < 1048576));
  }
}

TEST_CASE("layout_buffers: refuses a negative capacity, and what is no buffer") {
  CHECK(refusal([] { return layout_buffers(buffers{}, {.capacity = -1}); }) == "capacity = -1 must not be negative");
  CHECK(refusal([] { return layout_buffers(buffers(1)); }) == "buffers[0].upper = 0 must exceed lower = 0");
}

}  // namespace test_memory_buffer_addresses
