// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// A lower bound on a batch in lockstep, from where its longest samples are. A micro-batch with a long sample lasts as long as it does, and
// what its ranks do meanwhile is limited by the tokens that they have room for. A tree places the longest samples one after the other: on
// each number of ranks, in a micro-batch of its own, beside others, or in their pass. Of a node, micro-batch m lasts t_m, the least time
// that its placed samples take. All others have rank-time W, at their least, of which K fits into the placed micro-batches; so the batch
// takes at least the sum of t_m and (W - K) / ranks. K is at most
//   - what its tokens hold beside the groups of placed samples, and the rank-time that is left in these;
//   - ranks * t_m less the rank-time of the placed ones;
//   - what all tokens of the micro-batches hold but those of placed ones, the samples of most rank-time for a token first.
// If a token has a price p, samples pay for time and room together (room_prices.hpp), and a pass with room C may be paid p C more: placed
// samples pay their rank-time and p for each token at most, and those that are not placed pay (W - K) / ranks to the other micro-batches,
// which last that less p C for each of them.
// If t_m is longer by some time, K grows by at most ranks times that, so the bound does not fall. Nodes are expanded the least bound
// first; the least of those that are left is a bound whenever the search ends.

namespace ballast::inline v0_2::detail {

/// A sample on `fewest` to `most` ranks: its least time and its least rank-time on any of these numbers. Samples that can have a number of
/// ranks in common have it in choices of one `most`.
struct rank_choice {
  std::int64_t fewest, most, time, area;
};

class lockstep_bound {
 public:
  /// @param areas  the least rank-time of each position @param batches  the fewest micro-batches
  /// @param price  of a token; where it is not 0, `areas` are what positions pay (room_prices.hpp). The bound is for no more micro-batches
  /// if the room of a pass costs more than its fixed time
  lockstep_bound(degree_times const& t, std::vector<std::int64_t> areas, std::int64_t batches, std::int64_t price = 0)
      : t_(&t),
        areas_(std::move(areas)),
        batches_(batches),
        price_(price),
        ranks_(static_cast<std::int64_t>(t.options.ranks)),
        capacity_((std::min)(t.options.capacity, t.tokens)) {
    by_density_.resize(areas_.size());
    for (std::size_t i = 0; i < areas_.size(); ++i) by_density_[i] = i;
    std::sort(by_density_.begin(), by_density_.end(), [&](std::size_t a, std::size_t b) {
      auto const order = compare_products(areas_[a], t.length[b], areas_[b], t.length[a]);
      return order != 0 ? order > 0 : a < b;
    });
  }

  /// @param choices  returns the numbers of ranks that a position may have, each in one of its entries, whose `most` is at most twice its
  /// `fewest`
  template <class Choices>
  [[nodiscard]] std::int64_t run(Choices const& choices) {
    if (capacity_ > degree_times::most / ranks_ / 32) return 0;  // no sum below exceeds 2^62
    auto const most_depth = (std::min)({std::size_t{24}, areas_.size(), most_sums / (areas_.size() + 1)});
    std::vector<node> open{{0, 0, 0, {}}};
    open[0].bound = value(open[0]);
    std::vector<std::vector<rank_choice>> known;
    std::int64_t longest = 0, made = 0;  // times of all samples that are placed, at most
    for (int expanded = 0; expanded < most_expanded && open[0].depth < most_depth; ++expanded) {
      std::pop_heap(open.begin(), open.end(), later);
      auto const from = std::move(open.back());
      open.pop_back();
      if (known.size() == from.depth) {
        known.push_back(choices(from.depth));
        std::int64_t slowest = 0;
        for (auto const& c : known.back()) slowest = (std::max)(slowest, c.time);
        if (slowest > degree_times::most / (2 * ranks_) - longest) return from.bound;
        longest += slowest;
      }
      for (auto const& c : known[from.depth])
        each_place(from, c, [&](node&& next) {
          next.bound = (std::max)(from.bound, value(next));
          next.number = ++made;
          open.push_back(std::move(next));
          std::push_heap(open.begin(), open.end(), later);
        });
    }
    return open[0].bound;
  }

