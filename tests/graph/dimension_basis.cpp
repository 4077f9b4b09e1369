// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/graph/dimension_basis.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/shape_program.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_graph_dimension_basis {

using namespace ballast;
using ballast_test::refusal;
using ballast_test::shape_program;

namespace {
auto const s0 = symbolic::of(0), s1 = symbolic::of(1), s2 = symbolic::of(2), s3 = symbolic::of(3);
using equalities = std::vector<dimension_equality>;

std::vector<dimension> declared(std::size_t count, std::int64_t low, std::int64_t high) {
  std::vector<dimension> out;
  for (std::size_t d = 0; d < count; ++d) out.push_back({"S" + std::to_string(d), low, high});
  return out;
}
std::int64_t next_number(splitmix64& draw, std::int64_t below) {
  return static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(below), draw));
}
symbolic random_side(splitmix64& draw, std::size_t dimensions) {
  symbolic out;
  for (auto terms = 1 + uniform_below(2, draw); terms > 0; --terms) {
    symbolic t(1 + next_number(draw, 3));
    for (auto e = uniform_below(3, draw); e > 0; --e) t = t * symbolic::of(static_cast<std::size_t>(uniform_below(dimensions, draw)));
    out = out + t;
  }
  return out;
}
// Calls each(values) for all values of four dimensions in [low, high].
template <class Each>
void for_all(std::int64_t low, std::int64_t high, Each const& each) {
  std::array<std::int64_t, 4> at{};
  for (at[0] = low; at[0] <= high; ++at[0])
    for (at[1] = low; at[1] <= high; ++at[1])
      for (at[2] = low; at[2] <= high; ++at[2])
        for (at[3] = low; at[3] <= high; ++at[3]) each(at);
}
}  // namespace

TEST_CASE("dimension_basis: the paper's S0 = 12 S1 narrows ranges, decides comparisons and divides exactly") {
  std::vector<dimension> const dimensions{{"S0", 24, 120}, {"S1", 0, 1000}};
  auto const solved = solve_dimensions(dimensions, equalities{{s0, 12 * s1}});
  CHECK(solved.status == status::feasible);
  CHECK(solved.basis == std::vector<std::uint32_t>{1});
  CHECK(solved.dimensions[1].low == 2);
  CHECK(solved.dimensions[1].high == 10);
  CHECK(solved.reduce(s0 * s1 + s0) == 12 * s1 * s1 + 12 * s1);
  CHECK(compare(s0, 12 * s1, dimensions) == std::partial_ordering::unordered);
  CHECK(compare(solved.reduce(s0), solved.reduce(12 * s1), solved.dimensions) == std::partial_ordering::equivalent);
  CHECK(compare(solved.reduce(s0), solved.reduce(11 * s1), solved.dimensions) == std::partial_ordering::greater);
  CHECK(solved.values(std::array<std::int64_t, 1>{3}) == std::vector<std::int64_t>{36, 3});
  CHECK(solved.basis_values(std::array<std::int64_t, 2>{36, 3}) == std::vector<std::int64_t>{3});
  CHECK(refusal([&] { return solved.basis_values(std::array<std::int64_t, 2>{25, 2}); }) ==
        "equalities[0] does not hold: 1 S0 = 25 and 12 S1 = 24");
  CHECK(refusal([&] { return solved.values(std::array<std::int64_t, 1>{11}); }) == "S0 = 132 is outside its range from 24 to 120");
  CHECK(refusal([&] { return solved.values(std::array<std::int64_t, 2>{1, 1}); }) == "2 values for a basis of 1 dimension");
  CHECK(refusal([&] { return solved.basis_values({}); }) == "0 values for 2 declared dimensions");
}

TEST_CASE("dimension_basis: relations, products and multiples of a new dimension") {
  auto const dimensions = declared(4, 1, 100);
  auto const sum = solve_dimensions(dimensions, equalities{{s0, s1 + s2}});
  CHECK(sum.basis == std::vector<std::uint32_t>{1, 2, 3});  // the sum is replaced, not a part of it
  CHECK(sum.dimensions[0].low == 2);
  CHECK(sum.dimensions[1].high == 99);

  auto const product = solve_dimensions(dimensions, equalities{{s0, s1 * s2}, {s0 * s3, 6 * s2 * s2}});
  CHECK(product.basis == std::vector<std::uint32_t>{1, 2, 3});
  REQUIRE(product.residual.size() == 1);  // S1 S3 = 6 S2 after S2, which is never 0, was divided out
  CHECK(product.residual[0] == dimension_equality{s1 * s3, 6 * s2});

  auto const reshape = solve_dimensions(dimensions, equalities{{s2 * s3, s0 * s1}});
  CHECK(reshape.basis.size() == 4);
  CHECK(reshape.residual == equalities{{s2 * s3, s0 * s1}});
  CHECK(reshape.reduce(5 * s3 * s2 * s2 - s0 * s1 * s2) == 4 * s0 * s1 * s2);
  CHECK(refusal([&] { return reshape.values(std::array<std::int64_t, 4>{2, 6, 3, 5}); }) ==
        "equalities[0] does not hold: 1 S2 S3 = 15 and 1 S0 S1 = 12");

  auto const multiple = solve_dimensions(dimensions, equalities{{3 * s0, 2 * s1}});
  CHECK(multiple.declared() == 4);
  REQUIRE(multiple.dimensions.size() == 5);
  CHECK(multiple.dimensions[4].name == "S0/2");
  CHECK(multiple.dimensions[4].low == 1);
  CHECK(multiple.dimensions[4].high == 33);  // S1 = 3 k
  CHECK(multiple.basis == std::vector<std::uint32_t>{2, 3, 4});
  CHECK(multiple.basis_values(std::array<std::int64_t, 4>{8, 12, 1, 1}) == std::vector<std::int64_t>{1, 1, 4});
  CHECK(multiple.values(std::array<std::int64_t, 3>{1, 1, 4}) == std::vector<std::int64_t>{8, 12, 1, 1, 4});

  // two reshapes imply that the remaining dimensions are equal
  auto const implied = solve_dimensions(dimensions, equalities{{s0 * s1, s2 * s3}, {s0, s2}});
  CHECK(implied.residual.empty());
  CHECK(implied.reduce(s3) == s1);
}

