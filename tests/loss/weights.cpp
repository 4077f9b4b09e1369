// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/loss/weights.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/mean_of_means.hpp"
#include "support/refusal.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace test_loss_weights {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using counts = std::vector<std::int64_t>;

namespace {
// The published example: two ranks that are averaged, two sequences each; T and the summed losses.
counts const published[] = {{1, 1}, {4, 2}};
std::vector<double> const losses[] = {{2, 1}, {4, 3}};

double published_loss(loss_normaliser const& normaliser) {
  loss_totals totals;
  for (auto const& c : published) totals += loss_totals_of(c, normaliser);
  double loss = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    auto const weights = loss_weights(published[r], totals, normaliser, {.ranks = 2}, loss_totals_of(published[r], normaliser));
    for (std::size_t i = 0; i < 2; ++i) loss += weights[i] * losses[r][i] / 2;
  }
  return loss;
}
bool is(double a, double b) { return std::abs(a - b) < 5e-6; }
}  // namespace

TEST_CASE("loss_weights: the published example (HBP)") {
  CHECK(published_loss(loss_normaliser::sum()) == 10);
  CHECK(is(published_loss(loss_normaliser::token_mean(loss_scope::rank)), 1.33333));
  CHECK(published_loss(loss_normaliser::sample_mean(loss_scope::rank)) == 1.375);
  CHECK(published_loss(loss_normaliser::ave_token()) == 1.25);
  CHECK(published_loss(loss_normaliser::token_mean()) == 1.25);  // the ranks have equally many sequences
  CHECK(is(published_loss(loss_normaliser::square_root()), 1.31530));
}

TEST_CASE("loss_weights: for p = 0 and 1 the exact quotient, rounded once") {
  splitmix64 draw(6);
  for (int round = 0; round < 200; ++round) {
    counts mine(8);
    for (auto& c : mine) c = between(0, std::int64_t{1} << between(1, 39, draw), draw);
    mine[0] += 1;
    gradient_path path{.ranks = between(1, 5000, draw), .context = between(1, 64, draw), .micro_batches = between(1, 1000, draw)};
    path.across_micro_batches = draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average;
    auto const factor = static_cast<long double>(path.averaged_over());
    auto const totals = loss_totals_of(mine, loss_normaliser::token_mean());
    auto const of_tokens = loss_weights(mine, totals, loss_normaliser::token_mean(), path);
    auto const of_samples = loss_weights(mine, totals, loss_normaliser::sample_mean(), path);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] == 0) {
        CHECK(of_tokens[i] == 0);
        CHECK(of_samples[i] == 0);
        continue;
      }
      // numerators and denominators are below 2^64, so long double holds them; its one extra rounding is allowed for
      auto const tokens = factor / static_cast<long double>(totals.tokens());
      auto const sample = factor / (static_cast<long double>(totals.sequences()) * static_cast<long double>(mine[i]));
      CHECK(std::abs(of_tokens[i] - tokens) <= tokens * 0x1.001p-53L);
      CHECK(std::abs(of_samples[i] - sample) <= sample * 0x1.001p-53L);
    }
  }
}

TEST_CASE("loss_weights: other powers within 2^-51, and the named ones are powers") {
  splitmix64 draw(7);
  for (int round = 0; round < 200; ++round) {
    counts mine(8);
    for (auto& c : mine) c = between(1, std::int64_t{1} << between(1, 39, draw), draw);
    auto const p = static_cast<double>(draw() >> 11) * 0x1p-53;
    for (auto const power : {p, 0.5}) {
      auto const totals = loss_totals_of(mine, loss_normaliser::length_power(power));
      auto const weights = loss_weights(mine, totals, loss_normaliser::length_power(power), {.ranks = 3});
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto const exact =
            3 * std::pow(static_cast<long double>(mine[i]), -static_cast<long double>(power)) / static_cast<long double>(totals.weight());
        CHECK(std::abs(weights[i] - exact) <= exact * 0x1p-51L);
      }
    }
    gradient_path const path{.ranks = 3};
    for (auto const& [a, b] : {std::pair{loss_normaliser::length_power(0), loss_normaliser::token_mean()},
                               std::pair{loss_normaliser::length_power(1), loss_normaliser::sample_mean()},
                               std::pair{loss_normaliser::length_power(0.5), loss_normaliser::square_root()}}) {
      auto const totals = loss_totals_of(mine, a);
      CHECK(totals == loss_totals_of(mine, b));
      CHECK(loss_weights(mine, totals, a, path) == loss_weights(mine, totals, b, path));
    }
  }
}

TEST_CASE("loss_weights: the same bits everywhere") {
  splitmix64 draw(2026);
  counts mine(5000);
  for (auto& c : mine) c = between(0, std::int64_t{1} << between(0, 20, draw), draw);
  fnv1a hash;
  for (auto const p : {0.0, 0.25, 0.3, 0.5, 0.9, 1.0}) {
    auto const n = loss_normaliser::length_power(p);
    auto const totals = loss_totals_of(mine, n);
    for (auto const word : totals.words) hash.append(static_cast<std::uint64_t>(word));
    for (auto const w : loss_weights(mine, totals, n, {.ranks = 7})) hash.append(std::bit_cast<std::uint64_t>(w));
  }
  CHECK(hash.value() == 0x2e8c90656f2180f3U);
}

