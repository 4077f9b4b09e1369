// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/detail/pattern_knapsack.hpp>
#include <ballast/patterns/detail/pattern_simplex.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A program of `pattern_dive`: fewest packs for the samples that are left, by the simplex, with new patterns of a knapsack.
template <class = when_called>
class fewest_packs_program {
 public:
  using variable = typename pattern_simplex<>::variable;
  using state = std::vector<variable>;  ///< what it goes back to: a basis
  using pricing = pattern_knapsack<>;
  static constexpr std::uint64_t turns = 2;  ///< of these attempts, the last does not stop early

  fewest_packs_program(pattern_attempt& shared, pricing& knapsack)
      : shared_(shared), knapsack_(knapsack), simplex_(shared.columns, shared.rows.size(), shared.random, shared.budget) {}

  /// Makes first patterns; with `start`, a basis of these.
  void begin(std::vector<std::vector<std::uint32_t>> const& start) {
    for (std::uint32_t i = 0; i < shared_.rows.size(); ++i) shared_.columns.add({&i, 1});
    std::vector<variable> wanted;
    for (auto const& rows : start) {
      if (rows.size() == 1)
        wanted.push_back(static_cast<variable>(rows[0]));
      else if (shared_.columns.add(rows))
        wanted.push_back(static_cast<variable>(shared_.columns.size() - 1));
    }
    add_first_fit();
    std::vector<double> share(shared_.rows.size()), value(shared_.rows.size());
    for (std::size_t i = 0; i < share.size(); ++i) {
      share[i] = static_cast<double>(shared_.rows.length[i]) / static_cast<double>(shared_.rows.capacity);
      if (shared_.rows.max_samples != 0) share[i] = (share[i] + 1 / static_cast<double>(shared_.rows.max_samples)) / 2;
      lower_bound_ = plus_product(lower_bound_, share[i], static_cast<double>(shared_.rows.count[i]));
    }
    for (std::size_t k = 0; wanted.empty() && k < first_prices && shared_.budget.allows(shared_.end); ++k) {
      auto const spread = 0.02 * static_cast<double>(k);
      for (std::size_t i = 0; i < share.size(); ++i) value[i] = share[i] * plus_product(1.02, spread, uniform_double(shared_.random) - 0.5);
      (void)price(value);
    }
    shared_.columns.fix(shared_.left);
    simplex_.grow();
    simplex_.demand(shared_.left);
    if (wanted.empty())
      simplex_.restart();
    else
      simplex_.install(std::move(wanted));
  }
  /// Solves the program of what is left, with new patterns. False if more than `packs` packs are needed (`exceeded()`: proven) or the work
  /// is spent.
  [[nodiscard]] bool solve(std::uint64_t packs, bool root) {
    auto const target = static_cast<double>(packs);
    exceeded_ = false;
    if (!simplex_.make_feasible(shared_.end)) simplex_.restart();
    for (auto again = true; again;) {
      auto how = simplex_.improve(shared_.end);
      if (how == outcome::failed) {
        simplex_.restart();
        how = simplex_.improve(shared_.end);
      }
      if (how == outcome::spent) return false;
      auto const early = shared_.stop_early && !(root && shared_.solve_root);
      if (how == outcome::failed || (early && simplex_.packs() <= target + nearly_whole)) return true;
      auto const& duals = simplex_.duals();
      auto const added = price(duals);
      simplex_.grow();
      if (root) note_values(duals);
      if (knapsack_.exceeds(packs)) {
        exceeded_ = true;
        return false;
      }
      if (root && shared_.columns.size() > columns_per_row * shared_.rows.size()) keep_best_columns();
      again = added != 0;
    }
    return simplex_.packs() <= target + 1e-4 + target / 1e6;
  }
  /// Whether the last program proved that more packs are needed.
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
  /// Columns of a reduced cost above the gap of the program are dropped: they are in no plan of `packs` packs, up to rounding.
  void fix_by_cost(std::uint64_t packs) {
    std::vector<char> kept(shared_.columns.size(), 0);
    auto const most = static_cast<double>(packs) - lower_bound_ + 1e-3;
    for (std::size_t j = 0; j < kept.size(); ++j) {
      auto const v = static_cast<variable>(j);
      kept[j] = j < shared_.rows.size() || simplex_.is_basic(v) || simplex_.reduced_cost(v) <= most ? 1 : 0;
    }
    drop(kept, true);
  }
  /// Takes over what is left, and which columns are banned.
  void update() {
    shared_.columns.fix(shared_.left);
    simplex_.demand(shared_.left);
    shared_.budget.spend(shared_.columns.entries());
  }
  /// Demands of each length up to half of `spread` more or less than is left, by random numbers.
  void sway(double spread) {
    simplex_.demand(shared_.left);
    simplex_.sway(spread, shared_.random);
  }
  /// The values of samples in the last program.
  [[nodiscard]] std::vector<double> const& duals() const noexcept { return simplex_.duals(); }
  [[nodiscard]] state const& here() const noexcept { return simplex_.basis(); }
  void go_back(state const& basis) { simplex_.install(basis); }
  /// Calls `visit(column)` for the patterns of more than one sample in a basis.
  template <class Visit>
  void for_each_column(state const& basis, Visit const& visit) const {
    for (auto const v : basis)
      if (v >= static_cast<variable>(shared_.rows.size())) visit(static_cast<std::size_t>(v));
  }
  /// Calls `visit(x, column)` for the columns of the solution.
  template <class Visit>
  void for_each_positive(Visit const& visit) const {
    for (std::size_t r = 0; r < shared_.rows.size(); ++r)
      if (auto const v = simplex_.basis()[r]; v >= 0 && simplex_.x(r) > nearly_whole) visit(simplex_.x(r), static_cast<std::size_t>(v));
  }
  /// The integer values of the last program of the root, by row; empty before it was solved.
  [[nodiscard]] std::vector<std::int32_t> const& values() const noexcept { return values_; }
  [[nodiscard]] std::int64_t value_of_pack() const noexcept { return value_of_pack_; }
  /// Calls `visit(rows)` for each pattern of the basis.
  template <class Visit>
  void for_each_basic(Visit const& visit) const {
    for (auto const v : simplex_.basis())
      if (v >= 0) visit(shared_.columns[static_cast<std::size_t>(v)]);
  }

