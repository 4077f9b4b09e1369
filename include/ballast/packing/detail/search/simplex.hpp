// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Primal simplex method that minimises the sum of x, plus artificial variables with prices, subject to A x >= demand and x >= 0. Columns
/// can be added between solves. The inverse of the basis is explicit and dense, since there are tens of rows, sometimes hundreds.
template <class = when_called>
class simplex {
 public:
  /// Starts a new program without columns, with the artificial variable of each row in the basis.
  void start(pooled_vector<double> demand, pooled_vector<double> artificial_cost) {
    rows_ = demand.size();
    demand_ = std::move(demand);
    artificial_ = std::move(artificial_cost);
    begin_.assign(1, 0);
    row_.clear();
    value_.clear();
    basic_.clear();
    surplus_basic_.assign(rows_, 0);
    basis_.resize(rows_);
    for (std::size_t i = 0; i < rows_; ++i) basis_[i] = artificial(i);
    set_identity();
    x_ = demand_;
    dual_ = artificial_;
    pivots_ = 0;
    cursor_ = 0;
    direction_.resize(rows_);
  }

  /// Adds a column of cost 1.
  void add(std::span<std::uint32_t const> rows, std::span<double const> values) {
    row_.insert(row_.end(), rows.begin(), rows.end());
    value_.insert(value_.end(), values.begin(), values.end());
    begin_.push_back(row_.size());
    basic_.push_back(0);
  }
  [[nodiscard]] std::size_t columns() const noexcept { return basic_.size(); }
  [[nodiscard]] pooled_vector<double> const& duals() const noexcept { return dual_; }

