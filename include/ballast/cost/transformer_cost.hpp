// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief The cost model of a transformer, which `sample_cost` (transformer.hpp) fills from its shape.

namespace ballast::inline v0_2 {

/// @brief What a sample costs in a transformer, exactly: linear in its tokens, plus its attention pairs in full and windowed layers.
///
/// `per_token * length + per_pair * pairs(length) + per_windowed_pair * windowed pairs(length)`; runs on host and device.
struct transformer_cost {
  std::int64_t per_token = 0;          ///< units per token, not negative
  std::int64_t per_pair = 0;           ///< units per pair in layers that see everything, not negative
  std::int64_t per_windowed_pair = 0;  ///< units per pair in layers with a window, not negative
  std::int64_t window = 0;             ///< keys that a token sees in those; causal
  bool causal = true;                  ///< whether the other layers are causal
  std::int64_t flops_per_unit = 1;     ///< forward FLOPs of one unit

  /// @brief The cost in units. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    auto const pairs = per_pair == 0 ? 0 : causal ? causal_pairs{}(length) : full_pairs{}(length);
    auto const windowed = per_windowed_pair == 0 ? 0 : window_pairs{.window = window}(length);
    return per_token * length + per_pair * pairs + per_windowed_pair * windowed;
  }
  /// @brief Whether the cost is below 2^63 and the parameters valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    window_pairs const windowed{.window = window};
    if (per_pair != 0 && !(causal ? causal_pairs{}.fits(length) : full_pairs{}.fits(length))) return false;
    if (per_windowed_pair != 0 && !windowed.fits(length)) return false;
    auto const pairs = per_pair == 0 ? 0 : causal ? causal_pairs{}(length) : full_pairs{}(length);
    return (checked(per_token) * checked(length) + checked(per_pair) * checked(pairs) +
            checked(per_windowed_pair) * checked(per_windowed_pair == 0 ? 0 : windowed(length)))
        .fits();
  }
  /// @brief The same cost in the family a l + l^2, up to a factor: `.linear` is a, rounded to nearest, the length at which tokens cost as
  /// much as pairs.
  ///
  /// Windowed layers count as linear, as they are beyond their window. Without layers that see everything it is l alone.
  [[nodiscard]] constexpr quadratic_cost quadratic() const noexcept {
    if (per_pair == 0) return {.linear = 1, .quadratic = 0};
    auto const tokens = per_token + per_windowed_pair * window;
    return {.linear = causal ? (2 * tokens + per_pair + per_pair / 2) / per_pair : (tokens + per_pair / 2) / per_pair, .quadratic = 1};
  }
  friend constexpr bool operator==(transformer_cost const&, transformer_cost const&) = default;
};

static_assert(bounded_cost_model<transformer_cost>);

}  // namespace ballast::inline v0_2
