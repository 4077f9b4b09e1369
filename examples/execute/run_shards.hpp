// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data.hpp"
#include "ranks.hpp"
#include "transformer.hpp"

#include <ballast/batching/shard_weights.hpp>
#include <ballast/core/random.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// Runs shards as ranks would: each its passes in their order, and those that share samples together.

namespace execute {

// Nanoseconds, say: a share of the pairs and tokens, and an exchange.
inline constexpr auto shard_cost = [](std::int64_t tokens, std::int64_t ranks) {
  return (tokens * tokens + 20 * tokens) / ranks + (ranks > 1 ? 10 + tokens : 0);
};

struct drawn_batch {
  samples data;
  ballast::sharding_options options;
};
/// A batch, and ranks and limits under which shards of it are planned.
inline drawn_batch draw_batch(std::uint64_t seed, std::size_t vocabulary) {
  ballast::splitmix64 draw(seed);
  drawn_batch out{draw_samples(1 + draw() % 12, 24, vocabulary, seed), {}};
  out.options.ranks = 1 + draw() % 8;
  auto const longest = *std::max_element(out.data.lengths.begin(), out.data.lengths.end());
  std::int64_t whole = 1;  // the largest power of two that is not above the ranks
  while (2 * whole <= static_cast<std::int64_t>(out.options.ranks)) whole *= 2;
  out.options.capacity = (longest + whole - 1) / whole + static_cast<std::int64_t>(draw() % 12);
  out.options.cost_per_pass = static_cast<std::int64_t>(draw() % 50);
  out.options.layout = draw() % 2 == 0 ? ballast::share_layout::zigzag : ballast::share_layout::contiguous;
  return out;
}

struct trained {
  numbers gradient;         // the mean over the ranks
  std::uint64_t pairs = 0;  // of a query and a key, in all heads and layers
};

/// Trains one global batch.
/// @param plan     any shards; what they say is done, right or wrong
/// @param weights  of each piece of each rank
/// @throws std::runtime_error if ranks would wait for each other for ever, or a piece has no such tokens
inline trained run_shards(transformer const& model, numbers const& p, samples const& data, ballast::shards<> const& plan,
                          std::vector<std::vector<double>> const& weights, exchange how) {
  auto const ranks = plan.ranks();
  std::vector<std::size_t> next(ranks), used(ranks);  // passes and weights that are done
  std::vector<numbers> gradient(ranks, numbers(model.size()));
  rank_group run(model, how);
  trained out{.gradient = numbers(model.size())};
  auto const pieces_of = [&](std::size_t rank) {
    return next[rank] < plan.passes(rank) ? plan(rank, next[rank]) : std::span<ballast::piece<> const>{};
  };
  auto const uses = [&](std::size_t rank, std::uint32_t group) {
    auto const pieces = pieces_of(rank);
    return std::any_of(pieces.begin(), pieces.end(), [&](auto const& piece) { return piece.group == group; });
  };
  // The ranks that must run their next pass together with that of a rank; none if one of them is not there yet.
  auto const together = [&](std::size_t rank) {
    std::vector<std::size_t> all{rank};
    for (std::size_t i = 0; i < all.size(); ++i)
      for (auto const& piece : pieces_of(all[i])) {
        if (piece.group == ballast::not_shared) continue;
        for (std::size_t const other : plan.rank_groups[piece.group]) {
          if (!uses(other, piece.group)) return std::vector<std::size_t>{};
          if (std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
        }
      }
    return all;
  };
  auto const left = [&](std::size_t rank) { return next[rank] < plan.passes(rank); };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t first = 0; first < ranks; ++first) {
      if (!left(first)) continue;
      auto const all = together(first);
      std::vector<rank_pass> passes;
      for (auto const rank : all) {
        auto& pass = passes.emplace_back(rank_pass{.rank = rank, .at = {}, .group = {}});
        for (auto const& [sample, begin, end, group] : pieces_of(rank)) {
          if (begin < 0 || begin >= end || end > data.lengths[sample])
            throw std::runtime_error("rank " + std::to_string(rank) + ": sample " + std::to_string(sample) + " has no tokens " +
                                     std::to_string(begin) + " to " + std::to_string(end));
          auto const weight = weights[rank][used[rank]++];
          for (auto t = begin; t < end; ++t) {
            auto token = data.tokens[sample][static_cast<std::size_t>(t)];
            token.weight *= weight;
            pass.at.push_back(token);
            pass.group.push_back(group == ballast::not_shared ? alone : group);
          }
        }
        ++next[rank];
      }
      (void)run.train(p, passes, gradient);
      moved = moved || !all.empty();
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (left(rank))
      throw std::runtime_error("rank " + std::to_string(rank) + " waits in its pass " + std::to_string(next[rank]) +
                               " for ranks that share its samples in no pass of theirs that they reach");
  for (auto const& each : gradient)
    for (std::size_t i = 0; i < each.size(); ++i) out.gradient[i] += each[i] / static_cast<double>(ranks);
  out.pairs = run.pairs();
  return out;
}

/// Runs shards by each way of exchange, and compares with samples that are trained one by one.
inline void compare(outcome& to, transformer const& model, numbers const& p, samples const& data, ballast::shards<> const& plan,
                    std::vector<exchange> const& ways) {
  auto const normaliser = ballast::loss_normaliser::token_mean();
  std::set<std::uint32_t> const left_out(plan.left_out.begin(), plan.left_out.end());
  std::int64_t learnt = 0, pairs = 0;
  for (std::uint32_t i = 0; i < data.lengths.size(); ++i) {
    if (left_out.contains(i)) continue;
    learnt += data.learnt[i];
    pairs += data.lengths[i] * (data.lengths[i] + 1) / 2;
  }
  std::vector<double> of_sample;
  for (std::uint32_t i = 0; i < data.lengths.size(); ++i)
    of_sample.push_back(left_out.contains(i) || learnt == 0 ? 0.0 : 1.0 / static_cast<double>(learnt));
  auto const expected = unpacked(model, p, data, of_sample);
  std::vector<std::vector<double>> weights;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) weights.push_back(shard_weights(plan, rank, data.learnt, normaliser, {}));
  for (auto const how : ways) {
    auto const got = run_shards(model, p, data, plan, weights, how);
    to.add(difference(got.gradient, expected), got.pairs == static_cast<std::uint64_t>(pairs) * model.heads * model.layers);
  }
}

}  // namespace execute
