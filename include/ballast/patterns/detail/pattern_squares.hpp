// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Minimises the squares of what is demanded and not packed, demand - A x, over x >= 0, and x = 0 for columns that are fixed (Lawson,
/// Hanson 1974). The columns with x > 0 are independent; of their products there is a Cholesky factor, which gains a row with each of them
/// and is rotated where one leaves. The square falls with each column, however degenerate the program is.
template <class = when_called>
class pattern_squares {
 public:
  /// Columns and their x > 0.
  using state = std::vector<std::pair<std::size_t, double>>;

  pattern_squares(pattern_columns& columns, std::size_t rows, search_budget& budget)
      : columns_(columns), budget_(budget), rows_(rows), factor_(rows * rows), residual_(rows), demand_(rows), step_(rows), row_(rows) {}

  void demand(std::span<std::uint64_t const> left) {
    for (std::size_t i = 0; i < rows_; ++i) demand_[i] = static_cast<double>(left[i]);
  }
  /// Takes over columns that were added.
  void grow() { at_.resize(columns_.size(), nowhere); }
  /// Takes over the new numbers of columns; those with x > 0 must be kept.
  void renumber(std::vector<std::int32_t> const& number) {
    at_.assign(columns_.size(), nowhere);
    for (std::size_t k = 0; k < used_.size(); ++k) {
      used_[k] = static_cast<std::size_t>(number[used_[k]]);
      at_[used_[k]] = static_cast<std::int32_t>(k);
    }
  }
  [[nodiscard]] state here() const {
    state out;
    for (std::size_t k = 0; k < used_.size(); ++k) out.emplace_back(used_[k], x_[k]);
    return out;
  }
  /// Goes back to a solution, as far as its columns are not fixed.
  void go_back(state const& to) {
    for (auto const j : used_) at_[j] = nowhere;
    used_.clear();
    x_.clear();
    for (auto const& [j, x] : to)
      if (budget_.allows() && !columns_.fixed(j) && append(j)) x_.back() = x;
  }
  [[nodiscard]] std::vector<double> const& residual() const noexcept { return residual_; }
  [[nodiscard]] bool is_used(std::size_t j) const { return at_[j] != nowhere; }
  /// What a column does to half the square, at first, with a minus.
  [[nodiscard]] double gain(std::size_t j) const {
    double sum = 0;
    for (auto const i : columns_[j]) sum += residual_[i];
    return sum;
  }
  /// The largest part of the residual.
  [[nodiscard]] double largest() const {
    double most = 0;
    for (auto const r : residual_) most = (std::max)(most, magnitude(r));
    return most;
  }

  /// Adds columns until none lowers the square. False if the work is spent.
  [[nodiscard]] bool improve(std::uint64_t end) {
    for (auto k = used_.size(); k-- > 0;)
      if (columns_.fixed(used_[k])) remove(k);
    set_residual();
    refused_.assign(columns_.size(), 0);
    auto last = columns_.size();
    for (;;) {
      if (!settle(end)) return false;
      if (last < columns_.size() && !is_used(last)) refused_[last] = 1;  // it left at once, by rounding
      do {
        if (!budget_.allows(end)) return false;
        last = largest() > least_residual ? best() : columns_.size();
        if (last == columns_.size()) return true;
        refused_[last] = append(last) ? 0 : 1;
      } while (refused_[last] != 0);
    }
  }

 private:
  static constexpr std::int32_t nowhere = -1;
  static constexpr double least_residual = 1e-7, least_gain = 1e-6;

  [[nodiscard]] static double magnitude(double v) { return v < 0 ? -v : v; }
  [[nodiscard]] double* factor(std::size_t column) { return factor_.data() + column * rows_; }

