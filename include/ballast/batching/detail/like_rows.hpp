// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

// Orders packs such that neighbours are similar in several measures at once.

namespace ballast::inline v0_2::detail {

/// Loads of packs, pack after pack, with `columns` integers each.
struct load_table {
  std::size_t columns = 0;
  std::vector<std::int64_t> loads;
  [[nodiscard]] std::int64_t const* operator[](std::size_t pack) const noexcept { return loads.data() + pack * columns; }
};

/// Orders packs such that the `ranks` packs of a row are similar in every column. The packs are divided along the column and at the place
/// that reduces the sum over rows and columns of the largest load most, and each part is divided again. A part has at least a quarter of
/// the rows, which bounds the depth; cuts at other places would not balance rows better.
template <index_type Index>
class like_rows {
 public:
  like_rows(load_table const& of, std::size_t ranks) : of_(of), ranks_(ranks), order_(of.columns) {}

  /// Orders the packs of full rows.
  void operator()(std::span<Index> packs) {
    auto const n = packs.size();
    load_.resize(n * of_.columns);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < of_.columns; ++c) load_[c * n + i] = of_[packs[i]][c];
    for (std::size_t c = 0; c < of_.columns; ++c) {
      order_[c].resize(n);
      std::iota(order_[c].begin(), order_[c].end(), Index{0});
      sort_by(order_[c], [&](Index x, Index y) { return precedes(x, y, c); });
    }
    in_front_.assign(n, 0);
    split(0, n / ranks_);
    packs_.assign(packs.begin(), packs.end());
    for (std::size_t i = 0; i < n; ++i) packs[i] = packs_[order_[0][i]];
  }

 private:
  [[nodiscard]] std::int64_t const* column(std::size_t c) const noexcept { return load_.data() + c * in_window(); }
  [[nodiscard]] std::size_t in_window() const noexcept { return load_.size() / of_.columns; }

  /// Sorted by column c, then by the other columns, so that a cut among equal loads separates them by the other columns.
  [[nodiscard]] bool precedes(Index x, Index y, std::size_t c) const noexcept {
    if (column(c)[x] != column(c)[y]) return column(c)[x] > column(c)[y];
    for (std::size_t d = 0; d < of_.columns; ++d)
      if (column(d)[x] != column(d)[y]) return column(d)[x] > column(d)[y];
    return x < y;
  }

  /// Divides the rows [begin, begin + rows), where each of the orders holds the same packs, sorted by its column.
  void split(std::size_t begin, std::size_t rows) {
    if (rows < 2) return;
    auto const first = (std::max)(std::size_t{1}, rows / 4), from = begin * ranks_, n = rows * ranks_;
    auto least = (std::numeric_limits<std::int64_t>::max)();
    std::size_t cut = 0, along = 0;
    for (std::size_t c = 0; c < of_.columns; ++c) {
      auto const sorted = std::span<Index const>(order_[c]).subspan(from, n);
      if (column(c)[sorted.front()] == column(c)[sorted.back()]) continue;
      sum_up(sorted, rows, first);
      auto const best = std::min_element(sum_.begin(), sum_.end());
      if (*best >= least) continue;
      least = *best;
      cut = first + static_cast<std::size_t>(best - sum_.begin());
      along = c;
    }
    if (cut == 0) return;  // all packs are equal
    for (std::size_t k = 0; k < n; ++k) in_front_[order_[along][from + k]] = k < cut * ranks_;
    for (std::size_t c = 0; c < of_.columns; ++c) {
      if (c == along) continue;
      behind_.clear();
      auto front = from;
      for (auto k = from; k < from + n; ++k) {
        auto const i = order_[c][k];
        if (in_front_[i] != 0)
          order_[c][front++] = i;
        else
          behind_.push_back(i);
      }
      std::copy(behind_.begin(), behind_.end(), order_[c].begin() + static_cast<std::ptrdiff_t>(front));
    }
    split(begin, cut);
    split(begin + cut, rows - cut);
  }

  /// For each cut, the sum over both parts and all columns of rows times the largest load.
  void sum_up(std::span<Index const> sorted, std::size_t rows, std::size_t first) {
    auto const last = rows - first;
    sum_.assign(last - first + 1, 0);
    for (std::size_t c = 0; c < of_.columns; ++c) {
      auto const* const load = column(c);
      std::int64_t most = 0;
      std::size_t at = 0;
      for (auto cut = std::size_t{1}; cut <= last; ++cut) {
        for (; at < cut * ranks_; ++at) most = (std::max)(most, load[sorted[at]]);
        if (cut >= first) sum_[cut - first] += most * static_cast<std::int64_t>(cut);
      }
      most = 0;
      at = sorted.size();
      for (auto cut = rows - 1; cut >= first; --cut) {
        while (at > cut * ranks_) most = (std::max)(most, load[sorted[--at]]);
        if (cut <= last) sum_[cut - first] += most * static_cast<std::int64_t>(rows - cut);
      }
    }
  }

  load_table const& of_;
  std::size_t ranks_;
  std::vector<std::int64_t> load_;         // loads of the window, column after column
  std::vector<std::vector<Index>> order_;  // the packs of the window sorted by each column, largest load first
  std::vector<char> in_front_;
  std::vector<Index> behind_, packs_;
  std::vector<std::int64_t> sum_;
};

}  // namespace ballast::inline v0_2::detail
