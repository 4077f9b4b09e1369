// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>

#include <cstdint>

/// @file
/// @brief Counts exactly how many (query, key) pairs attention computes under each mask, and the FLOPs that they cost.
///
/// A mask is a function object that counts the pairs computed for one sequence of `length` tokens. Each is a `bounded_cost_model` and can
/// be called on host and device. `fits(length)` says in advance whether the parameters are valid and the count is below 2^63.

namespace ballast::inline v0_2 {

namespace detail {

template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_prefix(std::int64_t n, std::int64_t prefix) noexcept {
  auto const p = n < prefix ? n : prefix;
  return Number(p) * Number(n) + triangle<Number>(n - p);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_window(std::int64_t n, std::int64_t keys) noexcept {
  return n <= keys ? triangle<Number>(n) : triangle<Number>(keys) + Number(n - keys) * Number(keys);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_chunks(std::int64_t n, std::int64_t chunk) noexcept {
  return n < chunk ? triangle<Number>(n) : Number(n / chunk) * triangle<Number>(chunk) + triangle<Number>(n % chunk);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_blocks(std::int64_t n, std::int64_t block) noexcept {
  auto const rest = Number(n % block);
  return Number(n - n % block) * Number(block) + rest * rest;
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_answers(std::int64_t answer, std::int64_t question, std::int64_t answers) noexcept {
  return triangle<Number>(question) + Number(answers) * (Number(question) * Number(answer) + triangle<Number>(answer));
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_zigzag(std::int64_t n, std::int64_t chunks) noexcept {
  auto const u = divide_up(n, chunks);
  return Number(u) * (Number(chunks) * Number(u) + Number(1));
}

}  // namespace detail

/// @brief Full attention (encoders, vision transformers): every query sees every key, n^2 pairs.
struct full_pairs {
  /// @brief The number of pairs. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return length * length; }
  /// @brief Whether the count is below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept { return (checked(length) * checked(length)).fits(); }
  friend constexpr bool operator==(full_pairs const&, full_pairs const&) = default;
};

/// @brief Causal attention: a query sees itself and all keys before it, n (n + 1) / 2 pairs.
struct causal_pairs {
  /// @brief The number of pairs. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return triangle<std::int64_t>(length); }
  /// @brief Whether the count is below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return length >= 0 && triangle<checked>(length).fits();
  }
  friend constexpr bool operator==(causal_pairs const&, causal_pairs const&) = default;
};

/// @brief Prefix attention (prefix language models): the first `prefix` tokens see each other in both directions, the others are causal.
struct prefix_pairs {
  std::int64_t prefix = 0;  ///< tokens of the prefix, not negative; a shorter sequence is entirely prefix

  /// @brief The number of pairs. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_prefix<std::int64_t>(length, prefix);
  }
  /// @brief Whether the count is below 2^63 and the prefix valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return prefix >= 0 && length >= 0 && detail::count_prefix<checked>(length, prefix).fits();
  }
  friend constexpr bool operator==(prefix_pairs const&, prefix_pairs const&) = default;
};

/// @brief Sliding-window attention: a query sees the last `window` keys, itself included, and the first `sinks` keys; causal.
///
/// Top-k sparse attention computes as many pairs as a window of k.
struct window_pairs {
  std::int64_t window = 1;  ///< number of last keys that a query sees, itself included; not negative
  std::int64_t sinks = 0;   ///< number of first keys that every query sees, not negative

  /// @brief The number of pairs. @param length tokens, with `fits(length)`
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

/// @brief Chunked attention: the sequence is cut into chunks of `chunk` tokens; no query sees a key of another chunk.
struct chunked_pairs {
  std::int64_t chunk = 1;  ///< tokens of a chunk, positive
  bool causal = true;      ///< whether a query sees no later key of its chunk; otherwise it sees its complete chunk (window attention)

  /// @brief The number of pairs. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return causal ? detail::count_chunks<std::int64_t>(length, chunk) : detail::count_blocks<std::int64_t>(length, chunk);
  }
  /// @brief Whether the count is below 2^63 and the chunk valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    if (chunk <= 0 || length < 0) return false;
    return (causal ? detail::count_chunks<checked>(length, chunk) : detail::count_blocks<checked>(length, chunk)).fits();
  }
  friend constexpr bool operator==(chunked_pairs const&, chunked_pairs const&) = default;
};

/// @brief Shared-prompt attention: a question and several answers of equal length; each answer sees the question and itself, but no other
/// answer; causal.
///
/// The model is called with the length of *one answer*. For answers of different lengths, add up `causal_pairs{}(question)` and, for each
/// answer, `shard_pairs(causal_pairs{}, answer, question + answer)`.
struct shared_question_pairs {
  std::int64_t question = 0;  ///< tokens of the question, not negative
  std::int64_t answers = 1;   ///< number of answers, not negative

