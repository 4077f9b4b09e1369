// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/calibration.hpp>

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
#include <string>
#include <type_traits>
#include <vector>

// Relative least squares over rows of timings. Private.

namespace ballast::inline v0_2::detail {

/// The x >= 0 that minimises |a x - 1|^2: the best of those least-squares solutions on subsets of columns whose coefficients are all
/// positive. The optimum is one of them, and with a few columns there are few subsets.
template <class = when_called>
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

/// Fits rows, each given by how much a unit of each coefficient adds to its time. The row of rank i in `order` is in fold i mod folds.
template <std::size_t Columns>
[[nodiscard]] work_calibration<Columns> fit_relatively(std::vector<std::array<double, Columns>> const& units, std::vector<double> const& ms,
                                                       std::vector<std::size_t> const& order, std::size_t folds) {
  work_calibration<Columns> out;
  // Fits the rows that `in` accepts, by rank; returns their number.
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

}  // namespace ballast::inline v0_2::detail
