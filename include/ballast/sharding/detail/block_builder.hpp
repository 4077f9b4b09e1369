// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The blocks of two ranks and more: passes for samples that need several ranks, and shorter samples that fill them.

namespace ballast::inline v0_2::detail {

/// How passes of several ranks are filled with samples that would fit a single rank.
enum class block_fill : std::uint8_t {
  none,    // not at all
  shared,  // the ranks of the block share them
  whole,   // each on one rank of the block
};

/// Places samples on blocks, level by level, within a time T where possible.
class block_builder {
 public:
  explicit block_builder(degree_times const& t) : t_(t) {}

  /// Places every sample that needs more than one rank within `limit`, and fills their passes. Afterwards `load` holds each rank's load.
  /// @param deal_anew  whether passes of several ranks move such that ranks have time for whole numbers of full passes
  void build(std::int64_t limit, block_fill fill, bool deal_anew, waiting_samples& waiting, block_plan& plan) {
    limit_ = limit;
    waiting_ = &waiting;
    plan_ = &plan;
    most_ = block_plan::none;
    least_.assign(t_.levels, 0);
    took_.clear();
    load.clear();
    for (auto l = t_.levels; l-- > 0;) {
      split(l);
      if (l == 0) return;
      level_ = l;
      room_.assign(load.size(), 0);
      open_.assign(load.size(), 0);
      all_.fill(load.size(), [&](std::uint32_t b) { return load[b]; });
      with_room_.clear();
      parked_.clear();
      auto const first = plan.passes.size(), placed = plan.placements.size();
      while (choose_levels())
        for (std::size_t i = 0; i < wanted_.size(); ++i)
          if (wanted_[i] >= l && waiting.from(i) == i) place(i);
      for (auto p = first; fill != block_fill::none && p < plan.passes.size(); ++p) fill_pass(p, fill);
      if (deal_anew) deal_passes(first, placed);
    }
  }

  std::vector<std::int64_t> load;  ///< of each block of the level

 private:
  /// Chooses the level at which each waiting sample costs least in the time that the block of least load has left; samples behind `wanted_`
  /// need one rank. Returns whether samples of the level or above wait.
  bool choose_levels() {
    auto const most = limit_ - t_.options.cost_per_pass - *std::min_element(load.begin(), load.end());
    auto const is_new = most < most_;
    if (is_new) {
      most_ = most;
      auto const wide = t_.monotone ? waiting_->quicker(waiting_->shorter(0, t_.options.capacity), 0, most) : t_.length.size();
      wanted_.resize(wide);
    }
    auto any = false;
    for (auto i = waiting_->from(0); i < wanted_.size(); i = waiting_->from(i + 1)) {
      if (is_new) {
        auto level = t_.cheapest(i, most);
        if (level == t_.levels) level = t_.quickest(i);
        wanted_[i] = static_cast<std::uint8_t>(level);
      }
      any = any || wanted_[i] >= level_;
    }
    return any;
  }
  /// From blocks of one level to those of the next, which have the same load. Ranks that were in no block begin with none.
  void split(std::size_t level) {
    auto const blocks = static_cast<std::size_t>(t_.options.ranks) >> level;
    std::vector<std::int64_t>& old = room_;
    old.swap(load);
    load.assign(blocks, 0);
    if (level + 1 == t_.levels) return;
    for (std::size_t b = 0; b < old.size(); ++b) load[2 * b] = load[2 * b + 1] = old[b];
  }

