// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>

#include <cstdint>

/// @file
/// @brief Costs that are a polynomial of the length: `token_cost`, `linear_cost` and `quadratic_cost`.

namespace ballast::inline v0_2 {

/// @brief Cost of a sample in tokens: its length. This is the default of every packer.
struct token_cost {
  /// @brief The cost. @param length tokens
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return length; }
  /// @brief Whether the length is valid: not negative. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept { return length >= 0; }
  friend constexpr bool operator==(token_cost const&, token_cost const&) = default;
};

/// @brief Cost of a sample of `length` tokens: `per_sample + per_token * length`. The default counts tokens.
struct linear_cost {
  std::int64_t per_token = 1;   ///< units per token, not negative
  std::int64_t per_sample = 0;  ///< units per sample, not negative
  /// @brief The cost. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return per_sample + per_token * length; }
  /// @brief Whether the cost of `length` tokens is not negative and below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    constexpr auto most = checked::most;
    return per_token >= 0 && per_sample >= 0 && length >= 0 && (per_token == 0 || length <= (most - per_sample) / per_token);
  }
  friend constexpr bool operator==(linear_cost const&, linear_cost const&) = default;
};

/// @brief Cost of a sample of `length` tokens: `linear * length + quadratic * length * length`.
///
/// For a dense transformer layer of hidden size h with full attention, `{.linear = 6 * h, .quadratic = 1}` is the work in units of 4 h
/// FLOPs (24 h^2 L + 4 h L^2 FLOPs; Narayanan et al., arXiv 2104.04473, appendix).
struct quadratic_cost {
  std::int64_t linear = 1;     ///< units per token, not negative
  std::int64_t quadratic = 0;  ///< units per token pair, not negative
  /// @brief The cost. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return length * (linear + quadratic * length); }
  /// @brief Whether the cost of `length` tokens is not negative and below 2^63. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    constexpr auto most = checked::most;
    if (linear < 0 || quadratic < 0 || length < 0) return false;
    if (length == 0 || (quadratic == 0 && linear == 0)) return true;
    auto const per_token = most / length;  // linear + quadratic * length may not exceed this
    return linear <= per_token && (quadratic == 0 || length <= (per_token - linear) / quadratic);
  }
  friend constexpr bool operator==(quadratic_cost const&, quadratic_cost const&) = default;
};

/// @brief The work of a dense transformer of hidden size 4096, in units of a token pair. The manual's figures of steps use it; no planner
/// assumes it. For your own model see `sample_cost` and `calibrate`.
inline constexpr quadratic_cost dense_4096_cost{.linear = 6 * 4096, .quadratic = 1};

static_assert(bounded_cost_model<token_cost> && bounded_cost_model<linear_cost> && bounded_cost_model<quadratic_cost>);

}  // namespace ballast::inline v0_2
