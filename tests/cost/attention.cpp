// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/attention.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"

#include <cstdint>

namespace test_cost_attention {

namespace {

using namespace ballast;
using ballast_test::check_border;
using ballast_test::int128;
using ballast_test::most;

/// The ones of an explicit mask: `sees(query, key)` for the last `queries` of `length` tokens.
template <class Sees>
std::int64_t ones(std::int64_t length, std::int64_t queries, Sees const& sees) {
  std::int64_t sum = 0;
  for (auto q = length - queries; q < length; ++q)
    for (std::int64_t k = 0; k < length; ++k) sum += sees(q, k) ? 1 : 0;
  return sum;
}

int128 triangle(int128 n) { return n * (n + 1) / 2; }

}  // namespace

TEST_CASE("attention: every mask counts the ones of the mask it stands for") {
  constexpr auto causal = [](std::int64_t q, std::int64_t k) { return k <= q; };
  for (std::int64_t n = 0; n <= 26; ++n) {
    CAPTURE(n);
    CHECK(full_pairs{}(n) == ones(n, n, [](auto, auto) { return true; }));
    CHECK(causal_pairs{}(n) == ones(n, n, causal));
    for (std::int64_t a = 0; a <= 9; ++a) {
      CAPTURE(a);
      CHECK(prefix_pairs{.prefix = a}(n) == ones(n, n, [&](auto q, auto k) { return causal(q, k) || (q < a && k < a); }));
      for (std::int64_t sinks = 0; sinks <= 4; ++sinks)
        CHECK(window_pairs{.window = a, .sinks = sinks}(n) ==
              ones(n, n, [&](auto q, auto k) { return causal(q, k) && (q - k < a || k < sinks); }));
      if (a > 0) CHECK(chunked_pairs{.chunk = a, .causal = false}(n) == ones(n, n, [&](auto q, auto k) { return q / a == k / a; }));
      if (a > 0) CHECK(chunked_pairs{.chunk = a}(n) == ones(n, n, [&](auto q, auto k) { return causal(q, k) && q / a == k / a; }));
      for (std::int64_t answers = 0; answers <= 3; ++answers)
        CHECK(shared_question_pairs{.question = a, .answers = answers}(n) == ones(a + answers * n, a + answers * n, [&](auto q, auto k) {
                return causal(q, k) && (k < a || (q >= a && (q - a) / n == (k - a) / n));
              }));
    }
  }
}

TEST_CASE("attention: every zigzag share is the same, and padded shares cover the sequence") {
  for (std::int64_t ranks = 1; ranks <= 5; ++ranks)
    for (std::int64_t n = 0; n <= 41; ++n) {
      auto const chunk = (n + 2 * ranks - 1) / (2 * ranks), padded = chunk * 2 * ranks;
      CAPTURE(ranks, n, chunk);
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        CHECK(zigzag_pairs{.ranks = ranks}(n) ==
              ones(padded, padded, [&](auto q, auto k) { return k <= q && (q / chunk == rank || q / chunk == 2 * ranks - 1 - rank); }));
      CHECK(ranks * zigzag_pairs{.ranks = ranks}(n) == causal_pairs{}(padded));
    }
}

TEST_CASE("attention: shards of the queries") {
  for (std::int64_t keys = 0; keys <= 20; ++keys)
    for (std::int64_t queries = 0; queries <= keys; ++queries) {
      CAPTURE(keys, queries);
      auto const at_end = shard_pairs(causal_pairs{}, queries, keys);
      CHECK(at_end == ones(keys, queries, [](auto q, auto k) { return k <= q; }));
      CHECK(at_end == queries * keys - queries * (queries - 1) / 2);
      CHECK(at_end + shard_pairs(causal_pairs{}, queries, queries) == queries * (keys + 1));  // as many tokens off both ends
      CHECK(shard_pairs(window_pairs{.window = 6, .sinks = 2}, queries, keys) ==
            ones(keys, queries, [](auto q, auto k) { return k <= q && (q - k < 6 || k < 2); }));
      CHECK(shard_pairs(chunked_pairs{.chunk = 7}, queries, keys) ==
            ones(keys, queries, [](auto q, auto k) { return k <= q && q / 7 == k / 7; }));
    }
}

TEST_CASE("attention: fits is exact at the border") {
  check_border(full_pairs{}, [](int128 n) { return n * n; });
  check_border(causal_pairs{}, triangle);
  for (auto p : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 31, most / 2, most}) {
    CAPTURE(p);
    check_border(prefix_pairs{.prefix = p}, [&](int128 n) { return n < p ? n * n : p * n + triangle(n - p); });
    for (auto sinks : {std::int64_t{0}, std::int64_t{3}}) {
      if (p > most - sinks) continue;
      check_border(window_pairs{.window = p, .sinks = sinks}, [&](int128 n) {
        auto const keys = int128{p} + sinks;
        return n <= keys ? triangle(n) : triangle(keys) + (n - keys) * keys;
      });
    }
    if (p > 0) check_border(chunked_pairs{.chunk = p}, [&](int128 n) { return n / p * triangle(p < n ? int128{p} : 0) + triangle(n % p); });
    if (p > 0) check_border(chunked_pairs{.chunk = p, .causal = false}, [&](int128 n) { return (n - n % p) * p + (n % p) * (n % p); });
    if (p > 0 && p < most / 2)
      check_border(zigzag_pairs{.ranks = p}, [&](int128 n) {
        auto const u = (n + 2 * int128{p} - 1) / (2 * int128{p});
        return u > most ? int128{most} + 1 : u * (u * 2 * p + 1);
      });
    for (std::int64_t answers : {1, 1000})
      check_border(shared_question_pairs{.question = p, .answers = answers}, [&](int128 b) {
        auto const one = p * b + triangle(b);
        return one > most ? int128{most} + 1 : triangle(p) + answers * one;
      });
    for (std::int64_t per_token : {0, 77})
      check_border(masked_cost<causal_pairs>{.per_token = per_token, .per_pair = p},
                   [&](int128 n) { return triangle(n) > most ? int128{most} + 1 : per_token * n + p * triangle(n); });
  }
}

