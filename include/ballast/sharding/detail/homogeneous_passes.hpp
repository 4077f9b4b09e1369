// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

// Passes on groups that all have the same number of ranks.

namespace ballast::inline v0_2::detail {

/// Bins on groups of neighbouring ranks, all of one size; a group runs its bins in their order.
struct bin_list {
  ballast::status status = status::unknown;
  std::int64_t time = degree_times::most;
  std::size_t level = 0;
  std::vector<std::size_t> bin_of;    // of each position
  std::vector<std::size_t> block_of;  // of each bin
};

/// Whether every rank of every bin has a token.
[[nodiscard]] inline bool all_ranks_used(degree_times const& t, std::vector<sample_bin> const& bins) {
  return std::all_of(bins.begin(), bins.end(), [&](sample_bin const& b) { return b.tokens == 0 || b.tokens >= t.width[b.level]; });
}

/// The sum over micro-batches of the slowest bin, where each `blocks` bins behind each other are a micro-batch.
[[nodiscard]] inline std::int64_t lockstep_time(std::vector<sample_bin> const& bins, std::size_t blocks, std::int64_t cost_per_pass) {
  std::int64_t sum = 0;
  for (std::size_t b = 0; b < bins.size(); b += blocks) {
    std::int64_t slowest = -1;
    for (auto k = b; k < (std::min)(b + blocks, bins.size()); ++k)
      if (bins[k].tokens > 0) slowest = (std::max)(slowest, bins[k].time + cost_per_pass);
    sum += (std::max)(slowest, std::int64_t{0});
  }
  return sum;
}

/// Micro-batches of bins of least load on one level, for up to four counts that hold all samples.
[[nodiscard]] inline bin_list lockstep_bins(degree_times const& t, std::size_t level) {
  auto const& o = t.options;
  auto const blocks = t.groups_of(level);
  auto const tokens = std::accumulate(t.length.begin(), t.length.end(), std::int64_t{0});
  auto const samples = all_positions(t);
  auto const room = t.room(level) * static_cast<std::int64_t>(blocks);
  bin_list best;
  std::vector<sample_bin> bins;
  std::vector<std::size_t> bin_of, rank;
  std::vector<queued_bin> queue;
  auto const fewest = static_cast<std::size_t>(divide_up(tokens, room));
  for (std::size_t count = fewest, found = 0; count < fewest + 8 && found < 4 && count <= samples.size(); ++count) {
    if (!fill_equal_bins(t, samples, level, count * blocks, bins, bin_of, queue)) continue;
    ++found;
    if (!all_ranks_used(t, bins)) continue;
    auto const order = order_by<std::size_t>(bins.size(), [&](std::size_t b) { return -bins[b].time; });
    std::vector<sample_bin> sorted(bins.size());
    rank.resize(bins.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      sorted[k] = bins[order[k]];
      rank[order[k]] = k;
    }
    auto const time = lockstep_time(sorted, blocks, o.cost_per_pass);
    if (time >= best.time) continue;
    best = {status::feasible, time, level, bin_of, {}};
    for (auto& b : best.bin_of) b = rank[b];
    for (std::size_t k = 0; k < order.size(); ++k) best.block_of.push_back(k % blocks);
  }
  return best;
}

/// Each sample to the block of least load, and into its earliest bin with room.
[[nodiscard]] inline bin_list least_loaded_blocks(degree_times const& t, std::size_t level) {
  auto const& o = t.options;
  auto const blocks = t.groups_of(level);
  auto const room = t.room(level);
  auto const shortest = t.length.empty() ? 0 : t.length.back();
  bin_list out{status::feasible, 0, level, std::vector<std::size_t>(t.length.size()), {}};
  std::vector<sample_bin> bins;
  std::vector<std::vector<std::size_t>> open(blocks);  // bins with room for another sample
  std::vector<queued_bin> heap;
  heap.reserve(blocks);
  for (std::size_t b = 0; b < blocks; ++b) heap.push_back({0, b});
  auto const later = [](queued_bin const& a, queued_bin const& b) { return b < a; };
  for (std::size_t i = 0; i < t.length.size(); ++i) {
    std::pop_heap(heap.begin(), heap.end(), later);
    auto& [load, block] = heap.back();
    auto& mine = open[block];
    auto at = std::find_if(mine.begin(), mine.end(), [&](std::size_t b) { return bins[b].tokens + t.length[i] <= room; });
    if (at == mine.end()) {
      at = mine.insert(at, bins.size());
      bins.push_back({level, 0, 0});
      out.block_of.push_back(block);
      load += o.cost_per_pass;
    }
    out.bin_of[i] = *at;
    bins[*at].tokens += t.length[i];
    bins[*at].time += t.at(i, level);
    if (bins[*at].tokens + shortest > room) mine.erase(at);
    load += t.at(i, level);
    out.time = (std::max)(out.time, load);
    std::push_heap(heap.begin(), heap.end(), later);
  }
  return all_ranks_used(t, bins) ? out : bin_list{};
}

/// Swaps samples of the slowest block with others while that shortens it.
class block_exchange {
 public:
  block_exchange(degree_times const& t, bin_list& bins)
      : t_(t), bins_(bins), blocks_(t.groups_of(bins.level)), load_(blocks_, 0), of_(blocks_) {
    room_.assign(bins.block_of.size(), t.room(bins.level));
    for (auto const b : bins.block_of) load_[b] += t.options.cost_per_pass;
    for (std::size_t i = 0; i < bins.bin_of.size(); ++i) {
      auto const b = bins.block_of[bins.bin_of[i]];
      room_[bins.bin_of[i]] -= t.length[i];
      load_[b] += time(i);
      of_[b].push_back(i);
    }
  }
  /// At most so many swaps, until the blocks take `enough`.
  void run(int swaps, std::int64_t enough) {
    for (; swaps > 0 && bins_.time > enough && improve(); --swaps) bins_.time = *std::max_element(load_.begin(), load_.end());
    bins_.time = *std::max_element(load_.begin(), load_.end());
  }

