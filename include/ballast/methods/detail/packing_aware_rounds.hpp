// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// The micro-batches of Megatron-Core's dynamic context parallelism: which samples run side by side, on groups of how many ranks.

namespace ballast::inline v0_2::megatron_dynamic_cp::detail {

/// A sample that is to be placed; `work` on one rank is in units of one part of the largest power of two of ranks.
struct item {
  std::size_t sample;
  std::int64_t length, work;
  std::uint64_t degree;  // fewest ranks, a power of two; above the largest power of two of ranks if only all ranks have room
};
struct group {
  std::uint64_t width;
  std::int64_t tokens = 0, load = 0;
  std::vector<std::size_t> samples;
};
using round = std::vector<group>;  // on neighbouring ranks, in this order; together all ranks

struct round_limits {
  std::int64_t capacity;
  std::uint64_t ranks;
};

/// Forms the micro-batches of one batch, longest samples first.
class round_builder {
 public:
  round_builder(std::vector<item> items, round_limits const& o) : left_(std::move(items)), o_(o) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  round next() {
    groups_.clear();
    rest_.clear();
    free_ = o_.ranks;
    busiest_ = 0;
    if (left_[0].degree > o_.ranks) return on_all();
    most_ = {left_[0].length, o_.capacity * static_cast<std::int64_t>(std::bit_floor(o_.ranks))};
    put(left_[0], left_[0].degree, nullptr);
    for (std::size_t i = 1; i < left_.size(); ++i)
      if (!place(left_[i])) rest_.push_back(left_[i]);
    while (free_ > 0) {
      auto const smallest =
          std::min_element(groups_.begin(), groups_.end(), [](group const& a, group const& b) { return a.width < b.width; });
      auto const more = (std::min)(2 * smallest->width, o_.ranks) - smallest->width;
      if (more > free_) return on_all();
      smallest->width += more;
      free_ -= more;
    }
    left_.swap(rest_);
    return std::move(groups_);
  }

 private:
  [[nodiscard]] bool has_room(item const& s, group const& g) const {
    return g.tokens + s.length <= o_.capacity * static_cast<std::int64_t>(g.width);
  }
  /// Onto a group, or onto a new one of that width.
  void put(item const& s, std::uint64_t width, group* onto) {
    if (onto == nullptr) {
      groups_.push_back({width, 0, 0, {}});
      onto = &groups_.back();
      free_ -= width;
    }
    onto->tokens += s.length;
    onto->load += s.work / static_cast<std::int64_t>(width);
    onto->samples.push_back(s.sample);
    busiest_ = (std::max)(busiest_, onto->load);
  }
  /// Where the busiest rank gets least to do; of equal ones on fewer ranks, then in a group that exists, the older first.
  bool place(item const& s) {
    struct choice {
      std::int64_t busiest;
      std::uint64_t width;
      group* onto;
    };
    std::optional<choice> best;
    auto const consider = [&](std::uint64_t width, group* onto) {
      auto const busiest = (std::max)(busiest_, (onto == nullptr ? 0 : onto->load) + s.work / static_cast<std::int64_t>(width));
      if (best && busiest >= best->busiest) return;
      auto const most = multiply(static_cast<std::uint64_t>(most_.first), static_cast<std::uint64_t>(most_.second));
      if (most.high == 0 && static_cast<std::int64_t>(most.low) >= 0 &&
          compare_products(busiest, 20, static_cast<std::int64_t>(most.low), 21) > 0)
        return;  // a limit of 2^63 or more is above all loads
      best = choice{busiest, width, onto};
    };
    for (auto width = s.degree; width <= o_.ranks; width *= 2) {
      for (auto& g : groups_)
        if (g.width == width && has_room(s, g)) consider(width, &g);
      if (width <= free_) consider(width, nullptr);
    }
    if (best) put(s, best->width, best->onto);
    return best.has_value();
  }
  /// One group of all ranks: the longest samples that have room.
  round on_all() {
    groups_.assign(1, {o_.ranks, 0, 0, {}});
    rest_.clear();
    for (auto const& s : left_) {
      if (!has_room(s, groups_[0])) {
        rest_.push_back(s);
        continue;
      }
      groups_[0].tokens += s.length;
      groups_[0].samples.push_back(s.sample);
    }
    left_.swap(rest_);
    return std::move(groups_);
  }

  std::vector<item> left_, rest_;
  round_limits o_;
  round groups_;
  std::uint64_t free_ = 0;
  std::int64_t busiest_ = 0;                    // largest load of a rank
  std::pair<std::int64_t, std::int64_t> most_;  // no load exceeds 1.05 times the product
};

/// Widens the groups of a part of a round until they have all ranks: of the smallest groups at the end, the first doubles. Where that does
/// not come out even, all samples are in one group.
inline void widen(round& groups, std::uint64_t ranks) {
  std::uint64_t used = 0;
  for (auto const& g : groups) used += g.width;
  while (used < ranks) {
    auto at = groups.size() - 1;
    while (at > 0 && groups[at - 1].width <= groups[at].width) --at;
    if (groups[at].width > ranks - used) {
      for (std::size_t g = 1; g < groups.size(); ++g)
        groups[0].samples.insert(groups[0].samples.end(), groups[g].samples.begin(), groups[g].samples.end());
      groups.resize(1);
      groups[0].width = ranks;
      return;
    }
    used += groups[at].width;
    groups[at].width *= 2;
  }
}

/// Splits rounds, the last first, until their number is a multiple. Returns false, with rounds unchanged or partly split, if too few have
/// several groups.
[[nodiscard]] inline bool split_rounds(std::vector<round>& rounds, std::uint64_t ranks, std::uint64_t multiple) {
  std::size_t tried = 0;
  for (auto i = rounds.size(); rounds.size() % multiple != 0;) {
    if (i == 0) {
      if (tried >= rounds.size()) return false;
      i = rounds.size();
    }
    auto& whole = rounds[--i];
    if (whole.size() < 2) {
      ++tried;
      continue;
    }
    std::size_t k = 0;
    for (std::uint64_t first = 0; first < ranks / 2 && k + 1 < whole.size(); ++k) first += whole[k].width;
    auto const at = whole.begin() + static_cast<std::ptrdiff_t>(k);
    round front(whole.begin(), at), back(at, whole.end());
    widen(front, ranks);
    widen(back, ranks);
    whole = std::move(back);
    rounds.push_back(std::move(front));
    tried = 0;
  }
  return true;
}

}  // namespace ballast::inline v0_2::megatron_dynamic_cp::detail
