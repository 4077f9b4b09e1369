// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Bounded knapsack: the largest value of a pack that holds no length more often than samples of it are left, in integers, and for each
/// length the best pack whose longest sample has that length. Where a table of all rooms is too large, lengths and rooms are rounded down
/// to multiples of a unit. What such a table promises is never too little, so it bounds a depth-first search of packs of exact lengths.
template <class = when_called>
class pattern_knapsack {
 public:
  /// The integer for a value of 1.
  static constexpr std::int32_t one = std::int32_t{1} << 26;

  pattern_knapsack(pattern_rows const& rows, std::int64_t unit)
      : rows_(rows),
        unit_(unit),
        width_(static_cast<std::size_t>(rows.capacity / unit) + 1),
        layers_(rows.max_samples == 0 ? 1 : static_cast<std::size_t>(rows.max_samples) + 1),
        value_(rows.size()) {}

  /// Fills the tables for the values of lengths, `left` of each.
  void solve(std::span<double const> values, std::span<std::uint64_t const> left, search_budget& budget) {
    set_values(values, left);
    auto const n = valued_.size(), cells_of_row = layers_ * width_;
    if (table_.size() < (n + 1) * cells_of_row) table_.resize((n + 1) * cells_of_row);
    std::fill_n(row(n), cells_of_row, 0);
    std::uint64_t cells = width_;
    for (auto t = n; t-- > 0;) {
      auto const i = valued_[t];
      auto const length = static_cast<std::size_t>(rows_.length[i] / unit_);
      std::copy_n(row(t + 1), cells_of_row, row(t));
      auto const copies = copies_of(i, left, whole_pack());
      for (std::size_t k = 1; k <= copies; ++k) {
        auto const value = static_cast<std::int32_t>(k) * value_[i];
        auto const step = k * length;
        for (auto s = layers_ == 1 ? 0 : k; s < layers_; ++s) {
          auto const* const from = row(t + 1) + (layers_ == 1 ? 0 : s - k) * width_;
          auto* const to = row(t) + s * width_;
          for (auto c = step; c < width_; ++c) to[c] = (std::max)(to[c], from[c - step] + value);
          cells += width_ - step;
        }
      }
      cells += cells_of_row / 4;
    }
    budget.spend(cells / 3);
    sum_ = 0;  // there are less than 2^33 samples
    for (auto const i : valued_) sum_ += static_cast<std::uint64_t>(value_[i]) * left[i];
    best_ = n == 0 ? 0 : row(0)[cells_of_row - 1];
  }

  /// No pack has a larger value, times `one` (shifted as the values are); after `for_each_pack` rarely more than the largest.
  [[nodiscard]] std::int64_t best() const { return best_; }
  /// The same where the values are as given.
  [[nodiscard]] double best_value() const { return static_cast<double>(best()) / static_cast<double>(one >> shift_); }
  /// The values in integers, by row.
  [[nodiscard]] std::span<std::int32_t const> values() const noexcept { return value_; }
  /// Whether the samples are worth more than `packs` packs can hold (Farley 1990), so that they do not fit into them.
  [[nodiscard]] bool exceeds(std::uint64_t packs) const { return sum_ > packs * static_cast<std::uint64_t>(best()); }
  /// What `packs` packs hold above the value of all samples, if all are worth `best()`.
  [[nodiscard]] std::int64_t lack(std::uint64_t packs) const {
    return static_cast<std::int64_t>(packs * static_cast<std::uint64_t>(best()) - sum_);
  }
  /// Whether the table is of exact lengths.
  [[nodiscard]] bool exact() const noexcept { return unit_ == 1; }
  /// Calls `visit(rows, room, lack)` for each pack whose value lacks at most `most` of `best()`, full or not, where the table is of exact
  /// lengths. False if `visit` returned false, or after `steps` steps.
  template <class Visit>
  [[nodiscard]] bool list_packs(std::int64_t most, std::span<std::uint64_t const> left, std::uint64_t steps, search_budget& budget,
                                Visit const& visit) {
    auto order = valued_;
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
      if (left[i] > 0 && value_[i] == 0) order.push_back(i);
    pack_.clear();
    auto const before = steps;
    auto const all = list_packs(order, 0, whole_pack(), best_ - most, left, steps,
                                [&](auto const& rows, std::int64_t room, std::int64_t least) { return visit(rows, room, most + least); });
    budget.spend(before - steps);
    return all;
  }

