// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/metrics/communication.hpp>
#include <ballast/core/metrics/padding.hpp>
#include <ballast/core/metrics/randomness.hpp>
#include <ballast/core/metrics/step_balance.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace test_core_metrics {

using ballast::balance_of_steps;
using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
bool near(double x, double y) { return std::fabs(x - y) < 1e-12; }
}  // namespace

TEST_CASE("balance_of_steps: the published example, equal tokens and an attention balance of 25 %") {
  numbers const four_short(4, 1024), two_long(2, 2048);
  auto const dbr = balance_of_steps(numbers{ballast::token_load(four_short), ballast::token_load(two_long)}, 2);
  auto const abr = balance_of_steps(numbers{ballast::attention_load(four_short), ballast::attention_load(two_long)}, 2);
  CHECK(dbr.mean_ratio == 0.0);
  CHECK(abr.mean_ratio == 0.25);
  CHECK(abr.idle() == 0.25);  // of one step the two are the same
  CHECK(balance_of_steps(numbers{ballast::padded_load(four_short), ballast::padded_load(two_long)}, 2).mean_ratio == 0.25);
}

TEST_CASE("balance_of_steps: the mean of ratios weighs steps alike, idle by their cost") {
  auto const b = balance_of_steps(numbers{0, 10, 100, 100, 0, 0}, 2);
  CHECK((b.steps == 3 && b.total == 210 && b.slowest == 110));
  CHECK(near(b.mean_ratio, 0.5 / 3));  // an empty step counts 0
  CHECK(near(b.idle(), 1 - 105.0 / 110));
  CHECK(near(b.slowest_over_mean(), 110 / 105.0));
  CHECK(near(b.idle(), 1 - 1 / b.slowest_over_mean()));
  CHECK(b.worst_step == 2.0);
  CHECK(b.single_sample_bound() == 1.0);
  auto const bounded = balance_of_steps(numbers{0, 10, 100, 100}, 2, numbers{10, 60});
  CHECK(near(bounded.single_sample_bound(), (10 + 100) / 105.0));  // max(5, 10) + max(100, 60) over 5 + 100
  CHECK(bounded.single_sample_bound() <= bounded.slowest_over_mean());
  auto const none = balance_of_steps({}, 8);
  CHECK((none.steps == 0 && none.idle() == 0.0 && none.slowest_over_mean() == 1.0 && none.mean_ratio == 0.0));

  auto const most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(refusal([] { return balance_of_steps(numbers{1, 2, 3}, 2); }) == "3 loads do not divide into steps of ranks = 2");
  CHECK(refusal([] { return balance_of_steps(numbers{1, -2}, 2); }) == "loads[1] = -2 must not be negative");
  CHECK(refusal([&] { return balance_of_steps(numbers{most, 1}, 2); }) == "loads[1] = 1 brings a sum to 2^63 or more");
  CHECK(refusal([&] { return balance_of_steps(numbers{1, 1}, 2, numbers{most}); }) ==
        "largest[0] = 9223372036854775807 times ranks reaches 2^63");
  CHECK(refusal([] { return ballast::attention_load(numbers{3037000500}); }) == "lengths[0] = 3037000500 has a square outside [0, 2^63)");
}

TEST_CASE("padding_ratio: the formula averages micro-batches, the code pools them") {
  numbers const lengths{1, 3, 4, 4, 6};
  auto const p = ballast::padding_ratio(ballast::groups<>{{0, 2, 5, 5}, {0, 1, 2, 3, 4}}, lengths);
  CHECK((p.padding == 2 + 4 && p.padded == 6 + 18));
  CHECK(near(p.mean_ratio, (2 / 6.0 + 4 / 18.0) / 3));
  CHECK(near(p.total_ratio, 6 / 24.0));
  CHECK(ballast::padding_ratio(ballast::groups<>{{0, 1, 2}, {3, 4}}, lengths).mean_ratio == 0.0);  // one sample each: nothing to pad
  CHECK(refusal([&] { return ballast::padding_ratio(ballast::groups<>{{0, 1}, {5}}, lengths); }) ==
        "a micro-batch holds 5, which is no sample");
}

TEST_CASE("communication_ratio and average_tokens: means over the steps") {
  CHECK(ballast::communication_ratio(numbers{0, 5, 0}, numbers{10, 10, 0}) == 0.5 / 3);
  CHECK(ballast::average_tokens(numbers{10, 20}) == 15.0);
  CHECK((ballast::communication_ratio({}, {}) == 0.0 && ballast::average_tokens({}) == 0.0));
  CHECK(refusal([] { return ballast::communication_ratio(numbers{1}, {}); }) == "1 communicated entries for 0 steps");
}

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
  auto const random = ballast::randomness_of(cut(order), lengths);
  for (auto x : {random.ks_times, random.ks_tokens_times, random.design_effect, random.design_effect_length, random.design_effect_8})
    CHECK((x > 0.6 && x < 1.5));
  CHECK(std::fabs(random.lag1) < 0.2);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
  auto const sorted = ballast::randomness_of(cut(order), lengths);
  CHECK((sorted.ks_times > 5 && sorted.ks_tokens_times > 3 && sorted.design_effect > 10 && sorted.design_effect_length > 10));
  CHECK((sorted.design_effect_8 > sorted.design_effect && sorted.lag1 > 0.8 && sorted.tokens_variation > 0.5));
  std::vector<std::uint32_t> dealt;  // every step takes each 256th of the sorted order
  for (std::size_t s = 0; s < 256; ++s)
    for (std::size_t j = 0; j < 64; ++j) dealt.push_back(order[j * 256 + s]);
  auto const stratified = ballast::randomness_of(cut(dealt), lengths);
  CHECK((stratified.ks_times < 0.5 && stratified.design_effect < 0.1));
}

TEST_CASE("randomness_of: by hand") {
  numbers const lengths{1, 1, 3, 3};
  auto const split = ballast::randomness_of(ballast::groups<>{{0, 2, 4}, {0, 1, 2, 3}}, lengths);
  CHECK((split.ks == 0.5 && split.ks_tokens == 0.5 * (0.75 + 0.25)));
  CHECK(split.tokens_variation == 0.5);  // 2 and 6
  CHECK(split.design_effect_8 == 0.0);
  auto const even = ballast::randomness_of(ballast::groups<>{{0, 2, 2, 4}, {0, 2, 1, 3}}, lengths);  // an empty step is none
  CHECK((even.ks == 0.0 && even.design_effect == 0.0 && even.tokens_variation == 0.0));
  CHECK(refusal([&] { return ballast::randomness_of(ballast::groups<>{{0, 1}, {4}}, lengths); }) == "a step holds 4, which is no sample");
  CHECK(refusal([] { return ballast::randomness_of(ballast::groups<>{{0, 1}, {0}}, numbers{0}); }) == "lengths[0] = 0 must be positive");
}

}  // namespace test_core_metrics
