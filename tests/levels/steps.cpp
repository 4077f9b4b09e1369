// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_levels_steps {

using lengths_t = std::vector<std::int64_t>;
using levels_t = std::vector<ballast::level>;
using test_levels::mixed;
using test_levels::two;

TEST_CASE("steps_by_level: every member is trained once, at its level", "[batching][property]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (auto const how : {ballast::left_over::split, ballast::left_over::shorten, ballast::left_over::drop, ballast::left_over::repeat}) {
      auto const packed = ballast::pack_levels(mixed(seed, 200 * seed), two, {.fill = ballast::level_fill::always});
      ballast::level_options const options{.devices = 16, .balanced = seed % 2 == 0, .left_over = how, .seed = seed};
      auto const plan = ballast::steps_by_level(packed, options, ballast::attention_only);
      CAPTURE(seed, static_cast<int>(how));
      REQUIRE(plan.steps.size() == 2);
      std::vector<int> stands(packed.lengths.size(), 0);
      for (std::size_t i = 0; i < 2; ++i) {
        auto const& steps = plan.steps[i];
        CHECK(steps.ranks == 16 / two[i].sp);
        CHECK(steps.micro_batches == 1);  // 16 * 512 tokens, 2 * 4096
        for (std::size_t s = 0; s < steps.steps(); ++s)
          for (auto const pack : steps.packs_of(s)) {
            std::int64_t tokens = 0;
            for (auto m : pack) {
              ++stands[m];
              tokens += packed.lengths[m];
            }
            CHECK(tokens <= two[i].capacity);
          }
        for (auto m : steps.dropped) ++stands[m];
        for (auto m : steps.repeated) --stands[m];
        CHECK(std::is_sorted(steps.dropped.begin(), steps.dropped.end()));
        CHECK(std::is_sorted(steps.repeated.begin(), steps.repeated.end()));
        if (how != ballast::left_over::drop) CHECK(steps.dropped.empty());
      }
      CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
    }
}

TEST_CASE("steps_by_level: steps of all levels hold about as many tokens", "[batching]") {
  auto const packed = ballast::pack_levels(mixed(1, 3000), levels_t{{256, 1, 0}, {1024, 2, 0}, {4096, 8, 0}});
  auto const micro_batches = [&](std::int64_t tokens) {
    auto const plan = ballast::steps_by_level(packed, {.devices = 8, .tokens_per_step = tokens}, ballast::attention_only);
    return std::vector{plan.steps[0].micro_batches, plan.steps[1].micro_batches, plan.steps[2].micro_batches};
  };
  CHECK(micro_batches(0) == std::vector<std::uint64_t>{2, 1, 1});  // 8 * 256, 4 * 1024, 1 * 4096
  CHECK(micro_batches(8192) == std::vector<std::uint64_t>{4, 2, 2});
  CHECK(micro_batches(6000) == std::vector<std::uint64_t>{3, 1, 1});
  CHECK(micro_batches(1) == std::vector<std::uint64_t>{1, 1, 1});
}

TEST_CASE("steps_by_level: bad input throws", "[batching]") {
  auto const packed = ballast::pack_levels(lengths_t{1}, two);
  auto const refused = [&](ballast::level_options const& o) {
    return ballast_test::refusal([&] { (void)ballast::steps_by_level(packed, o, ballast::attention_only); });
  };
  CHECK(refused({.devices = 12}) == "sp = 8 does not divide devices = 12");
  CHECK(refused({.devices = 0}) == "sp = 1 does not divide devices = 0");
  CHECK(refused({.devices = 1 << 20}) == "devices = 1048576 must be below 2^20");
  CHECK(refused({.devices = 8, .tokens_per_step = -1}) == "tokens_per_step = -1 must not be negative");
}

}  // namespace test_levels_steps