TEST_CASE("loss_weights: what the framework divides by comes back as a factor") {
  counts const mine{1, 2, 5, 0};
  auto const n = loss_normaliser::token_mean();
  auto const totals = loss_totals_of(mine, n);
  constexpr auto sum = gradient_reduction::sum, average = gradient_reduction::average;
  auto const first = [&](gradient_path const& path) { return loss_weights(mine, totals, n, path)[0]; };
  CHECK(first({}) == 1 / 8.0);
  CHECK(first({.ranks = 6, .context = 2, .micro_batches = 5}) == 12 / 8.0);
  CHECK(first({.ranks = 6, .context = 2, .micro_batches = 5, .across_context = sum}) == 6 / 8.0);
  CHECK(first({.ranks = 6, .context = 2, .micro_batches = 5, .across_ranks = sum, .across_micro_batches = average}) == 10 / 8.0);
  CHECK(first({.ranks = 6, .context = 2, .across_ranks = sum, .across_context = sum, .divides_by_tokens = true}) == 1);
}

TEST_CASE("loss_weights: a step without labels has weights of 0, never NaN") {
  counts const mine{0, 0, 0};
  for (auto const& n :
       {loss_normaliser::sum(), loss_normaliser::token_mean(), loss_normaliser::sample_mean(), loss_normaliser::square_root(),
        loss_normaliser::length_power(0.3), loss_normaliser::sequence_mean(), loss_normaliser::ave_token()}) {
    auto const totals = loss_totals_of(mine, n);
    CHECK(totals.nothing_counted());
    CHECK(loss_weights(mine, totals, n, {.divides_by_tokens = true}) == std::vector<double>(3));
  }
  // a rank without labels among others that have some
  auto const n = loss_normaliser::token_mean(loss_scope::rank);
  CHECK(loss_weights(mine, loss_totals_of(counts{4}, n), n, {.ranks = 2}, loss_totals_of(mine, n)) == std::vector<double>(3));
}

TEST_CASE("loss_weights: bad input is named, and nothing is written") {
  counts const mine{3, 5};
  std::vector<double> out(2, -1);
  auto const totals = loss_totals_of(mine, {});
  auto const into = [&](counts const& c, loss_totals const& t, loss_normaliser const& n, gradient_path const& path) {
    return refusal([&] { return loss_weights(c, t, n, path, out), 0; });
  };
  CHECK(into({3}, totals, {}, {}) == "loss_weights: out has 2 elements, 1 are written");
  CHECK(into({3, -5}, totals, {}, {}) == "counts[1] = -5 must be in [0, 2^40)");
  CHECK(into({3, 6}, totals, {}, {}) == "counts[1] = 6 exceeds what the other sequences leave of the step's totals, 5");
  CHECK(into(mine, totals, {.scope = loss_scope::rank}, {}) ==
        "counts[0] = 3 exceeds what the other sequences leave of the totals of the part, 0");
  CHECK(into(mine, {{-1, 0, 0, 0, 0}}, {}, {}) == "totals.words[0] = -1 must not be negative");
  CHECK(into(mine, {{5, 0, 0, 0, 0}}, loss_normaliser::sequence_mean(), {}) == "totals has tokens but no sequences");
  CHECK(into(mine, totals, {}, {.ranks = 0}) == "ranks = 0 must be in [1, 2^20]");
  CHECK(into(mine, totals, {}, {.context = -2}) == "context = -2 must be in [1, 2^20]");
  CHECK(into(mine, totals, {}, {.micro_batches = 1 << 21}) == "micro_batches = 2097152 must be in [1, 2^20]");
  CHECK(into(mine, totals, loss_normaliser::fixed_length(0), {}) == "length = 0 must be positive");
  CHECK(into({0, 0}, {}, loss_normaliser::fixed_length(0), {}) == "length = 0 must be positive");  // also where no label is counted
  CHECK(into(mine, totals, {.power = 2}, {}) == "power = 2.000000 must be in [0, 1]");
  CHECK(into(mine, totals, loss_normaliser::square_root(), {}) ==
        "totals has no weight for power = 0.500000: it was made for another power");
  CHECK(into(mine, totals, loss_normaliser::fixed_length((std::numeric_limits<std::int64_t>::max)()), {}) ==
        "the product of the totals, the length and the numbers of the gradient path reaches 2^63");
  CHECK(refusal([&] { return loss_weights(mine, loss_totals_of(counts{7}, {}), loss_normaliser::ave_token(), {}, totals); }) ==
        "totals has 7 tokens, fewer than its part, which has 8");
  CHECK(out == std::vector<double>(2, -1));
  CHECK(into(mine, totals, {}, {}) == "accepted");
}

TEST_CASE("loss_weights: how far means of means are off") {
  // Measured elsewhere: 6.2 % on average and 12 % at worst with 1 sequence per micro-batch, 1.6 % with 4, 0.43 % with 16.
  auto const one = ballast_test::bias_of_mean_of_means(1, 200);
  CHECK((one.mean > 0.055 && one.mean < 0.07));
  CHECK((one.worst > 0.10 && one.worst < 0.15));
  auto const four = ballast_test::bias_of_mean_of_means(4, 200).mean, sixteen = ballast_test::bias_of_mean_of_means(16, 200).mean;
  CHECK((four > 0.014 && four < 0.019));
  CHECK((sixteen > 0.0035 && sixteen < 0.0055));
}

}  // namespace test_loss_weights
