// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/detail/piece_boxes.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/fit_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/exhaustive_layout.hpp"
#include "support/layout_files.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

namespace test_memory_fast_layout {

using namespace ballast_test;
using namespace ballast;

namespace {

using buffers = std::vector<buffer>;

/// A chain of layers: activations from forward to backward, and a temporary in each.
buffers training_buffers(std::int64_t layers, splitmix64& draw) {
  buffers out;
  auto const size = [&] { return 1024 * static_cast<std::int64_t>(1 + uniform_below(100, draw)); };
  for (std::int64_t i = 0; i < layers; ++i) {
    out.push_back({.lower = 2 * i, .upper = 4 * layers - 2 * i, .size = size()});
    out.push_back({.lower = 2 * i, .upper = 2 * i + 2, .size = size()});
    out.push_back({.lower = 4 * layers - 2 * i - 2, .upper = 4 * layers - 2 * i - 1, .size = size()});
  }
  return out;
}

}  // namespace

TEST_CASE("layout_buffers_quickly: valid, never below the bound, and more dives are never worse") {
  double ratios = 0, fits = 0;
  int cases = 0;
  for (std::uint64_t seed = 0; seed < 1000; seed += round_step, ++cases) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto all = random_buffers(1 + uniform_below(60, draw), 30, 50, draw);
    for (auto& b : all) {
      if (seed % 3 == 1) b.alignment = 1 + static_cast<std::int64_t>(uniform_below(6, draw));
      if (seed % 3 == 2 && uniform_below(10, draw) == 0) b.fixed = static_cast<std::int64_t>(uniform_below(200, draw));
      if (uniform_below(20, draw) == 0) b.size = 0;
    }
    auto const one = layout_buffers_quickly(all, {.dives = 1}), five = layout_buffers_quickly(all);
    REQUIRE(check_layout(all, one).valid());
    REQUIRE(check_layout(all, five).valid());
    REQUIRE(five.height.lower_bound == layout_lower_bound(all).height);
    REQUIRE((one.status == status::infeasible) == (layout_lower_bound(all).bound == layout_bound::fixed_addresses));
    REQUIRE(five.height.value <= one.height.value);
    REQUIRE(five == layout_buffers_quickly(all));
    if (seed % 3 != 0) continue;
    ratios += 1 + five.height.gap();
    fits += 1 + first_fit_layout(all).height.gap();
  }
  CHECK(ratios < 1.03 * (cases + 2) / 3);  // means over the cases without alignment; first fit by size: 1.09
  CHECK(fits > ratios);
}

TEST_CASE("layout_buffers_quickly: the least of all orders where few buffers leave no choice") {
  CHECK(layout_buffers_quickly(buffers{}).height == certificate{0, 0});
  CHECK(layout_buffers_quickly(buffers{{.lower = 3, .upper = 9, .size = 7}}).height == certificate{7, 7});
  CHECK(layout_buffers_quickly(buffers(5, {.lower = 3, .upper = 9, .size = 7})).height == certificate{35, 35});
  CHECK(layout_buffers_quickly(buffers{{.lower = 3, .upper = 9, .size = 0, .fixed = 8}}).height == certificate{8, 8});
  auto const huge = std::int64_t{1} << 60;
  CHECK(layout_buffers_quickly(buffers(3, {.lower = 3, .upper = 9, .size = huge})).height == certificate{3 * huge, 3 * huge});
}

TEST_CASE("layout_buffers_quickly: 30,000 buffers, of which 10,000 are in use at one time") {
  splitmix64 draw(1);
  auto const all = training_buffers(10000 / round_step, draw);
  auto const layout = layout_buffers_quickly(all, {.dives = 1});
  CHECK(check_layout(all, layout).valid());
  CHECK(layout.height.gap() < 0.01);
}

TEST_CASE("layout_buffers_quickly: never below a layout by search, however little work that has") {
  splitmix64 draw(3);
  for (std::size_t const n : {50U, 300U, 2000U / round_step}) {
    CAPTURE(n);
    auto const all = random_buffers(n, 3000, 1000, draw);
    auto const quick = layout_buffers_quickly(all);
    for (std::uint64_t const work : {1U, 1000U, 10'000'000U})
      CHECK(layout_buffers(all, {}, {.work = work}).height.value <= quick.height.value);
  }
}

