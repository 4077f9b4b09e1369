// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief `transformer_cost`: the cost model of a transformer. `sample_cost` (transformer.hpp) makes it from the model's shape.

namespace ballast::inline v0_2 {

/// @brief The exact cost of a sample in a transformer: linear in its tokens, plus its attention pairs in full and in windowed layers.
///
/// The cost is `per_token * length + per_pair * pairs(length) + per_windowed_pair * windowed pairs(length)`, on host and device.
struct transformer_cost {
  std::int64_t per_token = 0;          ///< units per token, not negative
  std::int64_t per_pair = 0;           ///< units per pair in layers without a window, not negative
  std::int64_t per_windowed_pair = 0;  ///< units per pair in layers with a window, not negative
  std::int64_t window = 0;             ///< number of keys that a token sees in layers with a window
  bool causal = true;                  ///< whether layers are causal
  bool chunked = false;                ///< whether windows are `chunked_pairs`; if not, they slide, but not without `causal`
  std::int64_t flops_per_unit = 1;     ///< forward FLOPs of one unit

  /// @brief The cost in units. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    auto const pairs = per_pair == 0 ? 0 : causal ? causal_pairs{}(length) : full_pairs{}(length);
    return per_token * length + per_pair * pairs + per_windowed_pair * windowed_pairs(length);
  }
  /// @brief Whether the cost is below 2^63 and the parameters valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    if (per_pair != 0 && !(causal ? causal_pairs{}.fits(length) : full_pairs{}.fits(length))) return false;
    if (per_windowed_pair != 0 && !(slides() ? window_pairs{.window = window}.fits(length) : chunks().fits(length))) return false;
    auto const pairs = per_pair == 0 ? 0 : causal ? causal_pairs{}(length) : full_pairs{}(length);
    return (checked(per_token) * checked(length) + checked(per_pair) * checked(pairs) +
            checked(per_windowed_pair) * checked(windowed_pairs(length)))
        .fits();
  }
  /// @brief The number of pairs in a layer with a window; 0 if there is no such layer. @param length tokens, with `fits(length)`
  [[nodiscard]] BALLAST_HD constexpr std::int64_t windowed_pairs(std::int64_t length) const noexcept {
    if (per_windowed_pair == 0) return 0;
    return slides() ? window_pairs{.window = window}(length) : chunks()(length);
  }
  /// @brief The number of keys that a token of a long sample sees in a layer with a window, on average and rounded up; 0 without such
  /// layers.
  [[nodiscard]] constexpr std::int64_t windowed_keys() const noexcept {
    return per_windowed_pair == 0 ? 0 : causal && chunked ? window / 2 + 1 : window;
  }
  /// @brief The same cost in the form a l + l^2, up to a factor. `.linear` is a, rounded to nearest: the length at which the linear and the
  /// quadratic part are equal.
  ///
  /// Layers with a window count as linear, which they are beyond their window. If all layers have a window, the cost is l.
  [[nodiscard]] constexpr quadratic_cost quadratic() const noexcept {
    if (per_pair == 0) return {.linear = 1, .quadratic = 0};
    auto const tokens = per_token + per_windowed_pair * windowed_keys();
    return {.linear = causal ? (2 * tokens + per_pair + per_pair / 2) / per_pair : (tokens + per_pair / 2) / per_pair, .quadratic = 1};
  }
  friend constexpr bool operator==(transformer_cost const&, transformer_cost const&) = default;

 private:
  [[nodiscard]] BALLAST_HD constexpr bool slides() const noexcept { return causal && !chunked; }
  [[nodiscard]] BALLAST_HD constexpr chunked_pairs chunks() const noexcept { return {.chunk = window, .causal = causal}; }
};

static_assert(bounded_cost_model<transformer_cost>);

}  // namespace ballast::inline v0_2