TEST_CASE("attention: counts are constants of the program") {
  STATIC_REQUIRE((full_pairs{}(9) == 81 && causal_pairs{}(9) == 45 && prefix_pairs{.prefix = 2}(3) == 7));
  STATIC_REQUIRE((window_pairs{.window = 2}(4) == 7 && chunked_pairs{.chunk = 2}(5) == 7));
  STATIC_REQUIRE((shared_question_pairs{.question = 1, .answers = 2}(1) == 5 && zigzag_pairs{.ranks = 2}(4) == 5));
  STATIC_REQUIRE((window_pairs{.window = 2}.fits(4) && zigzag_pairs{}.fits(4)));
}

TEST_CASE("attention: parameters that make no sense fit nothing") {
  CHECK_FALSE(prefix_pairs{.prefix = -1}.fits(3));
  CHECK_FALSE(window_pairs{.window = -1}.fits(3));
  CHECK_FALSE(window_pairs{.window = most, .sinks = 1}.fits(3));
  CHECK_FALSE(chunked_pairs{.chunk = 0}.fits(3));
  CHECK_FALSE(chunked_pairs{.chunk = 1, .causal = false}.fits(-1));
  CHECK_FALSE(zigzag_pairs{.ranks = 0}.fits(3));
  CHECK_FALSE(shared_question_pairs{.question = -1}.fits(3));
  CHECK_FALSE(shared_question_pairs{.answers = -1}.fits(3));
  CHECK_FALSE(masked_cost<>{.per_token = -1}.fits(3));
  CHECK_FALSE(masked_cost<>{.per_pair = -1}.fits(3));
}

TEST_CASE("attention: FLOPs of one pair are two to a multiplication") {
  for (std::int64_t heads : {1, 7})
    for (std::int64_t qk : {1, 64, 192})
      for (std::int64_t v : {1, 64, 128}) {
        attention_heads const h{.count = heads, .qk_width = qk, .v_width = v};
        // forward: scores (d_qk), output (d_v); backward: scores again, dQ, dK (d_qk each), dP, dV (d_v each)
        CHECK(h.flops_per_pair() == 2 * heads * (qk + v));
        CHECK(h.flops_per_pair(pass::backward) == 2 * heads * (qk + qk + qk + v + v));
        CHECK(h.flops_per_pair(pass::training) == h.flops_per_pair() + h.flops_per_pair(pass::backward));
        if (qk == v) CHECK(2 * h.flops_per_pair(pass::training) == 7 * h.flops_per_pair());
      }
  constexpr attention_heads latent{.count = 128, .qk_width = 128 + 64, .v_width = 128};
  STATIC_REQUIRE(masked_cost<>{.per_pair = latent.flops_per_pair()}(4096) == std::int64_t{2} * 128 * 320 * (4096 * 4097 / 2));
}

}  // namespace test_cost_attention
