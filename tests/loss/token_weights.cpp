// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/token_weights.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_loss_token_weights {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("token_weights: a sequence's weight stands at its counted labels and nowhere else") {
  std::vector<std::int64_t> const labels{5, -100, 7, 8, 9, -100, -100, 1, 2};
  std::vector<std::int32_t> const cu{0, 3, 4, 4, 8};
  std::vector<double> const weights{0.5, 0.25, 8, 2};
  CHECK(token_weights(weights, labels, cu) == std::vector<float>{0, 0, 0.5, 0, 0, 0, 0, 2, 0});
  CHECK(token_weights<double>(weights, labels, cu, {.shift = label_shift::done}) == std::vector<double>{0.5, 0, 0.5, 0.25, 2, 0, 0, 2, 0});
  std::vector<float> reused(labels.size(), -1);
  token_weights(weights, labels, cu, std::span(reused));
  CHECK(reused == token_weights(weights, labels, cu));
}

TEST_CASE("token_weights: as many tokens have a weight as label_counts says") {
  auto const shift = GENERATE(label_shift::in_model, label_shift::done);
  std::vector<std::int64_t> labels(60), cu{0, 1, 1, 14, 30, 31, 57};
  for (std::size_t t = 0; t < labels.size(); ++t) labels[t] = t % 3 == 0 ? -100 : 3;
  auto const counts = label_counts(labels, cu, {.shift = shift});
  std::vector<double> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) weights.push_back(static_cast<double>(i + 1));
  std::vector<std::int64_t> found(counts.size());
  for (auto w : token_weights<double>(weights, labels, cu, {.shift = shift}))
    if (w > 0) ++found[static_cast<std::size_t>(w) - 1];
  CHECK(found == counts);
}

TEST_CASE("token_weights: bad input is named, and nothing is written") {
  std::vector<std::int64_t> const labels{1, 2, 3}, cu{0, 2, 3}, broken{0, 2, 1};
  std::vector<double> const weights{1, 2};
  std::vector<float> out(3, -1);
  auto const into = [&](auto const& c, std::size_t n, std::size_t places) {
    return refusal([&] { return token_weights(std::span(weights).first(n), labels, c, std::span(out).first(places)), 0; });
  };
  CHECK(into(cu, 1, 3) == "token_weights: there is 1 weight for 3 entries of cu_seqlens");
  CHECK(into(cu, 2, 2) == "token_weights: out has 2 elements, 3 are written");
  CHECK(into(broken, 2, 3) == "cu_seqlens[2] = 1 is below its predecessor 2");
  CHECK(out == std::vector<float>(3, -1));
  CHECK(into(cu, 2, 3) == "accepted");
}

}  // namespace test_loss_token_weights
