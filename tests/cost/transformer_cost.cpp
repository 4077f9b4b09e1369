// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/transformer_cost.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"

#include <cstdint>

namespace test_cost_transformer_cost {

using namespace ballast;
using ballast_test::int128;

TEST_CASE("transformer_cost: every term counts, and fits is exact at the border") {
  constexpr transformer_cost all{.per_token = 5, .per_pair = 7, .per_windowed_pair = 11, .window = 100};
  STATIC_REQUIRE(all(60) == 5 * 60 + 18 * (60 * 61 / 2));
  STATIC_REQUIRE(all(200) == 5 * 200 + 7 * (200 * 201 / 2) + 11 * (100 * 101 / 2 + 100 * 100));
  STATIC_REQUIRE(transformer_cost{.per_token = 5, .per_pair = 7, .causal = false}(200) == 5 * 200 + 7 * 200 * 200);
  auto const above = int128{ballast_test::most} + 1;
  ballast_test::check_border(all, [&](int128 n) {
    auto const pairs = n * (n + 1) / 2;
    return pairs > ballast_test::most ? above : 5 * n + 7 * pairs + 11 * (n <= 100 ? pairs : 5050 + (n - 100) * 100);
  });
  ballast_test::check_border(transformer_cost{.per_windowed_pair = 3, .window = 2},
                             [](int128 n) { return n <= 2 ? 3 * n * (n + 1) / 2 : 9 + (n - 2) * 6; });
  ballast_test::check_border(transformer_cost{.per_token = 9, .window = -1},
                             [](int128 n) { return 9 * n; });  // a term that is absent asks nothing
  constexpr transformer_cost blocks{.per_token = 5, .per_pair = 7, .per_windowed_pair = 11, .window = 100, .causal = false};
  STATIC_REQUIRE(blocks(250) == 5 * 250 + 7 * 250 * 250 + 11 * (2 * 100 * 100 + 50 * 50));
  ballast_test::check_border(transformer_cost{.per_windowed_pair = 3, .window = 2, .causal = false},
                             [](int128 n) { return 3 * ((n - n % 2) * 2 + n % 2); });
  constexpr transformer_cost chunks{.per_token = 5, .per_pair = 7, .per_windowed_pair = 11, .window = 100, .chunked = true};
  STATIC_REQUIRE(chunks(250) == 5 * 250 + 7 * (250 * 251 / 2) + 11 * (2 * (100 * 101 / 2) + 50 * 51 / 2));
  ballast_test::check_border(transformer_cost{.per_windowed_pair = 3, .window = 2, .chunked = true},
                             [](int128 n) { return 3 * (n / 2 * 3 + n % 2); });
  CHECK_FALSE(transformer_cost{.per_windowed_pair = 1, .chunked = true}.fits(1));
  CHECK_FALSE(transformer_cost{.per_windowed_pair = 1, .causal = false}.fits(1));
  CHECK_FALSE(transformer_cost{.per_windowed_pair = 1, .window = -1}.fits(1));
  CHECK_FALSE(transformer_cost{.per_token = -1}.fits(1));
  CHECK_FALSE(transformer_cost{.per_pair = 1}.fits(-1));
  CHECK_FALSE((transformer_cost{.per_pair = 1, .causal = false}.fits(std::int64_t{1} << 32)));
}

TEST_CASE("transformer_cost: the family a l + l^2 is the same cost up to a factor") {
  constexpr transformer_cost causal{.per_token = 100, .per_pair = 8};
  STATIC_REQUIRE(causal.quadratic() == quadratic_cost{.linear = 26, .quadratic = 1});
  for (std::int64_t n : {0, 1, 77, 4000}) CHECK(4 * causal.quadratic()(n) == causal(n));
  STATIC_REQUIRE(transformer_cost{.per_token = 100, .per_pair = 8, .causal = false}.quadratic().linear == 13);  // 12.5, halves up
  STATIC_REQUIRE(transformer_cost{.per_token = 100, .per_pair = 8, .per_windowed_pair = 2, .window = 50}.quadratic().linear == 51);
  STATIC_REQUIRE(transformer_cost{.per_token = 100, .per_windowed_pair = 2, .window = 50}.quadratic() == quadratic_cost{});
  // a token of a chunk of 49 sees 1 to 49 keys, 25 on average
  constexpr transformer_cost chunks{.per_token = 100, .per_pair = 8, .per_windowed_pair = 2, .window = 49, .chunked = true};
  STATIC_REQUIRE((chunks.windowed_keys() == 25 && chunks.quadratic().linear == 39));  // (2 * 150 + 12) / 8
  STATIC_REQUIRE(transformer_cost{.per_windowed_pair = 2, .window = 49, .causal = false, .chunked = true}.windowed_keys() == 49);
  STATIC_REQUIRE(transformer_cost{.window = 49}.windowed_keys() == 0);
}

}  // namespace test_cost_transformer_cost