  [[nodiscard]] double objective() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_; ++i) sum = plus_product(sum, cost(basis_[i]), x_[i]);
    return sum;
  }
  /// The reduced cost of a column: 1 minus its value under the dual values; negative if the column would improve the solution.
  [[nodiscard]] double reduced_cost(std::size_t j) const {
    return minus_sparse_products(1.0, value_.data() + begin_[j], row_.data() + begin_[j], begin_[j + 1] - begin_[j], dual_.data());
  }
  /// Calls `visit(column, x)` for the columns in the basis, by row.
  template <class Visit>
  void for_each_basic(Visit const& visit) const {
    for (std::size_t i = 0; i < rows_; ++i)
      if (basis_[i] >= 0) visit(static_cast<std::size_t>(basis_[i]), x_[i]);
  }

  /// Pivots until no column improves the solution or the work is spent.
  void solve(search_budget& budget) {
    auto const most_pivots = pivots_ + 100 * rows_ + 1000;
    while (pivots_ < most_pivots && budget.allows()) {
      collect_candidates(budget);
      if (candidates_.empty()) return;
      auto const enough = enough_share * candidates_.front().first;
      for (bool first = true; !candidates_.empty(); first = false) {
        for (auto& [cost, column] : candidates_) cost = reduced(column);
        auto const best = std::min_element(candidates_.begin(), candidates_.end());
        if (!first && (best->first > enough || best->first > -tolerance)) break;
        auto const [gain, column] = *best;
        candidates_.erase(best);
        if (!pivot(gain, column) && first) return;
        budget.spend(rows_ * rows_ / 2 + 4 * rows_ + 200);
      }
    }
  }

 private:
  using column_id = std::int64_t;  // a column; a negative number is a surplus or artificial variable
  static constexpr double tolerance = 1e-7, smallest_pivot = 1e-8;
  static constexpr std::size_t most_candidates = 12, parts = 10, least_scan = 100;
  static constexpr double enough_share = 0.4;

  [[nodiscard]] static column_id surplus(std::size_t i) { return -1 - 2 * static_cast<column_id>(i); }
  [[nodiscard]] static column_id artificial(std::size_t i) { return -2 - 2 * static_cast<column_id>(i); }
  [[nodiscard]] static bool is_surplus(column_id c) { return c < 0 && c % 2 != 0; }
  [[nodiscard]] static std::size_t row_of(column_id c) { return static_cast<std::size_t>((-1 - c) / 2); }
  [[nodiscard]] double cost(column_id c) const { return c >= 0 ? 1.0 : is_surplus(c) ? 0.0 : artificial_[row_of(c)]; }
  [[nodiscard]] double reduced(column_id c) const { return c >= 0 ? reduced_cost(static_cast<std::size_t>(c)) : dual_[row_of(c)]; }
  [[nodiscard]] double* inverse(std::size_t column) { return inverse_.data() + column * rows_; }

  void set_identity() {
    inverse_.assign(rows_ * rows_, 0);
    for (std::size_t i = 0; i < rows_; ++i) inverse(i)[i] = 1;
  }

  // Columns of very negative reduced cost, best first, so that several pivots share the cost of one search. One part of the columns is
  // searched after the other, and all parts only if no column was found.
  void collect_candidates(search_budget& budget) {
    candidates_.clear();
    auto const offer = [&](double gain, column_id c) {
      if (gain > -tolerance || (candidates_.size() == most_candidates && gain >= candidates_.back().first)) return;
      if (candidates_.size() == most_candidates) candidates_.pop_back();
      std::pair const entry(gain, c);
      candidates_.insert(std::upper_bound(candidates_.begin(), candidates_.end(), entry), entry);
    };
    for (std::size_t i = 0; i < rows_; ++i)
      if (surplus_basic_[i] == 0) offer(dual_[i], surplus(i));
    auto const block = (std::max)(columns() / parts, least_scan);
    std::size_t scanned = 0;
    while (scanned < columns() && (scanned == 0 || candidates_.empty())) {
      auto const stop = (std::min)(scanned + block, columns());
      for (; scanned < stop; ++scanned) {
        if (cursor_ >= columns()) cursor_ = 0;
        if (basic_[cursor_] == 0) offer(reduced_cost(cursor_), static_cast<column_id>(cursor_));
        ++cursor_;
      }
    }
    budget.spend(12 * scanned + 4 * rows_);
  }

  // direction_ = inverse * column
  void set_direction(column_id c) {
    if (is_surplus(c)) {
      auto const* const from = inverse(row_of(c));
      for (std::size_t i = 0; i < rows_; ++i) direction_[i] = -from[i];
      return;
    }
    if (c < 0) {
      std::copy_n(inverse(row_of(c)), rows_, direction_.begin());
      return;
    }
    std::fill(direction_.begin(), direction_.end(), 0.0);
    auto const j = static_cast<std::size_t>(c);
    for (auto k = begin_[j]; k < begin_[j + 1]; ++k) add_multiple(direction_.data(), inverse(row_[k]), value_[k], rows_);
  }

  // Updates the inverse for the basis in which the column of row r is replaced by that of direction_.
  void update_inverse(std::size_t r, double gain) {
    auto const pivot_value = direction_[r];
    for (std::size_t k = 0; k < rows_; ++k) {
      auto* const column = inverse(k);
      if (column[r] == 0) continue;
      auto const share = column[r] / pivot_value;
      add_multiple(column, direction_.data(), -share, rows_);
      column[r] = share;
      dual_[k] = plus_product(dual_[k], gain, share);
    }
  }

  void set_basic(column_id c, char yes) {
    if (c >= 0) basic_[static_cast<std::size_t>(c)] = yes;
    if (is_surplus(c)) surplus_basic_[row_of(c)] = yes;
  }

  [[nodiscard]] bool pivot(double gain, column_id entering) {
    set_direction(entering);
    auto r = rows_;
    double least = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (direction_[i] <= smallest_pivot) continue;
      auto const ratio = (std::max)(x_[i], 0.0) / direction_[i];
      if (r == rows_ || ratio < least || (ratio == least && direction_[i] > direction_[r])) {
        r = i;
        least = ratio;
      }
    }
    if (r == rows_) return false;
    update_inverse(r, gain);
    add_multiple(x_.data(), direction_.data(), -least, rows_);
    x_[r] = least;
    set_basic(std::exchange(basis_[r], entering), 0);
    set_basic(entering, 1);
    ++pivots_;
    if (pivots_ % 150 == 0) invert();
    return true;
  }

  // Recomputes the inverse from the columns: each pivot adds a rounding error.
  void invert() {
    auto columns_left = basis_;
    std::sort(columns_left.begin(), columns_left.end());  // surplus and artificial variables first: they cause no fill-in
    set_identity();
    pooled_vector<char> done(rows_, 0);
    for (auto const c : columns_left) {
      set_direction(c);
      auto r = rows_;
      for (std::size_t i = 0; i < rows_; ++i)
        if (done[i] == 0 && (r == rows_ || magnitude(direction_[i]) > magnitude(direction_[r]))) r = i;
      if (magnitude(direction_[r]) < smallest_pivot) {  // singular: the artificial variable of the row replaces the column
        set_basic(c, 0);
        continue;
      }
      update_inverse(r, 0);
      done[r] = 1;
      basis_[r] = c;
    }
    for (std::size_t i = 0; i < rows_; ++i)
      if (done[i] == 0) basis_[i] = artificial(i);
    std::fill(x_.begin(), x_.end(), 0.0);
    for (std::size_t k = 0; k < rows_; ++k) add_multiple(x_.data(), inverse(k), demand_[k], rows_);
    pooled_vector<double> costs(rows_);
    for (std::size_t i = 0; i < rows_; ++i) costs[i] = cost(basis_[i]);
    for (std::size_t k = 0; k < rows_; ++k) dual_[k] = plus_products(0, costs.data(), inverse(k), rows_);
  }
  [[nodiscard]] static double magnitude(double v) { return v < 0 ? -v : v; }

  std::size_t rows_ = 0;
  pooled_vector<double> demand_, artificial_, x_, dual_, direction_;
  pooled_vector<double> inverse_;     // column after column
  pooled_vector<std::size_t> begin_;  // begin of each sparse column
  pooled_vector<std::uint32_t> row_;
  pooled_vector<double> value_;
  pooled_vector<char> basic_, surplus_basic_;
  pooled_vector<column_id> basis_;  // variable of each row
  pooled_vector<std::pair<double, column_id>> candidates_;
  std::size_t pivots_ = 0;
  std::size_t cursor_ = 0;  // next column to search
};

}  // namespace ballast::inline v0_2::detail
