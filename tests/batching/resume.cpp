// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <vector>

namespace test_batching_resume {

using namespace ballast_test;
using lengths = std::vector<std::int64_t>;

TEST_CASE("samples_left: whichever steps are done, other ranks train on exactly what is left") {
  ballast::splitmix64 draw(8);
  auto const l = random_lengths(4000, 900, draw);
  auto const before = ballast::plan_steps(l, {.capacity = 1000, .ranks = 4, .seed = 1}, ballast::dense_4096_cost);
  auto const order = ballast::plan_curriculum(
                         std::vector<ballast::curriculum_source>{{.setting = {.capacity = 1000}, .steps = before.steps()}}, {.seed = 3})
                         .index;
  std::vector<std::uint32_t> as_listed(before.steps());
  std::iota(as_listed.begin(), as_listed.end(), 0U);
  REQUIRE(order != as_listed);
  for (auto const& trained : {as_listed, order})
    for (auto const k : {std::size_t{0}, before.steps() / 3, before.steps()}) {
      auto const done = std::span(trained).first(k);
      auto const rest = ballast::samples_left(before, done);
      lengths part;
      for (auto i : rest) part.push_back(l[i]);
      auto after = ballast::plan_steps(part, {.capacity = 1000, .ranks = 7, .seed = 1}, ballast::dense_4096_cost);
      ballast::renumber(after, std::span<std::uint32_t const>(rest));
      std::vector<int> stands(l.size(), 0);
      for (auto s : done)
        for (auto const pack : before.packs_of(s))
          for (auto i : pack) ++stands[i];
      for (std::size_t s = 0; s < after.steps(); ++s)
        for (auto const pack : after.packs_of(s))
          for (auto i : pack) ++stands[i];
      CHECK(stands == std::vector<int>(l.size(), 1));
    }
  std::vector<int> const none{3, -1};
  CHECK(refusal([&] { return ballast::samples_left(before, none); }).find("step -1 is out of range: the plan has ") == 0);
  CHECK(refusal([&] { return ballast::samples_left(before, std::views::iota(std::size_t{0}, before.steps() + 1)); }).find("step ") == 0);
}

TEST_CASE("steps_from: the steps to come, with the figures of a valid plan under new costs") {
  ballast::splitmix64 draw(9);
  auto const l = random_lengths(900, 900, draw);
  ballast::quadratic_cost const other{.linear = 10, .quadratic = 3};
  for (auto const where : {ballast::synchronisation::per_step, ballast::synchronisation::pipeline})
    for (auto const left : {ballast::left_over::shorten, ballast::left_over::drop, ballast::left_over::repeat}) {
      CAPTURE(static_cast<int>(where), static_cast<int>(left));
      ballast::batching_options o{
          .capacity = 1000, .ranks = 4, .micro_batches = 2, .synchronisation = where, .stages = 3, .left_over = left};
      auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost);
      lengths cost(l.size());
      for (std::size_t i = 0; i < l.size(); ++i) cost[i] = ballast::dense_4096_cost(l[i]);
      auto const whole = ballast::steps_from<std::uint32_t>(plan, 0, l, cost, o);
      CHECK((whole.slowest.value == plan.slowest.value && whole.slowest.lower_bound == plan.slowest.lower_bound));
      CHECK((whole.cost == plan.cost && whole.tokens == plan.tokens && whole.repeated == plan.repeated && whole.method == plan.method));
      for (std::size_t i = 0; i < l.size(); ++i) cost[i] = other(l[i]);
      o.cost_per_step = 70'000;
      for (auto const first : {std::size_t{0}, plan.steps() / 2, plan.steps()}) {
        auto rest = ballast::steps_from<std::uint32_t>(plan, first, l, cost, o);
        REQUIRE(rest.steps() == plan.steps() - first);
        for (std::size_t s = 0; s < rest.steps(); ++s)
          for (std::size_t r = 0; r < 4; ++r)
            CHECK(std::ranges::equal(rest.packs_of(s, r), plan.packs_of(first + s, r), std::ranges::equal));
        std::vector<int> comes(l.size(), 0);
        for (auto const i : rest.packs.members) ++comes[i];
        rest.dropped.clear();
        rest.repeated.clear();
        for (std::uint32_t i = 0; i < l.size(); ++i) {
          if (comes[i] == 0) rest.dropped.push_back(i);
          for (int k = 1; k < comes[i]; ++k) rest.repeated.push_back(i);
        }
        CHECK(describe(ballast::check_batching(rest, l, o, other)) == "valid");
      }
      lengths const short_list(l.begin(), l.begin() + 5);
      CHECK(refusal([&] { return ballast::steps_from<std::uint32_t>(plan, 0, l, short_list, o); }).find("has no tokens or no cost") !=
            std::string::npos);
      CHECK(refusal([&] {
              return ballast::steps_from<std::uint32_t>(plan, plan.steps() + 1, l, cost, o);
            }).find("is out of range: the plan has ") != std::string::npos);
    }
}

}  // namespace test_batching_resume