 private:
  static constexpr int most_expanded = 64;
  static constexpr std::size_t most_sums = std::size_t{1} << 22;  // of all `rest_`
  /// Samples that share a pass of a group.
  struct group {
    std::size_t batch;
    rank_choice on;  // with the times and rank-times of all
    std::int64_t tokens;
  };
  struct node {
    std::int64_t bound, number;
    std::size_t depth;  // positions that are placed
    std::vector<group> groups;
  };
  [[nodiscard]] static bool later(node const& a, node const& b) {
    if (a.bound != b.bound) return a.bound > b.bound;
    return a.depth != b.depth ? a.depth < b.depth : a.number > b.number;
  }
  [[nodiscard]] static std::size_t batches_of(node const& of) {
    std::size_t out = 0;
    for (auto const& g : of.groups) out = (std::max)(out, g.batch + 1);
    return out;
  }
  /// Calls `with` with each place of the next sample on these ranks.
  template <class With>
  void each_place(node const& from, rank_choice const& c, With const& with) const {
    auto const length = t_->length[from.depth];
    for (std::size_t batch = 0; batch <= batches_of(from); ++batch) {
      std::int64_t used = 0;
      for (auto const& g : from.groups)
        if (g.batch == batch) used += g.on.fewest;
      if (used + c.fewest > ranks_) continue;
      node next{0, 0, from.depth + 1, from.groups};
      next.groups.push_back({batch, c, length});
      with(std::move(next));
    }
    for (std::size_t k = 0; k < from.groups.size(); ++k) {
      auto const& g = from.groups[k];
      if (g.on.most != c.most || g.tokens + length > capacity_ * c.most) continue;
      node next{0, 0, from.depth + 1, from.groups};
      next.groups[k].on.fewest = (std::max)(g.on.fewest, c.fewest);
      next.groups[k].on.time += c.time;
      next.groups[k].on.area += c.area;
      next.groups[k].tokens += length;
      with(std::move(next));
    }
  }
  [[nodiscard]] std::int64_t value(node const& of) {
    std::int64_t sum = 0, beside = 0, beside_time = 0, within = 0, within_tokens = 0, free_time = 0, free_tokens = 0;
    auto const count = static_cast<std::int64_t>(batches_of(of));
    auto const pass = price_ * t_->options.capacity;  // price of the room of one rank
    if (pass > t_->options.cost_per_pass && count > batches_) return degree_times::most;
    for (std::size_t batch = 0; batch < static_cast<std::size_t>(count); ++batch) {
      std::int64_t time = 0, left = ranks_;
      for (auto const& g : of.groups)
        if (g.batch == batch) {
          time = (std::max)(time, g.on.time);
          left -= g.on.fewest;
        }
      for (auto const& g : of.groups)
        if (g.batch == batch) {
          auto const paid = g.on.area + price_ * g.tokens;
          within += g.on.most * (time + pass) - paid;
          within_tokens += g.on.most * capacity_ - g.tokens;
          free_time -= paid;
          free_tokens -= g.tokens;
        }
      sum += time;
      beside += left * capacity_;
      beside_time += left * (time + pass);
      free_time += ranks_ * (time + pass);
      free_tokens += ranks_ * capacity_;
    }
    auto const& rest = rest_of(of.depth);
    auto const held = (std::min)(
        {(std::min)(rest.held(beside), beside_time) + (std::min)(rest.held(within_tokens), within), free_time, rest.held(free_tokens)});
    auto const batches = (std::max)(batches_, count);
    auto const outside = rest.areas.back() > held ? divide_up(rest.areas.back() - held, ranks_) - (batches - count) * pass : 0;
    return sum + (std::max)(outside, std::int64_t{0}) + batches * t_->options.cost_per_pass;
  }

  /// Sums over the samples that are not placed, those of most rank-time for a token first.
  struct densest {
    std::vector<std::int64_t> tokens{0}, areas{0};
    /// The most rank-time that so many tokens hold, rounded up; none where placed samples have more tokens than there is room for.
    [[nodiscard]] std::int64_t held(std::int64_t room) const {
      if (room <= 0) return 0;
      if (room >= tokens.back()) return areas.back();
      auto const k = static_cast<std::size_t>(std::upper_bound(tokens.begin(), tokens.end(), room) - tokens.begin());
      return areas[k - 1] + static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(room - tokens[k - 1]),
                                                                         static_cast<std::uint64_t>(areas[k] - areas[k - 1]),
                                                                         static_cast<std::uint64_t>(tokens[k] - tokens[k - 1])));
    }
  };
  [[nodiscard]] densest const& rest_of(std::size_t depth) {
    while (rest_.size() <= depth) {
      densest next;
      for (auto const i : by_density_)
        if (i >= rest_.size()) {
          next.tokens.push_back(next.tokens.back() + t_->length[i]);
          next.areas.push_back(next.areas.back() + areas_[i]);
        }
      rest_.push_back(std::move(next));
    }
    return rest_[depth];
  }

  degree_times const* t_;
  std::vector<std::int64_t> areas_;
  std::int64_t batches_, price_, ranks_, capacity_;
  std::vector<std::size_t> by_density_;
  std::vector<densest> rest_;  // behind so many placed positions
};

}  // namespace ballast::inline v0_2::detail