 private:
  [[nodiscard]] std::int64_t time(std::size_t i) const { return t_.at(i, bins_.level); }
  /// The swap after which the slower one of two blocks takes least, or nothing if no swap shortens the slowest.
  bool improve() {
    auto const slow = static_cast<std::size_t>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    auto least = load_[slow];
    std::size_t from = 0, to = 0;
    for (std::size_t b = 0; b < blocks_; ++b) {
      auto const gap = load_[slow] - load_[b];
      if (load_[slow] - gap / 2 >= least) continue;
      for (auto const i : of_[slow]) {
        // Samples are in descending order of length, and nearly of time: from the first that shortens the slowest on.
        auto const first = std::partition_point(of_[b].begin(), of_[b].end(), [&](std::size_t j) { return time(i) - time(j) <= gap / 2; });
        auto const after = [&](std::size_t j) {
          auto const more = time(i) - time(j);
          auto const x = bins_.bin_of[i], y = bins_.bin_of[j];
          auto const longer = t_.length[i] - t_.length[j];
          if (more <= 0 || room_[x] < -longer || room_[y] < longer) return;
          if (auto const slower = (std::max)(load_[slow] - more, load_[b] + more); slower < least) {
            least = slower;
            from = i;
            to = j;
          }
        };
        if (first != of_[b].end()) after(*first);
        if (first != of_[b].begin()) after(*std::prev(first));
      }
    }
    if (least == load_[slow]) return false;
    swap(slow, bins_.block_of[bins_.bin_of[to]], from, to);
    return true;
  }
  void swap(std::size_t slow, std::size_t other, std::size_t i, std::size_t j) {
    auto const more = time(i) - time(j), longer = t_.length[i] - t_.length[j];
    load_[slow] -= more;
    load_[other] += more;
    room_[bins_.bin_of[i]] += longer;
    room_[bins_.bin_of[j]] -= longer;
    std::swap(bins_.bin_of[i], bins_.bin_of[j]);
    replace(of_[slow], i, j);
    replace(of_[other], j, i);
  }
  static void replace(std::vector<std::size_t>& in, std::size_t old, std::size_t now) {
    in.erase(std::lower_bound(in.begin(), in.end(), old));
    in.insert(std::lower_bound(in.begin(), in.end(), now), now);
  }

