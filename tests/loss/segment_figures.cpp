// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/segment_figures.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_loss_segment_figures {

using ballast_test::refusal;

TEST_CASE("segment_figures: integers are exact") {
  ballast::splitmix64 draw(5);
  std::vector<std::int64_t> values(500), cu{0, 0};
  for (auto& v : values) v = static_cast<std::int64_t>(draw()) >> (draw() % 60);
  while (cu.back() < 480) cu.push_back(cu.back() + static_cast<std::int64_t>(draw() % 30));
  cu.back() = 480;
  auto const found = ballast::segment_figures(values, cu);
  REQUIRE(found.size() + 1 == cu.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const begin = values.begin() + cu[i], end = values.begin() + cu[i + 1];
    auto const empty = begin == end;
    CHECK(found[i].least == (empty ? 0 : *std::min_element(begin, end)));
    CHECK(found[i].largest == (empty ? 0 : *std::max_element(begin, end)));
    std::uint64_t sum = 0;  // modulo 2^64
    for (auto v = begin; v != end; ++v) sum += static_cast<std::uint64_t>(*v);
    auto const& words = found[i].sum.words;
    CHECK((static_cast<std::uint64_t>(words[0]) << 32) + static_cast<std::uint64_t>(words[1]) == sum);
    CHECK(found[i].mean == (empty ? 0.0 : found[i].sum.value() / static_cast<double>(end - begin)));
  }
  CHECK(ballast::segment_figures(std::vector<std::uint8_t>{1, 2, 4}, std::vector<int>{0, 3})[0].mean == 7.0 / 3.0);
}

TEST_CASE("segment_figures: of numbers, least and largest are exact, and the sum is the fixed-point sum") {
  ballast::splitmix64 draw(6);
  std::vector<float> values(300);
  for (auto& v : values) v = std::ldexp(static_cast<float>(static_cast<std::int64_t>(draw()) >> 40), -static_cast<int>(draw() % 30));
  std::vector<std::int32_t> const cu{0, 1, 7, 7, 200, 300};
  auto const found = ballast::segment_figures(values, cu);
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const begin = values.begin() + cu[i], end = values.begin() + cu[i + 1];
    ballast::fixed_point_sum<> sum;
    for (auto v = begin; v != end; ++v) sum.add(*v);
    CHECK(found[i].sum == sum);
    if (begin == end) continue;
    CHECK(found[i].least == *std::min_element(begin, end));
    CHECK(found[i].largest == *std::max_element(begin, end));
    CHECK(found[i].mean == sum.value() / static_cast<double>(end - begin));
  }
  auto const inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  auto const odd = ballast::segment_figures(std::vector<double>{-0.0, 0.0, 1.0, nan, -inf, inf, 2.0, 0x1p40, 1.0},
                                            std::vector<std::int64_t>{0, 2, 4, 7, 9});
  CHECK((std::signbit(odd[0].least) && !std::signbit(odd[0].largest)));
  CHECK((std::isnan(odd[1].least) && std::isnan(odd[1].largest) && std::isnan(odd[1].mean)));
  CHECK((odd[2].least == -inf && odd[2].largest == inf && std::isnan(odd[2].mean)));
  CHECK((odd[3].largest == 0x1p40 && odd[3].sum.saturated() == 1 && std::isnan(odd[3].mean)));
}

TEST_CASE("segment_figures: bad cumulative lengths are named") {
  std::vector<float> const values(5);
  auto const with = [&](std::vector<std::int64_t> const& cu) { return refusal([&] { return ballast::segment_figures(values, cu); }); };
  CHECK(with({}) == "cu_seqlens must start with 0");
  CHECK(with({1, 2}) == "cu_seqlens must start with 0");
  CHECK(with({0, 3, 2}) == "cu_seqlens[2] = 2 is below its predecessor 3");
  CHECK(with({0, 6}) == "cu_seqlens ends at 6, but there are 5 values");
  CHECK(with({0, 5}) == "accepted");
}

}  // namespace test_loss_segment_figures
