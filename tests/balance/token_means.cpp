// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/token_means.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace test_balance_token_means {

using ballast::length_moments;
using ballast::token_means;

TEST_CASE("token_means: the variance of steps by its definition") {
  std::vector<std::int64_t> const lengths{1, 3, 2, 2, 5, 1, 4, 4};
  token_means const means(lengths, lengths.size(), 22, 76);
  std::vector<length_moments> steps(4);  // of two samples each
  for (std::size_t i = 0; i < lengths.size(); ++i) steps[i / 2].add(static_cast<std::uint64_t>(lengths[i]));
  steps[0].add(7, 3);
  steps[0].add(7, ~std::uint64_t{0} - 2);  // taken away again
  CHECK(steps[0].tokens == 4);
  CHECK(steps[0].squares == 10);
  double const mean = 76.0 / 22, each[] = {10.0 / 4 / mean, 8.0 / 4 / mean, 26.0 / 6 / mean, 32.0 / 8 / mean};
  auto const variance = [&](std::vector<double> const& of) {
    double centre = 0, sum = 0;
    for (auto const x : of) centre += x / static_cast<double>(of.size());
    for (auto const x : of) sum += (x - centre) * (x - centre) / static_cast<double>(of.size());
    return sum;
  };
  auto const found = [&](std::size_t in_a_row) { return std::ldexp(static_cast<double>(means.variance(steps, in_a_row)), -32); };
  CHECK(std::abs(found(1) - variance({each[0], each[1], each[2], each[3]})) < 1e-3);
  CHECK(std::abs(found(3) - variance({(each[0] + each[1] + each[2]) / 3, (each[1] + each[2] + each[3]) / 3})) < 1e-3);
  CHECK(means.variance(steps, 5) == 0);
}

TEST_CASE("token_means: random steps of equal lengths do not differ, and differ less with fewer of them") {
  std::vector<std::int64_t> const equal(10, 7), mixed{1, 3, 2, 2, 5, 1, 4, 4};
  CHECK(token_means(equal, equal.size(), 70, 490).variance_of_random(5, 1) == 0);
  token_means const means(mixed, mixed.size(), 22, 76);
  CHECK(means.variance_of_random(4, 1) > means.variance_of_random(2, 1));
  CHECK(means.variance_of_random(2, 1) > 0);
  // E[(l (l - m))^2] / (mean length * m)^2 over samples a step, for m = 76 / 22
  double sum = 0;
  for (auto const l : mixed) sum += std::pow(static_cast<double>(l) * (static_cast<double>(l) - 76.0 / 22), 2) / 8;
  CHECK(std::abs(std::ldexp(static_cast<double>(means.variance_of_random(4, 1)), -32) - sum / std::pow(2.75 * 76 / 22, 2) / 2) < 1e-3);
}

}  // namespace test_balance_token_means