TEST_CASE("dimension_basis: a contradiction is an answer that names the equality") {
  auto const dimensions = declared(3, 1, 100);
  auto const fails_at = [&](equalities const& e) {
    auto const solved = solve_dimensions(dimensions, e);
    return solved.status == status::infeasible ? static_cast<int>(solved.contradiction) : -1;
  };
  CHECK(fails_at({{s0, 12 * s1}, {s1, s2}, {s2, 9}}) == 2);  // S0 would be 108
  CHECK(fails_at({{s1, s2}, {2 * s0, 2 * s1 + 1}}) == 1);    // even and odd
  CHECK(fails_at({{s0, s1 + 1}, {s1, s2}, {s2, s0}}) == 2);  // a circle
  CHECK(fails_at({{s0 * s1, 7}, {s0, 2 * s2}}) == 1);
  // a sum of three squares is never 92, but no rule finds that
  CHECK(solve_dimensions(dimensions, equalities{{s0 * s0 + s1 * s1 + s2 * s2, 92}}).status == status::unknown);
  CHECK(fails_at({{5, 5}, {4, 5}}) == 1);
  CHECK(fails_at({{6 * s0, 4 * s1 + 3 * s2}, {s2, 3}}) == 1);  // S2 is even
  CHECK(fails_at({{s0 * s1, s2 * s1}, {s2, s0 + 1}}) == 1);
  CHECK(fails_at({{3 * s0 + 300, 2 * s1}}) == 0);
  CHECK(fails_at({{s0 * s0, 50 * s1}, {s0, 3}}) == 1);
  CHECK(solve_dimensions({}, {}).status == status::feasible);
  CHECK(refusal([&] { return solve_dimensions(dimensions, equalities{{s0, s3}}); }) == "equalities[0] uses dimension 3 of 3");
  CHECK(refusal([&] { return solve_dimensions(std::vector<dimension>{{"a", 3, 2}}, {}); }) == "dimensions[0] (a) has no range from 0 up");
}

TEST_CASE("dimension_basis: what is found holds for every batch that satisfies the equalities, and for no other") {
  int infeasible = 0, with_residual = 0, with_new = 0;
  for (std::uint64_t seed = 0; seed < 600; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const low = next_number(draw, 2), high = low + 3 + next_number(draw, 3);
    auto const dimensions = declared(4, low, high);
    equalities given;
    for (auto count = 1 + uniform_below(3, draw); count > 0; --count) given.push_back({random_side(draw, 4), random_side(draw, 4)});
    auto const solved = solve_dimensions(dimensions, given);
    auto const p = random_side(draw, 4) * random_side(draw, 4);
    auto const reduced = solved.reduce(p);
    auto const held = solved.status == status::infeasible ? solved.contradiction : given.size();
    bool right = true, refused = true, contradicts = true;
    for_all(low, high, [&](std::array<std::int64_t, 4> const& at) {
      std::size_t first = 0;  // equality that does not hold
      while (first < given.size() && given[first].left(at) == given[first].right(at)) ++first;
      contradicts = contradicts && (solved.status != status::infeasible || first <= solved.contradiction);
      if (first < given.size()) {
        refused = refused && refusal([&] { return solved.basis_values(at); }) != "accepted";
        if (first < held) return;
      }
      std::vector<std::int64_t> all(at.begin(), at.end());
      if (first == given.size()) {
        all = solved.values(solved.basis_values(at));
        right = right && std::equal(at.begin(), at.end(), all.begin());
      } else {
        for (auto const& made : solved.introduced) all.push_back((all[made.from] - made.offset) / made.step);
      }
      for (std::size_t d = 0; d < all.size(); ++d)
        right = right && solved.dimensions[d].low <= all[d] && all[d] <= solved.dimensions[d].high && solved.solved[d](all) == all[d];
      right = right && reduced(all) == p(at);
    });
    CAPTURE(seed);
    CHECK(right);
    CHECK(refused);
    CHECK(contradicts);
    CHECK(solved.reduce(reduced) == reduced);
    infeasible += solved.status == status::infeasible ? 1 : 0;
    with_residual += solved.residual.empty() ? 0 : 1;
    with_new += solved.introduced.empty() ? 0 : 1;
  }
  if (ballast_test::round_step > 1) return;
  CHECK(infeasible > 50);
  CHECK(with_residual > 50);
  CHECK(with_new > 10);
}

