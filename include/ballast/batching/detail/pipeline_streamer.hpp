// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/items.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
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
    auto const room = static_cast<std::uint64_t>(room_of_place(items, o)) * o.micro_batches * o.ranks;
    target_ = static_cast<std::int64_t>(multiply_divide_up(room, all_equal(items) ? 1000 : fill, 1000));
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
      for (; (tokens < goal || samples_.size() < ranks_) && next < n; ++next) {
        samples_.push_back(order[next]);
        tokens += items_.tokens[order[next]];
      }
      left -= tokens;
      if (tokens < goal && o_.left_over == left_over::drop) {
        out_.dropped = samples_;
        std::sort(out_.dropped.begin(), out_.dropped.end());
        break;
      }
      if (o_.left_over == left_over::repeat)
        for (std::size_t k = 0; tokens < goal && k < earlier; ++k) {
          samples_.push_back(order[k]);
          out_.repeated.push_back(order[k]);
          tokens += items_.tokens[order[k]];
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
  /// Cuts samples sorted by length into micro-batches: each ends at the capacity, or before it costs more than its share of the step.
  void cut() {
    std::sort(samples_.begin(), samples_.end(),
              [&](Index a, Index b) { return items_.tokens[a] != items_.tokens[b] ? items_.tokens[a] > items_.tokens[b] : a < b; });
    std::int64_t all = 0;
    for (auto i : samples_) all += items_.cost[i];
    auto const share = all / static_cast<std::int64_t>(o_.ranks * o_.micro_batches);
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
    std::sort(micro_.begin(), micro_.end(),
              [](auto const& a, auto const& b) { return a.cost != b.cost ? a.cost > b.cost : a.begin < b.begin; });
  }

  /// Whether replicas with a time of at most `limit` can hold all micro-batches: each, most expensive first, goes to the fullest replica
  /// with room. The first micro-batch of a replica also pays for its way through the pipeline.
  [[nodiscard]] bool holds(std::int64_t limit) {
    open_.clear();
    replica_.resize(micro_.size());
    std::size_t opened = 0;
    for (std::size_t k = 0; k < micro_.size(); ++k) {
      auto const c = micro_[k].cost;
      auto const it = open_.lower_bound({c, 0});
      if (it != open_.end()) {
        replica_[k] = it->second;
        auto const left = it->first - c;
        open_.erase(it);
        open_.insert({left, replica_[k]});
      } else {
        if (opened == ranks_ || limit - warm_up_ * c < c) return false;
        replica_[k] = opened;
        open_.insert({limit - warm_up_ * c - c, opened++});
      }
    }
    return true;
  }

  void deal() {
    cut();
    std::int64_t sum = 0;
    for (auto const& m : micro_) sum += m.cost;
    auto const most_expensive = micro_.front().cost;
    auto low = (std::max)(most_expensive * (warm_up_ + 1), sum / static_cast<std::int64_t>(ranks_)), high = sum + warm_up_ * most_expensive;
    while (low < high) {  // one replica holds everything at `high`
      auto const middle = low + (high - low) / 2;
      if (holds(middle))
        high = middle;
      else
        low = middle + 1;
    }
    (void)holds(high);
    auto const first = replicas_.size();
    replicas_.resize(first + ranks_);
    for (std::size_t k = 0; k < micro_.size(); ++k) {
      replicas_[first + replica_[k]].push_back(static_cast<Index>(out_.packs.size()));
      out_.packs.push_back(std::span<Index const>(samples_).subspan(micro_[k].begin, micro_[k].end - micro_[k].begin));
    }
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

  struct micro_batch {
    std::int64_t cost;
    std::size_t begin, end;  ///< positions in the sorted samples
  };
  weighed_samples const& items_;
  batching_options const& o_;
  std::int64_t warm_up_, target_ = 0;
  std::size_t ranks_;
  batching<Index> out_;
  std::vector<Index> samples_;
  std::vector<micro_batch> micro_;
  std::vector<std::size_t> replica_;
  std::vector<std::vector<Index>> replicas_;
  std::set<std::pair<std::int64_t, std::size_t>> open_;  ///< remaining time of the opened replicas
};

}  // namespace ballast::inline v0_2::detail
