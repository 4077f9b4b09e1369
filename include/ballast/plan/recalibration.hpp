// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/plan/plan_data.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

/// @file
/// @brief `recalibration`: the cost that `step_observer` finds from measured times of steps, in integers. This header does not need Eigen.

namespace ballast::inline v0_2 {

/// @brief A coefficient as a fraction of integers, so that costs are the same on every machine.
struct coefficient {
  std::uint64_t numerator = 0;    ///< below 2^32
  std::uint64_t denominator = 1;  ///< a power of two, at most 2^62

  /// @brief The product with an amount, rounded up. @param amount not negative @return the product, or 2^63 - 1 if it is larger
  [[nodiscard]] constexpr std::int64_t times(std::int64_t amount) const noexcept {
    auto const product = multiply(numerator, static_cast<std::uint64_t>(amount));
    constexpr auto most = std::uint64_t{(std::numeric_limits<std::int64_t>::max)()};
    if (product.high >= denominator) return static_cast<std::int64_t>(most);
    return static_cast<std::int64_t>((std::min)(most, multiply_divide_up(numerator, static_cast<std::uint64_t>(amount), denominator)));
  }
  friend constexpr bool operator==(coefficient const&, coefficient const&) = default;
};

/// @brief The nearest coefficient to a number, with a relative error of at most 2^-32 for numbers from 2^-30 to 2^32.
/// @param value  a number that is not negative
/// @return the coefficient; 0 for numbers below 2^-63
/// @throws invalid_input unless the number is in [0, 2^32)
[[nodiscard]] constexpr coefficient coefficient_of(double value) {
  require(value >= 0 && value < 4294967295.0,
          [&] { return sentence("a coefficient of ", std::to_string(value), " must be in [0, 2^32)"); });
  coefficient out;
  while (value > 0 && value < 2147483647.0 && out.denominator < std::uint64_t{1} << 62) {
    value *= 2;  // exact
    out.denominator *= 2;
  }
  out.numerator = static_cast<std::uint64_t>(detail::nearest(value));
  return out;
}

/// @brief A cost as a sum of terms, each with a coefficient.
/// @tparam Terms  cost models
template <cost_model... Terms>
struct recalibrated_cost {
  std::tuple<Terms...> terms;                            ///< the terms of the cost
  std::array<coefficient, sizeof...(Terms)> per_unit{};  ///< nanoseconds per unit of each term

  /// @brief The cost in nanoseconds, at least 1. @param length tokens, with `fits(length)`
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t length) const { return (std::max)(std::int64_t{1}, sum(length)); }
  /// @brief Whether every term has a cost for the length, and their sum is below 2^62. @param length tokens
  [[nodiscard]] constexpr bool fits(std::int64_t length) const {
    return std::apply([&](auto const&... term) { return (known(term, length) && ...); }, terms) && sum(length) < std::int64_t{1} << 62;
  }

 private:
  template <class Term>
  [[nodiscard]] static constexpr bool known(Term const& term, std::int64_t length) {
    if constexpr (bounded_cost_model<Term>)
      return static_cast<bool>(term.fits(length));
    else
      return length >= 0;
  }
  [[nodiscard]] constexpr std::int64_t sum(std::int64_t length) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      std::int64_t all = 0;
      auto const add = [&](std::int64_t part) { all = (std::min)(part, (std::numeric_limits<std::int64_t>::max)() - all) + all; };
      (add(per_unit[K].numerator == 0 ? 0 : per_unit[K].times(static_cast<std::int64_t>(std::get<K>(terms)(length)))), ...);
      return all;
    }(std::index_sequence_for<Terms...>{});
  }
};

/// @brief What a recalibrated cost is made of.
enum class cost_basis : std::uint8_t {
  scaled,     ///< the modelled cost, times one factor
  overheads,  ///< the modelled cost, times one factor, and fitted times of a step and of a micro-batch
  terms,      ///< fitted terms in place of the modelled cost, and fitted times of a step and of a micro-batch
};

/// @brief The name of a basis. @param basis any enumerator @return a word, such as "scaled"
[[nodiscard]] constexpr std::string_view to_string(cost_basis basis) noexcept {
  constexpr std::string_view names[] = {"scaled", "overheads", "terms"};
  return names[static_cast<std::size_t>(basis)];
}

/// @brief What measured times of steps say about the cost. All times are nanoseconds on one device, as if it held all pipeline stages.
/// @tparam Terms  the modelled cost, then the terms of the fit
template <cost_model... Terms>
struct recalibration {
  recalibrated_cost<Terms...> cost;       ///< time of a sample
  std::int64_t per_micro_batch = 0;       ///< fixed time of a micro-batch
  std::int64_t per_step = 0;              ///< fixed time of a step
  cost_basis basis = cost_basis::scaled;  ///< what the cost is made of
  std::size_t used = 0;                   ///< measured times that the result is based on
  std::size_t rejected = 0;               ///< measured times that were taken for outliers
  relative_errors scaled_errors{};        ///< errors of the scaled modelled cost over the times that are no outliers under it
  relative_errors errors{};               ///< the same of the result; for a fit, each time is predicted by a fit without it

  /// @brief Returns the options of a plan with the fixed costs found. @param options the options of the plan @return options for
  /// `plan_rest`
  [[nodiscard]] data_plan_options options_of(data_plan_options options) const {
    options.steps.cost_per_micro_batch = per_micro_batch;
    options.steps.cost_per_step = per_step;
    return options;
  }
};

}  // namespace ballast::inline v0_2
