// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/plan_items.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

// Plans an epoch of many samples in random blocks, each on its own. Drawing samples at random from all memory is slow, and blocks can be
// planned at the same time.

namespace ballast::inline v0_2::detail {

/// Blocks of an epoch. Each has about so many samples or more, and steps enough that its own last step does not matter.
[[nodiscard]] inline std::size_t count_blocks(weighed_samples const& items, batching_options const& o, std::size_t samples) noexcept {
  constexpr std::size_t steps = 64;
  auto const room = o.capacity * static_cast<std::int64_t>(o.ranks * o.micro_batches);
  return (std::max)(std::size_t{1}, (std::min)(items.size() / samples, static_cast<std::size_t>(items.all_tokens / room) / steps));
}

/// The samples of each block, ascending: each sample is in a random block.
template <index_type Index>
class sample_blocks {
 public:
  sample_blocks(std::size_t samples, std::size_t count, std::uint64_t seed) : first_(count + 1, 0), all_(samples) {
    auto const block = [&](std::size_t i) { return static_cast<std::size_t>(multiply(splitmix64(seed + i)(), count).high); };
    for (std::size_t i = 0; i < samples; ++i) ++first_[block(i) + 1];
    for (std::size_t b = 0; b < count; ++b) first_[b + 1] += first_[b];
    auto next = first_;
    for (std::size_t i = 0; i < samples; ++i) all_[next[block(i)]++] = static_cast<Index>(i);
  }
  [[nodiscard]] std::span<Index const> operator[](std::size_t b) const noexcept {
    return std::span(all_).subspan(first_[b], first_[b + 1] - first_[b]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<Index> all_;
};

/// Appends the plan of a block.
template <index_type Index>
void append_block(batching<Index>& all, batching<Index> const& block, std::span<Index const> samples) {
  auto const packs = static_cast<Index>(all.packs.size());
  auto const steps = static_cast<std::uint64_t>(all.steps());
  for (auto const offset : std::span(block.packs.offsets).subspan(1)) all.packs.offsets.push_back(all.packs.members.size() + offset);
  for (auto const i : block.packs.members) all.packs.members.push_back(samples[i]);
  for (auto const p : block.table) all.table.push_back(p == block.none ? all.none : static_cast<Index>(packs + p));
  for (auto shared : block.shared) {
    shared.sample = samples[shared.sample];
    shared.step += steps;
    all.shared.push_back(shared);
  }
  for (auto const i : block.dropped) all.dropped.push_back(samples[i]);
  for (auto const i : block.repeated) all.repeated.push_back(samples[i]);
  all.slowest.value += block.slowest.value;
  all.slowest.lower_bound += block.slowest.lower_bound;
  all.cost += block.cost;
  all.tokens += block.tokens;
  all.token_delay += block.token_delay;
  all.longest_delay = (std::max)(all.longest_delay, block.longest_delay);
  all.complete = all.complete && block.complete;
}

template <index_type Index, executor Executor>
[[nodiscard]] batching<Index> plan_blocks(weighed_samples const& items, step_constraints const& c, batching_options const& o,
                                          std::stop_token const& stop, Executor const& execute,
                                          std::size_t samples = std::size_t{1} << 20) {
  auto const count = count_blocks(items, o, samples);
  if (count == 1) return plan_items<Index>(items, {}, c, o, stop);
  sample_blocks<Index> const blocks(items.size(), count, epoch_seed(o));
  std::vector<batching<Index>> plans(count);
  execute(count, [&](std::size_t b) {
    std::vector<std::int64_t> tokens, cost;
    tokens.reserve(blocks[b].size());
    cost.reserve(blocks[b].size());
    for (auto const i : blocks[b]) {
      tokens.push_back(items.tokens[i]);
      cost.push_back(items.cost[i]);
    }
    auto own = o;
    own.seed = splitmix64(epoch_seed(o) + b)();
    if (b + 1 != count) own.left_over = left_over::split;  // only the last step of all may have empty places
    plans[b] = plan_items<Index>(weigh(tokens, cost, own, c.most_ranks_shared), {}, c, own, stop);
  });
  batching<Index> all;
  all.ranks = o.ranks;
  all.micro_batches = o.micro_batches;
  all.critical = ratios(items, o);
  all.method = plans[0].method;
  all.window = plans[0].window;
  all.packs.members.reserve(items.size());
  for (std::size_t b = 0; b < count; ++b) append_block(all, std::exchange(plans[b], {}), blocks[b]);
  std::sort(all.dropped.begin(), all.dropped.end());
  std::sort(all.repeated.begin(), all.repeated.end());
  return all;
}

}  // namespace ballast::inline v0_2::detail
