// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
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

}  // namespace test_batching_resume
