// SPDX-License-Identifier: Apache-2.0
// The one part of a user's program that needs Eigen, and so ballast::calibrate.
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/polynomial.hpp>

#include <span>

double time_per_token(std::span<ballast::timing const> rows) { return ballast::calibrate(rows, {}, ballast::token_cost{}).coefficients[0]; }
