// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/sequence_parallel.hpp>
#include <ballast/levels/choose.hpp>
#include <ballast/levels/plan.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test_levels_plan {

namespace {

using namespace ballast;
using namespace ballast_test;

sequence_parallel_run const cluster_of_16{.model = transformer_preset("llama-3.1-8b"), .devices = 16};

std::vector<timed_level> timed(std::vector<level> const& settings) {
  std::vector<timed_level> out;
  for (auto const& at : settings) out.push_back({at, modelled_level_time(cluster_of_16, at)});
  return out;
}
std::vector<timed_level> const three = timed({{1024, 1, 0}, {4096, 2, 5}, {16384, 8, 9}});

// Mostly short ones, a few long ones.
std::vector<std::int64_t> mixed_lengths(std::size_t n, splitmix64& draw, std::int64_t longest = 16384) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const size = static_cast<std::int64_t>(uniform_below(1000, draw));
    auto const rare = uniform_below(20, draw);
    out.push_back(rare == 0 ? 1 + longest * (size + 1) / 1000 - 1 : 1 + size);
  }
  return out;
}

}  // namespace

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
        CHECK(plan.planned.figures.steps == plan.steps.size());
      }
}

TEST_CASE("plan_levels: devices of one rank stand side by side and see the same packs", "[plan]") {
  splitmix64 draw(4);
  auto const plan = plan_levels(mixed_lengths(2000, draw), three, {.devices = 16, .seed = 1});
  auto const table = table_of(plan);
  REQUIRE(table.level.size() == plan.order.size());
  for (std::size_t s = 0; s < table.level.size(); ++s) {
    auto const at = plan.order.at(s);
    CHECK(table.level[s] == at.source);
    auto const& steps = plan.steps.steps[at.source];
    for (std::size_t d = 0; d < 16; ++d)
      for (std::size_t m = 0; m < table.micro_batches; ++m) {
        auto const found = table.table[(s * 16 + d) * static_cast<std::size_t>(table.micro_batches) + m];
        auto const wanted = m < steps.micro_batches ? steps.at(at.index, d / at.setting.sp, m) : table.none;
        REQUIRE((found == table.none) == (wanted == table.none));
        if (found == table.none) continue;
        REQUIRE(std::equal(table.packs[found].begin(), table.packs[found].end(), steps.packs[wanted].begin(), steps.packs[wanted].end()));
      }
  }
}

TEST_CASE("plan_levels: loads and figures tell the same time", "[plan]") {
  splitmix64 draw(5);
  auto const plan = plan_levels(mixed_lengths(3000, draw), three, {.devices = 16, .micro_batches = 2});
  for (auto const* run : {&plan.planned, &plan.one_level, &plan.naive}) {
    auto const& f = run->figures;
    REQUIRE(run->loads.size() == f.steps * 16);
    double slowest = 0, all = 0;
    for (std::size_t s = 0; s < f.steps; ++s) {
      auto const first = run->loads.begin() + static_cast<std::ptrdiff_t>(s * 16);
      slowest += static_cast<double>(*std::max_element(first, first + 16));
      for (auto at = first; at != first + 16; ++at) all += static_cast<double>(*at);
    }
    CHECK_THAT(slowest / 1e9, Catch::Matchers::WithinRel(f.seconds, 1e-6));
    CHECK_THAT(1 - all / 16 / slowest, Catch::Matchers::WithinAbs(f.idle, 1e-6));
    CHECK(run->fill > 0.5);
    CHECK(run->fill <= 1.0);
  }
  CHECK(plan.one_level.packs == plan.naive.packs);
  CHECK(plan.one_level.figures.seconds < plan.naive.figures.seconds);
  CHECK_THAT(plan.speedup(), Catch::Matchers::WithinRel(plan.naive.figures.seconds / plan.planned.figures.seconds, 1e-12));
}

TEST_CASE("plan_levels: a step holds as many tokens with one level as with several", "[plan]") {
  splitmix64 draw(8);
  auto const lengths = mixed_lengths(4000, draw, 4096);
  auto const plan = plan_levels(lengths, timed({{1024, 1, 0}, {4096, 8, 0}}), {.devices = 16, .micro_batches = 3});
  auto const most = static_cast<std::size_t>(fold(lengths).tokens() / (3 * 16 * 1024));  // the short level has the larger step
  for (auto const* run : {&plan.planned, &plan.one_level, &plan.naive}) {
    CHECK(run->figures.steps >= most);
    CHECK(run->figures.steps <= most + most / 8 + 2);
  }
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

TEST_CASE("plan_levels: the exact choice takes less time than one level, and than any choice made by hand", "[plan]") {
  splitmix64 draw(7);
  auto const lengths = mixed_lengths(20000, draw);
  auto const candidates =
      modelled_levels(cluster_of_16, std::vector<std::int64_t>{2048, 4096, 8192, 16384}, std::vector<std::uint32_t>{1, 2, 4, 8});
  auto const choice = choose_levels(fold(lengths), candidates);
  auto const exact = plan_levels(lengths, choice.levels, {.devices = 16});
  CHECK(exact.speedup() > 1.0);
  CHECK(exact.planned.figures.seconds <= exact.one_level.figures.seconds);
  CHECK(exact.planned.figures.seconds < plan_levels(lengths, three, {.devices = 16}).planned.figures.seconds);
}

TEST_CASE("plan_levels: a run of any size keeps its costs below 2^63", "[plan]") {
  std::vector<timed_level> const slow{{{100, 1, 0}, {0, 4'000'000'000'000'000, 1'000'000'000'000}}};  // a sample of 100 takes 4 * 10^17 ps
  auto const plan = plan_levels(std::vector<std::int64_t>(1000, 100), slow, {.devices = 4});
  CHECK(plan.steps.size() == 250);
  CHECK(plan.planned.figures.idle == 0.0);
}

TEST_CASE("plan_levels: bad requests are refused", "[plan]") {
  std::vector<std::int64_t> const lengths{5, 9};
  auto const refused = [&](std::vector<timed_level> const& levels, level_plan_options const& o) {
    return refusal([&] { return plan_levels(lengths, levels, o); });
  };
  CHECK(refused({}, {.devices = 4}) == "levels is empty");
  CHECK(refused(timed({{8, 1, 0}}), {.devices = 4}) == "lengths[1] = 9 exceeds the longest level, 8 (see oversize policy)");
  CHECK(refused(timed({{16, 2, 0}}), {.devices = 3}) == "sp = 2 does not divide devices = 3");
  CHECK(refused(timed({{16, 1, 0}}), {.devices = 4, .micro_batches = 0}) == "micro_batches = 0 must be in 1 ... 2^20 - 1");
  CHECK(refused(timed({{16, 1, 0}}), {.devices = 4, .order = {.buckets = 0}}) == "buckets = 0 must be positive");
}

}  // namespace test_levels_plan
