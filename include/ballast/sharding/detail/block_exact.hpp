// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

// The best plan of independent passes for a batch of a few samples, by dynamic programs over sets of samples.

namespace ballast::inline v0_2::detail {

/// Solves batches of a few samples on a power of two ranks.
class exact_tree {
 public:
  explicit exact_tree(degree_times const& t) : t_(t) {}

  /// Whether the batch is small enough: an exact plan of 8 samples takes a tenth of a millisecond, one of 12 about ten.
  [[nodiscard]] static bool takes(degree_times const& t, bool deep) {
    return t.length.size() <= (deep ? 12 : 8) && std::has_single_bit(t.options.ranks);
  }

  /// Replaces the plan by the best one if that is faster, in O(log ranks * 3^samples).
  void improve(block_plan& plan) {
    auto const sets = std::size_t{1} << t_.length.size();
    auto const levels = static_cast<std::size_t>(std::bit_width(t_.options.ranks));
    own_.assign(levels, std::vector(sets, never));
    halves_.assign(levels, std::vector(sets, never));
    path_.assign(levels, std::vector(sets, never));
    for (std::size_t l = 0; l < levels; ++l) {
      sum_passes(l);
      halves_[l][0] = 0;
      for (std::size_t set = 0; set < sets; ++set) {
        if (l > 0) halves_[l][set] = best_part(set, [&](std::size_t a) { return (std::max)(path_[l - 1][a], path_[l - 1][set ^ a]); });
        path_[l][set] = best_part(set, [&](std::size_t a) { return own_[l][a] + halves_[l][set ^ a]; });
      }
    }
    if (path_.back().back() >= (std::min)(plan.value, never)) return;
    plan.clear();
    plan.value = path_.back().back();
    write(levels - 1, 0, sets - 1, plan);
  }

 private:
  static constexpr std::int64_t never = degree_times::most - 1;  // two of them can be added, and no plan takes more

  template <class Value>
  [[nodiscard]] static std::int64_t best_part(std::size_t set, Value const& value) {
    auto best = never;
    for (auto part = set;; part = (part - 1) & set) {
      best = (std::min)(best, value(part));
      if (part == 0) return best;
    }
  }
  /// Whether a set is one pass of a block, and its time.
  [[nodiscard]] std::int64_t pass_time(std::size_t l, std::size_t set) const {
    if (l >= t_.levels) return never;
    std::int64_t tokens = 0, time = t_.options.cost_per_pass;
    for (auto rest = set; rest != 0; rest &= rest - 1) {
      auto const i = static_cast<std::size_t>(std::countr_zero(rest));
      tokens += t_.length[i];
      time += t_.at(i, l);
    }
    return tokens <= t_.options.capacity << l && tokens >= std::int64_t{1} << l ? time : never;
  }
  /// Each set on one block of a level, in the passes that take least.
  void sum_passes(std::size_t l) {
    auto& own = own_[l];
    pass_.assign(own.size(), never);
    own[0] = 0;
    for (std::size_t set = 1; set < own.size(); ++set) pass_[set] = pass_time(l, set);
    for (std::size_t set = 1; set < own.size(); ++set)
      own[set] = best_part(set, [&](std::size_t part) { return part == 0 ? never : pass_[part] + own[set ^ part]; });
  }
  void write(std::size_t l, std::uint32_t block, std::size_t set, block_plan& plan) {
    if (set == 0) return;
    auto part = set;  // on this block
    while (own_[l][part] + halves_[l][set ^ part] != path_[l][set]) part = (part - 1) & set;
    sum_passes(l);
    for (auto rest = part; rest != 0;) {
      auto one = rest;
      while (pass_[one] + own_[l][rest ^ one] != own_[l][rest]) one = (one - 1) & rest;
      plan.passes.push_back({block, static_cast<std::uint32_t>(l), 0});
      for (auto in = one; in != 0; in &= in - 1)
        plan.placements.push_back({static_cast<std::uint32_t>(std::countr_zero(in)), static_cast<std::uint32_t>(plan.passes.size() - 1)});
      rest ^= one;
    }
    if (l == 0 || part == set) return;
    set ^= part;
    auto half = set;
    while ((std::max)(path_[l - 1][half], path_[l - 1][set ^ half]) != halves_[l][set]) half = (half - 1) & set;
    write(l - 1, 2 * block, half, plan);
    write(l - 1, 2 * block + 1, set ^ half, plan);
  }

  degree_times const& t_;
  std::vector<std::int64_t> pass_;                              // one pass, of the level at hand
  std::vector<std::vector<std::int64_t>> own_, halves_, path_;  // of each level: on one block; below it; both
};

}  // namespace ballast::inline v0_2::detail
