// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/check.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>

#include "suite.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace test_curriculum_check {

using fault = ballast::curriculum_fault;
using plan = ballast::curriculum_plan;

namespace {
constexpr auto is = [](ballast::rule f, std::uint64_t index = 0) { return ballast::verdict{f, index}; };
}  // namespace

TEST_CASE("check_curriculum names each broken rule and the first place") {
  ballast_test::sources const given{{.setting = {16384}, .steps = 12, .keys = {}, .per_epoch = {15}},
                                    {.setting = {131072, 8, 29}, .steps = 6}};
  ballast::curriculum_options const o{.warm_up = 4, .seed = 1};
  auto const good = ballast::plan_curriculum(given, o);
  REQUIRE(ballast::describe(ballast::check_curriculum(good, given, o)) == "valid");
  auto const after = [&](std::function<void(plan&)> const& harm) {
    auto bad = good;
    harm(bad);
    return ballast::check_curriculum(bad, given, o);
  };
  auto const place_of = [&](std::uint32_t source) {
    return static_cast<std::size_t>(std::find(good.source.begin() + 4, good.source.end(), source) - good.source.begin());
  };
  auto const is_short = place_of(0), is_long = place_of(1);
  CHECK(after([](plan& p) { p.index.pop_back(); }) == is(fault::wrong_shape));
  CHECK(after([](plan& p) { p.epoch = 1; }) == is(fault::wrong_shape));
  CHECK(after([](plan& p) { p.warm_up = 22; }) == is(fault::wrong_shape));
  CHECK(after([](plan& p) { p.settings[1].sp = 4; }) == is(fault::wrong_settings, 1));
  CHECK(after([](plan& p) { p.source[3] = 2; }) == is(fault::source_out_of_range, 3));
  CHECK(after([&](plan& p) { p.index[is_long] = 6; }) == is(fault::index_out_of_range, is_long));
  CHECK(after([&](plan& p) {
          p.source.pop_back();
          p.index.pop_back();
        }) == is(fault::wrong_count, good.source.back()));
  CHECK(after([&](plan& p) {
          auto const last = std::find(p.source.rbegin(), p.source.rend(), 1U) - p.source.rbegin();
          p.index[p.size() - 1 - static_cast<std::size_t>(last)] = p.index[is_long];
        }).fault == fault::step_too_often);
  CHECK(after([](plan& p) {
          // One of the nine steps of source 0 that come once is taken out for a second time of another.
          auto const times = [&](std::uint32_t index) {
            auto sum = 0;
            for (std::size_t i = 0; i < p.size(); ++i) sum += p.source[i] == 0 && p.index[i] == index ? 1 : 0;
            return sum;
          };
          std::uint32_t out = 0, in = 11;
          while (times(out) != 1) ++out;
          while (times(in) != 1) --in;
          for (std::size_t i = 0; i < p.size(); ++i)
            if (p.source[i] == 0 && p.index[i] == out) p.index[i] = in;
        }).fault == fault::step_too_seldom);
  CHECK(after([](plan& p) { p.warm_up = 5; }) == is(fault::long_warm_up));
  CHECK(after([&](plan& p) {
          std::swap(p.source[2], p.source[is_long]);
          std::swap(p.index[2], p.index[is_long]);
        }) == is(fault::wrong_warm_up, 2));
  CHECK(after([&](plan& p) {
          for (std::size_t i = 4, end = p.size(); i < end; ++i)  // all long steps last
            if (auto const at = std::find(p.source.begin() + static_cast<std::ptrdiff_t>(i), p.source.end(), 0U); at != p.source.end()) {
              std::swap(p.index[i], p.index[static_cast<std::size_t>(at - p.source.begin())]);
              std::swap(p.source[i], *at);
            }
        }).fault == fault::uneven);
  CHECK(is_short != is_long);
}

TEST_CASE("check_curriculum: warm-up and keys") {
  ballast_test::sources const given{{.setting = {1}, .steps = 4, .keys = {5, 6, 7, 8}}};
  ballast::curriculum_options const ascending{.order = ballast_test::order::ascending, .buckets = 2};
  plan p{.settings = {{1}}, .source = {0, 0, 0, 0}, .index = {0, 1, 2, 3}};
  CHECK(ballast::check_curriculum(p, given, ascending).valid());
  p.index = {1, 0, 3, 2};
  CHECK(ballast::check_curriculum(p, given, ascending) == is(fault::unsorted, 1));
  auto by_buckets = ascending;
  by_buckets.order = ballast_test::order::ascending_buckets;
  CHECK(ballast::check_curriculum(p, given, by_buckets).valid());
  p.index = {1, 2, 0, 3};
  CHECK(ballast::check_curriculum(p, given, by_buckets) == is(fault::unsorted, 2));

  ballast::curriculum_options warm{.order = ballast_test::order::random, .warm_up = 2, .warm_up_share = 500};
  p.warm_up = 2;
  CHECK(ballast::check_curriculum(p, given, warm).valid());
  warm.warm_up_share = 499;
  CHECK(ballast::check_curriculum(p, given, warm) == is(fault::long_warm_up));
  warm = {.order = ballast_test::order::random, .warm_up = 2, .warm_up_share = 500, .epoch = 1};
  p.epoch = 1;
  CHECK(ballast::check_curriculum(p, given, warm) == is(fault::long_warm_up));
}

}  // namespace test_curriculum_check
