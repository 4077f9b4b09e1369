// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/detail/count_pairs.hpp>

#include <cstdint>

/// @file
/// @brief Exact counts of attention: (query, key) pairs under every mask, and the FLOPs they cost.
///
/// A mask here is a function object that counts the pairs which one sequence of `length` tokens computes; each is a `bounded_cost_model`
/// and runs on host and device. `fits(length)` says before any work whether the count is below 2^63 and the parameters make sense.

namespace ballast::inline v0_2 {

/// @brief Every query sees every key (encoders, vision transformers): n^2 pairs.
struct full_pairs {
  /// @brief The count. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return length * length; }
  /// @brief Whether the count is below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept { return (checked(length) * checked(length)).fits(); }
  friend constexpr bool operator==(full_pairs const&, full_pairs const&) = default;
};

/// @brief A query sees itself and all keys before it: n (n + 1) / 2 pairs.
struct causal_pairs {
  /// @brief The count. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return triangle<std::int64_t>(length); }
  /// @brief Whether the count is below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return length >= 0 && triangle<checked>(length).fits();
  }
  friend constexpr bool operator==(causal_pairs const&, causal_pairs const&) = default;
};

/// @brief The first `prefix` tokens see each other both ways, the others are causal (prefix language models).
struct prefix_pairs {
  std::int64_t prefix = 0;  ///< tokens of the prefix, not negative; a shorter sequence is all prefix

  /// @brief The count. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_prefix<std::int64_t>(length, prefix);
  }
  /// @brief Whether the count is below 2^63 and the prefix valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return prefix >= 0 && length >= 0 && detail::count_prefix<checked>(length, prefix).fits();
  }
  friend constexpr bool operator==(prefix_pairs const&, prefix_pairs const&) = default;
};

/// @brief A query sees the last `window` keys, itself included, and the first `sinks` keys of the sequence; causal.
///
/// Top-k sparse attention computes as many pairs as a window of k.
struct window_pairs {
  std::int64_t window = 1;  ///< keys, not negative
  std::int64_t sinks = 0;   ///< keys, not negative

  /// @brief The count. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_window<std::int64_t>(length, window + sinks);
  }
  /// @brief Whether the count is below 2^63 and the mask valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    auto const keys = checked(window) + checked(sinks);
    return keys.fits() && length >= 0 && detail::count_window<checked>(length, keys.value).fits();
  }
  friend constexpr bool operator==(window_pairs const&, window_pairs const&) = default;
};

/// @brief The sequence is cut into chunks of `chunk` tokens, causal inside each, blind across (chunked attention).
struct chunked_pairs {
  std::int64_t chunk = 1;  ///< tokens, positive

  /// @brief The count. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_chunks<std::int64_t>(length, chunk);
  }
  /// @brief Whether the count is below 2^63 and the chunk valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return chunk > 0 && length >= 0 && detail::count_chunks<checked>(length, chunk).fits();
  }
  friend constexpr bool operator==(chunked_pairs const&, chunked_pairs const&) = default;
};

/// @brief One question and several answers of equal length that see the question and themselves, not each other; causal.
///
/// The length this model is called with is that of *one answer*; answers of several lengths add up as `causal_pairs{}(question)` and, for
/// each, `shard_pairs(causal_pairs{}, answer, question + answer)`.
struct shared_question_pairs {
  std::int64_t question = 0;  ///< tokens, not negative
  std::int64_t answers = 1;   ///< how many, not negative

  /// @brief The count. @param answer tokens of each answer, with `fits(answer)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t answer) const noexcept {
    return detail::count_answers<std::int64_t>(answer, question, answers);
  }
  /// @brief Whether the count is below 2^63 and the parameters valid. @param answer tokens of each answer
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t answer) const noexcept {
    return question >= 0 && answer >= 0 && detail::count_answers<checked>(answer, question, answers).fits();
  }
  friend constexpr bool operator==(shared_question_pairs const&, shared_question_pairs const&) = default;
};

