// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief Measured times, and the cost that `calibrate` fits to them. This header does not need Eigen.

namespace ballast::inline v0_2 {

/// @brief The measured time of one sample.
struct timing {
  std::int64_t length = 0;  ///< tokens of the sample
  double ms = 0;            ///< milliseconds, positive and finite
};

/// @brief The measured time of one micro-batch, as a trainer's own timer gives it.
struct micro_batch_timing {
  std::vector<std::int64_t> lengths;  ///< tokens of each of the micro-batch's samples, at least one
  double ms = 0;                      ///< milliseconds, positive and finite
};

/// @brief The measured time of work that is counted in several units, such as tokens, micro-batches and steps.
/// @tparam Columns  number of units, at least 1
template <std::size_t Columns>
struct work_timing {
  std::array<double, Columns> units{};  ///< amount of work in each unit, not negative
  double ms = 0;                        ///< milliseconds, positive and finite
  friend constexpr bool operator==(work_timing const&, work_timing const&) = default;
};

/// @brief How `calibrate` estimates its error on new lengths.
struct calibrate_options {
  std::size_t folds = 10;  ///< parts of the rows, at least 2; the rows of each part are predicted by a fit to the other parts
};

/// @brief Relative errors over a set of rows: |predicted / measured - 1|.
struct relative_errors {
  double worst = 0;  ///< largest error
  double mean = 0;   ///< mean error
};

/// @brief What `calibrate` finds for work that is counted in several units.
/// @tparam Columns  number of units
template <std::size_t Columns>
struct work_calibration {
  std::array<double, Columns> coefficients{};  ///< milliseconds per unit, not negative
  relative_errors fit{};                       ///< errors over the rows that were fitted
  relative_errors held_out{};                  ///< errors when each row is predicted by a fit without it
};

/// @brief A fitted cost: a sum of terms, each a cost model with a coefficient that is not negative.
///
/// The call operator gives the cost of a sample in milliseconds, a floating cost: `scaled(fit, 1e6)` plans with it in nanoseconds. The
/// constant time of a micro-batch is separate, because planners charge it once: pass it as `batching_options::cost_per_micro_batch`, in the
/// same unit.
/// @tparam Terms  cost models
template <cost_model... Terms>
struct calibration {
  std::tuple<Terms...> terms;                           ///< the terms of the cost
  std::array<double, sizeof...(Terms)> coefficients{};  ///< milliseconds per unit of each term, not negative
  double per_micro_batch = 0;  ///< constant milliseconds of a micro-batch, not negative; 0 if single samples were timed
  relative_errors fit{};       ///< errors over the rows that the cost was fitted to
  relative_errors held_out{};  ///< errors when each row is predicted by a fit without it: what to expect on new lengths

  /// @brief The cost of a sample in milliseconds. @param length tokens
  [[nodiscard]] double operator()(std::int64_t length) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      double sum = 0;
      ((sum += coefficients[K] * static_cast<double>(std::get<K>(terms)(length))), ...);
      return sum;
    }(std::index_sequence_for<Terms...>{});
  }
  /// @brief The time of a micro-batch in milliseconds. @param lengths tokens of each of its samples
  [[nodiscard]] double of_micro_batch(std::span<std::int64_t const> lengths) const {
    auto sum = per_micro_batch;
    for (auto const length : lengths) sum += (*this)(length);
    return sum;
  }
};

}  // namespace ballast::inline v0_2
