// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

// Which samples form the micro-batches of a batch in lockstep: several counts and ways to deal, each planned as groups; the best is kept.

namespace ballast::inline v0_2::detail {

using micro_batch_positions = std::vector<std::vector<std::size_t>>;  // of each micro-batch, ascending: samples in descending length

class micro_batch_search {
 public:
  explicit micro_batch_search(degree_times const& t)
      : t_(&t), planner_(t), tokens_(std::accumulate(t.length.begin(), t.length.end(), std::int64_t{0})) {
    for (std::size_t i = 0; i < t.length.size(); ++i) {
      auto const level = t.cheapest(i, degree_times::most);
      work_.push_back(level < t.levels ? t.area(i, level) : 0);
    }
  }

  micro_batch_positions best;
  std::vector<group_fit> fits;             // of each micro-batch of the best
  std::int64_t time = degree_times::most;  // of the best

  /// Tries every way to deal into as few micro-batches as have room, and more, until `counts` numbers of each have room.
  void run(std::size_t counts) {
    auto const n = t_->length.size();
    auto const fewest = static_cast<std::size_t>(divide_up(tokens_, room()));
    constexpr int shares[] = {2, 5, 10, 20, 40};
    for (int way = 0; way < 2 + static_cast<int>(std::size(shares)); ++way) {
      // A sorted cut leaves long samples together and fails at small counts, so more of them are tried.
      auto const wanted = way == 0 ? counts + 2 : counts;
      std::size_t found = 0;
      for (auto count = (std::max)(fewest, std::size_t{1}); count < fewest + 4 * wanted && count <= n && found < wanted; ++count) {
        if (way > 1 && count == 1) continue;
        if (attempt(way == 0 ? sorted_cut(count) : way == 1 ? snake(count) : longest_apart(count, shares[way - 2]))) ++found;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t room() const { return t_->options.capacity * static_cast<std::int64_t>(t_->options.ranks); }

  /// Plans the groups of each micro-batch; keeps them if they take less than the best. Returns whether all have groups, or cannot be best.
  bool attempt(micro_batch_positions batches) {
    std::vector<std::int64_t> bounds;
    std::int64_t sum = 0;
    std::erase_if(batches, [](auto const& b) { return b.empty(); });
    for (auto const& b : batches) {
      std::int64_t held = 0;
      for (auto const i : b) held += t_->length[i];
      if (held > room()) return false;
      auto const bound = planner_.bound(b);
      if (bound >= degree_times::most) return false;
      sum += bounds.emplace_back(bound);
      if (sum >= time) return true;
    }
    std::vector<group_fit> plans;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      auto const& fit = planner_.plan(batches[b]);
      if (fit.time == degree_times::most) return false;
      sum += fit.time - bounds[b];
      if (sum >= time) return true;
      plans.push_back(fit);
    }
    time = sum;
    best = std::move(batches);
    fits = std::move(plans);
    return true;
  }

  /// Neighbours in length, the most tokens of a micro-batch least (the micro-batches of FlexSP).
  [[nodiscard]] micro_batch_positions sorted_cut(std::size_t count) const {
    auto const n = t_->length.size();
    auto const cut = [&](std::int64_t most, micro_batch_positions* out) {
      std::size_t used = 1;
      std::int64_t held = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (held + t_->length[i] > most) {
          held = 0;
          if (++used > count) return false;
        }
        held += t_->length[i];
        if (out != nullptr) (*out)[used - 1].push_back(i);
      }
      return true;
    };
    auto const least = (std::max)(t_->length[0], divide_up(tokens_, static_cast<std::int64_t>(count)));
    auto const room = first_where(least, tokens_, [&](std::int64_t tokens) { return cut(tokens, nullptr); });
    micro_batch_positions out(count);
    cut(room, &out);
    return out;
  }

  /// Dealt in turn, there and back.
  [[nodiscard]] micro_batch_positions snake(std::size_t count) const {
    micro_batch_positions out(count);
    for (std::size_t i = 0; i < t_->length.size(); ++i) out[i / count % 2 == 0 ? i % count : count - 1 - i % count].push_back(i);
    return out;
  }

  /// The longest samples, of `percent` of the work but at most 90 % of its tokens, into one micro-batch; then each to the fewest tokens.
  [[nodiscard]] micro_batch_positions longest_apart(std::size_t count, int percent) const {
    micro_batch_positions out(count);
    auto const work = std::accumulate(work_.begin(), work_.end(), std::int64_t{0}) / 100 * percent, most = room() / 10 * 9;
    std::vector<std::pair<std::int64_t, std::size_t>> queue;  // least tokens in front
    std::int64_t done = 0, held = 0;
    std::size_t i = 0;
    for (; i < t_->length.size() && done < work && held + t_->length[i] <= most; ++i) {
      out[0].push_back(i);
      done += work_[i];
      held += t_->length[i];
    }
    queue.emplace_back(held, 0);
    for (std::size_t b = 1; b < count; ++b) queue.emplace_back(0, b);
    std::make_heap(queue.begin(), queue.end(), std::greater<>{});
    for (; i < t_->length.size(); ++i) {
      std::pop_heap(queue.begin(), queue.end(), std::greater<>{});
      out[queue.back().second].push_back(i);
      queue.back().first += t_->length[i];
      std::push_heap(queue.begin(), queue.end(), std::greater<>{});
    }
    return out;
  }

  degree_times const* t_;
  group_planner planner_;
  std::int64_t tokens_;
  std::vector<std::int64_t> work_;  // least rank-time of each position
};

}  // namespace ballast::inline v0_2::detail
