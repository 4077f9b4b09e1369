// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/detail/least_squares.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief Fits a cost to measured times. Needs Eigen, so it is included by name.

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
/// stands apart, so that planners charge it once: `batching_options::cost_per_micro_batch`, in the same unit.
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

namespace detail {
/// Coefficients, and how well they predict.
template <std::size_t Columns>
struct relative_fit {
  std::array<double, Columns> coefficients{};
  relative_errors fit{}, held_out{};
};

/// A row by what a unit of each coefficient adds to its time. The row of rank i in `order` is in fold i mod folds.
template <std::size_t Columns>
[[nodiscard]] relative_fit<Columns> fit_relatively(std::vector<std::array<double, Columns>> const& units, std::vector<double> const& ms,
                                                   std::vector<std::size_t> const& order, std::size_t folds) {
  relative_fit<Columns> out;
  // Fits the rows that `in` accepts, by rank; how many they are.
  auto const fit = [&](auto const& in) {
    std::vector<double> design;
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      if (in(rank))
        for (auto const unit : units[order[rank]]) design.push_back(unit / ms[order[rank]]);
    using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::MatrixXd const a =
        Eigen::Map<matrix const>(design.data(), static_cast<Eigen::Index>(design.size() / Columns), static_cast<Eigen::Index>(Columns));
    Eigen::VectorXd const x = non_negative_least_squares(a);
    std::copy(x.begin(), x.end(), out.coefficients.begin());
    return design.size() / Columns;
  };
  auto const errors = [&](std::size_t rank, relative_errors& of) {
    auto const& row = units[order[rank]];
    auto const predicted = std::inner_product(row.begin(), row.end(), out.coefficients.begin(), 0.0);
    auto const error = std::fabs(predicted / ms[order[rank]] - 1);
    of.worst = (std::max)(of.worst, error);
    of.mean += error / static_cast<double>(order.size());
  };
  folds = (std::min)(folds, order.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    auto const fitted = fit([&](std::size_t rank) { return rank % folds != fold; });
    if (fitted <= Columns) {
      out.held_out.worst = out.held_out.mean = std::numeric_limits<double>::infinity();
      break;
    }
    for (std::size_t rank = fold; rank < order.size(); rank += folds) errors(rank, out.held_out);
  }
  (void)fit([](std::size_t) { return true; });
  for (std::size_t rank = 0; rank < order.size(); ++rank) errors(rank, out.fit);
  return out;
}

inline void require_rows(std::size_t rows, std::size_t columns, calibrate_options const& options) {
  require(rows >= columns, [&] { return std::to_string(rows) + " timings do not determine " + std::to_string(columns) + " coefficients"; });
  require(options.folds >= 2, [&] { return "folds = " + std::to_string(options.folds) + " must be 2 or more"; });
}
inline void require_time(double ms, std::size_t row) {
  require(ms > 0 && std::isfinite(ms),
          [&] { return "timings[" + std::to_string(row) + "].ms = " + std::to_string(ms) + " must be positive and finite"; });
}
/// Whether every term has a cost for a length.
template <class... Terms>
[[nodiscard]] bool have_costs(std::int64_t length, Terms const&... terms) {
  auto const accepted = [&](auto const& term) {
    if constexpr (bounded_cost_model<std::remove_cvref_t<decltype(term)>>)
      return static_cast<bool>(term.fits(length));
    else
      return length >= 0;
  };
  return (accepted(terms) && ...);
}
/// Row numbers by key, then number.
[[nodiscard]] inline std::vector<std::size_t> by_key(std::vector<double> const& key) {
  std::vector<std::size_t> order(key.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return key[i] != key[j] ? key[i] < key[j] : i < j; });
  return order;
}
}  // namespace detail

/// @brief Fits non-negative coefficients of the given terms to measured times, in relative least squares.
///
/// It minimises the sum of (predicted / measured - 1)^2, so that a short sample counts as much as a long one. Leave no constant term out
/// without need: it is what a launch costs, and short samples are made of it.
///
/// @tparam Terms  cost models, at most 10
/// @param rows     measurements, at least as many as terms; lengths may repeat
/// @param options  how the error on unseen rows is estimated
/// @param terms    such as `linear_cost{.per_token = 0, .per_sample = 1}` (a constant), `token_cost{}`, `causal_pairs{}`, a `tile_cost`
/// @return coefficients, in the order of the terms, and errors. Row i by length is in fold i mod folds; the estimate needs a row more than
/// terms in what remains, otherwise its errors are infinite
/// @throws invalid_input if there are fewer rows than terms, or a row has a time that is not positive or a length that a term refuses
/// @par Complexity
/// O(folds * rows * 2^terms).
/// @par Determinism
/// Floating point: equal up to rounding on other compilers and machines. Fit once and keep the coefficients.
template <cost_model... Terms>
  requires(sizeof...(Terms) >= 1 && sizeof...(Terms) <= 10)
