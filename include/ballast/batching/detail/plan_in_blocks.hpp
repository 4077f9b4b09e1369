// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/plan_by_method.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
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

/// The samples of each block, ascending: each sample is in a random block. The members of a block's plan replace them later, so that an
/// epoch of many samples is listed once.
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
  [[nodiscard]] std::span<Index> operator[](std::size_t b) noexcept {
    return std::span(all_).subspan(first_[b], first_[b + 1] - first_[b]);
  }
  [[nodiscard]] std::vector<Index> take() && noexcept { return std::move(all_); }

 private:
  std::vector<std::size_t> first_;
  std::vector<Index> all_;
};

/// Names the samples of the epoch in the plan of a block, whose members replace the list of its samples if there are as many.
/// @return whether they do
template <index_type Index>
bool rename_samples(batching<Index>& block, std::span<Index> samples) {
  auto& members = block.packs.members;
  block.packs.offsets.shrink_to_fit();
  for (auto* list : {&members, &block.dropped, &block.repeated})
    for (auto& i : *list) i = samples[i];
  for (auto& shared : block.shared) shared.sample = samples[shared.sample];
  if (members.size() != samples.size()) return false;
  std::copy(members.begin(), members.end(), samples.begin());
  members = std::vector<Index>();  // not `{}`, which would keep the memory
  return true;
}

/// Appends the plan of a block, all but its members.
template <index_type Index>
void append_block(batching<Index>& all, batching<Index> const& block) {
  auto const packs = static_cast<Index>(all.packs.size());
  auto const steps = static_cast<std::uint64_t>(all.steps());
  auto const members = all.packs.offsets.back();
  for (auto const offset : std::span(block.packs.offsets).subspan(1)) all.packs.offsets.push_back(members + offset);
  for (auto const p : block.table) all.table.push_back(p == block.none ? all.none : static_cast<Index>(packs + p));
  for (auto shared : block.shared) {
    shared.step += steps;
    all.shared.push_back(shared);
  }
  all.dropped.insert(all.dropped.end(), block.dropped.begin(), block.dropped.end());
  all.repeated.insert(all.repeated.end(), block.repeated.begin(), block.repeated.end());
  all.slowest.value += block.slowest.value;
  all.slowest.lower_bound += block.slowest.lower_bound;
  all.cost += block.cost;
  all.tokens += block.tokens;
  all.token_delay += block.token_delay;
  all.longest_delay = (std::max)(all.longest_delay, block.longest_delay);
  all.complete = all.complete && block.complete;
}

template <index_type Index, executor Executor>
[[nodiscard]] batching<Index> plan_in_blocks(weighed_samples const& items, step_constraints const& c, batching_options const& o,
                                             search_watch const& start, progress_callback const& progress, Executor const& execute,
                                             std::size_t samples = std::size_t{1} << 20) {
  auto const count = count_blocks(items, o, samples);
  if (count == 1) {
    auto watch = start;
    return plan_by_method<Index>(items, {}, c, o, watch);
  }
  sample_blocks<Index> blocks(items.size(), count, epoch_seed(o));
  std::vector<batching<Index>> plans(count);
  std::vector<char> in_place(count, 0);
  std::mutex telling;
  std::uint64_t planned = 0;
  execute(count, [&](std::size_t b) {
    auto own = o;
    own.seed = splitmix64(epoch_seed(o) + b)();
    if (b + 1 != count) own.left_over = left_over::split;  // only the last step of all may have empty places
    auto watch = start;
    plans[b] = plan_by_method<Index>(some_of<Index>(items, blocks[b]), {}, c, own, watch);
    in_place[b] = rename_samples(plans[b], blocks[b]) ? 1 : 0;
    std::lock_guard const lock(telling);
    progress(++planned, count);
  });
  batching<Index> all;
  all.ranks = o.ranks;
  all.micro_batches = o.micro_batches;
  all.critical = ratios(items, o);
  all.method = plans[0].method;
  all.window = plans[0].window;
  auto& members = all.packs.members;
  auto const stay = std::find(in_place.begin(), in_place.end(), 0) == in_place.end();
  if (!stay) members.reserve(items.size());
  for (std::size_t b = 0; b < count; ++b) {
    auto const block = std::exchange(plans[b], {});
    append_block(all, block);
    if (stay) continue;
    auto const own = in_place[b] != 0 ? std::span<Index const>(blocks[b]) : std::span<Index const>(block.packs.members);
    members.insert(members.end(), own.begin(), own.end());
  }
  if (stay) members = std::move(blocks).take();
  std::sort(all.dropped.begin(), all.dropped.end());
  std::sort(all.repeated.begin(), all.repeated.end());
  return all;
}

}  // namespace ballast::inline v0_2::detail
