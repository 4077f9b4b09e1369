// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace ballast::inline v0_2::detail {

/// The integer that represents a value of 1; a pack may hold up to about 2.5 times this.
inline constexpr std::int32_t value_one = std::int32_t{1} << 29;

/// Unbounded knapsack: the largest value of a pack, and packs of that value. There is a table over the inner capacity for each use of the
/// leading capacities.
template <class Shape>
class pack_knapsack {
 public:
  /// Classes are given by slice and size, ascending in both; sizes and `capacity` may be in a coarser unit than those of the shape. A shape
  /// with one slice needs no `slice_of`.
  pack_knapsack(Shape const& slices, std::span<std::uint32_t const> slice_of, std::span<std::int64_t const> sizes, std::int64_t capacity)
      : shape_(slices), slice_of_(slice_of), sizes_(sizes), width_(static_cast<std::size_t>(capacity) + 1), value_(sizes.size()) {
    pooled_vector<std::size_t> unit;
    for (auto const c : slices.lead_capacity) {
      unit.push_back(states_);
      states_ *= static_cast<std::size_t>(c) + 1;
    }
    for (std::size_t r = 0; r < slices.slices(); ++r) {
      std::size_t offset = 0;
      for (std::size_t l = 0; l < unit.size(); ++l) offset += unit[l] * static_cast<std::size_t>(slices.leads_of(r)[l]);
      offset_.push_back(offset);
    }
    takes_.resize(states_ * slices.slices(), 1);
    for (std::size_t a = 0; a < states_; ++a)
      for (std::size_t r = 0; r < slices.slices(); ++r)
        for (std::size_t l = 0; l < unit.size(); ++l) {
          auto const have = a / unit[l] % (static_cast<std::size_t>(slices.lead_capacity[l]) + 1);
          if (have < static_cast<std::size_t>(slices.leads_of(r)[l])) takes_[a * slices.slices() + r] = 0;
        }
    table_.resize(states_ * width_);
    // The value of a pack is at most 2.5 times `value_one` for each measure.
    while (5 * (slices.leads() + 1) >= std::size_t{8} << shift_) ++shift_;
  }

  [[nodiscard]] std::uint64_t most_copies(std::size_t c) const {
    return shape_.most_copies(slice(c), sizes_[c], static_cast<std::int64_t>(width_ - 1));
  }

  /// Tables hold values in units of 2 to the power of this.
  [[nodiscard]] int shift() const noexcept { return shift_; }

  /// Fills the tables for values of the classes, which must not be negative. Returns the work.
  std::uint64_t solve(std::span<std::int32_t const> values) {
    for (std::size_t c = 0; c < values.size(); ++c) value_[c] = values[c] >> shift_;
    std::fill(table_.begin(), table_.end(), 0);
    choice_.clear();
    useful_.assign(value_.size(), 1);
    auto cells = std::uint64_t{Shape::one_slice ? 1U : 2U} * table_.size();
    for (std::size_t a = 0; a < states_; ++a) {
      // Classes that need none of the leading measures come after all other classes, which only read finished tables.
      for (auto const own : {false, true})
        for (std::size_t c = 0; c < value_.size(); ++c) {
          auto const r = slice(c);
          if (useful_[c] == 0 || takes_[a * shape_.slices() + r] == 0 || (offset_[r] == 0) != own) continue;
          auto const size = static_cast<std::size_t>(sizes_[c]);
          auto* const to = table_.data() + a * width_;
          if (a == offset_[r] &&
              (value_[c] <= to[size] || (own && size == 0))) {  // another class of no larger size is as good, or the size was rounded to 0
            useful_[c] = 0;
            continue;
          }
          cells += width_ - size;
          if (!own) {
            improve(to + size, to - offset_[r] * width_, width_ - size, value_[c]);
          } else {
            for (auto at = size; at < width_; at += size)  // no stretch reads entries that it writes
              improve(to + at, to + at - size, (std::min)(size, width_ - at), value_[c]);
          }
        }
    }
    return cells / 3;
  }
  [[nodiscard]] std::int64_t best() const { return std::int64_t{table_.back()} << shift_; }
  /// The largest value of a pack that holds class c.
  [[nodiscard]] std::int64_t best_with(std::size_t c) const {
    return std::int64_t{value_[c] + table_[table_.size() - 1 - step(c)]} << shift_;
  }
  /// The pack of largest value that holds class c, with classes in descending order. Returns the work.
  std::uint64_t pattern_with(std::size_t c, pooled_vector<pattern_item>& out) {
    choice_.resize(table_.size(), unknown);
    chosen_.assign(1, static_cast<std::uint32_t>(c));
    std::uint64_t work = 0;
    for (auto left = table_.size() - 1 - step(c); table_[left] > 0;) {
      auto& choice = choice_[left];
      if (choice == unknown) {
        auto const* const takes = takes_.data() + left / width_ * shape_.slices();
        auto const room = static_cast<std::int64_t>(left % width_);
        std::uint32_t k = 0;
        while (value_[k] == 0 || takes[slice(k)] == 0 || sizes_[k] > room || value_[k] + table_[left - step(k)] != table_[left]) ++k;
        choice = k;
        work += k;
      }
      chosen_.push_back(choice);
      left -= step(choice);
    }
    std::sort(chosen_.begin(), chosen_.end(), std::greater<>{});
    out.clear();
    for (auto const k : chosen_) add_copies(out, k);
    return work;
  }

 private:
  static constexpr std::uint32_t unknown = 0xffffffffU;
  [[nodiscard]] std::size_t slice(std::size_t c) const {
    if constexpr (Shape::one_slice)
      return 0;
    else
      return slice_of_[c];
  }
  [[nodiscard]] std::size_t step(std::size_t c) const { return offset_[slice(c)] * width_ + static_cast<std::size_t>(sizes_[c]); }
  static void improve(std::int32_t* to, std::int32_t const* from, std::size_t n, std::int32_t value) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const with = from[i] + value;
      to[i] = to[i] < with ? with : to[i];
    }
  }

  Shape const& shape_;
  std::span<std::uint32_t const> slice_of_;
  std::span<std::int64_t const> sizes_;
  std::size_t width_, states_ = 1;
  int shift_ = 0;
  pooled_vector<std::size_t> offset_;  // for each slice: the tables between a use and that use without one of its samples
  pooled_vector<char> takes_;          // for each use and slice: whether the remaining leading capacities hold a sample of the slice
  pooled_vector<std::int32_t> value_;
  pooled_vector<char> useful_;
  pooled_vector<std::int32_t> table_;
  pooled_vector<std::uint32_t> choice_;  // for each entry of the table: the first class of the best pack
  pooled_vector<std::uint32_t> chosen_;
};

}  // namespace ballast::inline v0_2::detail
