// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/recompute/check.hpp>
#include <ballast/recompute/choose.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace test_recompute_choose {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {

/// What a case may have beside two options an item; kinds add up.
enum feature : unsigned { two_way = 0, counted = 1, several = 2, offload = 4, coarse = 8, checkpoints = 16 };

struct selection_case {
  option_classes items;
  selection_options asked;
};

selection_case random_case(std::uint64_t seed, unsigned kinds) {
  splitmix64 draw(seed);
  selection_case c;
  auto left = between(1, 9, draw);  // items
  std::int64_t most = 0;
  auto const unit = (kinds & coarse) != 0 ? std::int64_t{1'000'003} : 1;
  auto const sizes = between(2, 20, draw), times = between(1, 20, draw);
  while (left > 0) {
    auto const count = (kinds & counted) != 0 ? between(1, left, draw) : 1;
    std::vector<memory_option> options{{.memory = unit * between(0, sizes, draw)}};
    auto const extra = (kinds & several) != 0 ? between(0, 3, draw) : 1;
    for (std::int64_t j = 0; j < extra; ++j) {
      auto const memory = (kinds & (checkpoints | several)) != 0 ? unit * between(0, sizes, draw) : 0;
      auto const time = between(0, times, draw);
      options.push_back({.memory = memory, .time = time});
    }
    if ((kinds & offload) != 0) options.push_back({.memory = 0, .time = between(0, 1, draw), .transfer = between(0, times, draw)});
    std::int64_t largest = 0;
    for (auto const& o : options) largest = (std::max)(largest, o.memory);
    most += count * largest;
    c.items.add(options, static_cast<std::uint64_t>(count));
    left -= count;
  }
  c.asked.budget = between(0, most, draw);
  if ((kinds & offload) != 0) c.asked.hidden_transfer = between(0, 3 * times, draw);
  return c;
}

/// The least time of all selections, by trying every one.
class every_selection {
 public:
  explicit every_selection(selection_case const& c) : c_(c) { place(0, 0, c.items.counts[0], 0, 0, 0); }
  std::optional<std::int64_t> best;

 private:
  void place(std::size_t k, std::size_t from, std::uint64_t left, std::int64_t memory, std::int64_t time, std::int64_t transfer) {
    if (left == 0 && k + 1 == c_.items.size()) {
      auto const total = time + (std::max)(transfer - c_.asked.hidden_transfer, std::int64_t{0});
      if (memory <= c_.asked.budget && (!best || total < *best)) best = total;
      return;
    }
    if (left == 0) return place(k + 1, 0, c_.items.counts[k + 1], memory, time, transfer);
    auto const options = c_.items[k];
    for (auto j = from; j < options.size(); ++j)
      place(k, j, left - 1, memory + options[j].memory, time + options[j].time, transfer + options[j].transfer);
  }
  selection_case const& c_;
};

}  // namespace

TEST_CASE("choose: the best of all selections, under every objective and constraint") {
  struct row {
    char const* name;
    unsigned kinds;
  };
  for (auto const& [name, kinds] : {row{"0/1", two_way}, row{"0/1 with checkpoints", checkpoints}, row{"bounded", counted | checkpoints},
                                    row{"multiple choice", several}, row{"multiple choice by class", several | counted},
                                    row{"offload under compute", offload}, row{"offload, several, by class", offload | several | counted},
                                    row{"large bytes with a common divisor", coarse | several | counted}}) {
    int feasible = 0, infeasible = 0, behind = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      auto const c = random_case(seed * 37 + kinds, kinds);
      auto const best = every_selection(c).best;
      auto const plan = choose_options(c.items, c.asked), quick = choose_options_greedily(c.items, c.asked);
      CAPTURE(std::string(name), seed, c.asked.budget, plan.time.value, plan.time.lower_bound);
      REQUIRE((plan.status == status::feasible) == best.has_value());
      REQUIRE(check_selection(plan, c.items, c.asked) == verdict{});
      REQUIRE(check_selection(quick, c.items, c.asked) == verdict{});
      REQUIRE(quick.status == plan.status);
      infeasible += best ? 0 : 1;
      if (!best) continue;
      ++feasible;
      REQUIRE(plan.time == certificate{*best, *best});
      REQUIRE(quick.time.value >= *best);
      REQUIRE(quick.time.lower_bound <= *best);
      behind += quick.time.value > *best ? 1 : 0;
      auto const folded = fold(c.items);
      REQUIRE(choose_options(folded.classes, c.asked).time == plan.time);
    }
    CAPTURE(std::string(name), feasible, infeasible, behind);
    CHECK(feasible > 1000);
    CHECK(behind > 0);  // or the exact search is not tested
    if ((kinds & (checkpoints | several)) != 0 && (kinds & offload) == 0) CHECK(infeasible > 50);
  }
}