[[nodiscard]] calibration<Terms...> calibrate(std::span<timing const> rows, calibrate_options options, Terms... terms) {
  constexpr auto columns = sizeof...(Terms);
  detail::require_rows(rows.size(), columns, options);
  std::vector<std::array<double, columns>> units;
  std::vector<double> ms, key;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const length = rows[i].length;
    detail::require_time(rows[i].ms, i);
    require(detail::have_costs(length, terms...),
            [&] { return "timings[" + std::to_string(i) + "].length = " + std::to_string(length) + " has no cost in one of the terms"; });
    units.push_back({static_cast<double>(terms(length))...});
    ms.push_back(rows[i].ms);
    key.push_back(static_cast<double>(length));
  }
  auto const found = detail::fit_relatively(units, ms, detail::by_key(key), options.folds);
  return {std::tuple<Terms...>(terms...), found.coefficients, 0, found.fit, found.held_out};
}

/// @brief Fits a constant for each micro-batch and non-negative coefficients of the given terms, summed over its samples, to measured times
/// of whole micro-batches, in relative least squares.
///
/// It takes what a trainer measures: the lengths of the samples it ran together, and how long that took. Each row counts as much as every
/// other. Where all rows hold equally many samples, a constant of the micro-batch and one of the sample cannot be told apart; then the
/// former takes both.
///
/// @tparam Terms  cost models, at most 9
/// @param rows     measurements, at least one more than terms; one micro-batch may be timed several times
/// @param options  how the error on unseen rows is estimated
/// @param terms    what a sample costs, such as `linear_cost{.per_token = 0, .per_sample = 1}`, `token_cost{}`, `causal_pairs{}`
/// @return `per_micro_batch`, coefficients in the order of the terms, and errors of whole micro-batches. Row i by its tokens is in fold
/// i mod folds; the estimate needs two rows more than terms in what remains, otherwise its errors are infinite
/// @throws invalid_input if there are too few rows, or a row has no sample, a time that is not positive or a length that a term refuses
/// @par Complexity
/// O(folds * rows * 2^terms), and the samples once.
/// @par Determinism
/// Floating point: equal up to rounding on other compilers and machines. Fit once and keep the coefficients.
template <cost_model... Terms>
  requires(sizeof...(Terms) >= 1 && sizeof...(Terms) <= 9)
[[nodiscard]] calibration<Terms...> calibrate(std::span<micro_batch_timing const> rows, calibrate_options options, Terms... terms) {
  constexpr auto columns = sizeof...(Terms) + 1;
  detail::require_rows(rows.size(), columns, options);
  std::vector<std::array<double, columns>> units;
  std::vector<double> ms, key;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const name = [&] { return "timings[" + std::to_string(i) + "].lengths"; };
    detail::require_time(rows[i].ms, i);
    require(!rows[i].lengths.empty(), [&] { return name() + " is empty"; });
    std::array<double, columns> row{1};  // the constant first: of equally good fits the one with fewer and earlier columns is taken
    double tokens = 0;
    for (std::size_t j = 0; j < rows[i].lengths.size(); ++j) {
      auto const length = rows[i].lengths[j];
      require(detail::have_costs(length, terms...),
              [&] { return name() + "[" + std::to_string(j) + "] = " + std::to_string(length) + " has no cost in one of the terms"; });
      auto column = row.begin();
      ((*++column += static_cast<double>(terms(length))), ...);
      tokens += static_cast<double>(length);
    }
    units.push_back(row);
    ms.push_back(rows[i].ms);
    key.push_back(tokens);
  }
  auto const found = detail::fit_relatively(units, ms, detail::by_key(key), options.folds);
  calibration<Terms...> out{std::tuple<Terms...>(terms...), {}, found.coefficients[0], found.fit, found.held_out};
  std::copy(found.coefficients.begin() + 1, found.coefficients.end(), out.coefficients.begin());
  return out;
}

}  // namespace ballast::inline v0_2
