// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The inverse of a basis: factors L U of a first basis, which begins as a diagonal of -1, then a factor for each pivot (product form).
/// Patterns hold few lengths, so that factors have few entries, and a pivot costs far less than a change of a whole inverse.
class basis_inverse {
 public:
  explicit basis_inverse(std::size_t rows) : sign_(rows), taken_(rows) {}

  /// The inverse of -1 on the diagonal.
  void clear() {
    std::fill(sign_.begin(), sign_.end(), -1.0);
    std::fill(taken_.begin(), taken_.end(), 0);
    for (auto* const each : {&lower_, &upper_, &later_}) each->clear();
  }
  void set_sign(std::size_t i, double sign) { sign_[i] = sign; }
  /// Row i keeps its -1 in the first basis. To be said before that is factored.
  void keep(std::size_t i) { taken_[i] = 1; }
  /// v = what `factor` needs of a column v. Returns the work.
  std::size_t reduce(std::vector<double>& v) const {
    auto work = lower_.size();
    for (std::size_t k = 0; k < lower_.size(); ++k) work += lower_.eliminate(k, v);
    return work;
  }
  /// The column of the first basis in row r, after `reduce`.
  void factor(std::size_t r, std::vector<double> const& v) {
    auto const share = 1 / v[r];
    upper_.begin(r, share);
    auto begun = false;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i == r || v[i] == 0) continue;
      if (taken_[i] != 0) {
        upper_.add(i, v[i]);
        continue;
      }
      if (!std::exchange(begun, true)) lower_.begin(r, 1);
      lower_.add(i, v[i] * share);
    }
    sign_[r] = taken_[r] = 1;
  }

  /// v = inverse * v. Returns the work.
  std::size_t multiply(std::vector<double>& v) const {
    auto work = reduce(v) + v.size() / 2 + upper_.size() + later_.size();
    for (auto k = upper_.size(); k-- > 0;) work += upper_.eliminate(k, v);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] *= sign_[i];
    for (std::size_t k = 0; k < later_.size(); ++k) work += later_.eliminate(k, v);
    return work;
  }
  /// v = v * inverse. Returns the work.
  std::size_t multiply_from_left(std::vector<double>& v) const {
    for (auto k = later_.size(); k-- > 0;) later_.gather(k, v);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] *= sign_[i];
    for (std::size_t k = 0; k < upper_.size(); ++k) upper_.gather(k, v);
    for (auto k = lower_.size(); k-- > 0;) lower_.gather(k, v);
    return v.size() / 2 + lower_.size() + upper_.size() + later_.size() + lower_.entries() + upper_.entries() + later_.entries();
  }
  /// Replaces the column of row r by the one of which `direction` is the product with the inverse.
  void pivot(std::size_t r, std::vector<double> const& direction) {
    later_.begin(r, 1 / direction[r]);
    for (std::size_t i = 0; i < direction.size(); ++i)
      if (i != r && direction[i] != 0) later_.add(i, direction[i]);
  }
  /// The work that pivots have added to a product.
  [[nodiscard]] std::size_t added() const { return later_.entries() + later_.size(); }

 private:
  // Each one but for a column is the identity.
  class factors {
   public:
    void clear() {
      heads_.clear();
      value_.clear();
      at_.clear();
    }
    void begin(std::size_t row, double share) { heads_.push_back({static_cast<std::uint32_t>(row), value_.size(), share}); }
    void add(std::size_t i, double value) {
      at_.push_back(static_cast<std::uint32_t>(i));
      value_.push_back(value);
    }
    [[nodiscard]] std::size_t size() const { return heads_.size(); }
    [[nodiscard]] std::size_t entries() const { return value_.size(); }
    // The inverse of factor k times v; returns the work.
    std::size_t eliminate(std::size_t k, std::vector<double>& v) const {
      auto const& [row, first, share] = heads_[k];
      auto& top = v[row];
      if (top == 0) return 0;
      top *= share;
      add_sparse_multiple(v.data(), value_.data() + first, -top, at_.data() + first, end(k) - first);
      return end(k) - first;
    }
    // v times the inverse of factor k.
    void gather(std::size_t k, std::vector<double>& v) const {
      auto const& [row, first, share] = heads_[k];
      v[row] = minus_sparse_products(v[row], value_.data() + first, at_.data() + first, end(k) - first, v.data()) * share;
    }

   private:
    struct head {
      std::uint32_t row;
      std::size_t first;
      double share;  // 1 over the entry of the row
    };
    [[nodiscard]] std::size_t end(std::size_t k) const { return k + 1 < heads_.size() ? heads_[k + 1].first : value_.size(); }

    std::vector<head> heads_;
    std::vector<double> value_;  // the other entries
    std::vector<std::uint32_t> at_;
  };

  std::vector<double> sign_;
  std::vector<char> taken_;
  factors lower_, upper_, later_;
};

