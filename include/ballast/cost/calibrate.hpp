// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#if !defined(EIGEN_NO_CUDA)
#define EIGEN_NO_CUDA  // fits run on the host, and nvcc warns of Eigen 3.4's annotations; who needs Eigen in kernels includes it before
#include <Eigen/Core>
#include <Eigen/QR>
#undef EIGEN_NO_CUDA
#else
#include <Eigen/Core>
#include <Eigen/QR>
#endif

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

namespace ballast::inline v0_1 {

/// @brief One measurement.
struct timing {
  std::int64_t length = 0;  ///< tokens
  double ms = 0;            ///< milliseconds, positive and finite
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
/// A floating cost in milliseconds; `scaled(fit, 1e6)` plans with it in nanoseconds.
/// @tparam Terms  cost models
template <cost_model... Terms>
struct calibration {
  std::tuple<Terms...> terms;                           ///< what the cost is made of
  std::array<double, sizeof...(Terms)> coefficients{};  ///< milliseconds per unit of each term, not negative
  relative_errors fit{};                                ///< over the rows that it was fitted to: all of them
  relative_errors held_out{};                           ///< each row predicted by a fit that has not seen it: what to expect on new lengths

  /// @brief The cost in milliseconds. @param length tokens
  [[nodiscard]] double operator()(std::int64_t length) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      double sum = 0;
      ((sum += coefficients[K] * static_cast<double>(std::get<K>(terms)(length))), ...);
      return sum;
    }(std::index_sequence_for<Terms...>{});
  }
};

namespace detail {
/// The x >= 0 that minimises |a x - 1|^2. The best of the least-squares solutions on every set of columns whose coefficients are all
/// positive: the optimum is one of them, and with a few columns there are few sets.
[[nodiscard]] inline Eigen::VectorXd non_negative_least_squares(Eigen::MatrixXd const& a) {
  auto const columns = a.cols();
  Eigen::VectorXd const ones = Eigen::VectorXd::Ones(a.rows());
  Eigen::VectorXd best = Eigen::VectorXd::Zero(columns);
  auto least = ones.squaredNorm();
  std::vector<Eigen::Index> chosen;
  for (unsigned set = 1; set < 1U << columns; ++set) {
    chosen.clear();
    for (Eigen::Index k = 0; k < columns; ++k)
      if ((set >> k & 1U) != 0) chosen.push_back(k);
    Eigen::MatrixXd part(a.rows(), static_cast<Eigen::Index>(chosen.size()));
    for (Eigen::Index k = 0; k < part.cols(); ++k) part.col(k) = a.col(chosen[static_cast<std::size_t>(k)]);
    Eigen::VectorXd const scale = part.colwise().norm();  // lengths and their squares are nine decades apart
    if (scale.minCoeff() <= 0) continue;
    Eigen::VectorXd const x = (part * scale.cwiseInverse().asDiagonal()).colPivHouseholderQr().solve(ones).cwiseQuotient(scale);
    auto const error = (part * x - ones).squaredNorm();
    if (x.minCoeff() < 0 || !(error < least)) continue;
    least = error;
    best.setZero();
    for (Eigen::Index k = 0; k < part.cols(); ++k) best[chosen[static_cast<std::size_t>(k)]] = x[k];
  }
  return best;
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
  require(rows.size() >= columns,
          [&] { return std::to_string(rows.size()) + " timings do not determine " + std::to_string(columns) + " coefficients"; });
  require(options.folds >= 2, [&] { return "folds = " + std::to_string(options.folds) + " must be 2 or more"; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const name = "timings[" + std::to_string(i) + "]";
    require(rows[i].ms > 0 && std::isfinite(rows[i].ms),
            [&] { return name + ".ms = " + std::to_string(rows[i].ms) + " must be positive and finite"; });
    auto const accepted = [&](auto const& term) {
      if constexpr (bounded_cost_model<std::remove_cvref_t<decltype(term)>>)
        return static_cast<bool>(term.fits(rows[i].length));
      else
        return rows[i].length >= 0;
    };
    require((accepted(terms) && ...),
            [&] { return name + ".length = " + std::to_string(rows[i].length) + " has no cost in one of the terms"; });
  }

  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto i, auto j) { return rows[i].length != rows[j].length ? rows[i].length < rows[j].length : i < j; });

  // Fits the rows that `in` accepts, by rank, and returns the errors of those that it does not, or of all where it accepts all.
  calibration<Terms...> out{.terms = std::tuple<Terms...>(terms...)};
  auto const fit = [&](auto const& in) {
    std::vector<double> design;
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      if (in(rank)) (design.push_back(static_cast<double>(terms(rows[order[rank]].length)) / rows[order[rank]].ms), ...);
    using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::MatrixXd const a =
        Eigen::Map<matrix const>(design.data(), static_cast<Eigen::Index>(design.size() / columns), static_cast<Eigen::Index>(columns));
    Eigen::VectorXd const x = detail::non_negative_least_squares(a);
    std::copy(x.begin(), x.end(), out.coefficients.begin());
    return design.size() / columns;
  };
  auto const errors = [&](std::size_t rank, relative_errors& of) {
    auto const& row = rows[order[rank]];
    auto const error = std::fabs(out(row.length) / row.ms - 1);
    of.worst = (std::max)(of.worst, error);
    of.mean += error / static_cast<double>(rows.size());
  };
  auto const folds = (std::min)(options.folds, rows.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    auto const fitted = fit([&](std::size_t rank) { return rank % folds != fold; });
    if (fitted <= columns) {
      out.held_out.worst = out.held_out.mean = std::numeric_limits<double>::infinity();
      break;
    }
    for (std::size_t rank = fold; rank < rows.size(); rank += folds) errors(rank, out.held_out);
  }
  (void)fit([](std::size_t) { return true; });
  for (std::size_t rank = 0; rank < rows.size(); ++rank) errors(rank, out.fit);
  return out;
}

}  // namespace ballast::inline v0_1
