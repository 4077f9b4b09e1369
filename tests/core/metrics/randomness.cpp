// SPDX-License-Identifier: Apache-2.0
#include "support/randomness.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_core_metrics_randomness {

using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
}  // namespace

TEST_CASE("randomness_of: random steps are 1, sorted ones far above, stratified ones below") {
  ballast::splitmix64 draw(3);
  numbers lengths(16384);
  for (auto& l : lengths) l = 10 + static_cast<std::int64_t>(draw() % 1000);
  auto const cut = [&](std::vector<std::uint32_t> const& order) {
    ballast::groups<> steps;
    for (std::size_t at = 0; at < order.size(); at += 64) steps.push_back(std::span(order).subspan(at, 64));
    return steps;
  };
  auto order = ballast::random_permutation(lengths.size(), 99);
  auto const random = ballast_test::randomness_of(cut(order), lengths);
  for (auto x : {random.ks_times, random.ks_tokens_times, random.design_effect, random.design_effect_length, random.design_effect_8})
    CHECK((x > 0.6 && x < 1.5));
  CHECK(std::fabs(random.lag1) < 0.2);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
  auto const sorted = ballast_test::randomness_of(cut(order), lengths);
  CHECK((sorted.ks_times > 5 && sorted.ks_tokens_times > 3 && sorted.design_effect > 10 && sorted.design_effect_length > 10));
  CHECK((sorted.design_effect_8 > sorted.design_effect && sorted.lag1 > 0.8 && sorted.tokens_variation > 0.5));
  std::vector<std::uint32_t> dealt;  // every step takes each 256th of the sorted order
  for (std::size_t s = 0; s < 256; ++s)
    for (std::size_t j = 0; j < 64; ++j) dealt.push_back(order[j * 256 + s]);
  auto const stratified = ballast_test::randomness_of(cut(dealt), lengths);
  CHECK((stratified.ks_times < 0.5 && stratified.design_effect < 0.1));
}

TEST_CASE("randomness_of: by hand") {
  numbers const lengths{1, 1, 3, 3};
  auto const split = ballast_test::randomness_of(ballast::groups<>{{0, 2, 4}, {0, 1, 2, 3}}, lengths);
  CHECK((split.ks == 0.5 && split.ks_tokens == 0.5 * (0.75 + 0.25)));
  CHECK(split.tokens_variation == 0.5);  // 2 and 6
  CHECK(split.design_effect_8 == 0.0);
  auto const even = ballast_test::randomness_of(ballast::groups<>{{0, 2, 2, 4}, {0, 2, 1, 3}}, lengths);  // an empty step is none
  CHECK((even.ks == 0.0 && even.design_effect == 0.0 && even.tokens_variation == 0.0));
  CHECK(refusal([&] { return ballast_test::randomness_of(ballast::groups<>{{0, 1}, {4}}, lengths); }) ==
        "a step holds 4, which is no sample");
  CHECK(refusal([] { return ballast_test::randomness_of(ballast::groups<>{{0, 1}, {0}}, numbers{0}); }) ==
        "lengths[0] = 0 must be positive");
}

}  // namespace test_core_metrics_randomness
