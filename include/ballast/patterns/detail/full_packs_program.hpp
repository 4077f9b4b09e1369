// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/full_knapsack.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/detail/pattern_squares.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A program of `pattern_dive` for samples that have to fill every pack to the last token: nonnegative least squares of what is not packed,
/// over full packs. The residual prices new packs: if no full pack has a positive sum of it, none brings the solution closer.
template <class = when_called>
class full_packs_program {
 public:
  using state = pattern_squares<>::state;
  using pricing = full_knapsack<>;
  static constexpr std::uint64_t turns = 4;  ///< of these attempts, the last goes on until the square is 0 or proves something

  full_packs_program(pattern_attempt& shared, pricing& knapsack)
      : shared_(shared), knapsack_(knapsack), squares_(shared.columns, shared.rows.size(), shared.budget) {}

  /// Makes first patterns, and takes those of `start` that are full.
  void begin(std::vector<std::vector<std::uint32_t>> const& start) {
    for (auto const& rows : start) {
      std::int64_t tokens = 0;
      for (auto const i : rows) tokens += shared_.rows.length[i];
      if (tokens == shared_.rows.capacity) shared_.columns.add(rows);
    }
    std::vector<double> value(shared_.rows.size());
    for (std::size_t k = 0; k < first_prices && shared_.budget.allows(shared_.end); ++k) {
      for (auto& v : value) v = uniform_double(shared_.random);
      knapsack_.solve(value, shared_.left, shared_.budget);
      (void)add_packs();
    }
    update();
  }
  /// Looks for a solution with new patterns. False if there is none (`exceeded()`: proven), or it was not found.
  [[nodiscard]] bool solve(std::uint64_t packs, bool root) {
    exceeded_ = false;
    for (;;) {
      squares_.grow();
      if (!squares_.improve(shared_.end)) return false;
      if (squares_.largest() <= (!shared_.stop_early ? closed : root ? close_at_root : close)) return true;
      knapsack_.solve(squares_.residual(), shared_.left, shared_.budget);
      if (knapsack_.exceeds(packs)) {
        exceeded_ = true;
        return false;
      }
      if (add_packs() == 0) return false;
      if (root && shared_.columns.size() > columns_per_row * shared_.rows.size()) keep_best_columns();
    }
  }
  /// Whether the last program proved that the samples do not fill the packs.
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
  void fix_by_cost(std::uint64_t) {}  ///< no pack costs more than another
  /// Takes over what is left, and which columns are banned.
  void update() {
    shared_.columns.fix(shared_.left);
    squares_.demand(shared_.left);
    shared_.budget.spend(shared_.columns.entries());
  }
  [[nodiscard]] state here() const { return squares_.here(); }
  void go_back(state const& to) { squares_.go_back(to); }
  /// Calls `visit(column)` for the columns of a solution.
  template <class Visit>
  void for_each_column(state const& of, Visit const& visit) const {
    for (auto const& [j, x] : of) visit(j);
  }
  /// Calls `visit(x, column)` for the columns of the solution.
  template <class Visit>
  void for_each_positive(Visit const& visit) const {
    for (auto const& [j, x] : squares_.here())
      if (x > nearly_whole) visit(x, j);
  }
  /// Nothing: values of full packs say nothing of others.
  [[nodiscard]] std::vector<std::int32_t> values() const { return {}; }
  [[nodiscard]] std::int64_t value_of_pack() const { return 0; }
  template <class Visit>
  void for_each_basic(Visit const&) const {}

 private:
  static constexpr std::size_t first_prices = 4, columns_per_row = 8;
  // Samples of a length that may be missing in a solution that a dive starts from.
  static constexpr double close_at_root = 0.02, close = 0.001, closed = 1e-6;

  std::size_t add_packs() {
    return knapsack_.for_each_pack(shared_.left, shared_.budget, [&](auto const& rows) { return shared_.columns.add(rows); });
  }
  // Keeps the columns in use, and others of most gain.
  void keep_best_columns() {
    std::vector<std::pair<double, std::size_t>> others;
    std::vector<char> kept(shared_.columns.size(), 0);
    squares_.grow();
    for (std::size_t j = 0; j < kept.size(); ++j) {
      if (squares_.is_used(j))
        kept[j] = 1;
      else
        others.emplace_back(-squares_.gain(j), j);
    }
    auto const n = (std::min)(others.size(), columns_per_row * shared_.rows.size() / 2);
    std::sort(others.begin(), others.end());
    for (std::size_t k = 0; k < n; ++k) kept[others[k].second] = 1;
    shared_.budget.spend(shared_.columns.entries());
    squares_.renumber(shared_.columns.keep(kept, false));
  }

  pattern_attempt& shared_;
  pricing& knapsack_;
  pattern_squares<> squares_;
  bool exceeded_ = false;
};

}  // namespace ballast::inline v0_2::detail
