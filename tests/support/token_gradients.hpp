// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/shard_weights.hpp>
#include <ballast/core/random.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/sharding/result.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The gradient of a batch, summed token by token: on one device by the definition of the normaliser, and from shards with their weights.

namespace ballast_test {

/// The gradient of each token, a small integer; a quarter of all labels are not counted, and some samples have none.
struct token_gradients {
  std::vector<std::int64_t> lengths, counts;
  std::vector<std::vector<double>> token;

  token_gradients(std::vector<std::int64_t> of, ballast::splitmix64& draw) : lengths(std::move(of)) {
    for (auto const length : lengths) {
      auto const silent = draw() % 8 == 0;
      auto& gradients = token.emplace_back(static_cast<std::size_t>(length), 0.0);
      std::int64_t count = 0;
      for (auto& g : gradients)
        if (!silent && draw() % 4 != 0) {
          g = static_cast<double>(between(-50, 50, draw));
          ++count;
        }
      counts.push_back(count);
    }
  }

  [[nodiscard]] double sum_of(std::size_t i, std::int64_t begin, std::int64_t end) const {
    double sum = 0;
    for (auto t = begin; t < end; ++t) sum += token[i][static_cast<std::size_t>(t)];
    return sum;
  }

  /// On one device: every sample with T^-p over W, by the definition of the normaliser. Samples without counted labels count nowhere.
  [[nodiscard]] double unsharded(ballast::loss_normaliser const& n) const {
    double sum = 0, weights = 0, sequences = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (counts[i] == 0) continue;
      auto const count = static_cast<double>(counts[i]);
      sum += std::pow(count, -n.power) * sum_of(i, 0, lengths[i]);
      weights += std::pow(count, 1 - n.power);
      ++sequences;
    }
    auto const divisor = n.divisor == ballast::loss_divisor::one ? 1 : n.divisor == ballast::loss_divisor::weights ? weights : sequences;
    return divisor == 0 ? 0 : sum / divisor;
  }

  /// What the optimiser gets from the weighed pieces of all ranks.
  [[nodiscard]] double sharded(ballast::shards<> const& plan, ballast::loss_normaliser const& n, ballast::gradient_path const& path) const {
    double gradient = 0;
    for (std::size_t r = 0; r < plan.ranks(); ++r) {
      auto const weights = shard_weights(plan, r, counts, n, path);
      double of_rank = 0;
      std::size_t at = 0;
      for (std::size_t m = 0; m < plan.passes(r); ++m)
        for (auto const& p : plan(r, m)) of_rank += weights[at++] * sum_of(p.sample, p.begin, p.end);
      REQUIRE(at == weights.size());
      if (path.across_micro_batches == ballast::gradient_reduction::average && plan.passes(r) > 0)
        of_rank /= static_cast<double>(plan.passes(r));
      gradient += of_rank;
    }
    return path.across_ranks == ballast::gradient_reduction::average ? gradient / static_cast<double>(plan.ranks()) : gradient;
  }
};

}  // namespace ballast_test
