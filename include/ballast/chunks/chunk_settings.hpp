// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// @file
/// @brief The sizes of a chunk and the numbers of retained chunks that fit a limit of memory.

namespace ballast::inline v0_2 {

/// @brief How a batch is cut into chunks: (ChunkSize, K) of ChunkFlow.
struct chunk_setting {
  std::int64_t size = 0;       ///< most tokens of a chunk
  std::uint64_t retained = 1;  ///< chunks of each long sample that keep their activations
  friend constexpr bool operator==(chunk_setting const&, chunk_setting const&) = default;
};

/// @brief The largest size of a chunk with which one retained chunk of any sample fits: the published rule without pipeline stages, K = 1.
/// @param longest    tokens of the longest sample, at least 1
/// @param capacity   bytes for chunks
/// @param per_token  bytes of a token, none negative
/// @return tokens; 0 if not even chunks of one token fit, the largest integer if a token takes no bytes
/// @throws invalid_input if `longest` is not positive, or a number of bytes is negative
/// @par Complexity
/// O(1).
/// @par Source
/// ChunkFlow, arXiv 2503.02356.
[[nodiscard]] constexpr std::int64_t largest_chunk(std::int64_t longest, std::int64_t capacity, chunk_bytes const& per_token) {
  require(longest > 0, [&] { return "longest = " + std::to_string(longest) + " must be positive"; });
  require(capacity >= 0 && per_token.activations >= 0 && per_token.keys_values >= 0 && per_token.key_gradients >= 0,
          [] { return std::string("numbers of bytes must not be negative"); });
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  auto const fitting = [&](std::int64_t bytes) { return per_token.activations == 0 ? most : bytes / per_token.activations; };
  if (fitting(capacity) >= longest) return fitting(capacity);  // no sample is cut, and none stores keys and values
  auto const state = (checked(per_token.keys_values) + checked(per_token.key_gradients)) * checked(longest);
  return !state.fits() || state.value > capacity ? 0 : fitting(capacity - state.value);
}

/// @brief The settings that `choose_chunks` tries by itself.
///
/// Sizes: `largest_chunk`, or all tokens if they are fewer, and the powers of two from 1,024 tokens on that are less. Retained chunks for
/// each size: the largest number whose chunks fit beside the keys and values of the longest sample, one more if that sample fits with it
/// since its last chunk is shorter, and the powers of two that are less.
/// @param extent     longest sample and all tokens of the batch, as `extent_of` returns them for at least one sample
/// @param capacity   bytes for chunks
/// @param per_token  bytes of a token, none negative
/// @return settings, ascending by size, then by retained chunks; none if not even chunks of one token fit
/// @throws invalid_input as `largest_chunk`
/// @par Complexity
/// O(settings).
template <class = when_called>
[[nodiscard]] inline std::vector<chunk_setting> chunk_settings(length_extent const& extent, std::int64_t capacity,
                                                               chunk_bytes const& per_token) {
  auto const longest = extent.longest, largest = (std::min)(largest_chunk(longest, capacity, per_token), extent.tokens);
  auto const state = (checked(per_token.keys_values) + checked(per_token.key_gradients)) * checked(longest);
  std::vector<chunk_setting> out;
  for (std::int64_t size = (std::min)(std::int64_t{1024}, largest); size > 0;) {
    auto const pieces = divide_up(longest, size);
    auto most = pieces, again = std::int64_t{0};
    if (pieces > 1) {  // the keys and values of all tokens are stored, which they are not if the largest size cuts no sample
      auto const left = state.fits() ? capacity - state.value : -1;
      constexpr auto most_tokens = (std::numeric_limits<std::int64_t>::max)();
      auto const room = left < 0 ? 0 : per_token.activations == 0 ? most_tokens : left / per_token.activations;
      most = (std::min)(pieces, room / size);
      if (most > 0 && most < pieces && room - most * size >= longest - (pieces - 1) * size) again = most + 1;  // the last one is shorter
    }
    for (std::int64_t k = 1; k < most; k *= 2) out.push_back({size, static_cast<std::uint64_t>(k)});
    for (auto const k : {most, again})
      if (k > 0) out.push_back({size, static_cast<std::uint64_t>(k)});
    size = size == largest ? 0 : size > largest / 2 ? largest : size * 2;
  }
  return out;
}

}  // namespace ballast::inline v0_2
