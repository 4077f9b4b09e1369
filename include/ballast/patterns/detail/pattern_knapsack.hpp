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
/// length the best pack whose longest sample has that length.
template <class = when_called>
class pattern_knapsack {
 public:
  /// The integer for a value of 1.
  static constexpr std::int32_t one = std::int32_t{1} << 26;

  explicit pattern_knapsack(pattern_rows const& rows)
      : rows_(rows), width_(static_cast<std::size_t>(rows.capacity) + 1), value_(rows.size()) {}

  /// Fills the tables for the values of lengths, `left` of each.
  void solve(std::span<double const> values, std::span<std::uint64_t const> left, search_budget& budget) {
    set_values(values, left);
    auto const n = valued_.size();
    if (table_.size() < (n + 1) * width_) table_.resize((n + 1) * width_);
    std::fill_n(row(n), width_, 0);
    std::uint64_t cells = width_;
    for (auto t = n; t-- > 0;) {
      auto const i = valued_[t];
      auto const length = static_cast<std::size_t>(rows_.length[i]);
      auto const* const from = row(t + 1);
      auto* const to = row(t);
      std::copy_n(from, width_, to);
      auto const copies = copies_of(i, left);
      for (std::size_t k = 1; k <= copies; ++k) {
        auto const value = static_cast<std::int32_t>(k) * value_[i];
        auto const step = k * length;
        for (auto c = step; c < width_; ++c) to[c] = (std::max)(to[c], from[c - step] + value);
        cells += width_ - step;
      }
      cells += width_ / 4;
    }
    budget.spend(cells / 3);
    sum_ = 0;  // there are less than 2^33 samples
    for (auto const i : valued_) sum_ += static_cast<std::uint64_t>(value_[i]) * left[i];
  }

  /// The largest value of a pack, times `one` (shifted as the values are).
  [[nodiscard]] std::int64_t best() const { return valued_.empty() ? 0 : table_[width_ - 1]; }
  /// The same where the values are as given.
  [[nodiscard]] double best_value() const { return static_cast<double>(best()) / static_cast<double>(one >> shift_); }
  /// The values in integers, by row.
  [[nodiscard]] std::span<std::int32_t const> values() const noexcept { return value_; }
  /// Whether the samples are worth more than `packs` packs can hold (Farley 1990), so that they do not fit into them.
  [[nodiscard]] bool exceeds(std::uint64_t packs) const { return sum_ > packs * static_cast<std::uint64_t>(best()); }

  /// Calls `add(rows)` for the best packs of a value above 1, best first, until it has returned true `most` times. Room that is left over
  /// is filled by lengths of value 0. Returns how often it was true.
  template <class Add>
  std::size_t for_each_pack(std::span<std::uint64_t const> left, std::size_t most, search_budget& budget, Add const& add) {
    auto const above = (one >> shift_) + (one >> shift_) / 10'000'000 + static_cast<std::int32_t>(rows_.size() / 8);
    std::vector<std::pair<std::int32_t, std::uint32_t>> order;  // by value, descending, and longest sample
    for (std::size_t t = 0; t < valued_.size(); ++t) {
      auto const i = valued_[t];
      auto const copies = copies_of(i, left);
      std::int32_t best = 0;
      for (std::size_t k = 1; k <= copies; ++k) best = (std::max)(best, with_copies(t, width_ - 1, k));
      if (best > above) order.emplace_back(-best, static_cast<std::uint32_t>(t));
    }
    std::sort(order.begin(), order.end());
    std::size_t added = 0;
    for (auto const& [negative, longest] : order) {
      if (added >= most) break;
      if (add(read_pack(-negative, longest, left))) ++added;
      budget.spend(valued_.size());
    }
    return added;
  }

 private:
  [[nodiscard]] std::int32_t* row(std::size_t t) { return table_.data() + t * width_; }
  [[nodiscard]] std::int32_t const* row(std::size_t t) const { return table_.data() + t * width_; }
  [[nodiscard]] std::size_t copies_of(std::size_t i, std::span<std::uint64_t const> left) const {
    return static_cast<std::size_t>((std::min)(left[i], static_cast<std::uint64_t>(rows_.capacity / rows_.length[i])));
  }
  [[nodiscard]] std::int32_t with_copies(std::size_t t, std::size_t room, std::size_t k) const {
    return static_cast<std::int32_t>(k) * value_[valued_[t]] + row(t + 1)[room - k * static_cast<std::size_t>(rows_.length[valued_[t]])];
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
      auto const copies = (std::min)(static_cast<std::int64_t>(copies_of(i, left)), room / rows_.length[i] + 1);
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

  [[nodiscard]] std::span<std::uint32_t const> read_pack(std::int32_t target, std::size_t longest, std::span<std::uint64_t const> left) {
    pack_.clear();
    held_.assign(rows_.size(), 0);
    auto room = width_ - 1;
    for (auto t = longest; t < valued_.size(); ++t) {
      auto const i = valued_[t];
      std::size_t k = t == longest ? 1 : 0;
      if (k == 0 && row(t + 1)[room] == target) continue;
      while (k == 0 || with_copies(t, room, k) != target) ++k;
      held_[i] = k;
      room -= k * static_cast<std::size_t>(rows_.length[i]);
      target -= static_cast<std::int32_t>(k) * value_[i];
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto const length = static_cast<std::size_t>(rows_.length[i]);
      if (auto const more = (std::min)(static_cast<std::uint64_t>(room / length), left[i] - held_[i]); more > 0) {
        held_[i] += static_cast<std::size_t>(more);
        room -= static_cast<std::size_t>(more) * length;
      }
      pack_.insert(pack_.end(), held_[i], static_cast<std::uint32_t>(i));
    }
    return pack_;
  }

  pattern_rows const& rows_;
  std::size_t width_;
  int shift_ = 0;
  std::vector<std::int32_t> value_;    // by row
  std::vector<std::uint32_t> valued_;  // the rows of positive value
  std::vector<std::int32_t> table_;    // for each of them: by room, the largest value of it and later rows
  std::uint64_t sum_ = 0;              // the value of all samples
  std::vector<std::size_t> held_;
  std::vector<std::uint32_t> pack_;
};

}  // namespace ballast::inline v0_2::detail
