// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace test_core_histogram {

using ballast_test::refusal;

namespace {
ballast::histogram of(std::map<std::int64_t, std::uint64_t> const& counts) {
  ballast::histogram h;
  for (auto const& [length, count] : counts) h.append(length, count);
  return h;
}
}  // namespace

TEST_CASE("histogram: addition commutes and folds what both hold") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ballast::splitmix64 draw(seed);
    std::map<std::int64_t, std::uint64_t> a, b;
    for (std::uint64_t i = 0; i < seed; ++i) ++a[static_cast<std::int64_t>(1 + draw() % 12)];
    for (std::uint64_t i = seed; i < 30; ++i) ++b[static_cast<std::int64_t>(1 + draw() % 16)];
    auto both = a;
    for (auto const& [length, count] : b) both[length] += count;
    auto ab = of(a), ba = of(b);
    ab += of(b);
    ba += of(a);
    CHECK(ab == of(both));
    CHECK(ba == ab);
  }
}

TEST_CASE("histogram: samples of the same length are appended to one entry") {
  ballast::histogram h;
  h.append(3, 1);
  h.append(3, 4);
  h.append(7, 2);
  CHECK(h == of({{3, 5}, {7, 2}}));
  CHECK((h.lengths.size() == 2 && h.samples() == 7));
}

TEST_CASE("histogram: samples, tokens, and nothing once cleared") {
  ballast::histogram h{{1, 7}, {2, 3}};
  CHECK((h.samples() == 5 && h.tokens() == 23));
  h.clear();
  CHECK((h == ballast::histogram{} && h.samples() == 0 && h.tokens() == 0));
}

TEST_CASE("histogram: one built by hand is refused at its first fault") {
  auto const sentence = [](ballast::histogram const& h) { return refusal([&] { return ballast::require_valid(h), 0; }); };
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(sentence({}) == "accepted");
  CHECK(sentence({{1, 7}, {2, 3}}) == "accepted");
  CHECK(sentence({{1, 7}, {2}}) == "histogram: 2 lengths but 1 count");
  CHECK(sentence({{0}, {2}}) == "histogram.lengths[0] = 0 must be positive");
  CHECK(sentence({{3, 3}, {2, 2}}) == "histogram.lengths[1] = 3 must be above its predecessor");
  CHECK(sentence({{3, 4}, {2, 0}}) == "histogram.counts[1] = 0 must be positive");
  CHECK(sentence({{1, most - 1}, {1, 1}}) == "accepted");
  CHECK(sentence({{1, 2}, {1, std::uint64_t{1} << 62}}) ==
        "histogram.counts[1] = 4611686018427387904 brings the sum of lengths to 2^63 or more");
}

}  // namespace test_core_histogram
