// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/choose_chunks.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_chunks_chunk_settings {

using ballast::chunk_bytes;
using ballast::chunk_setting;
using ballast::chunk_settings;
using ballast::largest_chunk;
using ballast_test::between;
using ballast_test::refusal;

/// Tokens of the chunks of one sample.
std::vector<std::int64_t> pieces_of(std::int64_t length, std::int64_t size) {
  std::vector<std::int64_t> out;
  for (; length > 0; length -= out.back()) out.push_back((std::min)(length, size));
  return out;
}

TEST_CASE("largest_chunk: one chunk beside the keys and values of the longest sample", "[chunks]") {
  CHECK(largest_chunk(1000, 5000, {.activations = 10, .keys_values = 1}) == 400);
  CHECK(largest_chunk(1000, 5000, {.activations = 10, .keys_values = 1, .key_gradients = 2}) == 200);
  CHECK(largest_chunk(500, 5000, {.activations = 10, .keys_values = 100}) == 500);  // nothing is cut
  CHECK(largest_chunk(499, 5000, {.activations = 10, .keys_values = 100}) == 500);
  CHECK(largest_chunk(501, 5000, {.activations = 10, .keys_values = 100}) == 0);
  CHECK(largest_chunk(1000, 1000, {.activations = 10, .keys_values = 1}) == 0);
  CHECK(largest_chunk(1000, 1000, {.keys_values = 1}) == (std::numeric_limits<std::int64_t>::max)());
  CHECK(largest_chunk(std::int64_t{1} << 61, 1000, {.activations = 10, .keys_values = 8}) == 0);
  CHECK(refusal([] { return largest_chunk(0, 1, {}); }) == "longest = 0 must be positive");
  CHECK(refusal([] { return largest_chunk(1, -1, {}); }) == "numbers of bytes must not be negative");
  CHECK(refusal([] { return largest_chunk(1, 1, {.keys_values = -1}); }) == "numbers of bytes must not be negative");
}

TEST_CASE("chunk_settings: powers of two up to what fits", "[chunks]") {
  // 9,000 tokens in chunks of 4,096: 808 are the last chunk, which fits as a third beside two full ones
  auto const settings = chunk_settings({.shortest = 1, .longest = 9000, .tokens = 20000}, 9000, {.activations = 1});
  CHECK(settings == std::vector<chunk_setting>{{1024, 1},
                                               {1024, 2},
                                               {1024, 4},
                                               {1024, 8},
                                               {1024, 9},
                                               {2048, 1},
                                               {2048, 2},
                                               {2048, 4},
                                               {2048, 5},
                                               {4096, 1},
                                               {4096, 2},
                                               {4096, 3},
                                               {8192, 1},
                                               {8192, 2},
                                               {9000, 1}});
  CHECK(chunk_settings({.shortest = 1, .longest = 100, .tokens = 300}, 1000, {.activations = 1}) == std::vector<chunk_setting>{{300, 1}});
  CHECK(chunk_settings({.shortest = 1, .longest = 100, .tokens = 300}, 10, {.activations = 11}).empty());
}

TEST_CASE("chunk_settings: with each of them the longest sample fits, the largest are the last that do", "[chunks][property]") {
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 2000; ++round) {
    chunk_bytes const bytes{.activations = between(0, 9, draw), .keys_values = between(0, 2, draw), .key_gradients = between(0, 1, draw)};
    auto const longest = between(1, 20'000, draw), capacity = between(1, 100'000, draw), tokens = longest * between(1, 9, draw);
    auto const peak = [&](chunk_setting const& s) {
      auto const pieces = pieces_of(longest, s.size);
      auto const of_one = pieces.size() == 1 ? chunk_bytes{.activations = bytes.activations} : bytes;
      return ballast::retained_peak(pieces, s.retained, of_one);
    };
    auto const settings = chunk_settings({.shortest = 1, .longest = longest, .tokens = tokens}, capacity, bytes);
    CAPTURE(round, longest, capacity, bytes.activations, bytes.keys_values, bytes.key_gradients);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      auto const& s = settings[i];
      REQUIRE(peak(s) <= capacity);
      REQUIRE(s.size <= tokens);
      if (i > 0) REQUIRE((settings[i - 1].size < s.size || (settings[i - 1].size == s.size && settings[i - 1].retained < s.retained)));
      auto const last = i + 1 == settings.size() || settings[i + 1].size != s.size;
      if (last && s.retained < pieces_of(longest, s.size).size()) REQUIRE(peak({s.size, s.retained + 1}) > capacity);
    }
    if (settings.empty()) REQUIRE(peak({1, 1}) > capacity);
  }
}

}  // namespace test_chunks_chunk_settings
