// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast_test {

/// How far the mean of micro-batch means is above the mean over tokens, relatively.
struct bias {
  double mean = 0;   ///< over the steps
  double worst = 0;  ///< of all steps
};

/// A lognormal length, clipped to 16 … 4096, from the sum of twelve uniform draws: the same everywhere, but for the last bits of the
/// exponential.
inline std::int64_t lognormal_length(double mu, double sigma, ballast::splitmix64& draw) {
  double normal = -6;
  for (int i = 0; i < 12; ++i) normal += static_cast<double>(draw() >> 11) * 0x1p-53;
  return static_cast<std::int64_t>(std::clamp(std::exp(mu + sigma * normal), 16.0, 4096.0));
}

/// The bias over random steps of 16 micro-batches of `sequences` each, where the mean token loss of a sequence of l tokens is
/// 1 + 3 / sqrt(l).
inline bias bias_of_mean_of_means(std::size_t sequences, int steps, double mu = 6, double sigma = 1.1) {
  constexpr std::size_t micro_batches = 16;
  using ballast::loss_normaliser, ballast::loss_scope;
  ballast::gradient_path const accumulated{.micro_batches = micro_batches};
  auto const right = loss_normaliser::token_mean(), wrong = loss_normaliser::token_mean(loss_scope::micro_batch);
  ballast::splitmix64 draw(20240720);
  bias out;
  for (int s = 0; s < steps; ++s) {
    std::vector<std::int64_t> lengths(sequences * micro_batches);
    for (auto& l : lengths) l = lognormal_length(mu, sigma, draw);
    auto const totals = ballast::loss_totals_of(lengths, right);
    double over_tokens = 0, over_means = 0;
    for (std::size_t m = 0; m < micro_batches; ++m) {
      auto const mine = std::span<std::int64_t const>(lengths).subspan(m * sequences, sequences);
      auto const exact = ballast::loss_weights(mine, totals, right, accumulated);
      auto const biased = ballast::loss_weights(mine, totals, wrong, accumulated, ballast::loss_totals_of(mine, wrong));
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto const tokens = static_cast<double>(mine[i]);
        auto const loss = tokens * (1 + 3 / std::sqrt(tokens));
        over_tokens += exact[i] * loss;
        over_means += biased[i] * loss;
      }
    }
    auto const relative = over_means / over_tokens - 1;
    out.mean += relative / steps;
    out.worst = (std::max)(out.worst, relative);
  }
  return out;
}

}  // namespace ballast_test