  /// On the block that would be done first: in its open pass where there is room, else in another pass.
  void place(std::size_t i) {
    auto const fixed = t_.options.cost_per_pass, length = t_.length[i];
    for (; !parked_.empty() && -parked_.top().key >= length; parked_.pop()) with_room_.push(load[parked_.top().place], parked_.top().place);
    auto best = all_.least(load);
    auto start = load[best] + fixed;
    if (auto const open = block_with_room(length); open < load.size() && load[open] <= start) {
      best = open;
      start = load[open];
    }
    if (start + t_.at(i, level_) > limit_ && promote(i)) return;
    auto const opens = room_[best] < length;
    if (opens) {
      plan_->passes.push_back({best, static_cast<std::uint32_t>(level_), 0});
      open_[best] = plan_->passes.size();
      room_[best] = t_.options.capacity << level_;
      load[best] += fixed;
      took_.push_back(fixed);
    }
    load[best] += t_.at(i, level_);
    took_[open_[best] - 1] += t_.at(i, level_);
    room_[best] -= length;
    plan_->passes[open_[best] - 1].room = room_[best];
    put(i, open_[best] - 1, block_placement::everywhere);
    if (opens) with_room_.push(load[best], best);
  }
  /// The block of least load whose open pass has room, or the number of blocks. Blocks without room wait for a shorter sample.
  [[nodiscard]] std::uint32_t block_with_room(std::int64_t length) {
    while (!with_room_.empty()) {
      auto const b = with_room_.least(load);
      if (room_[b] >= length) return b;
      with_room_.pop();
      parked_.push(-room_[b], b);
    }
    return static_cast<std::uint32_t>(load.size());
  }
  /// A pass of its own on a larger block that meets the limit, if there is one.
  bool promote(std::size_t i) {
    for (auto q = level_ + 1; q < t_.levels; ++q) {
      auto const time = t_.options.cost_per_pass + t_.at(i, q);
      if (!t_.allows(i, q) || time > limit_ - least_[q]) continue;
      std::size_t best = 0;
      least_[q] = block_plan::none;
      for (std::size_t b = 0; b < static_cast<std::size_t>(t_.options.ranks) >> q; ++b)
        if (auto const at = load_of(q, b); at < least_[q]) {
          least_[q] = at;
          best = b;
        }
      if (time > limit_ - least_[q]) continue;
      add(q, best, time);
      took_.push_back(time);
      plan_->passes.push_back({static_cast<std::uint32_t>(best), static_cast<std::uint32_t>(q), (t_.options.capacity << q) - t_.length[i]});
      put(i, plan_->passes.size() - 1, block_placement::everywhere);
      return true;
    }
    return false;
  }

  void fill_pass(std::size_t p, block_fill how) {
    auto const q = std::size_t{plan_->passes[p].level};
    auto const b = std::size_t{plan_->passes[p].block};
    auto room = plan_->passes[p].room, left = limit_ - load_of(q, b);
    auto const before = left;
    // Longest first; in a mixed pass only those that would take more than half of the room on one rank.
    auto const least = how == block_fill::whole ? (room >> q) / 2 : 0;
    for (auto i = waiting_->from(waiting_->shorter(0, room)); i < t_.length.size() && t_.length[i] > least;) {
      if (t_.at(i, q) > left) {
        i = waiting_->from(waiting_->quicker(i, q, left));
        continue;
      }
      if (!worth_sharing(i, q, left)) break;
      put(i, p, block_placement::everywhere);
      room -= t_.length[i];
      left -= t_.at(i, q);
      i = waiting_->from(waiting_->shorter(i, room));
    }
    if (how == block_fill::whole && left > 0) left -= fill_ranks(p, room, left);
    plan_->passes[p].room = room;
    add(q, b, before - left);
    took_[p] += before - left;
  }
  /// What a rank with some time left loses because passes are whole: the rest is idle, or it pays for a pass that is not full.
  [[nodiscard]] std::int64_t lost(std::int64_t left, std::int64_t full) const {
    auto const fixed = t_.options.cost_per_pass, rest = (std::max)(left, std::int64_t{0}) % full;
    return rest <= fixed ? rest : (full - rest) / 1024 * (fixed / ((full - fixed) / 1024 + 1));
  }
  /// The passes of the level from `first` on, the longest first, each to the block that loses least, then to that of least load. Samples
  /// from `placed` on are in them. Nothing moves if a pass exceeds the limit everywhere, or where there are many.
  void deal_passes(std::size_t first, std::size_t placed) {
    constexpr std::size_t most_each = 4, most_pairs = std::size_t{1} << 22;  // passes of a block; passes times blocks
    auto& passes = plan_->passes;
    auto const full = waiting_->mean_time(t_.options.capacity) + t_.options.cost_per_pass;
    dealt_.clear();
    for (auto p = first; p < passes.size(); ++p)
      if (passes[p].level == level_) dealt_.push_back({p, 0});
    if (t_.options.cost_per_pass == 0 || full == t_.options.cost_per_pass) return;
    if (dealt_.size() > (std::min)(most_each * load.size(), most_pairs / load.size())) return;
    std::sort(dealt_.begin(), dealt_.end(), [&](dealt_pass const& a, dealt_pass const& b) {
      return took_[a.pass] != took_[b.pass] ? took_[a.pass] > took_[b.pass] : a.pass < b.pass;
    });
    loads_ = load;
    for (auto const& d : dealt_) loads_[passes[d.pass].block] -= took_[d.pass];
    lost_.clear();
    for (auto const l : loads_) lost_.push_back(lost(limit_ - l, full));
    for (auto& d : dealt_) {
      auto best = loads_.size();
      std::int64_t least = 0;
      for (std::size_t b = 0; b < loads_.size(); ++b) {
        auto const left = limit_ - loads_[b] - took_[d.pass];
        if (left < 0) continue;
        auto const more = lost(left, full) - lost_[b];
        if (best < loads_.size() && (more > least || (more == least && loads_[b] >= loads_[best]))) continue;
        best = b;
        least = more;
      }
      if (best == loads_.size()) return;
      loads_[best] += took_[d.pass];
      lost_[best] += least;
      d.block = static_cast<std::uint32_t>(best);
    }
    block_of_.clear();
    for (auto p = first; p < passes.size(); ++p) block_of_.push_back(passes[p].block);
    for (auto const& d : dealt_) passes[d.pass].block = d.block;
    for (auto k = placed; k < plan_->placements.size(); ++k) {
      auto& held = plan_->placements[k];
      if (held.rank != block_placement::everywhere && held.pass >= first && passes[held.pass].level == level_)
        held.rank = held.rank - (block_of_[held.pass - first] << level_) + (passes[held.pass].block << level_);
    }
    load.swap(loads_);
  }
  /// Whether a sample on the whole block costs no more than the part of a pass that it saves.
  [[nodiscard]] bool worth_sharing(std::size_t i, std::size_t q, std::int64_t left) const {
    auto const fixed = t_.options.cost_per_pass;
    return left < fixed + fixed / 2 || compare_products(t_.area(i, q) - t_.at(i, 0), t_.options.capacity, fixed, t_.length[i]) <= 0;
  }
  /// Whole samples for each rank of the block, within its share of the room. Returns the largest time of a rank.
  std::int64_t fill_ranks(std::size_t p, std::int64_t room, std::int64_t left) {
    auto const q = plan_->passes[p].level;
    auto const each = room >> q;
    if (each == 0) return 0;
    auto most = (std::min)(left, waiting_->mean_time(each));
    if (left - most < t_.options.cost_per_pass) most = left;
    std::int64_t longest = 0;
    for (std::uint32_t k = 0; k < std::uint32_t{1} << q; ++k) {
      auto tokens = each, time = most;
      for (auto i = waiting_->from(waiting_->shorter(0, tokens)); i < t_.length.size();) {
        if (t_.at(i, 0) > time) {
          i = waiting_->from(waiting_->quicker(i, 0, time));
          continue;
        }
        put(i, p, (plan_->passes[p].block << q) + k);
        tokens -= t_.length[i];
        time -= t_.at(i, 0);
        i = waiting_->from(waiting_->shorter(i, tokens));
      }
      longest = (std::max)(longest, most - time);
    }
    return longest;
  }

