// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/graph/symbolic.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_graph_symbolic {

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

TEST_CASE("symbolic: bounds of polynomials up to the second degree that are monotone are attained") {
  CHECK((8 * tokens * tokens - 5 * tokens).bounds(std::vector<dimension>{{"x", 0, 4}}) == symbolic_range{0, 108});
  int monotone = 0, mixed = 0, cubic = 0, attained = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    splitmix64 draw(seed);
    auto const any = [&] { return static_cast<std::int64_t>(uniform_below(21, draw)) - 10; };
    std::vector<dimension> ranges;
    for (auto const* const name : {"x", "y", "z"}) {
      auto const low = static_cast<std::int64_t>(uniform_below(5, draw));
      ranges.push_back({name, low, low + static_cast<std::int64_t>(uniform_below(5, draw))});
    }
    auto const degree = 2 + uniform_below(2, draw);
    symbolic p(any());
    for (auto terms = 1 + uniform_below(5, draw); terms > 0; --terms) {
      symbolic t(any());
      for (auto e = 1 + uniform_below(degree, draw); e > 0; --e) t = t * symbolic::of(static_cast<std::size_t>(uniform_below(3, draw)));
      p = p + t;
    }
    auto const bounds = p.bounds(ranges);
    symbolic_range is{p(std::array{ranges[0].low, ranges[1].low, ranges[2].low}), (std::numeric_limits<std::int64_t>::min)()};
    std::array<bool, 3> rises{}, falls{};
    std::array<std::int64_t, 3> at{};
    for (at[0] = ranges[0].low; at[0] <= ranges[0].high; ++at[0])
      for (at[1] = ranges[1].low; at[1] <= ranges[1].high; ++at[1])
        for (at[2] = ranges[2].low; at[2] <= ranges[2].high; ++at[2]) {
          auto const value = p(at);
          is = {(std::min)(is.low, value), (std::max)(is.high, value)};
          for (std::size_t d = 0; d < 3; ++d) {
            auto next = at;
            if (++next[d] > ranges[d].high) continue;
            rises[d] = rises[d] || p(next) > value;
            falls[d] = falls[d] || p(next) < value;
          }
        }
    CAPTURE(seed, to_string(p, ranges));
    REQUIRE((bounds.low <= is.low && bounds.high >= is.high));
    auto both = false;
    for (std::size_t d = 0; d < 3; ++d) both = both || (rises[d] && falls[d]);
    if (both) continue;
    if (degree == 2) {
      REQUIRE(bounds == is);
      ++monotone;
      for (auto const& t : p.terms())
        if (!t.powers.empty() && (t.coefficient < 0) != (p.terms().back().coefficient < 0)) {
          ++mixed;
          break;
        }
    } else {
      ++cubic;
      attained += bounds == is ? 1 : 0;
    }
  }
  CHECK((monotone > 1000 && mixed > 500 && 100 * attained > 98 * cubic));
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

TEST_CASE("symbolic: bounds in many dimensions take no time that doubles with each") {
  symbolic sum;
  std::vector<dimension> dims;
  for (std::size_t d = 0; d < 40; ++d) {
    auto const x = symbolic::of(d);
    sum = sum + 8 * x * x - 5 * x;
    dims.push_back({"x", 0, 4});
  }
  CHECK(sum.bounds(dims) == symbolic_range{0, 40 * 108});
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

}  // namespace test_graph_symbolic
