// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/symbolic.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_cost_symbolic {

using namespace ballast;
using ballast_test::refusal;

namespace {
std::vector<dimension> const dimensions{{"tokens", 1, 6}, {"tiles", 0, 4}, {"heads", 2, 3}};
auto const tokens = symbolic::of(0), tiles = symbolic::of(1), heads = symbolic::of(2);

symbolic random_polynomial(splitmix64& draw) {
  symbolic out;
  for (auto terms = 1 + uniform_below(4, draw); terms > 0; --terms) {
    symbolic t(static_cast<std::int64_t>(uniform_below(21, draw)) - 10);
    for (std::size_t d = 0; d < 3; ++d)
      for (auto e = uniform_below(3, draw); e > 0; --e) t = t * symbolic::of(d);
    out = out + t;
  }
  return out;
}
template <class Each>
void for_all(Each const& each) {
  for (std::int64_t x = 1; x <= 6; ++x)
    for (std::int64_t y = 0; y <= 4; ++y)
      for (std::int64_t z = 2; z <= 3; ++z) each(std::array{x, y, z});
}
}  // namespace

TEST_CASE("symbolic: arithmetic is that of the values") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    splitmix64 draw(seed);
    auto const a = random_polynomial(draw), b = random_polynomial(draw);
    auto const sum = a + b, difference = a - b, product = a * b, doubled = a.substitute(1, 2 * tokens + heads);
    CHECK(difference + b == a);
    bool same = true;
    for_all([&](auto const& at) {
      same = same && sum(at) == a(at) + b(at) && difference(at) == a(at) - b(at) && product(at) == a(at) * b(at);
      same = same && doubled(at) == a(std::array{at[0], 2 * at[0] + at[2], at[2]});
    });
    CHECK(same);
  }
}

TEST_CASE("symbolic: bounds hold for every value, and comparison says only what holds") {
  int decided = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    splitmix64 draw(seed);
    auto const a = random_polynomial(draw), b = random_polynomial(draw);
    auto const range = a.bounds(dimensions);
    auto const order = compare(a, b, dimensions);
    bool inside = true, right = true;
    for_all([&](auto const& at) {
      inside = inside && range.low <= a(at) && a(at) <= range.high;
      right = right && (order == std::partial_ordering::unordered || order == (a(at) <=> b(at)));
    });
    CAPTURE(seed, to_string(a, dimensions), to_string(b, dimensions));
    CHECK(inside);
    CHECK(right);
    decided += order != std::partial_ordering::unordered ? 1 : 0;
  }
  CHECK(decided > 50);
}

TEST_CASE("symbolic: comparison decides at least what the signs after a shift to the lower corner decide") {
  int by_shift = 0, decided = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    splitmix64 draw(seed);
    auto const a = random_polynomial(draw), b = random_polynomial(draw);
    auto shifted = a - b;
    for (std::size_t d = 0; d < dimensions.size(); ++d) shifted = shifted.substitute(d, symbolic::of(d) + dimensions[d].low);
    bool positive = true, negative = true;
    for (auto const& t : shifted.terms()) {
      positive = positive && t.coefficient > 0;
      negative = negative && t.coefficient < 0;
    }
    auto const strict = !shifted.terms().empty() && shifted.terms()[0].powers.empty();
    auto const order = compare(a, b, dimensions);
    decided += order != std::partial_ordering::unordered ? 1 : 0;
    if (!strict || positive == negative) continue;
    ++by_shift;
    CHECK(order == (positive ? std::partial_ordering::greater : std::partial_ordering::less));
  }
  CHECK(by_shift > 100);
  CHECK(decided > by_shift);  // the expansion around the upper corner, and terms of both signs, decide more
}

TEST_CASE("symbolic: a monomial is a product of powers") {
  CHECK(symbolic::monomial({2, 0, 1}, 5) == 5 * tokens * tokens * heads);
  CHECK(symbolic::monomial({0, 1, 0}, -1) == 0 - tiles);
  CHECK(symbolic::monomial({1, 1}, 0) == 0);
}

TEST_CASE("symbolic: three answers, and unknown") {
  CHECK(compare(tokens * tokens, tokens, dimensions) == std::partial_ordering::unordered);  // equal at 1
  CHECK(compare(tokens * tokens + 1, tokens, dimensions) == std::partial_ordering::greater);
  CHECK(compare(12 * tokens, 12 * tokens, dimensions) == std::partial_ordering::equivalent);
  CHECK(compare(tiles, heads * 5, dimensions) == std::partial_ordering::less);
  CHECK(compare(tiles, heads, dimensions) == std::partial_ordering::unordered);
  // where S0 = 12 S1 is known, what was unknown is decided
  CHECK(compare(tiles.substitute(1, 12 * heads), heads, dimensions) == std::partial_ordering::greater);
  CHECK((tokens * tokens - tokens).bounds(dimensions) == symbolic_range{0, 30});
  CHECK(to_string(34 * tokens * tokens - tiles * heads + 2, dimensions) == "34 tokens^2 - 1 tiles heads + 2");
  CHECK(to_string(tokens - tokens, dimensions) == "0");
}

TEST_CASE("symbolic: what does not fit is refused, or bounded by nothing") {
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  symbolic const large(most / 2);
  CHECK(refusal([&] { return large + large + large; }) == "a symbolic coefficient reaches 2^63, or a power 256");
  CHECK(refusal([&] { return (large * tokens)(std::array<std::int64_t, 1>{3}); }) ==
        "coefficient 4611686018427387903 brings a symbolic value to 2^63 or more");
  CHECK(refusal([&] { return tiles(std::array<std::int64_t, 1>{3}); }) == "values: 1 given, dimension 1 is used");
  CHECK((large * tokens).bounds(dimensions) == symbolic_range{most / 2, most});
  CHECK(refusal([&] { return tiles.bounds(std::vector<dimension>{{"a", 3, 2}}); }) == "dimensions[0] (a) has no range from 0 up");
}

}  // namespace test_cost_symbolic