  /// Calls `add(rows)` for the best packs of a value above 1, best first, until it has returned true `most` times. Room that is left over
  /// is filled by lengths of value 0. Returns how often it was true.
  template <class Add>
  std::size_t for_each_pack(std::span<std::uint64_t const> left, std::size_t most, search_budget& budget, Add const& add) {
    auto const above = (one >> shift_) + (one >> shift_) / 10'000'000 + static_cast<std::int32_t>(rows_.size() / 8);
    std::vector<std::pair<std::int32_t, std::uint32_t>> order;  // by value, descending, and longest sample
    std::int32_t best = 0;
    for (std::size_t t = 0; t < valued_.size(); ++t) {
      std::int32_t value = 0;
      for (std::size_t k = 1, copies = copies_of(valued_[t], left, whole_pack()); k <= copies; ++k)
        value = (std::max)(value, with_copies(t, whole_pack(), k));
      if (value > above)
        order.emplace_back(-value, static_cast<std::uint32_t>(t));
      else
        best = (std::max)(best, value);
    }
    std::sort(order.begin(), order.end());
    std::size_t added = 0;
    std::uint64_t nodes = 0, most_nodes = (std::max)(std::uint64_t{1'000'000}, std::uint64_t{(valued_.size() + 1) * layers_ * width_});
    for (auto const& [negative, longest] : order) {
      if (added >= most) {
        best = (std::max)(best, -negative);
        break;
      }
      held_.assign(rows_.size(), 0);
      if (unit_ == 1) {
        read_pack(-negative, longest);
        best = (std::max)(best, -negative);
      } else {
        search_ = {above, nodes, most_nodes, false};
        search_packs(longest, whole_pack(), 0, true, left);
        nodes = search_.nodes;
        best = (std::max)(best, search_.cut ? -negative : search_.best);
        if (search_.best == above) continue;
        held_ = best_held_;
      }
      if (add(fill_up(left))) ++added;
      budget.spend(valued_.size());
    }
    budget.spend(nodes);
    best_ = best;
    return added;
  }

 private:
  // The room of a pack and the samples it may still hold, or 0 if there is no limit.
  struct place {
    std::int64_t room;
    std::size_t samples;
  };
  [[nodiscard]] place whole_pack() const { return {rows_.capacity, layers_ - 1}; }
  [[nodiscard]] std::int32_t* row(std::size_t t) { return table_.data() + t * layers_ * width_; }
  [[nodiscard]] std::int32_t const* row(std::size_t t) const { return table_.data() + t * layers_ * width_; }
  // At most so much value have samples of the t-th valued length and later ones in a place.
  [[nodiscard]] std::int32_t most_value(std::size_t t, place in) const {
    return row(t)[in.samples * width_ + static_cast<std::size_t>(in.room / unit_)];
  }
  [[nodiscard]] std::size_t copies_of(std::size_t i, std::span<std::uint64_t const> left, place in) const {
    auto const most = (std::min)(left[i], static_cast<std::uint64_t>(in.room / rows_.length[i]));
    return static_cast<std::size_t>(layers_ == 1 ? most : (std::min)(most, std::uint64_t{in.samples}));
  }
  // What is left of a place with k samples of the t-th valued length.
  [[nodiscard]] place without(place in, std::size_t t, std::size_t k) const {
    return {in.room - static_cast<std::int64_t>(k) * rows_.length[valued_[t]], layers_ == 1 ? 0 : in.samples - k};
  }
  [[nodiscard]] std::int32_t with_copies(std::size_t t, place in, std::size_t k) const {
    return static_cast<std::int32_t>(k) * value_[valued_[t]] + most_value(t + 1, without(in, t, k));
  }

  // Lists the packs that have the samples of pack_, and samples of the t-th length of `order` and later ones of value `least` or more.
  template <class Visit>
  [[nodiscard]] bool list_packs(std::span<std::uint32_t const> order, std::size_t t, place in, std::int64_t least,
                                std::span<std::uint64_t const> left, std::uint64_t& steps, Visit const& visit) {
    auto const most_after = [&](std::size_t u, place rest) { return u < valued_.size() ? most_value(u, rest) : 0; };
    for (; t < order.size(); ++t) {
      if (steps == 0) return false;
      --steps;
      auto const i = order[t];
      auto const held = pack_.size();
      for (auto k = copies_of(i, left, in); k > 0; --k) {
        auto const rest = place{in.room - static_cast<std::int64_t>(k) * rows_.length[i], layers_ == 1 ? 0 : in.samples - k};
        auto const least_after = least - static_cast<std::int64_t>(k) * value_[i];
        if (most_after(t + 1, rest) < least_after) continue;
        pack_.insert(pack_.end(), k, i);
        if (!list_packs(order, t + 1, rest, least_after, left, steps, visit)) return false;
        pack_.resize(held);
      }
      if (most_after(t + 1, in) < least) return true;
    }
    return visit(pack_, in.room, least);
  }