/// @brief What one context-parallel rank computes of a causal sequence dealt in zigzag: chunks r and 2 N - 1 - r of 2 N.
///
/// All ranks compute the same, u (2 N u + 1) pairs with chunks of u = ceil(length / 2 N) tokens: a sequence is padded to a multiple of
/// 2 N, as `cu_seqlens` with that multiple does.
struct zigzag_pairs {
  std::int64_t ranks = 1;  ///< context-parallel degree N, positive

  /// @brief The count on one rank. @param length tokens of the whole sequence, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_zigzag<std::int64_t>(length, 2 * ranks);
  }
  /// @brief Whether the count is below 2^63 and the degree valid. @param length tokens of the whole sequence
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return ranks > 0 && ranks <= checked::most / 2 && length >= 0 && detail::count_zigzag<checked>(length, 2 * ranks).fits();
  }
  friend constexpr bool operator==(zigzag_pairs const&, zigzag_pairs const&) = default;
};

/// @brief Pairs of the last `queries` tokens of a sequence of `keys` tokens: a shard of its queries, or new tokens behind a cache.
///
/// @tparam Mask  `causal_pairs`, `window_pairs` or `chunked_pairs`: one under which a query sees no key behind itself
/// @param mask     the mask of the whole sequence
/// @param queries  tokens of the shard, 0 … keys
/// @param keys     position of the shard's end in the sequence, with `mask.fits(keys)`
/// @return the count; for `causal_pairs` it is queries * keys - queries (queries - 1) / 2
template <class Mask>
[[nodiscard]] BALLAST_HD constexpr std::int64_t shard_pairs(Mask const& mask, std::int64_t queries, std::int64_t keys) noexcept {
  return mask(keys) - mask(keys - queries);
}

/// @brief Which part of a training step is counted.
enum class pass : std::uint8_t {
  forward,   ///< scores and the weighted sum of values: 2 products a pair
  backward,  ///< the scores again, and the gradients of probabilities, values, queries and keys: 5 products a pair
  training,  ///< both, as the hardware computes them: 3.5 x forward where both widths are equal
};

/// @brief The heads of one attention layer. Grouped key and value heads save bytes, not FLOPs, so query heads alone are counted.
struct attention_heads {
  std::int64_t count = 1;     ///< query heads
  std::int64_t qk_width = 1;  ///< width of a query and key head (with multi-head latent attention: the position part included)
  std::int64_t v_width = 1;   ///< width of a value head

  /// @brief FLOPs of one pair over all heads: 2 h (d_qk + d_v) forward, 2 h (3 d_qk + 2 d_v) backward (FlashAttention, arXiv 2205.14135).
  /// @param of the part of the step
  [[nodiscard]] BALLAST_HD constexpr std::int64_t flops_per_pair(pass of = pass::forward) const noexcept {
    auto const forward = qk_width + v_width, backward = 3 * qk_width + 2 * v_width;
    return 2 * count * (of == pass::forward ? forward : of == pass::backward ? backward : forward + backward);
  }
  friend constexpr bool operator==(attention_heads const&, attention_heads const&) = default;
};

/// @brief Cost of a sequence under a mask: `per_token * length + per_pair * mask(length)`.
///
/// `{.per_pair = heads.flops_per_pair()}` counts the FLOPs of one layer's attention.
/// @tparam Mask  what counts the pairs
template <bounded_cost_model Mask = causal_pairs>
struct masked_cost {
  std::int64_t per_token = 0;  ///< units per token, not negative
  std::int64_t per_pair = 1;   ///< units per pair, not negative
  Mask mask{};                 ///< which pairs are computed

  /// @brief The cost. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return per_token * length + per_pair * mask(length); }
  /// @brief Whether the cost is below 2^63 and the parameters valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return mask.fits(length) && (checked(per_token) * checked(length) + checked(per_pair) * checked(mask(length))).fits();
  }
  friend constexpr bool operator==(masked_cost const&, masked_cost const&) = default;
};

static_assert(bounded_cost_model<full_pairs> && bounded_cost_model<prefix_pairs> && bounded_cost_model<window_pairs> &&
              bounded_cost_model<chunked_pairs> && bounded_cost_model<shared_question_pairs> && bounded_cost_model<zigzag_pairs> &&
              bounded_cost_model<masked_cost<causal_pairs>>);

}  // namespace ballast::inline v0_2
