// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/replica_packs.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Random steps for replicas that are pipelines.
template <index_type Index>
class pipeline_streamer {
 public:
  pipeline_streamer(weighed_samples const& items, batching_options const& o, std::uint32_t fill)
      : items_(items), o_(o), warm_up_(static_cast<std::int64_t>(o.stages) - 1), ranks_(static_cast<std::size_t>(o.ranks)) {
    room_ = room_of_place(items, o) * static_cast<std::int64_t>(o.micro_batches * o.ranks);
    target_ = static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(room_), all_equal(items) ? 1000 : fill, 1000));
  }

  [[nodiscard]] batching<Index> run() {
    auto const n = items_.size();
    auto const order = random_permutation<Index>(n, epoch_seed(o_));
    auto left = items_.all_tokens;
    for (std::size_t next = 0; next < n;) {
      auto goal = target_;
      if (o_.left_over == left_over::split || o_.left_over == left_over::shorten) {
        auto const steps = (left + target_ - 1) / target_;
        goal = (left + steps - 1) / steps;
      }
      samples_.clear();
      auto const earlier = next;
      std::int64_t tokens = 0;
      auto const take = [&] {
        samples_.push_back(order[next]);
        tokens += items_.tokens[order[next++]];
      };
      while ((tokens < goal || samples_.size() < ranks_) && next < n) take();
      cut();
      if (o_.equal_micro_batches && next < n && fewest_each() > samples_.size() / ranks_) {
        // A few samples more or, if there is no room for them, fewer make equal numbers possible.
        samples_.assign(order.begin() + static_cast<std::ptrdiff_t>(earlier), order.begin() + static_cast<std::ptrdiff_t>(next));
        while (samples_.size() % ranks_ != 0 && next < n && tokens + items_.tokens[order[next]] <= room_) take();
        for (; samples_.size() % ranks_ != 0 && next < n; samples_.pop_back()) tokens -= items_.tokens[order[--next]];
        cut();
      }
      left -= tokens;
      auto const incomplete = tokens < goal && next == n;
      if (incomplete && o_.left_over == left_over::drop) {
        out_.dropped = samples_;
        std::sort(out_.dropped.begin(), out_.dropped.end());
        break;
      }
      if (incomplete && o_.left_over == left_over::repeat) {
        for (std::size_t k = 0; tokens < goal && k < earlier; ++k) {
          samples_.push_back(order[k]);
          out_.repeated.push_back(order[k]);
          tokens += items_.tokens[order[k]];
        }
        cut();
      }
      deal();
    }
    std::sort(out_.repeated.begin(), out_.repeated.end());
    write_table();
    fill_places(out_, items_, o_, mixing::allowed);
    certify(out_, items_, o_);
    return std::move(out_);
  }

 private:
  struct micro_batch {
    std::int64_t cost;
    std::size_t begin, end;  ///< positions in the sorted samples
  };

  /// Cuts samples sorted by length into micro-batches: each ends at the capacity, or before it costs more than its share of the step.
  void cut() {
    keys_.clear();
    for (auto i : samples_) keys_.push_back({items_.tokens[i], i});
    std::sort(keys_.begin(), keys_.end());
    std::ranges::transform(keys_, samples_.begin(), [](auto const& x) { return x.item; });
    auto const share = sum_of<Index>(items_.cost, samples_) / static_cast<std::int64_t>(o_.ranks * o_.micro_batches);
    micro_.clear();
    std::size_t begin = 0;
    std::int64_t tokens = 0, cost = 0;
    for (std::size_t k = 0; k <= samples_.size(); ++k) {
      auto const end = k == samples_.size();
      if (k > begin && (end || tokens + items_.tokens[samples_[k]] > o_.capacity || cost + items_.cost[samples_[k]] > share)) {
        micro_.push_back({cost, begin, k});
        begin = k;
        tokens = cost = 0;
      }
      if (end) break;
      tokens += items_.tokens[samples_[k]];
      cost += items_.cost[samples_[k]];
    }
    most_expensive_first(micro_);
  }
  /// Sorts micro-batches that are sorted by their samples.
  void most_expensive_first(std::vector<micro_batch>& micro) {
    keys_.clear();
    for (std::size_t k = 0; k < micro.size(); ++k) keys_.push_back({micro[k].cost, static_cast<Index>(k)});
    std::sort(keys_.begin(), keys_.end());
    by_sample_ = micro;
    for (std::size_t k = 0; k < micro.size(); ++k) micro[k] = by_sample_[keys_[k].item];
  }

  /// Whether replicas with a time of at most `limit`, and at most `most` micro-batches each, can hold all micro-batches: each, most
  /// expensive first, goes to the fullest replica with room. The first micro-batch of a replica also pays for its way through the pipeline.
  [[nodiscard]] bool holds(std::int64_t limit, std::size_t most) {
    open_.clear();
    replica_.resize(micro_.size());
    held_.assign(ranks_, 0);
    std::size_t opened = 0;
    for (std::size_t k = 0; k < micro_.size(); ++k) {
      auto const c = micro_[k].cost;
      auto const it = open_.lower_bound({c, 0});
      if (it != open_.end()) {
        replica_[k] = it->second;
        auto const left = it->first - c;
        open_.erase(it);
        if (++held_[replica_[k]] < most) open_.insert({left, replica_[k]});
      } else {
        if (opened == ranks_ || limit - warm_up_ * c < c) return false;
        replica_[k] = opened;
        if (++held_[opened] < most) open_.insert({limit - warm_up_ * c - c, opened});
        ++opened;
      }
    }
    return true;
  }

  /// The fewest micro-batches of a replica that hold all micro-batches of the step.
  [[nodiscard]] std::size_t fewest_each() const { return divide_up(micro_.size(), ranks_); }
  /// Distributes the micro-batches over the replicas, at most `most` to each; returns the time of the slowest replica, at least `low`.
  [[nodiscard]] std::int64_t distribute(std::int64_t low, std::int64_t high, std::size_t most) {
    while (low < high) {  // one replica holds everything at `high`
      auto const middle = low + (high - low) / 2;
      if (holds(middle, most))
        high = middle;
      else
        low = middle + 1;
    }
    (void)holds(high, most);
    return high;
  }

  void deal() {
    std::int64_t sum = 0;
    for (auto const& m : micro_) sum += m.cost;
    auto const most_expensive = micro_.front().cost, longest = sum + warm_up_ * most_expensive;
    auto const low = (std::max)(most_expensive * (warm_up_ + 1), sum / static_cast<std::int64_t>(ranks_));
    auto const most = samples_.size() / ranks_;
    auto each = (std::max)(fewest_each(), (std::min)(most, static_cast<std::size_t>(o_.micro_batches)));
    auto const limit = distribute(low, longest, micro_.size());
    if (!o_.equal_micro_batches || (each <= most && deal_alike(sum, each, limit))) return put_all();
    // The smallest equal number that does not slow the step down, if there are enough samples for it.
    while (!holds(limit, each) && each < most) ++each;
    if (!holds(limit, each)) (void)distribute(limit, longest, each);
    if (each > most) return put_all();
    std::vector<std::vector<std::vector<Index>>> packs(ranks_);
    for (std::size_t k = 0; k < micro_.size(); ++k) {
      auto const samples = samples_in(micro_[k]);
      packs[replica_[k]].emplace_back(samples.begin(), samples.end());
    }
    replica_packs<Index>(items_, packs).raise(each);
    auto const first = replicas_.size();
    replicas_.resize(first + ranks_);
    for (std::size_t r = 0; r < ranks_; ++r)
      for (auto const& pack : packs[r]) put(first + r, pack);
  }
  [[nodiscard]] std::span<Index const> samples_in(micro_batch const& m) const {
    return std::span<Index const>(samples_).subspan(m.begin, m.end - m.begin);
  }
  void put(std::size_t replica, std::span<Index const> pack) {
    replicas_[replica].push_back(static_cast<Index>(out_.packs.size()));
    out_.packs.push_back(pack);
  }
  void put_all() {
    auto const first = replicas_.size();
    replicas_.resize(first + ranks_);
    for (std::size_t k = 0; k < micro_.size(); ++k) put(first + replica_[k], samples_in(micro_[k]));
  }

  /// Deals the samples to micro-batches of equal cost, `each` to a replica, unless the slowest replica would take more than `limit`.
  [[nodiscard]] bool deal_alike(std::int64_t sum, std::size_t each, std::int64_t limit) {
    std::int64_t most_expensive = 0;
    for (auto i : samples_) most_expensive = (std::max)(most_expensive, items_.cost[i]);
    auto const mean = sum / static_cast<std::int64_t>(ranks_), share = mean / static_cast<std::int64_t>(each);
    auto const alone = (warm_up_ + 1) * most_expensive;
    if (most_expensive > share && mean - share + alone > limit) return false;  // its replica has other micro-batches too
    step_dealer<Index> deal(items_, ranks_ * each, 1, o_.capacity);
    constexpr std::array rules{deal_rule::longest_first};
    deal(samples_, rules);
    std::vector<Index> samples;
    std::vector<micro_batch> micro(ranks_ * each);
    for (std::size_t k = 0; k < micro.size(); ++k) {
      auto const got = deal.place(k, 0);
      if (got.empty()) return false;
      micro[k] = {sum_of(items_.cost, got), samples.size(), samples.size() + got.size()};
      samples.insert(samples.end(), got.begin(), got.end());
    }
    if (samples.size() != samples_.size()) return false;
    most_expensive_first(micro);
    micro_.swap(micro);
    if (!holds(limit, each)) {
      micro_.swap(micro);
      return false;
    }
    samples_.swap(samples);
    (void)distribute((std::max)(mean + warm_up_ * share, alone), limit, each);
    return true;
  }

  void write_table() {
    std::size_t most = 1;
    for (auto const& r : replicas_) most = (std::max)(most, r.size());
    out_.ranks = o_.ranks;
    out_.micro_batches = most;
    out_.table.assign(replicas_.size() * most, out_.none);
    for (std::size_t r = 0; r < replicas_.size(); ++r)
      std::copy(replicas_[r].begin(), replicas_[r].end(), out_.table.begin() + static_cast<std::ptrdiff_t>(r * most));
  }

  weighed_samples const& items_;
  batching_options const& o_;
  std::int64_t warm_up_, room_ = 0, target_ = 0;
  std::size_t ranks_;
  batching<Index> out_;
  std::vector<Index> samples_;
  std::vector<keyed_item<Index>> keys_;
  std::vector<micro_batch> micro_, by_sample_;
  std::vector<std::size_t> replica_, held_;  ///< replica of each micro-batch; micro-batches of each replica
  std::vector<std::vector<Index>> replicas_;
  std::set<std::pair<std::int64_t, std::size_t>> open_;  ///< remaining time of the opened replicas
};

}  // namespace ballast::inline v0_2::detail
