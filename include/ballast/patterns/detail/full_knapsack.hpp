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

/// The largest value of a pack that is full to the last token and holds no length more often than samples of it are left, in integers, and
/// for each length the best full pack whose longest sample has that length. Values may be negative.
template <class = when_called>
class full_knapsack {
 public:
  explicit full_knapsack(pattern_rows const& rows)
      : rows_(rows), width_(static_cast<std::size_t>(rows.capacity) + 1), value_(rows.size()) {}

  /// Fills the table for the values of lengths, `left` of each.
  void solve(std::span<double const> values, std::span<std::uint64_t const> left, search_budget& budget) {
    set_values(values, left);
    auto const n = held_rows_.size();
    if (table_.size() < (n + 1) * width_) table_.resize((n + 1) * width_);
    std::fill_n(row(n), width_, impossible);
    row(n)[0] = 0;
    std::uint64_t cells = width_;
    for (auto t = n; t-- > 0;) {
      auto const i = held_rows_[t];
      auto const length = static_cast<std::size_t>(rows_.length[i]);
      std::copy_n(row(t + 1), width_, row(t));
      for (std::size_t k = 1, copies = copies_of(i, left, rows_.capacity); k <= copies; ++k) {
        auto const value = static_cast<std::int32_t>(k) * value_[i];
        auto const* const from = row(t + 1);
        auto* const to = row(t) + k * length;
        auto const cut = width_ - k * length;
        for (std::size_t c = 0; c < cut; ++c) to[c] = (std::max)(to[c], from[c] + value);
        cells += cut;
      }
      cells += width_ / 4;
    }
    budget.spend(cells / 3);
    best_ = n == 0 ? 0 : row(0)[width_ - 1];
    sum_ = 0;
    for (auto const i : held_rows_) sum_ += value_[i] * static_cast<std::int64_t>(left[i]);
  }
  /// The values in integers, by row; 0 where no samples are left.
  [[nodiscard]] std::span<std::int32_t const> values() const noexcept { return value_; }
  /// Whether the samples are worth more than `packs` full packs can hold, so that they do not fill them.
  [[nodiscard]] bool exceeds(std::uint64_t packs) const {
    return best_ <= highest_impossible || sum_ > static_cast<std::int64_t>(packs) * best_;
  }

  /// Calls `add(rows)` for the best full pack of each longest sample if its value is positive. Returns how often it was true.
  template <class Add>
  std::size_t for_each_pack(std::span<std::uint64_t const> left, search_budget& budget, Add const& add) {
    std::size_t added = 0;
    for (std::size_t t = 0; t < held_rows_.size(); ++t) {
      auto best = impossible;
      for (std::size_t k = 1, copies = copies_of(held_rows_[t], left, rows_.capacity); k <= copies; ++k)
        best = (std::max)(best, with_copies(t, rows_.capacity, k));
      if (best <= least_value) continue;
      pack_.clear();
      auto room = rows_.capacity;
      for (auto u = t; u < held_rows_.size(); ++u) {
        std::size_t k = u == t ? 1 : 0;
        if (k == 0 && row(u + 1)[room] == best) continue;
        while (k == 0 || with_copies(u, room, k) != best) ++k;
        pack_.insert(pack_.end(), k, held_rows_[u]);
        room -= static_cast<std::int64_t>(k) * rows_.length[held_rows_[u]];
        best -= static_cast<std::int32_t>(k) * value_[held_rows_[u]];
      }
      if (add(std::span<std::uint32_t const>(pack_))) ++added;
      budget.spend(held_rows_.size() - t);
    }
    return added;
  }

 private:
  // Sums of values are below 2^29 in size, so a room that cannot be filled keeps a value of at most `highest_impossible`.
  static constexpr std::int32_t impossible = -(std::int32_t{1} << 30), highest_impossible = impossible / 2, least_value = 256;

  [[nodiscard]] std::int32_t* row(std::size_t t) { return table_.data() + t * width_; }
  [[nodiscard]] std::int32_t const* row(std::size_t t) const { return table_.data() + t * width_; }
  [[nodiscard]] std::size_t copies_of(std::size_t i, std::span<std::uint64_t const> left, std::int64_t room) const {
    return static_cast<std::size_t>((std::min)(left[i], static_cast<std::uint64_t>(room / rows_.length[i])));
  }
  // The value of a room with k samples of the t-th held row and later ones.
  [[nodiscard]] std::int32_t with_copies(std::size_t t, std::int64_t room, std::size_t k) const {
    auto const i = held_rows_[t];
    auto const rest = room - static_cast<std::int64_t>(k) * rows_.length[i];
    return rest < 0 ? impossible : static_cast<std::int32_t>(k) * value_[i] + row(t + 1)[rest];
  }
  // Scales the values so that those of a pack sum up to less than 2^28 in size.
  void set_values(std::span<double const> values, std::span<std::uint64_t const> left) {
    held_rows_.clear();
    double most = 1e-12;
    std::int64_t samples = 0, room = rows_.capacity;
    for (auto i = rows_.size(); i-- > 0;) {
      value_[i] = 0;
      if (left[i] == 0) continue;
      most = (std::max)(most, values[i] < 0 ? -values[i] : values[i]);
      auto const copies = static_cast<std::int64_t>(copies_of(i, left, room));
      samples += copies;
      room -= copies * rows_.length[i];
    }
    auto const each = (std::int64_t{1} << 28) / (samples + 1);
    auto const scale = static_cast<double>(each) / most;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      if (left[i] == 0) continue;
      value_[i] = static_cast<std::int32_t>(values[i] * scale);
      held_rows_.push_back(i);
    }
  }

  pattern_rows const& rows_;
  std::size_t width_;
  std::vector<std::int32_t> value_;       // by row
  std::vector<std::uint32_t> held_rows_;  // the rows with samples left
  std::vector<std::int32_t> table_;       // for each of them: by room, the largest value of it and later rows
  std::vector<std::uint32_t> pack_;
  std::int64_t sum_ = 0, best_ = 0;
};

}  // namespace ballast::inline v0_2::detail