TEST_CASE("choose: cut short by work, the bound still holds and the plan is legal") {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    splitmix64 draw(seed);
    selection_case c;
    std::int64_t most = 0;
    for (int i = 0; i < 60; ++i) {
      auto const memory = between(500, 1000, draw);
      c.items.add(std::array{memory_option{.memory = memory}, memory_option{.time = memory + between(0, 40, draw)}});
      most += memory;
    }
    c.asked = {.budget = most / 2};
    auto const plan = choose_options(c.items, c.asked, {.work = 100});
    auto const exact = choose_options(c.items, c.asked, {.work = std::uint64_t{100} << 24});
    std::stop_source stopped;
    stopped.request_stop();
    auto const ended = choose_options(c.items, c.asked, {.stop = stopped.get_token()});
    CHECK(check_selection(ended, c.items, c.asked) == verdict{});
    CHECK(ended.complete == ended.time.optimal());
    CHECK(ended.time.lower_bound <= exact.time.value);
    CHECK(exact.complete);
    CAPTURE(seed, plan.time.value, plan.time.lower_bound, exact.time.value, exact.time.lower_bound);
    CHECK(exact.time.optimal());
    CHECK(check_selection(plan, c.items, c.asked) == verdict{});
    CHECK(plan.time.value >= exact.time.value);
    CHECK(plan.time.lower_bound <= exact.time.value);
    cut += plan.time.optimal() ? 0 : 1;
  }
  CHECK(cut > 0);
}

TEST_CASE("choose: a million million items of one class are one class") {
  option_classes items;
  auto const count = std::uint64_t{1'000'000'000'000};
  items.add(std::array{memory_option{.memory = 7}, memory_option{.memory = 4, .time = 3}, memory_option{.memory = 2, .time = 5},
                       memory_option{.time = 8}},
            count);
  for (std::int64_t const budget : {3'000'000'000'001, 5'000'000'000'003}) {
    auto const plan = choose_options(items, {.budget = budget});
    CHECK(check_selection(plan, items, {.budget = budget}) == verdict{});
    CHECK(plan.time.gap() < 1e-9);
  }
}

TEST_CASE("choose: prices out of range keep the answer exact") {
  auto const huge = std::int64_t{1} << 50;  // one second saved by one byte, beside tensors of a pebibyte
  option_classes items;
  items.add(std::array{memory_option{.memory = 1}, memory_option{.time = huge}});
  items.add(std::array{memory_option{.memory = huge}, memory_option{.time = 1}});
  items.add(std::array{memory_option{.memory = huge + 1}, memory_option{.time = 2}});
  CHECK(choose_options(items, {.budget = huge + 1}).time == certificate{2, 2});
  CHECK(choose_options(items, {.budget = huge}).time == certificate{3, 3});
  CHECK(choose_options(items, {.budget = 2 * huge + 1}).time ==
        certificate{1, 1} /* the third and the first do not fit beside the second */);
  CHECK(choose_options(items, {.budget = 0}).time == certificate{huge + 3, huge + 3});
}

TEST_CASE("choose: nothing, all, and a dealing out to items") {
  CHECK(choose_options({}, {.budget = 0}).time == certificate{0, 0});
  option_classes items;
  for (int i = 0; i < 6; ++i)
    items.add(std::array{memory_option{.memory = 10 + i % 2}, memory_option{.memory = 2, .time = 5}, memory_option{.transfer = 4}});
  auto const folded = fold(items);
  CHECK(folded.classes.counts == std::vector<std::uint64_t>{3, 3});
  CHECK(folded.class_of == std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1});
  selection_options const asked{.budget = 23, .hidden_transfer = 8};
  auto const plan = choose_options(folded.classes, asked);
  CHECK(check_selection(plan, folded.classes, asked) == verdict{});
  auto const each = option_of_each(folded, plan);
  std::int64_t memory = 0, time = 0, transfer = 0;
  for (std::size_t i = 0; i < each.size(); ++i) {
    auto const& o = items[i][each[i]];
    memory += o.memory;
    time += o.time;
    transfer += o.transfer;
  }
  CHECK(memory == plan.memory);
  CHECK(transfer == plan.transfer);
  CHECK(time + (std::max)(transfer - 8, std::int64_t{0}) == plan.time.value);
  CHECK(choose_options(folded.classes, {.budget = 63}).time == certificate{0, 0});
}

TEST_CASE("choose: what makes no sense is refused") {
  option_classes items;
  items.add(std::array{memory_option{.memory = 10}});
  CHECK(refusal([&] { return choose_options(items, {.budget = -1}); }) == "budget = -1 must not be negative");
  CHECK(refusal([&] { return choose_options(items, {.budget = 1, .hidden_transfer = -2}); }) ==
        "hidden_transfer = -2 must not be negative");
}

}  // namespace test_recompute_choose
