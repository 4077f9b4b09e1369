// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ballast::inline v0_1::detail {

/// What 1 is for integer values of samples: a pack may hold up to about 2.5 of it.
inline constexpr std::int32_t value_one = std::int32_t{1} << 29;

/// Unbounded knapsack over classes of one size each: the most value that a pack can hold, and the packs that hold it.
class length_knapsack {
 public:
  /// `sizes` ascending, in 1 … capacity; it must outlive the knapsack.
  length_knapsack(std::span<std::int64_t const> sizes, std::int64_t capacity)
      : sizes_(sizes), table_(static_cast<std::size_t>(capacity) + 1), choice_(table_.size()) {}

  [[nodiscard]] std::uint64_t most_copies(std::size_t c) const { return (table_.size() - 1) / static_cast<std::size_t>(sizes_[c]); }

  /// Fills the table for the values of the classes, none negative, and returns the work.
  std::uint64_t solve(std::span<std::int32_t const> values) {
    values_ = values;
    std::fill(table_.begin(), table_.end(), 0);
    std::fill(choice_.begin(), choice_.end(), unknown);
    std::uint64_t cells = table_.size();
    auto const end = table_.size();
    for (std::size_t c = 0; c < sizes_.size(); ++c) {
      auto const size = static_cast<std::size_t>(sizes_[c]);
      auto const value = values[c];
      if (value <= table_[size]) continue;  // shorter samples do as well
      cells += end - size;
      for (auto at = size; at < end; at += size)  // a stretch never reads what it writes
        improve(table_.data() + at, table_.data() + at - size, (std::min)(size, end - at), value);
    }
    return cells / 3;
  }
  [[nodiscard]] std::int32_t best() const { return table_.back(); }
  /// The most value of a pack that holds class c.
  [[nodiscard]] std::int32_t best_with(std::size_t c) const {
    return values_[c] + table_[table_.size() - 1 - static_cast<std::size_t>(sizes_[c])];
  }
  /// The pack of most value that holds class c, its classes in descending order; returns the work.
  std::uint64_t pattern_with(std::size_t c, std::vector<pattern_item>& out) {
    chosen_.assign(1, static_cast<std::uint32_t>(c));
    std::uint64_t work = 0;
    for (auto left = table_.size() - 1 - static_cast<std::size_t>(sizes_[c]); table_[left] > 0;) {
      auto& choice = choice_[left];
      if (choice == unknown) {
        std::uint32_t k = 0;
        while (values_[k] == 0 || values_[k] + table_[left - static_cast<std::size_t>(sizes_[k])] != table_[left]) ++k;
        choice = k;
        work += k;
      }
      chosen_.push_back(choice);
      left -= static_cast<std::size_t>(sizes_[choice]);
    }
    std::sort(chosen_.begin(), chosen_.end(), std::greater<>{});
    out.clear();
    for (auto const k : chosen_)
      if (!out.empty() && out.back().item_class == k)
        ++out.back().copies;
      else
        out.push_back({k, 1});
    return work;
  }

 private:
  static constexpr std::uint32_t unknown = 0xffffffffU;
  static void improve(std::int32_t* to, std::int32_t const* from, std::size_t n, std::int32_t value) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const with = from[i] + value;
      to[i] = to[i] < with ? with : to[i];
    }
  }
  std::span<std::int64_t const> sizes_;
  std::span<std::int32_t const> values_;
  std::vector<std::int32_t> table_;
  std::vector<std::uint32_t> choice_;  // the class that the best value of each capacity takes first
  std::vector<std::uint32_t> chosen_;
};

}  // namespace ballast::inline v0_1::detail
