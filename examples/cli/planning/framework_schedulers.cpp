// SPDX-License-Identifier: Apache-2.0
#include "planning/framework_schedulers.hpp"

#include <ballast/core/math.hpp>
#include <ballast/methods/batch_rebalance.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

/// The shards of padded micro-batches on groups of `degree` GPUs, which wait for each other after each of them; nothing if one has more
/// rows than a group has room for, or fewer tokens than GPUs.
[[nodiscard]] std::optional<scheduled> padded_shards(std::span<std::int64_t const> lengths, ballast::groups<> const& micro_batches,
                                                     std::uint64_t degree, scheduling_setting const& on) {
  auto const& o = on.options;
  auto const d = static_cast<std::int64_t>(degree);
  auto const side_by_side = static_cast<std::size_t>(o.ranks / degree);
  scheduled out;
  out.more.assign(static_cast<std::size_t>(o.ranks), 0);
  ballast::pass_list<> list;
  for (std::size_t first = 0; first < micro_batches.size(); first += side_by_side) {
    ballast::grouped_samples<> together;
    std::int64_t slowest = 0;
    for (std::size_t g = 0; g < side_by_side; ++g) {
      auto const rows = micro_batches[first + g];
      together.widths.push_back(static_cast<std::uint32_t>(degree));
      together.samples.push_back(rows);
      if (rows.empty()) continue;
      auto const count = static_cast<std::int64_t>(rows.size());
      std::int64_t longest = 0, tokens = 0, alone = 0;
      for (auto const i : rows) {
        longest = (std::max)(longest, lengths[i]);
        tokens += lengths[i];
        alone += on.cost(lengths[i], d);
      }
      if (longest > o.capacity * d / count || tokens < d) return {};
      auto const padded = count * on.cost(longest, d);
      slowest = (std::max)(slowest, padded + o.cost_per_pass);
      for (auto r = g * static_cast<std::size_t>(degree); r < (g + 1) * static_cast<std::size_t>(degree); ++r)
        out.more[r] += padded - alone;
    }
    ballast::append_micro_batch(list, together, o.ranks);
    out.time += slowest;
  }
  out.shards = ballast::make_shards(lengths, list, o.ranks, o.layout);
  out.shards.execution = ballast::execution::lockstep;
  return out;
}

/// The best of the sizes of groups and of the numbers of micro-batches that fit. `cuts(run, degree)` are divisions of the samples to
/// try, of which the first, or no micro-batches, decides when to stop.
template <class Cuts>
[[nodiscard]] scheduled best_padded(std::span<std::int64_t const> lengths, scheduling_setting const& on, Cuts const& cuts) {
  constexpr int in_vain = 2;  // numbers of micro-batches that fit and are not faster, until there is no further one
  auto const& o = on.options;
  auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  scheduled best;
  best.shards.status = ballast::status::infeasible;
  for (std::uint64_t degree = 1; degree <= o.ranks; ++degree) {
    auto const room = o.capacity * static_cast<std::int64_t>(degree);
    if (o.ranks % degree != 0 || longest > room) continue;
    if (best.shards.status == ballast::status::infeasible) best.shards.status = ballast::status::unknown;
    ballast::batch_rebalance::options run{.ranks = o.ranks / degree, .capacity = room};
    auto const fewest = ballast::divide_up(tokens, room * static_cast<std::int64_t>(run.ranks));
    run.micro_batches = static_cast<std::uint64_t>((std::max)(fewest, std::int64_t{1}));
    auto fastest = (std::numeric_limits<std::int64_t>::max)();
    for (int left = in_vain; left > 0 && (run.micro_batches - 1) * run.ranks < lengths.size(); ++run.micro_batches) {
      auto const tried = cuts(run, static_cast<std::int64_t>(degree));
      for (std::size_t k = 0; k < tried.size(); ++k) {
        auto next = tried[k].empty() ? std::nullopt : padded_shards(lengths, tried[k], degree, on);
        if (!next) continue;
        if (k == 0) left = next->time < fastest ? in_vain : left - 1;
        if (k == 0) fastest = (std::min)(fastest, next->time);
        if (best.shards.status != ballast::status::feasible || next->time < best.time) best = *std::move(next);
      }
    }
  }
  return best;
}

/// The samples of each micro-batch of all GPUs again, cut such that its slowest GPU is fastest. None becomes slower.
template <class Cost>
[[nodiscard]] ballast::groups<> cut_again(std::span<std::int64_t const> lengths, ballast::groups<> const& micro_batches,
                                          ballast::batch_rebalance::options run, Cost const& cost) {
  run.micro_batches = 1;
  ballast::groups<> out;
  for (std::size_t first = 0; first < micro_batches.size(); first += static_cast<std::size_t>(run.ranks)) {
    std::vector<std::uint32_t> numbers;
    for (std::size_t g = first; g < first + static_cast<std::size_t>(run.ranks); ++g)
      numbers.insert(numbers.end(), micro_batches[g].begin(), micro_batches[g].end());
    std::vector<std::int64_t> mine;
    for (auto const i : numbers) mine.push_back(lengths[i]);
    auto const cut = ballast::batch_rebalance::optimal(mine, run, cost).micro_batches;
    if (cut.empty()) return micro_batches;
    for (auto const rows : cut) {
      std::vector<std::uint32_t> of;
      for (auto const j : rows) of.push_back(numbers[j]);
      out.push_back(of);
    }
  }
  return out;
}

}  // namespace

scheduled megatron_dynamic_cp(std::span<std::int64_t const> lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  return {ballast::megatron_dynamic_cp::schedule(lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass},
                                                 on.cost)};
}

scheduled megatron_dp_balanced(std::span<std::int64_t const> lengths, scheduling_setting const& on) {
  return {ballast::megatron_dp_balanced::schedule(lengths, on.options, on.cost)};
}

scheduled slime(std::span<std::int64_t const> lengths, scheduling_setting const& on) {
  return {ballast::slime::schedule(lengths, on.options, on.cost, ballast::slime::workload(on.model))};
}

scheduled transformers(std::span<std::int64_t const> lengths, scheduling_setting const& on) {
  return best_padded(lengths, on, [&](ballast::batch_rebalance::options const& run, std::int64_t) {
    return std::vector{ballast::batch_rebalance::as_published(lengths, run).micro_batches};
  });
}

scheduled best_padded_cut(std::span<std::int64_t const> lengths, scheduling_setting const& on) {
  return best_padded(lengths, on, [&](ballast::batch_rebalance::options const& run, std::int64_t degree) {
    auto const cost = [&](std::int64_t l) { return on.cost(l, degree); };
    std::vector out{ballast::batch_rebalance::as_published(lengths, run).micro_batches,
                    ballast::batch_rebalance::optimal(lengths, run, cost).micro_batches};
    for (auto const k : {0, 1}) out.push_back(cut_again(lengths, out[static_cast<std::size_t>(k)], run, cost));
    return out;
  });
}

}  // namespace ballast_cli