  void set_residual() {
    residual_ = demand_;
    for (std::size_t k = 0; k < used_.size(); ++k)
      for (auto const i : columns_[used_[k]]) residual_[i] -= x_[k];
    budget_.spend(4 * rows_);
  }
  // The column of the steepest descent, or columns_.size().
  [[nodiscard]] std::size_t best() {
    auto out = columns_.size();
    auto const least = least_gain * largest();
    double most = 0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (at_[j] != nowhere || columns_.fixed(j) || refused_[j] != 0) continue;
      auto const g = gain(j);
      if (g <= least) continue;
      auto const share = g * g / static_cast<double>(columns_[j].size());
      if (share <= most) continue;
      most = share;
      out = j;
    }
    budget_.spend(columns_.entries() / 2 + columns_.size());
    return out;
  }
  // Moves to the least square of the columns in use; those that reach 0 leave. False if the work is spent.
  [[nodiscard]] bool settle(std::uint64_t end) {
    for (auto again = true; again;) {
      if (!budget_.allows(end)) return false;
      again = false;
      set_step();
      double share = 1;
      auto first = used_.size();
      for (std::size_t k = 0; k < used_.size(); ++k) {
        if (x_[k] + step_[k] > 1e-10) continue;
        auto const part = step_[k] < 0 ? x_[k] / -step_[k] : 0;
        if (part >= share && first != used_.size()) continue;
        share = (std::min)(part, 1.0);
        first = k;
      }
      add_multiple(x_.data(), step_.data(), share, used_.size());
      if (first != used_.size()) {
        x_[first] = 0;
        for (auto k = used_.size(); k-- > 0;)
          if (x_[k] <= 1e-10) remove(k);
        again = true;
      }
      set_residual();
    }
    return true;
  }
  // step_ = what to add to x for the least square.
  void set_step() {
    auto const n = used_.size();
    auto work = n * n / 4 + rows_;
    for (std::size_t k = 0; k < n; ++k) step_[k] = gain(used_[k]);
    for (std::size_t k = 0; k < n; ++k) {
      if (magnitude(step_[k]) < 1e-11) {  // of nearly all columns, where one was added to the least square of the others
        step_[k] = 0;
        continue;
      }
      auto* const column = factor(k);
      step_[k] /= column[k];
      add_multiple(step_.data() + k + 1, column + k + 1, -step_[k], n - k - 1);
      work += (n - k) / 2;
    }
    for (auto k = n; k-- > 0;) {
      auto const* const column = factor(k);
      step_[k] = (step_[k] - four_sums_of_products(column + k + 1, step_.data() + k + 1, n - k - 1)) / column[k];
    }
    budget_.spend(work);
  }
  // Takes a column into use with x = 0, unless it depends on those in use.
  bool append(std::size_t j) {
    auto const n = used_.size();
    if (n == rows_) return false;
    count_.resize(rows_, 0);
    std::uint64_t square = 0;
    for (auto const i : columns_[j]) square += 2 * std::uint64_t{count_[i]++} + 1;
    for (std::size_t k = 0; k < n; ++k) {
      std::uint64_t product = 0;
      for (auto const i : columns_[used_[k]]) product += count_[i];
      row_[k] = static_cast<double>(product);
    }
    for (auto const i : columns_[j]) count_[i] = 0;
    auto rest = static_cast<double>(square);
    auto work = 4 * n;
    for (std::size_t k = 0; k < n; ++k) {
      if (row_[k] == 0) continue;
      auto const* const column = factor(k);
      row_[k] /= column[k];
      add_multiple(row_.data() + k + 1, column + k + 1, -row_[k], n - k - 1);
      rest = plus_product(rest, row_[k], -row_[k]);
      work += (n - k) / 2;
    }
    budget_.spend(work);
    if (rest < 1e-7 * static_cast<double>(square)) return false;
    for (std::size_t k = 0; k < n; ++k) factor(k)[n] = row_[k];
    factor(n)[n] = std::sqrt(rest);
    at_[j] = static_cast<std::int32_t>(n);
    used_.push_back(j);
    x_.push_back(0);
    return true;
  }
  // Takes the k-th column out of use.
  void remove(std::size_t k) {
    auto const n = used_.size();
    at_[used_[k]] = nowhere;
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(k));
    x_.erase(x_.begin() + static_cast<std::ptrdiff_t>(k));
    for (auto t = k; t < used_.size(); ++t) at_[used_[t]] = static_cast<std::int32_t>(t);
    for (std::size_t t = 0; t < k; ++t) {
      auto* const column = factor(t);
      std::copy(column + k + 1, column + n, column + k);
    }
    // the rows after k move up by one; each then has an entry right of the diagonal, which a rotation with the next column removes
    for (auto t = k; t + 1 < n; ++t) {
      auto* const left = factor(t);
      auto* const right = factor(t + 1);
      if (t == k) std::copy(left + k + 1, left + n, left + k);
      auto const a = left[t], b = right[t + 1];  // of the row that was t + 1
      auto const size = length_of(a, b), c = a / size, s = b / size;
      std::copy(right + t + 1, right + n, right + t);  // moves up
      rotate(left + t, right + t, c, s, n - 1 - t);
    }
    budget_.spend((n - k) * (n - k) / 2 + n);
  }
  [[nodiscard]] static double length_of(double a, double b) { return std::sqrt(plus_product(plus_product(0, a, a), b, b)); }

  pattern_columns& columns_;
  search_budget& budget_;
  std::size_t rows_;
  std::vector<double> factor_;  // lower triangle, column after column
  std::vector<double> residual_, demand_, step_, row_, x_;
  std::vector<std::size_t> used_;
  std::vector<std::int32_t> at_;      // place of each column in used_
  std::vector<std::uint32_t> count_;  // samples of each row in a column
  std::vector<char> refused_;
};

}  // namespace ballast::inline v0_2::detail
