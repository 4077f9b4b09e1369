// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>
#include <ballast/levels/plan.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test_levels_plan {

using namespace ballast;
using namespace ballast_test;
using namespace test_levels;

TEST_CASE("plan_levels: every sample is trained once or named, under every policy", "[plan]") {
  splitmix64 draw(3);
  for (auto const policy : {oversize::set_aside, oversize::truncate, oversize::split})
    for (auto const rest : {left_over::split, left_over::shorten, left_over::repeat, left_over::drop})
      for (std::size_t const n : {0U, 1U, 30U, 900U}) {
        CAPTURE(static_cast<int>(policy), static_cast<int>(rest), n);
        auto const lengths = mixed_lengths(n, draw, 20000);
        auto const plan =
            plan_levels(lengths, three, {.devices = 16, .micro_batches = 2, .oversize = policy, .left_over = rest, .seed = n});
        auto const table = table_of(plan);
        CHECK(table.devices == 16);
        std::vector<int> seen(plan.packed.lengths.size(), 0);
        for (std::size_t s = 0; s < table.level.size(); ++s) {
          std::set<std::uint32_t> const of_step(table.table.begin() + static_cast<std::ptrdiff_t>(s * 16 * table.micro_batches),
                                                table.table.begin() + static_cast<std::ptrdiff_t>((s + 1) * 16 * table.micro_batches));
          for (auto const p : of_step) {
            if (p == table.none) continue;
            std::int64_t tokens = 0;
            for (auto const i : table.packs[p]) {
              ++seen[i];
              tokens += plan.packed.lengths[i];
            }
            CHECK(tokens <= three[table.level[s]].setting.capacity);
          }
        }
        for (auto const i : plan.packed.set_aside) ++seen[i];
        for (auto const& steps : plan.steps.steps) {
          for (auto const i : steps.dropped) ++seen[i];
          for (auto const i : steps.repeated) --seen[i];
        }
        CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(seen.size()));
        CHECK(plan.order.size() == plan.steps.size());
        CHECK(plan.figures.steps == plan.steps.size());
      }
}

TEST_CASE("plan_levels: figures are those of its steps, loads in training order", "[plan]") {
  splitmix64 draw(9);
  auto const plan = plan_levels(mixed_lengths(3000, draw), three, {.devices = 16, .micro_batches = 2, .seed = 5});
  auto const by_level = figures_of(plan.steps, plan.packed.lengths, std::vector<level_time>{three[0].time, three[1].time, three[2].time});
  CHECK(plan.figures.seconds == by_level.seconds);
  CHECK(plan.figures.packs == by_level.packs);
  REQUIRE(plan.figures.loads.size() == by_level.loads.size());
  CHECK(plan.figures.loads != by_level.loads);
  std::vector<std::size_t> first{0};
  for (auto const& steps : plan.steps.steps) first.push_back(first.back() + steps.steps());
  for (std::size_t i = 0; i < plan.order.size(); ++i)
    for (std::size_t d = 0; d < 16; ++d)
      REQUIRE(plan.figures.loads[i * 16 + d] == by_level.loads[(first[plan.order.source[i]] + plan.order.index[i]) * 16 + d]);
}

TEST_CASE("plan_levels: it is the composition of the rooms below", "[plan]") {
  splitmix64 draw(6);
  auto const lengths = mixed_lengths(2500, draw);
  std::vector<level> settings;
  for (auto const& l : three) settings.push_back(l.setting);
  auto const plan =
      plan_levels(lengths, three, {.devices = 16, .fill = level_fill::always, .order = {.warm_up = 7}, .seed = 9}, attention_only);
  auto const packed = pack_levels(lengths, settings, {.fill = level_fill::always});
  auto const steps = steps_by_level(packed, {.devices = 16, .seed = 9}, attention_only);
  for (std::size_t l = 0; l < 3; ++l) CHECK(plan.steps.steps[l].table == steps.steps[l].table);
  CHECK(plan.order.warm_up == 7);
  std::vector<curriculum_source> sources;
  for (std::size_t l = 0; l < 3; ++l) sources.push_back({.setting = settings[l], .steps = steps.steps[l].steps()});
  CHECK(plan.order == plan_curriculum(sources, {.warm_up = 7, .seed = 9}));
}

TEST_CASE("plan_levels: the costs of any number of samples stay below 2^63", "[plan]") {
  std::vector<timed_level> const slow{{{100, 1, 0}, {0, 4'000'000'000'000'000, 1'000'000'000'000}}};  // a sample of 100 takes 4 * 10^17 ps
  auto const plan = plan_levels(std::vector<std::int64_t>(1000, 100), slow, {.devices = 4});
  CHECK(plan.steps.size() == 250);
  CHECK(plan.figures.idle == 0.0);
}

TEST_CASE("plan_levels: bad requests throw", "[plan]") {
  std::vector<std::int64_t> const lengths{5, 9};
  auto const refused = [&](std::vector<timed_level> const& levels, level_options const& o) {
    return refusal([&] { return plan_levels(lengths, levels, o); });
  };
  CHECK(refused({}, {.devices = 4}) == "levels is empty");
  CHECK(refused(timed({{8, 1, 0}}), {.devices = 4}) == "lengths[1] = 9 exceeds the longest level, 8 (see oversize policy)");
  CHECK(refused(timed({{16, 2, 0}}), {.devices = 3}) == "sp = 2 does not divide devices = 3");
  CHECK(refused({{.setting = {.capacity = 16, .sp = 0}, .time = {}}}, {.devices = 4}) == "sp = 0 does not divide devices = 4");
  CHECK(refused({{.setting = {.capacity = 0}, .time = {}}}, {.devices = 4}) == "capacity = 0 must be in 1 ... 2^40 - 1");
  CHECK(refused(timed({{16, 1, 0}}), {.devices = 4, .micro_batches = 0}) == "micro_batches = 0 must be in 1 ... 2^20 - 1");
  CHECK(refused(timed({{16, 1, 0}}), {.devices = 4, .order = {.buckets = 0}}) == "buckets = 0 must be positive");
}

}  // namespace test_levels_plan