 private:
  using outcome = typename pattern_simplex<>::outcome;
  static constexpr std::size_t first_prices = 5, columns_per_row = 4;

  [[nodiscard]] std::size_t price(std::span<double const> values) {
    knapsack_.solve(values, shared_.left, shared_.budget);
    return knapsack_.for_each_pack(shared_.left, shared_.rows.size(), shared_.budget,
                                   [&](auto const& rows) { return shared_.columns.add(rows); });
  }

  // First-fit decreasing.
  void add_first_fit() {
    auto rest = shared_.left;
    std::vector<std::uint32_t> pack;
    for (std::size_t first = 0; first < rest.size();) {
      if (rest[first] == 0) {
        ++first;
        continue;
      }
      pack.clear();
      auto room = shared_.rows.capacity;
      auto repeats = ~std::uint64_t{0};
      for (auto i = first; i < rest.size(); ++i) {
        auto copies = (std::min)(rest[i], static_cast<std::uint64_t>(room / shared_.rows.length[i]));
        if (shared_.rows.max_samples != 0) copies = (std::min)(copies, shared_.rows.max_samples - pack.size());
        if (copies == 0) continue;
        pack.insert(pack.end(), static_cast<std::size_t>(copies), static_cast<std::uint32_t>(i));
        room -= static_cast<std::int64_t>(copies) * shared_.rows.length[i];
        repeats = (std::min)(repeats, rest[i] / copies);
      }
      for (auto const i : pack) rest[i] -= repeats;
      shared_.columns.add(pack);
    }
  }

  void note_values(std::vector<double> const& duals) {
    auto const whole = knapsack_.values();
    values_.assign(whole.begin(), whole.end());
    value_of_pack_ = knapsack_.best();
    double sum = 0;
    for (std::size_t i = 0; i < duals.size(); ++i)
      if (duals[i] > 0) sum = plus_product(sum, duals[i], static_cast<double>(shared_.left[i]));
    lower_bound_ = (std::max)(lower_bound_, sum / (std::max)(knapsack_.best_value(), 1.0));
  }
  // Keeps the columns of the basis, single samples, and others of least reduced cost.
  void keep_best_columns() {
    std::vector<std::pair<double, std::size_t>> others;
    std::vector<char> kept(shared_.columns.size(), 0);
    for (std::size_t j = 0; j < kept.size(); ++j) {
      if (j < shared_.rows.size() || simplex_.is_basic(static_cast<variable>(j)))
        kept[j] = 1;
      else
        others.emplace_back(simplex_.reduced_cost(static_cast<variable>(j)), j);
    }
    auto const n = (std::min)(others.size(), columns_per_row * shared_.rows.size() / 2);
    std::sort(others.begin(), others.end());
    for (std::size_t k = 0; k < n; ++k) kept[others[k].second] = 1;
    drop(kept, false);
  }
  void drop(std::vector<char> const& kept, bool for_good) {
    shared_.budget.spend(shared_.columns.entries());
    simplex_.renumber(shared_.columns.keep(kept, for_good));
  }

  pattern_attempt& shared_;
  pricing& knapsack_;
  pattern_simplex<> simplex_;
  std::vector<std::int32_t> values_;
  std::int64_t value_of_pack_ = 0;
  double lower_bound_ = 0;
  bool exceeded_ = false;
};

}  // namespace ballast::inline v0_2::detail
