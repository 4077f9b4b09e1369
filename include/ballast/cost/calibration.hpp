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
/// @brief Timings, and the cost that `calibrate` fits to them. Needs no Eigen.

namespace ballast::inline v0_2 {

/// @brief One measurement.
struct timing {
  std::int64_t length = 0;  ///< tokens
  double ms = 0;            ///< milliseconds, positive and finite
};

/// @brief One measurement of a micro-batch: what a trainer's own timer sees.
struct micro_batch_timing {
  std::vector<std::int64_t> lengths;  ///< tokens of each of its samples, at least one
  double ms = 0;                      ///< milliseconds, positive and finite
};

/// @brief How `calibrate` judges its fit.
struct calibrate_options {
  std::size_t folds = 10;  ///< parts, at least 2; the rows of each are predicted by a fit to the others
};

/// @brief Relative errors over a set of rows: |predicted / measured - 1|.
struct relative_errors {
  double worst = 0;  ///< the largest
  double mean = 0;   ///< their mean
};

/// @brief A fitted cost: a sum of terms, each a cost model, weighted by coefficients that are not negative.
///
/// A floating cost of a sample in milliseconds; `scaled(fit, 1e6)` plans with it in nanoseconds. What a micro-batch takes whatever it holds
/// is apart, so that planners charge it once: `batching_options::cost_per_micro_batch`, in the same unit.
/// @tparam Terms  cost models
template <cost_model... Terms>
struct calibration {
  std::tuple<Terms...> terms;                           ///< what the cost is made of
  std::array<double, sizeof...(Terms)> coefficients{};  ///< milliseconds per unit of each term, not negative
  double per_micro_batch = 0;  ///< milliseconds of a micro-batch beside its samples, not negative; 0 where single samples were timed
  relative_errors fit{};       ///< over the rows that it was fitted to: all of them
  relative_errors held_out{};  ///< each row predicted by a fit that has not seen it: what to expect on new lengths

  /// @brief The cost of a sample in milliseconds. @param length tokens
  [[nodiscard]] double operator()(std::int64_t length) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      double sum = 0;
      ((sum += coefficients[K] * static_cast<double>(std::get<K>(terms)(length))), ...);
      return sum;
    }(std::index_sequence_for<Terms...>{});
  }
  /// @brief What a micro-batch takes, in milliseconds. @param lengths tokens of each of its samples
  [[nodiscard]] double of_micro_batch(std::span<std::int64_t const> lengths) const {
    auto sum = per_micro_batch;
    for (auto const length : lengths) sum += (*this)(length);
    return sum;
  }
};

}  // namespace ballast::inline v0_2