TEST_CASE("layout_buffers_quickly: a hundred thousand nested lifetimes, each looked at once") {
  auto const n = std::int64_t{100'000} / round_step;
  buffers all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back({.lower = i, .upper = 2 * n - i, .size = 64});
  auto const layout = layout_buffers_quickly(all, {.dives = 1});
  CHECK(check_layout(all, layout).valid());
  CHECK(layout.height == certificate{64 * n, 64 * n});
}

TEST_CASE("layout_buffers_quickly: lifetimes of any begin and end, in steps that grow as buffers do") {
  for (std::size_t const n : {400U, 1600U, 6400U / round_step}) {
    CAPTURE(n);
    splitmix64 draw(n);
    auto const time = [&] { return static_cast<std::int64_t>(uniform_below(n, draw)); };
    buffers all(n);
    for (auto& b : all) {
      auto const one = time(), other = time();
      b = {.lower = (std::min)(one, other), .upper = (std::max)(one, other) + 1, .size = 1024 * (1 + time() % 100)};
    }
    auto const layout = layout_buffers_quickly(all);
    CHECK(check_layout(all, layout).valid());
    CHECK(layout.height.gap() < 0.01);
    detail::layout_problem<> const problem(all);
    detail::layout_dive<> dive(problem);
    (void)dive.run(detail::dive_order::area);
    CHECK(dive.operations() < 14 * n);
  }
}

TEST_CASE("piece_boxes: finds what a look at every piece finds, as pieces are placed") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    splitmix64 draw(seed);
    std::uint32_t const n = 1 + static_cast<std::uint32_t>(uniform_below(100, draw)), most = 30;
    std::vector<detail::layout_piece> pieces(n);
    std::vector<std::uint32_t> rank(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      pieces[i].first = static_cast<std::uint32_t>(uniform_below(most, draw));
      pieces[i].last = pieces[i].first + 1 + static_cast<std::uint32_t>(uniform_below(most - pieces[i].first, draw));
      rank[i] = (7 * i + 3) % n;
      if (n % 7 == 0) rank[i] = i;
    }
    detail::piece_boxes<> boxes;
    boxes.start(pieces, rank);
    for (std::uint32_t placed = 0; placed < n; ++placed) {
      auto const first = static_cast<std::uint32_t>(uniform_below(most, draw));
      auto const last = first + 1 + static_cast<std::uint32_t>(uniform_below(most - first, draw));
      auto const s = first + static_cast<std::uint32_t>(uniform_below(last - first, draw));
      auto covering = boxes.none, before = first, after = last;
      for (auto i = placed; i < n; ++i) {
        auto const& p = pieces[i];
        if (p.first >= first && p.last <= last && p.first <= s && p.last > s) covering = (std::min)(covering, rank[i]);
        if (p.first >= first && p.last <= s) before = (std::max)(before, p.last);
        if (p.first >= s && p.last <= last) after = (std::min)(after, p.first);
      }
      CAPTURE(seed, placed, first, s, last);
      REQUIRE(boxes.first_covering(first, s, last) == covering);
      REQUIRE(boxes.end_before(first, s) == before);
      REQUIRE(boxes.begin_after(s, last) == after);
      boxes.place(placed);
    }
  }
}

TEST_CASE("layout_buffers_quickly: MiniMalloc's files") {
  double sum = 0;
  auto const files = layout_files();
  for (auto const& [name, all] : files) {
    CAPTURE(name);
    auto const layout = layout_buffers_quickly(all);
    CHECK(check_layout(all, layout).valid());
    CHECK(layout.height.gap() <= 0.25);
    sum += 1 + layout.height.gap();
  }
  CHECK(sum <= 1.12 * static_cast<double>(files.size()));
}

TEST_CASE("layout_buffers_quickly: refuses a number of dives that there is not") {
  for (auto const dives : {0U, 6U})
    CHECK(refusal([&] { return layout_buffers_quickly(buffers{}, {.dives = dives}); }) ==
          "dives = " + std::to_string(dives) + " must be in 1 ... 5");
  CHECK(refusal([] { return layout_buffers_quickly(buffers(1)); }) == "buffers[0].upper = 0 must exceed lower = 0");
}

}  // namespace test_memory_fast_layout
