// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/totals.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_loss_totals {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {
std::vector<std::int64_t> random_counts(std::size_t n, splitmix64& draw) {
  std::vector<std::int64_t> out(n);
  for (auto& c : out) c = draw() % 9 == 0 ? 0 : between(1, std::int64_t{1} << between(1, 20, draw), draw);
  return out;
}
}  // namespace

TEST_CASE("loss_totals_of: counts, and the weight sum to its stated precision") {
  splitmix64 draw(3);
  auto const counts = random_counts(2000, draw);
  auto const p = GENERATE(0.0, 0.1, 0.5, 0.9, 1.0);
  auto const totals = loss_totals_of(counts, {.power = p});
  std::int64_t tokens = 0, sequences = 0;
  long double weight = 0;
  for (auto c : counts) {
    tokens += c;
    sequences += c > 0;
    if (c > 0) weight += std::pow(static_cast<long double>(c), 1 - static_cast<long double>(p));
  }
  CHECK(totals.tokens() == tokens);
  CHECK(totals.sequences() == sequences);
  CHECK(totals.empty_sequences() == 2000 - sequences);
  auto const is_kept = p > 0 && p < 1;
  CHECK(std::abs(totals.weight() - (is_kept ? static_cast<double>(weight) : 0.0)) <=
        (is_kept ? 2000 * 0x1p-44 + 0x1p-52 * totals.weight() : 0));
  CHECK_FALSE(totals.nothing_counted());
  CHECK(loss_totals_of(std::vector<std::int64_t>{0, 0}, {.power = p}).nothing_counted());
  CHECK(loss_totals_of({}, {.power = p}) == loss_totals{});
}

TEST_CASE("loss_totals: every partition and order adds up to the same integers") {
  splitmix64 draw(4);
  auto const p = GENERATE(0.0, 0.3, 0.5, 1.0);
  auto counts = random_counts(1001, draw);
  auto const whole = loss_totals_of(counts, {.power = p});
  for (std::size_t const parts : {1U, 7U, 64U, 1001U}) {
    std::reverse(counts.begin(), counts.end());
    loss_totals merged, reduced;  // by the library, and as an all-reduce adds words
    for (std::size_t k = 0; k < parts; ++k) {
      auto const first = counts.size() * k / parts, last = counts.size() * (k + 1) / parts;
      auto const part = loss_totals_of(std::span<std::int64_t const>(counts).subspan(first, last - first), {.power = p});
      merged += part;
      for (std::size_t i = 0; i < part.words.size(); ++i) reduced.words[i] += part.words[i];
    }
    CHECK(merged.words == whole.words);
    CHECK(reduced == whole);
    CHECK(reduced.weight() == whole.weight());
  }
  CHECK_FALSE(whole == loss_totals_of(std::span<std::int64_t const>(counts).first(900), {.power = p}));
}

TEST_CASE("loss_totals: the weight is the nearest double, however large it is") {
  CHECK(loss_totals{{0, 0, 0, (std::int64_t{1} << 54) + 2, 1}}.weight() == 0x1p54 + 4);  // just past the middle of two doubles
  CHECK(loss_totals{{0, 0, 0, (std::int64_t{1} << 54) + 2, 0}}.weight() == 0x1p54);
}

TEST_CASE("loss_totals::shared_by: takes back what several ranks counted alike, and refuses what they did not") {
  splitmix64 draw(5);
  auto const ranks = GENERATE(1, 2, 3, 8);
  auto const mine = loss_totals_of(random_counts(300, draw), loss_normaliser::square_root());
  loss_totals reduced, merged;
  for (int r = 0; r < ranks; ++r) {
    merged += mine;
    for (std::size_t i = 0; i < mine.words.size(); ++i) reduced.words[i] += mine.words[i];
  }
  CHECK(reduced.shared_by(ranks) == mine);
  CHECK(merged.shared_by(ranks) == mine);
  loss_totals const odd{{7, 1, 0, 0, 0}};
  CHECK(refusal([&] { return odd.shared_by(2); }) == "totals.words[0] = 7 is no multiple of the 2 ranks that counted the same sequences");
  CHECK(refusal([&] { return odd.shared_by(0); }) == "ranks = 0 must be in [1, 2^19]");
}

TEST_CASE("loss_totals_of: bad input is named") {
  auto const of = [](std::vector<std::int64_t> const& counts, double p) {
    return refusal([&] { return loss_totals_of(counts, {.power = p}); });
  };
  CHECK(of({3, -1}, 0) == "counts[1] = -1 must be in [0, 2^40)");
  CHECK(of({std::int64_t{1} << 40}, 0) == "counts[0] = 1099511627776 must be in [0, 2^40)");
  CHECK(of({(std::int64_t{1} << 40) - 1}, 0.5) == "accepted");
  CHECK(of({1}, -0.5) == "power = -0.500000 must be in [0, 1]");
  CHECK(of({1}, 1.5) == "power = 1.500000 must be in [0, 1]");
  CHECK(of({1}, std::numeric_limits<double>::quiet_NaN()) == "power = nan must be in [0, 1]");
}

}  // namespace test_loss_totals
