// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The patterns of a linear program that has a row for each length. A column lists the row of each of its samples, ascending, so sums over
/// a column have no products.
class pattern_columns {
 public:
  pattern_columns(std::size_t rows, splitmix64& random) : key_(rows) {
    for (auto& k : key_) k = random() | 1;
  }

  [[nodiscard]] std::size_t size() const noexcept { return fixed_.size(); }
  [[nodiscard]] std::size_t entries() const noexcept { return row_.size(); }
  [[nodiscard]] std::span<std::uint32_t const> operator[](std::size_t j) const {
    return {row_.data() + begin_[j], begin_[j + 1] - begin_[j]};
  }
  /// Whether a column has to be 0: it is banned, or holds more samples of a length than are left.
  [[nodiscard]] bool fixed(std::size_t j) const { return fixed_[j] != 0; }
  /// Whether a column holds at most `left` samples of each row.
  [[nodiscard]] bool fits(std::size_t j, std::span<std::uint64_t const> left) const {
    std::uint64_t copies = 0;
    auto before = ~std::uint32_t{0};
    for (auto const i : (*this)[j]) {
      copies = i == before ? copies + 1 : 1;
      if (copies > left[i]) return false;
      before = i;
    }
    return true;
  }

  /// Adds a pattern unless it has been added before. (Two patterns that differ are taken for one with a chance of 2^-64.)
  bool add(std::span<std::uint32_t const> rows) {
    if (!known_.insert(key(rows)).second) return false;
    row_.insert(row_.end(), rows.begin(), rows.end());
    begin_.push_back(row_.size());
    fixed_.push_back(0);
    bans_.push_back(0);
    return true;
  }
  void ban(std::size_t j) { ++bans_[j]; }
  void lift_ban(std::size_t j) { --bans_[j]; }
  /// Fixes the columns that are banned or do not fit what is left.
  void fix(std::span<std::uint64_t const> left) {
    for (std::size_t j = 0; j < size(); ++j) fixed_[j] = bans_[j] != 0 || !fits(j, left) ? 1 : 0;
  }
  /// Drops the columns that are not kept; unless `for_good`, they can be added again. Returns the new number of each kept column.
  std::vector<std::int32_t> keep(std::vector<char> const& kept, bool for_good) {
    std::vector<std::int32_t> number(size(), -1);
    std::size_t columns = 0, entries = 0;
    for (std::size_t j = 0; j < number.size(); ++j) {
      auto const first = begin_[j], last = begin_[j + 1];
      if (kept[j] == 0) {
        if (!for_good) known_.erase(key((*this)[j]));
        continue;
      }
      begin_[columns] = entries;
      for (auto k = first; k < last; ++k) row_[entries++] = row_[k];
      fixed_[columns] = fixed_[j];
      bans_[columns] = bans_[j];
      number[j] = static_cast<std::int32_t>(columns++);
    }
    begin_[columns] = entries;
    begin_.resize(columns + 1);
    row_.resize(entries);
    fixed_.resize(columns);
    bans_.resize(columns);
    return number;
  }

 private:
  [[nodiscard]] std::uint64_t key(std::span<std::uint32_t const> rows) const {
    std::uint64_t sum = 0;
    for (auto const i : rows) sum += key_[i];
    return sum;
  }

  std::vector<std::uint64_t> key_;  // of one sample of each row; a pattern has their sum
  std::vector<std::size_t> begin_{0};
  std::vector<std::uint32_t> row_;
  std::vector<char> fixed_;
  std::vector<std::uint32_t> bans_;
  std::unordered_set<std::uint64_t> known_;
};

/// What an attempt to fill packs shares with its program.
struct pattern_attempt {
  pattern_rows const& rows;
  search_budget& budget;
  splitmix64 random;
  pattern_columns columns;
  std::vector<std::uint64_t> left;  ///< samples of each row
  std::uint64_t end;                ///< the work at which the attempt ends
  bool stop_early;                  ///< whether no new patterns are made once the program fits
  bool solve_root = false;          ///< whether the root is solved to its optimum even so

  pattern_attempt(pattern_rows const& all, std::uint64_t seed, bool early, search_budget& budget_, std::uint64_t end_)
      : rows(all), budget(budget_), random(seed), columns(all.size(), random), left(all.count), end(end_), stop_early(early) {}
};
/// A number from 0 to 1, of 53 bits.
[[nodiscard]] inline double uniform_double(splitmix64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
/// What a double that stands for a whole number may differ from it.
inline constexpr double nearly_whole = 1e-5;

}  // namespace ballast::inline v0_2::detail
