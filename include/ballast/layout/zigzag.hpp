// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Zigzag sharding: which tokens of a packed row each context-parallel rank holds, so that causal attention costs every rank the
/// same.
///
/// Each sequence is cut into `2 * ranks` chunks of equal size; rank `r` holds the chunks `r` and `2 * ranks - 1 - r`, in this order, so an
/// early chunk (few keys) is combined with a late one (many keys). A rank's cumulative lengths are those of the row divided by `ranks`.
/// This is the layout of Transformer Engine for packed (THD) input (`common/fused_attn/context_parallel.cu`).

namespace ballast::inline v0_2 {

/// @brief The zigzag rule as index arithmetic; can be called on host and device.
struct zigzag {
  std::int64_t ranks = 1;  ///< context-parallel degree, at least 1

  /// @brief The token of the packed row that a rank holds at one place of its own row.
  /// @param rank    0 … ranks - 1
  /// @param token   place in the rank's own row, inside the sequence
  /// @param start   first token of the sequence in the rank's own row
  /// @param length  tokens of the sequence on this rank, even
  /// @return number of the token in the packed row
  [[nodiscard]] BALLAST_HD constexpr std::int64_t source(std::int64_t rank, std::int64_t token, std::int64_t start,
                                                         std::int64_t length) const noexcept {
    auto const i = token - start;
    auto const chunk = i < length / 2 ? rank : 2 * (ranks - 1) - rank;  // in the second half, i >= length / 2 already counts one chunk
    return start * ranks + length / 2 * chunk + i;
  }

  friend constexpr bool operator==(zigzag const&, zigzag const&) = default;
};

namespace detail {
template <token_offset T, cu_seqlens_range C>
[[nodiscard]] auto checked_zigzag(C const& cu, zigzag rule) {
  auto const bounds = checked_cu_seqlens<T>(cu, "cu_seqlens");
  require(rule.ranks > 0 && rule.ranks < (std::int64_t{1} << 31),
          [&] { return sentence("ranks = ", rule.ranks, " must be positive and below 2^31"); });
  auto const chunks = 2 * rule.ranks;
  for (std::size_t i = 1; i < bounds.size(); ++i)
    require((bounds[i] - bounds[i - 1]) % chunks == 0, [&] {
      return sentence("sequence ", i - 1, " of ", bounds[i] - bounds[i - 1], " tokens does not divide into ", chunks, " chunks for ",
                      rule.ranks, " ranks (build cu_seqlens with multiple = ", chunks, ")");
    });
  return bounds;
}
}  // namespace detail

/// @brief Writes the tokens of the packed row that one rank holds, in the order of the rank's own row.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu    cumulative lengths of one pack, padded to multiples of `2 * rule.ranks`
/// @param rule  the context-parallel degree
/// @param rank  0 … ranks - 1
/// @param out   array of `cu.back() / rule.ranks` elements; each gets a value below `cu.back()`
/// @post over all ranks every token of the row occurs exactly once
/// @throws invalid_input if `cu` is malformed, a sequence is not a multiple of `2 * ranks`, a token number does not fit in `T`, the rank is
/// out of range or `out` has another size; `out` is then unchanged
/// @par Complexity
/// O(tokens of the rank).
template <token_offset T, cu_seqlens_range C>
void zigzag_indices(C const& cu, zigzag rule, std::int64_t rank, std::span<T> out) {
  auto const bounds = detail::checked_zigzag<T>(cu, rule);
  require(rank >= 0 && rank < rule.ranks, [&] { return sentence("rank = ", rank, " must be in [0, ", rule.ranks, ")"); });
  detail::require_room(out.size(), static_cast<std::size_t>(bounds.back() / rule.ranks), "zigzag_indices");
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    auto const start = bounds[i - 1] / rule.ranks, end = bounds[i] / rule.ranks;
    for (auto token = start; token < end; ++token)
      out[static_cast<std::size_t>(token)] = static_cast<T>(rule.source(rank, token, start, end - start));
  }
}

/// @brief Returns the tokens that one rank holds, as the overload with `out` writes them.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam C vector or span of token offsets
/// @param cu cumulative lengths of one pack @param rule the context-parallel degree @param rank 0 … ranks - 1
/// @return `cu.back() / rule.ranks` tokens of the packed row
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> zigzag_indices(C const& cu, zigzag rule, std::int64_t rank) {
  auto const bounds = detail::checked_zigzag<T>(cu, rule);
  std::vector<T> out(static_cast<std::size_t>(bounds.back() / rule.ranks));
  zigzag_indices(cu, rule, rank, std::span<T>(out));
  return out;
}

/// @brief Writes the inverse permutation: where each token of the packed row is after the rows of all ranks are gathered in order.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu    cumulative lengths of one pack, padded to multiples of `2 * rule.ranks`
/// @param rule  the context-parallel degree
/// @param out   array of `cu.back()` elements
/// @post `gathered[out[t]]` is token `t`, where `gathered` is `zigzag_indices` of ranks 0, 1, …, concatenated
/// @throws invalid_input if `cu` is malformed, a sequence is not a multiple of `2 * ranks`, a token number does not fit in `T`, or `out`
/// has another size; `out` is then unchanged
/// @par Complexity
/// O(tokens).
template <token_offset T, cu_seqlens_range C>
void zigzag_inverse(C const& cu, zigzag rule, std::span<T> out) {
  auto const bounds = detail::checked_zigzag<T>(cu, rule);
  detail::require_room(out.size(), static_cast<std::size_t>(bounds.back()), "zigzag_inverse");
  auto const per_rank = bounds.back() / rule.ranks;
  for (std::int64_t rank = 0; rank < rule.ranks && per_rank > 0; ++rank)
    for (std::size_t i = 1; i < bounds.size(); ++i) {
      auto const start = bounds[i - 1] / rule.ranks, end = bounds[i] / rule.ranks;
      for (auto token = start; token < end; ++token)
        out[static_cast<std::size_t>(rule.source(rank, token, start, end - start))] = static_cast<T>(rank * per_rank + token);
    }
}

/// @brief Returns the inverse permutation, as the overload with `out` writes it.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam C vector or span of token offsets
/// @param cu cumulative lengths of one pack @param rule the context-parallel degree @return for each token of the packed row, its place
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> zigzag_inverse(C const& cu, zigzag rule) {
  std::vector<T> out(static_cast<std::size_t>(detail::checked_zigzag<T>(cu, rule).back()));
  zigzag_inverse(cu, rule, std::span<T>(out));
  return out;
}

}  // namespace ballast::inline v0_2