  void put(std::size_t i, std::size_t pass, std::uint32_t rank) {
    plan_->placements.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(pass), rank});
    waiting_->take(i);
  }
  /// The largest load of the blocks that a block of a level above contains.
  [[nodiscard]] std::int64_t load_of(std::size_t q, std::size_t b) const {
    auto const from = load.begin() + static_cast<std::ptrdiff_t>(b << (q - level_));
    return *std::max_element(from, from + (std::ptrdiff_t{1} << (q - level_)));
  }
  void add(std::size_t q, std::size_t b, std::int64_t time) {
    for (auto c = b << (q - level_); c < (b + 1) << (q - level_); ++c) load[c] += time;
  }

  struct dealt_pass {
    std::size_t pass;
    std::uint32_t block;
  };
  degree_times const& t_;
  std::int64_t limit_ = 0, most_ = 0;  // the time T; what samples may take at most
  std::size_t level_ = 0;
  waiting_samples* waiting_ = nullptr;
  block_plan* plan_ = nullptr;
  std::vector<std::uint8_t> wanted_;
  std::vector<std::int64_t> room_;   // tokens left in the open pass of each block
  std::vector<std::size_t> open_;    // number of the open pass of each block plus 1, or 0
  std::vector<std::int64_t> least_;  // no block of each level has less load
  std::vector<std::int64_t> took_;   // time of each pass
  // Of the passes that are dealt anew: blocks, loads of the blocks and what they lose, blocks before.
  std::vector<dealt_pass> dealt_;
  std::vector<std::int64_t> loads_, lost_;
  std::vector<std::uint32_t> block_of_;
  load_heap all_, with_room_, parked_;  // blocks by load; those with room in an open pass by load; others with an open pass by room
};

}  // namespace ballast::inline v0_2::detail
