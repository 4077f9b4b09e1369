// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#if !defined(EIGEN_NO_CUDA)
#define EIGEN_NO_CUDA  // fits run on the host, and nvcc warns of Eigen 3.4's annotations; who needs Eigen in kernels includes it before
#include <Eigen/Core>
#include <Eigen/QR>
#undef EIGEN_NO_CUDA
#else
#include <Eigen/Core>
#include <Eigen/QR>
#endif

#include <cstddef>
#include <vector>

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

}  // namespace ballast::inline v0_2::detail
