// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief `retained_tasks`: forward and backward passes of a long sample in chunks, of which only a few keep their activations;
/// `chunk_settings`: the sizes and numbers that fit.

namespace ballast::inline v0_2 {

/// @brief The kind of a task of one chunk of a chain.
enum class chunk_pass : std::uint8_t {
  forward_keep,   ///< forward; its activations stay until the backward
  forward_drop,   ///< forward; only its keys and values stay, which later chunks attend to
  forward_again,  ///< forward once more, right before the backward; needs the keys and values of earlier chunks
  backward,       ///< needs its activations, and the gradients of its keys and values from all later chunks
};

/// @brief One task of a chain of dependent chunks.
struct chunk_task {
  std::uint32_t chunk = 0;                     ///< number of the chunk in its chain
  chunk_pass pass = chunk_pass::forward_keep;  ///< kind of task
  friend constexpr bool operator==(chunk_task const&, chunk_task const&) = default;
};

/// @brief Bytes that one token of a chunk holds, in all layers of a device together.
struct chunk_bytes {
  std::int64_t activations = 0;    ///< per token, from a forward that keeps them to the backward
  std::int64_t keys_values = 0;    ///< per token, from the first forward to the backward
  std::int64_t key_gradients = 0;  ///< per token, gradients of keys and values, from the chain's first backward to the chunk's own
  friend constexpr bool operator==(chunk_bytes const&, chunk_bytes const&) = default;
};

/// @brief Returns the tasks of a chain of which the last `retained` chunks keep their activations.
///
/// All chunks run forward, in the order of their tokens. Backwards run in the reverse order: first those of the retained chunks, then
/// each other chunk runs forward again and backward at once. So `chunks - retained` forwards are repeated.
///
/// The printed pseudocode retains the chunks from index K on, which are `chunks - K`, and repeats the others in ascending order. A
/// backward needs the gradients that all later chunks send to its keys and values, so only the descending order is right.
///
/// @param chunks    number of chunks in the chain, at least 1
/// @param retained  chunks that keep their activations, at least 1; more than `chunks` mean all
/// @return the tasks, in order
/// @throws invalid_input if a number is 0, or there are 2^32 chunks or more
/// @par Complexity
/// O(chunks).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// ChunkFlow, arXiv 2503.02356, algorithm 2, corrected as above.
template <class = when_called>
[[nodiscard]] inline std::vector<chunk_task> retained_tasks(std::uint64_t chunks, std::uint64_t retained) {
  require(chunks > 0 && chunks <= 0xffffffffU, [&] { return sentence("chunks = ", chunks, " must be in [1, 2^32)"); });
  require(retained > 0, [] { return "retained = 0 must be positive: the last chunk of a chain runs backward at once"; });
  auto const n = static_cast<std::uint32_t>(chunks), dropped = retained < chunks ? static_cast<std::uint32_t>(chunks - retained) : 0;
  std::vector<chunk_task> out;
  out.reserve(std::size_t{2} * n + dropped);
  for (std::uint32_t i = 0; i < n; ++i) out.push_back({i, i < dropped ? chunk_pass::forward_drop : chunk_pass::forward_keep});
  for (auto i = n; i-- > 0;) {
    if (i < dropped) out.push_back({i, chunk_pass::forward_again});
    out.push_back({i, chunk_pass::backward});
  }
  return out;
}

/// @brief Most bytes that a chain holds under `retained_tasks`.
///
/// With c equal chunks of which K are retained, this is K times the activations of a chunk, and the keys and values of the complete
/// sample with their gradients, at the first backward. If the last chunks are shorter, a repeated chunk may hold more.
///
/// @param tokens     tokens of each chunk of the chain, in order, not negative
/// @param retained   chunks that keep their activations, at least 1; more than there are mean all
/// @param per_token  bytes of one token
/// @return bytes; what a pass holds only while it runs is not included
/// @throws invalid_input if `retained` is 0, a number is negative, or the sum of all bytes reaches 2^63
/// @par Complexity
/// O(chunks).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline std::int64_t retained_peak(std::span<std::int64_t const> tokens, std::uint64_t retained,
                                                chunk_bytes const& per_token) {
  require(retained > 0, [] { return "retained = 0 must be positive: the last chunk of a chain runs backward at once"; });
  auto const all = checked(per_token.activations) + checked(per_token.keys_values) + checked(per_token.key_gradients);
  checked sum(0);
  for (auto const t : tokens) sum = sum + checked(t);
  require((all * sum).fits(), [] { return "the bytes of a chain must not be negative, and their sum must be below 2^63"; });
  auto const dropped = retained < tokens.size() ? tokens.size() - static_cast<std::size_t>(retained) : 0;
  std::int64_t peak = 0, held = 0, retained_tokens = 0;  // `held`: keys, values and their gradients of the chunks so far
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    held += tokens[i] * (per_token.keys_values + per_token.key_gradients);
    if (i >= dropped)
      retained_tokens += tokens[i];
    else
      peak = (std::max)(peak, held + tokens[i] * per_token.activations);
  }
  return (std::max)(peak, held + retained_tokens * per_token.activations);
}

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
  require(longest > 0, [&] { return sentence("longest = ", longest, " must be positive"); });
  require(capacity >= 0 && per_token.activations >= 0 && per_token.keys_values >= 0 && per_token.key_gradients >= 0,
          [] { return "numbers of bytes must not be negative"; });
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
