// SPDX-License-Identifier: Apache-2.0
// Executes shards of drawn batches: the gradient is that of each sample by itself, whatever ranks share it and however keys travel.
#include "run_shards.hpp"

#include <ballast/layout.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/sharding.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

using namespace execute;

namespace {

/// Moves the end of a piece, or exchanges the groups of two, such that tokens are trained twice or see the wrong keys.
bool spoil(ballast::shards<>& plan, samples const& data, std::uint64_t seed) {
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    auto& piece = plan.pieces[(i + seed) % plan.pieces.size()];
    if (seed % 2 == 0 && piece.end < data.lengths[piece.sample]) return ++piece.end, true;
    if (seed % 2 == 1 && piece.begin > 0 && piece.end - piece.begin > 1) return ++piece.begin, true;
  }
  return false;
}

/// A packed row whose sequences are padded, cut by zigzag over the ranks; padding has no label.
void compare_row(outcome& to, transformer const& model, numbers const& p, samples const& data, std::uint32_t ranks, exchange how) {
  std::vector<std::uint32_t> pack(data.lengths.size());
  std::iota(pack.begin(), pack.end(), std::uint32_t{0});
  auto const cu = ballast::cu_seqlens<std::int64_t>(pack, data.lengths, std::int64_t{2} * ranks);
  row whole;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    whole.insert(whole.end(), data.tokens[i].begin(), data.tokens[i].end());
    for (auto t = data.lengths[i]; t < cu[i + 1] - cu[i]; ++t)
      whole.push_back({.sample = data.tokens[i][0].sample, .position = t, .id = 0, .label = 0, .weight = 0});
  }
  std::vector<rank_pass> passes;
  for (std::size_t r = 0; r < ranks; ++r) {
    auto& pass = passes.emplace_back(rank_pass{.rank = r, .at = {}, .group = {}});
    for (auto const t : ballast::zigzag_indices(cu, {.ranks = ranks}, static_cast<std::int64_t>(r)))
      pass.at.push_back(whole[static_cast<std::size_t>(t)]);
    pass.group.assign(pass.at.size(), 0);
  }
  std::vector<numbers> gradient(ranks, numbers(model.size()));
  (void)rank_group(model, how).train(p, passes, gradient);
  for (std::size_t r = 1; r < ranks; ++r)
    for (std::size_t i = 0; i < gradient[0].size(); ++i) gradient[0][i] += gradient[r][i];
  to.add(difference(gradient[0], unpacked(model, p, data, std::vector<double>(data.tokens.size(), 1.0))), true);
}

}  // namespace

int main() {
  transformer const model;
  auto const p = model.initial();
  std::vector<exchange> const all{exchange::ring, exchange::all_gather, exchange::ulysses};
  outcome planned[3], any{.what = "plan_shards, groups of any size"}, locksteps{.what = "lockstep_shards"},
      schedules{.what = "global_schedule"}, rows{.what = "zigzag shares of rows"};
  std::size_t spoilt = 0, found = 0, odd = 0;  // odd: groups of 3, 5, 6 or 7 ranks
  for (auto const how : {ballast::execution::independent, ballast::execution::lockstep, ballast::execution::mixed})
    planned[static_cast<int>(how)].what = "plan_shards, " + std::string(to_string(how));

  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto [data, options] = draw_batch(seed, model.vocabulary);
    for (auto const how : {ballast::execution::independent, ballast::execution::lockstep, ballast::execution::mixed}) {
      options.execution = how;
      auto plan = ballast::plan_shards(data.lengths, options, shard_cost);
      if (plan.status != ballast::status::feasible) continue;
      compare(planned[static_cast<int>(how)], model, p, data, plan, all);
      if (!spoil(plan, data, seed)) continue;
      ++spoilt;
      outcome wrong;
      try {
        compare(wrong, model, p, data, plan, {all[seed % 3]});
        found += wrong.faults;
      } catch (std::exception const&) {
        ++found;
      }
    }
    options.sizes = ballast::group_sizes::any;
    for (auto const how : {ballast::execution::lockstep, ballast::execution::mixed}) {
      options.execution = how;
      auto const plan = ballast::plan_shards(data.lengths, options, shard_cost);
      if (plan.status != ballast::status::feasible) continue;
      compare(any, model, p, data, plan, {all[seed % 3]});
      for (auto const ranks : plan.rank_groups) odd += !std::has_single_bit(ranks.size());
    }
    options.sizes = ballast::group_sizes::automatic;
    if (auto const plan = ballast::lockstep_shards(data.lengths, options, shard_cost); plan.status == ballast::status::feasible)
      compare(locksteps, model, p, data, plan, all);
    for (auto const how : all) compare_row(rows, model, p, data, static_cast<std::uint32_t>(options.ranks), how);
    if (options.ranks % 2 == 0) {
      ballast::global_schedule_options by{.groups = 2, .group = {.capacity = options.capacity * 2, .ranks = options.ranks / 2}};
      if (auto const plan = ballast::global_schedule(data.lengths, by, shard_cost); plan.status == ballast::status::feasible)
        compare(schedules, model, p, data, plan.shards, all);
    }
  }
  auto right = true;
  for (auto const* each : {&planned[0], &planned[1], &planned[2], &any, &locksteps, &schedules, &rows}) right = each->print() && right;
  std::cout << "spoilt shards: " << found << " of " << spoilt << " found\n";
  std::cout << "groups of 3, 5, 6 or 7 ranks: " << odd << "\n";
  return right && found == spoilt && odd > 50 ? 0 : 1;
}