  // Rounds the values down to integers of which no pack holds 2^31 or more. A pack that may cut its last sample bounds what a pack holds.
  void set_values(std::span<double const> values, std::span<std::uint64_t const> left) {
    valued_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      value_[i] = left[i] > 0 && values[i] > 1e-9 ? static_cast<std::int32_t>((std::min)(values[i], 1.5) * one) : 0;
      if (value_[i] > 0) valued_.push_back(static_cast<std::uint32_t>(i));
    }
    auto by_density = valued_;
    std::sort(by_density.begin(), by_density.end(), [&](auto a, auto b) {
      auto const left_side = value_[a] * rows_.length[b], right_side = value_[b] * rows_.length[a];  // below 2^27 * 2^36
      return left_side != right_side ? left_side > right_side : a < b;
    });
    std::int64_t room = rows_.capacity, most = 0;
    for (auto const i : by_density) {
      auto const copies = (std::min)(static_cast<std::int64_t>(copies_of(i, left, whole_pack())), room / rows_.length[i] + 1);
      most += copies * value_[i];
      room -= copies * rows_.length[i];
      if (room <= 0) break;
    }
    shift_ = 0;
    while (most >> shift_ >= std::int64_t{1} << 31) ++shift_;
    if (shift_ == 0) return;
    std::size_t kept = 0;
    for (auto const i : valued_)
      if ((value_[i] >>= shift_) > 0) valued_[kept++] = i;
    valued_.resize(kept);
  }

  // Fills held_ with a pack of the value `target` whose longest sample is the valued length `longest`.
  void read_pack(std::int32_t target, std::size_t longest) {
    auto in = whole_pack();
    for (auto t = longest; t < valued_.size(); ++t) {
      std::size_t k = t == longest ? 1 : 0;
      if (k == 0 && most_value(t + 1, in) == target) continue;
      while (k == 0 || with_copies(t, in, k) != target) ++k;
      held_[valued_[t]] = k;
      in = without(in, t, k);
      target -= static_cast<std::int32_t>(k) * value_[valued_[t]];
    }
  }
  // Looks for the pack of most value above `search_.best`, with `value` so far and samples of the t-th valued length and later ones.
  void search_packs(std::size_t t, place in, std::int32_t value, bool longest, std::span<std::uint64_t const> left) {
    for (; t < valued_.size(); ++t) {
      if (++search_.nodes > search_.most_nodes) search_.cut = true;
      if (search_.cut) return;
      auto const i = valued_[t];
      for (auto k = copies_of(i, left, in); k > 0; --k) {
        if (value + with_copies(t, in, k) <= search_.best) continue;
        held_[i] = k;
        search_packs(t + 1, without(in, t, k), value + static_cast<std::int32_t>(k) * value_[i], false, left);
        held_[i] = 0;
      }
      if (longest || value + most_value(t + 1, in) <= search_.best) return;
    }
    if (value <= search_.best) return;
    search_.best = value;
    search_.most_nodes = (std::min)(search_.most_nodes, search_.nodes + 8 * valued_.size());
    best_held_ = held_;
  }
  // The rows of the samples in held_, after its room is filled by lengths of value 0.
  [[nodiscard]] std::span<std::uint32_t const> fill_up(std::span<std::uint64_t const> left) {
    pack_.clear();
    auto in = whole_pack();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      in.room -= static_cast<std::int64_t>(held_[i]) * rows_.length[i];
      in.samples -= layers_ == 1 ? 0 : held_[i];
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto const more = (std::min)(copies_of(i, left, in), static_cast<std::size_t>(left[i] - held_[i]));
      held_[i] += more;
      in.room -= static_cast<std::int64_t>(more) * rows_.length[i];
      in.samples -= layers_ == 1 ? 0 : more;
      pack_.insert(pack_.end(), held_[i], static_cast<std::uint32_t>(i));
    }
    return pack_;
  }

  pattern_rows const& rows_;
  std::int64_t unit_;
  std::size_t width_, layers_;  // rooms, and numbers of samples
  int shift_ = 0;
  std::vector<std::int32_t> value_;    // by row
  std::vector<std::uint32_t> valued_;  // the rows of positive value
  std::vector<std::int32_t> table_;    // for each of them: by samples and room, the largest value of it and later rows
  std::uint64_t sum_ = 0;              // the value of all samples
  std::int64_t best_ = 0;
  struct {
    std::int32_t best;  // the largest value of a pack so far
    std::uint64_t nodes, most_nodes;
    bool cut;  // whether it ended before it was complete
  } search_{};
  std::vector<std::size_t> held_, best_held_;  // samples of each row
  std::vector<std::uint32_t> pack_;
};

}  // namespace ballast::inline v0_2::detail