  degree_times const& t_;
  bin_list& bins_;
  std::size_t blocks_;
  std::vector<std::int64_t> load_, room_;
  std::vector<std::vector<std::size_t>> of_;  // samples of each block, ascending
};

/// Bins by tokens, first-fit decreasing, dealt to the blocks in order.
[[nodiscard]] inline bin_list dealt_token_bins(degree_times const& t, std::size_t level) {
  auto const room = t.room(level);
  auto const blocks = t.groups_of(level);
  bin_list out{status::feasible, 0, level, std::vector<std::size_t>(t.length.size()), {}};
  std::vector<sample_bin> bins;
  for (std::size_t i = 0; i < t.length.size(); ++i) {
    std::size_t b = 0;
    while (b < bins.size() && bins[b].tokens + t.length[i] > room) ++b;
    if (b == bins.size()) {
      bins.push_back({level, 0, 0});
      out.block_of.push_back(b % blocks);
    }
    bins[b].tokens += t.length[i];
    bins[b].time += t.at(i, level);
    out.bin_of[i] = b;
  }
  out.time = lockstep_time(bins, blocks, t.options.cost_per_pass);
  return all_ranks_used(t, bins) ? out : bin_list{};
}

/// The same bins: under lockstep, those of similar time are a micro-batch; otherwise each, the longest lasting first, is on the block of
/// least load. Many blocks are not tried.
[[nodiscard]] inline bin_list balanced_token_bins(degree_times const& t, std::size_t level) {
  constexpr std::size_t most_blocks = 16, most_samples = 1024;
  auto const blocks = t.groups_of(level);
  if (blocks > most_blocks || t.length.size() > most_samples) return {};
  auto out = dealt_token_bins(t, level);
  if (out.status != status::feasible) return out;
  std::vector<std::int64_t> time(out.block_of.size(), t.options.cost_per_pass), load(blocks, 0);
  for (std::size_t i = 0; i < t.length.size(); ++i) time[out.bin_of[i]] += t.at(i, level);
  auto const order = order_by<std::size_t>(time.size(), [&](std::size_t b) { return -time[b]; });
  if (t.options.execution != execution::lockstep) {
    for (auto const b : order) {
      auto const least = std::min_element(load.begin(), load.end());
      *least += time[b];
      out.block_of[b] = static_cast<std::size_t>(least - load.begin());
    }
    out.time = *std::max_element(load.begin(), load.end());
    return out;
  }
  std::vector<std::size_t> rank(order.size());
  out.time = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    rank[order[k]] = k;
    if (k % blocks == 0) out.time += time[order[k]];
  }
  for (auto& b : out.bin_of) b = rank[b];
  return out;
}

/// The best level for the policy of the options.
[[nodiscard]] inline bin_list best_homogeneous(degree_times const& t) {
  bin_list best;
  if (t.length.empty()) return {status::feasible, 0, 0, {}, {}};
  for (std::size_t level = 0; level < t.levels; ++level) {
    if (t.length[0] > t.room(level)) continue;
    auto bins = t.options.execution == execution::lockstep ? lockstep_bins(t, level) : least_loaded_blocks(t, level);
    if (bins.status == status::feasible && bins.time < best.time) best = std::move(bins);
    bins = balanced_token_bins(t, level);
    if (bins.status == status::feasible && bins.time < best.time) best = std::move(bins);
  }
  if (best.status != status::feasible && !t.allows_all()) best.status = status::infeasible;
  return best;
}

/// The passes of the bins. Under lockstep, ranks without a bin in a micro-batch run an empty pass.
template <index_type Index>
[[nodiscard]] pass_list<Index> passes_of_bins(degree_times const& t, bin_list const& bins) {
  pass_list<Index> out;
  auto const width = static_cast<std::size_t>(t.width[bins.level]), ranks = static_cast<std::size_t>(t.options.ranks);
  auto const blocks = t.groups_of(bins.level);
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  for (auto const b : bins.block_of) out.ranks.push_back(std::span(all).subspan(b * width, width));
  if (t.options.execution == execution::lockstep && !bins.block_of.empty()) {
    auto const count = divide_up(bins.block_of.size(), blocks), last = bins.block_of.size() % blocks;
    if (last != 0) out.ranks.push_back(std::span(all).subspan(last * width, (blocks - last) * width));
    for (std::size_t m = 0; m < count && blocks * width < ranks; ++m) out.ranks.push_back(std::span(all).subspan(blocks * width));
  }
  for (std::size_t i = 0; i < bins.bin_of.size(); ++i)
    out.placements.push_back({.sample = static_cast<Index>(t.sample[i]), .pass = static_cast<std::uint32_t>(bins.bin_of[i])});
  return out;
}

/// The shards of the bins, with a lower bound for the policy of the options.
template <index_type Index, length_range R>
[[nodiscard]] shards<Index> shards_of_bins(R const& lengths, degree_times const& t, bin_list const& bins, std::int64_t lower) {
  shards<Index> out;
  if (bins.status == status::feasible) {
    out = make_shards(lengths, passes_of_bins<Index>(t, bins), t.options.ranks, t.options.layout);
    out.time.value = bins.time;
  }
  out.status = bins.status;
  out.execution = t.options.execution;
  if (bins.status != status::infeasible) out.time.lower_bound = lower;
  return out;
}

}  // namespace ballast::inline v0_2::detail