TEST_CASE("dimension_basis: sizes of a program that are equal for every batch become the same polynomial") {
  int equal = 0, without_residual = 0;
  for (std::uint64_t seed = 0; seed < 60; seed += ballast_test::round_step) {
    auto const regroup = seed % 2 == 1;
    shape_program const program(seed, 20, regroup);
    auto const solved = solve_dimensions(program.dimensions, program.equalities);
    CAPTURE(seed, program.equalities.size());
    REQUIRE(solved.status != status::infeasible);
    CHECK(solved.basis.size() * 3 < program.dimensions.size() * 2);
    if (!regroup) without_residual += solved.residual.empty() ? 1 : 0;
    auto const basis = solved.basis_values(program.example);
    auto const all = solved.values(basis);
    CHECK(std::equal(program.example.begin(), program.example.end(), all.begin()));
    // Every equality is itself a pair of sizes that are equal, also as a part of larger sizes.
    for (auto const& e : program.equalities) {
      CHECK(solved.reduce(e.left) == solved.reduce(e.right));
      for (std::size_t t = 0; t < program.tensors.size(); t += 5) {
        auto const size = program.elements(t);
        CHECK(solved.reduce(e.left * size) == solved.reduce(e.right * size));
      }
    }
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      auto const size = solved.reduce(program.elements(t));
      CHECK(size(all) == program.elements(t)(program.example));
      for (std::size_t u = 0; u < t; ++u)
        equal += solved.reduce(program.elements(u)) == size && program.elements(u) != program.elements(t) ? 1 : 0;
    }
  }
  if (ballast_test::round_step > 1) return;
  CHECK(equal > 500);
  CHECK(without_residual >= 25);  // of 30; reshapes between sums of dimensions leave some
}

TEST_CASE("dimension_basis: the same basis and rules on every platform") {
  fnv1a hash;
  for (std::uint64_t seed = 1; seed < 20; seed += 2) {
    shape_program const program(seed, 20, true);
    auto const solved = solve_dimensions(program.dimensions, program.equalities);
    for (auto const d : solved.basis) hash.append(d);
    for (auto const& d : solved.dimensions) hash.append(static_cast<std::uint64_t>(d.low) << 32 | static_cast<std::uint64_t>(d.high));
    for (auto const& r : solved.residual)
      for (auto const* const side : {&r.left, &r.right})
        for (auto const& t : side->terms()) hash.append(static_cast<std::uint64_t>(t.coefficient) << 16 | t.powers.size());
  }
  CHECK(hash.value() == 0xc68b50ece365c355U);
}

TEST_CASE("narrow_dimensions: keeps all values within the bounds, and few others") {
  std::int64_t inside = 0, kept = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const p = random_side(draw, 4) - random_side(draw, 4);
    auto ranges = declared(4, 1, 6);
    auto const low = next_number(draw, 40) - 20;
    symbolic_range const asked{low, low + next_number(draw, 20)};
    auto const any = narrow_dimensions(p, asked, ranges);
    bool right = true;
    for_all(1, 6, [&](std::array<std::int64_t, 4> const& at) {
      bool in_ranges = any;
      for (std::size_t d = 0; d < 4; ++d) in_ranges = in_ranges && ranges[d].low <= at[d] && at[d] <= ranges[d].high;
      auto const holds = p(at) >= asked.low && p(at) <= asked.high;
      right = right && (in_ranges || !holds);
      inside += holds ? 1 : 0;
      kept += in_ranges ? 1 : 0;
    });
    CAPTURE(seed);
    CHECK(right);
  }
  CAPTURE(inside, kept);
  CHECK(kept < 3 * inside);
  auto one = declared(1, 0, 1000);
  CHECK(narrow_dimensions(3 * s0 * s0 - 100, {0, (std::numeric_limits<std::int64_t>::max)()}, one));
  CHECK(one[0].low == 6);
  CHECK(!narrow_dimensions(3 * s0 - 1, {-5, 0}, one));
}

TEST_CASE("dimension_basis: what cannot be replaced stays, and is still checked") {
  auto const large = std::int64_t{1} << 60;
  auto const dimensions = declared(4, 1, 100);
  auto const solved = solve_dimensions(dimensions, equalities{{s0, large * (s1 * s2 - s3 * s3) + 1}, {8 * s0 * s1, 3 * s2 * s3 + 4}});
  CHECK(solved.residual.size() == 2);
  CHECK(solved.values(std::array<std::int64_t, 4>{1, 2, 2, 2}).size() == 4);
}

}  // namespace test_graph_dimension_basis