  /// @brief The number of pairs. @param answer tokens of each answer, with `fits(answer)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t answer) const noexcept {
    return detail::count_answers<std::int64_t>(answer, question, answers);
  }
  /// @brief Whether the count is below 2^63 and the parameters valid. @param answer tokens of each answer
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t answer) const noexcept {
    return question >= 0 && answer >= 0 && detail::count_answers<checked>(answer, question, answers).fits();
  }
  friend constexpr bool operator==(shared_question_pairs const&, shared_question_pairs const&) = default;
};

/// @brief Causal attention on one of `ranks` context-parallel ranks under zigzag sharding: rank r holds chunks r and 2 N - 1 - r of 2 N.
///
/// Every rank computes the same number of pairs, u (2 N u + 1) with chunks of u = ceil(length / 2 N) tokens. The sequence is padded to a
/// multiple of 2 N, as `cu_seqlens` does with that multiple.
struct zigzag_pairs {
  std::int64_t ranks = 1;  ///< context-parallel degree N, positive

  /// @brief The number of pairs on one rank. @param length tokens of the complete sequence, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return detail::count_zigzag<std::int64_t>(length, 2 * ranks);
  }
  /// @brief Whether the count is below 2^63 and the degree valid. @param length tokens of the complete sequence
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return ranks > 0 && ranks <= checked::most / 2 && length >= 0 && detail::count_zigzag<checked>(length, 2 * ranks).fits();
  }
  friend constexpr bool operator==(zigzag_pairs const&, zigzag_pairs const&) = default;
};

/// @brief Pairs of the last `queries` tokens of a sequence of `keys` tokens: a shard of the queries, or new tokens after cached ones.
///
/// @tparam Mask  `causal_pairs`, `window_pairs` or causal `chunked_pairs`: a mask under which a query sees no later key
/// @param mask     mask of the complete sequence
/// @param queries  tokens of the shard, 0 … keys
/// @param keys     position of the shard's end in the sequence, with `mask.fits(keys)`
/// @return the count; for `causal_pairs` it is queries * keys - queries (queries - 1) / 2
template <class Mask>
[[nodiscard]] BALLAST_HD constexpr std::int64_t shard_pairs(Mask const& mask, std::int64_t queries, std::int64_t keys) noexcept {
  return mask(keys) - mask(keys - queries);
}

/// @brief The part of a training step that is counted.
enum class pass : std::uint8_t {
  forward,   ///< scores and the weighted sum of values: 2 products per pair
  backward,  ///< the scores again, and the gradients of probabilities, values, queries and keys: 5 products per pair
  training,  ///< forward and backward, as the hardware computes them: 3.5 x forward if both head widths are equal
};

/// @brief The heads of one attention layer. Only query heads count: grouped key and value heads save bytes, not FLOPs.
struct attention_heads {
  std::int64_t count = 1;     ///< query heads
  std::int64_t qk_width = 1;  ///< width of a query and key head (with multi-head latent attention: the position part included)
  std::int64_t v_width = 1;   ///< width of a value head

  /// @brief FLOPs of one pair in all heads: 2 h (d_qk + d_v) forward, 2 h (3 d_qk + 2 d_v) backward (FlashAttention, arXiv 2205.14135).
  /// @param of the part of the step to count
  [[nodiscard]] BALLAST_HD constexpr std::int64_t flops_per_pair(pass of = pass::forward) const noexcept {
    auto const forward = qk_width + v_width, backward = 3 * qk_width + 2 * v_width;
    return 2 * count * (of == pass::forward ? forward : of == pass::backward ? backward : forward + backward);
  }
  friend constexpr bool operator==(attention_heads const&, attention_heads const&) = default;
};

/// @brief Cost of a sequence under a mask: `per_token * length + per_pair * mask(length)`.
///
/// `{.per_pair = heads.flops_per_pair()}` gives the FLOPs of one layer's attention.
/// @tparam Mask  the mask that counts the pairs
template <bounded_cost_model Mask = causal_pairs>
struct masked_cost {
  std::int64_t per_token = 0;  ///< units per token, not negative
  std::int64_t per_pair = 1;   ///< units per pair, not negative
  Mask mask{};                 ///< counts the pairs that are computed

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