/// An order of pivots in which few factors fill up.
class pivot_order {
 public:
  using pair = std::pair<std::uint32_t, std::uint32_t>;  ///< a column, and the row that it takes

  void clear() {
    at_.clear();
    begin_.assign(1, 0);
  }
  /// Adds a row of the last column, once.
  void add(std::uint32_t row) { at_.push_back(row); }
  void end_column() { begin_.push_back(static_cast<std::uint32_t>(at_.size())); }
  [[nodiscard]] std::size_t entries() const { return at_.size(); }

  /// Orders the pivots of the columns.
  void set(std::size_t rows) {
    transpose(rows);
    singles_.clear();
    middle_.clear();
    lone_columns_.clear();
    lone_rows_.clear();
    for (std::uint32_t c = 0; c < waits_.size(); ++c)
      if (left_[c] == 1) lone_columns_.push_back(c);
    for (std::uint32_t i = 0; i < rows; ++i)
      if (columns_[i] == 1) lone_rows_.push_back(i);
    while (!lone_columns_.empty() || !lone_rows_.empty()) {
      auto& lone = lone_columns_.empty() ? lone_rows_ : lone_columns_;
      auto const k = lone.back();
      lone.pop_back();
      if (&lone == &lone_columns_ && waits_[k] != 0 && left_[k] == 1)
        take(k, *std::find_if(at_.begin() + begin_[k], at_.end(), [&](auto i) { return free_[i] != 0; }));
      if (&lone == &lone_rows_ && free_[k] != 0 && columns_[k] == 1)
        take(*std::find_if(of_row_.begin() + first_[k], of_row_.end(), [&](auto c) { return waits_[c] != 0; }), k);
    }
    for (std::uint32_t c = 0; c < waits_.size(); ++c)
      if (waits_[c] != 0 && left_[c] > 0) middle_.push_back(c);
    std::sort(middle_.begin(), middle_.end(), [&](auto a, auto b) { return left_[a] != left_[b] ? left_[a] < left_[b] : a < b; });
  }
  /// Those that were the only column left in a row, or had one row left: they need no arithmetic.
  [[nodiscard]] std::vector<pair> const& singles() const { return singles_; }
  /// The other columns, those of few rows first.
  [[nodiscard]] std::vector<std::uint32_t> const& middle() const { return middle_; }
  /// How many of them a row has.
  [[nodiscard]] std::uint32_t columns(std::size_t row) const { return columns_[row]; }
  [[nodiscard]] bool free(std::size_t row) const { return free_[row] != 0; }
  void occupy(std::size_t row) { free_[row] = 0; }

 private:
  void transpose(std::size_t rows) {
    auto const n = begin_.size() - 1;
    waits_.assign(n, 1);
    free_.assign(rows, 1);
    left_.resize(n);
    for (std::size_t c = 0; c < n; ++c) left_[c] = begin_[c + 1] - begin_[c];
    columns_.assign(rows, 0);
    for (auto const i : at_) ++columns_[i];
    first_.assign(rows + 1, 0);
    for (std::size_t i = 0; i < rows; ++i) first_[i + 1] = first_[i] + columns_[i];
    of_row_.resize(at_.size());
    auto next = first_;
    for (std::uint32_t c = 0; c < n; ++c)
      for (auto k = begin_[c]; k < begin_[c + 1]; ++k) of_row_[next[at_[k]]++] = c;
  }
  void take(std::uint32_t c, std::uint32_t r) {
    singles_.emplace_back(c, r);
    waits_[c] = free_[r] = 0;
    for (auto k = begin_[c]; k < begin_[c + 1]; ++k)
      if (--columns_[at_[k]] == 1) lone_rows_.push_back(at_[k]);
    for (auto k = first_[r]; k < first_[r + 1]; ++k)
      if (--left_[of_row_[k]] == 1) lone_columns_.push_back(of_row_[k]);
  }

  std::vector<std::uint32_t> at_, begin_{0};   // rows of each column
  std::vector<std::uint32_t> of_row_, first_;  // columns of each row
  std::vector<std::uint32_t> left_, columns_;  // of those in no pair, by column and by row
  std::vector<char> waits_, free_;
  std::vector<pair> singles_;
  std::vector<std::uint32_t> middle_, lone_columns_, lone_rows_;
};

}  // namespace ballast::inline v0_2::detail
