// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/patterns/detail/basis_inverse.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Minimises the number of packs: the sum of x subject to A x >= demand, x >= 0, and x = 0 for columns that are fixed. The primal method
/// (devex prices) follows new columns, the dual one a new demand or fixed columns.
template <class = when_called>
class pattern_simplex {
 public:
  /// A column, or -1 - i for the samples of row i above the demand.
  using variable = std::int32_t;

  /// Column i has to be a single sample of row i, for all rows.
  pattern_simplex(pattern_columns& columns, std::size_t rows, splitmix64& random, search_budget& budget)
      : columns_(columns),
        budget_(budget),
        rows_(rows),
        inverse_(rows),
        x_(rows),
        dual_(rows),
        demand_(rows),
        shift_(rows),
        direction_(rows),
        row_(rows),
        basis_(rows),
        surplus_at_(rows, nowhere) {
    for (auto& s : shift_) s = 1e-7 * (0.5 + uniform_double(random));
  }

  /// Sets what is demanded, a little above the samples of each row, so that few solutions are degenerate.
  void demand(std::span<std::uint64_t const> left) {
    for (std::size_t i = 0; i < rows_; ++i) demand_[i] = left[i] > 0 ? static_cast<double>(left[i]) + shift_[i] : 0;
  }
  /// Adds up to half of `spread`, or takes it away, from what is demanded of each row.
  void sway(double spread, splitmix64& random) {
    for (auto& d : demand_)
      if (d > 0) d = plus_product(d, spread, uniform_double(random) - 0.5);
  }
  /// Begins with a pack for each sample.
  void restart() {
    clear();
    for (std::size_t i = 0; i < rows_; ++i) {
      auto const single = demand_[i] > 0 && !columns_.fixed(i);
      inverse_.set_sign(i, single ? 1 : -1);
      enter(i, single ? static_cast<variable>(i) : surplus(i));
    }
    set_base(budget_.spent());
  }
  /// Begins with these variables, where they are independent, and completes them by surplus.
  void install(std::vector<variable> wanted) {
    auto const begin = budget_.spent();
    clear();
    for (std::size_t i = 0; i < rows_; ++i) enter(i, surplus(i));
    std::vector<char> open(rows_, 1);
    std::erase_if(wanted, [&](variable v) { return v < 0 && (open[row_of(v)] = 0, true); });
    order_.clear();
    for (auto const v : wanted) {
      auto before = ~std::uint32_t{0};
      for (auto const i : columns_[index(v)])
        if (open[i] != 0 && std::exchange(before, i) != i) order_.add(i);
      order_.end_column();
    }
    order_.set(rows_);
    for (std::size_t i = 0; i < rows_; ++i)
      if (open[i] == 0) {
        order_.occupy(i);
        inverse_.keep(i);
      }
    auto const put = [&](std::size_t r, variable v) {
      inverse_.factor(r, direction_);
      place(basis_[r], nowhere);
      enter(r, v);
    };
    for (auto const& [c, r] : order_.singles()) {
      set_column(wanted[c]);
      put(r, wanted[c]);
    }
    for (auto const c : order_.middle()) {
      if (!budget_.allows()) break;
      set_column(wanted[c]);
      budget_.spend(inverse_.reduce(direction_) + rows_);
      round_direction();
      auto const r = row_for_direction();
      if (r == rows_ || magnitude(direction_[r]) < 1e-9) continue;
      order_.occupy(r);
      put(r, wanted[c]);
    }
    budget_.spend(6 * order_.entries() + rows_ * order_.singles().size() / 2);
    set_base(begin);
  }

  [[nodiscard]] std::vector<variable> const& basis() const noexcept { return basis_; }
  [[nodiscard]] std::vector<double> const& duals() const noexcept { return dual_; }
  [[nodiscard]] double x(std::size_t r) const { return x_[r]; }
  [[nodiscard]] bool is_basic(variable v) const { return (v < 0 ? surplus_at_[row_of(v)] : at_[index(v)]) != nowhere; }
  /// The number of packs.
  [[nodiscard]] double packs() const {
    double sum = 0;
    for (std::size_t r = 0; r < rows_; ++r) sum += basis_[r] >= 0 ? x_[r] : 0;
    return sum;
  }
  /// 1 minus the value of a pattern under the dual values.
  [[nodiscard]] double reduced_cost(variable v) const {
    if (v < 0) return dual_[row_of(v)];
    double cost = 1;
    for (auto const i : columns_[index(v)]) cost -= dual_[i];
    return cost;
  }
  /// Takes over columns that were added.
  void grow() { at_.resize(columns_.size(), nowhere); }
  /// Takes over the new numbers of columns; basic columns must be kept.
  void renumber(std::vector<std::int32_t> const& number) {
    for (auto& v : basis_)
      if (v >= 0) v = number[index(v)];
    at_.assign(columns_.size(), nowhere);
    for (std::size_t r = 0; r < rows_; ++r)
      if (basis_[r] >= 0) at_[index(basis_[r])] = static_cast<std::int32_t>(r);
  }

  /// The dual method: pivots until no x is negative and no fixed column is positive. False if it gives up; `restart` then.
  [[nodiscard]] bool make_feasible(std::uint64_t end) {
    set_solution();
    for (std::size_t trial = 0; trial < 4 * rows_ + 200 && budget_.allows(end); ++trial) {
      if (is_long()) reinvert();
      auto r = rows_;
      double worst = 1e-8;
      for (std::size_t i = 0; i < rows_; ++i) {
        auto const wrong = x_[i] < 0 ? -x_[i] : is_fixed(basis_[i]) ? x_[i] : 0;
        if (wrong <= worst) continue;
        worst = wrong;
        r = i;
      }
      if (r == rows_) return true;
      set_row(r);
      auto const sign = x_[r] < 0 ? -1.0 : 1.0;
      for (auto& entry : row_) entry *= sign;
      auto const entering = least_ratio();
      if (entering == none) return false;
      auto const cost = reduced_cost(entering);
      set_direction(entering);
      if (magnitude(direction_[r]) < 1e-9) return false;
      pivot(r, entering, sign * cost / direction_[r]);
    }
    return false;
  }

  enum class outcome : std::uint8_t { optimal, failed, spent };
  /// The primal method: pivots until no column improves the solution.
  [[nodiscard]] outcome improve(std::uint64_t end) {
    set_weights();
    for (std::size_t trial = 0, most = 200 * rows_ + 20'000; trial < most;) {
      set_costs();
      for (; trial < most; ++trial) {
        if (!budget_.allows(end)) return outcome::spent;
        auto const entering = best_price();
        if (entering == none) return outcome::optimal;
        auto const cost = reduced_cost(entering);
        if (cost > -least_cost) {
          cost_of(entering) = cost;
          continue;
        }
        set_direction(entering);
        auto const r = leaving();
        if (r == rows_) return outcome::failed;
        exchange(r, entering, cost);
        if (is_long()) {
          reinvert();
          break;
        }
      }
    }
    return outcome::failed;
  }

 private:
  static constexpr std::int32_t nowhere = -1;
  static constexpr variable none = (std::numeric_limits<variable>::min)();
  static constexpr double least_cost = 1e-8;

  [[nodiscard]] static variable surplus(std::size_t i) { return -1 - static_cast<variable>(i); }
  [[nodiscard]] static std::size_t row_of(variable v) { return static_cast<std::size_t>(-1 - v); }
  [[nodiscard]] static std::size_t index(variable v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] static double magnitude(double v) { return v < 0 ? -v : v; }
  [[nodiscard]] bool is_fixed(variable v) const { return v >= 0 && columns_.fixed(index(v)); }
  [[nodiscard]] bool may_enter(std::size_t j) const { return at_[j] == nowhere && !columns_.fixed(j); }
  [[nodiscard]] double& cost_of(variable v) { return v < 0 ? surplus_cost_[row_of(v)] : cost_[index(v)]; }
  [[nodiscard]] double& weight_of(variable v) { return v < 0 ? surplus_weight_[row_of(v)] : weight_[index(v)]; }

  void clear() {
    inverse_.clear();
    at_.assign(columns_.size(), nowhere);
    std::fill(surplus_at_.begin(), surplus_at_.end(), nowhere);
  }
  void place(variable v, std::int32_t r) { (v < 0 ? surplus_at_[row_of(v)] : at_[index(v)]) = r; }
  void enter(std::size_t r, variable v) {
    basis_[r] = v;
    place(v, static_cast<std::int32_t>(r));
  }
  // Solves with an inverse that was computed since the work was `begin`.
  void set_base(std::uint64_t begin) {
    set_solution();
    set_duals();
    budget_.spend(24 * rows_);
    anew_ = budget_.spent() - begin;
    excess_ = 0;
  }
  void set_solution() {
    x_ = demand_;
    budget_.spend(inverse_.multiply(x_));
  }
  void set_duals() {
    for (std::size_t r = 0; r < rows_; ++r) dual_[r] = basis_[r] >= 0 ? 1 : 0;
    budget_.spend(inverse_.multiply_from_left(dual_));
  }
  [[nodiscard]] bool is_long() const { return excess_ > anew_; }
  void reinvert() { install(basis_); }

  // row_ = row r of the inverse
  void set_row(std::size_t r) {
    std::fill(row_.begin(), row_.end(), 0.0);
    row_[r] = 1;
    budget_.spend(inverse_.multiply_from_left(row_));
  }
  // direction_ = inverse * column
  void set_direction(variable v) {
    set_column(v);
    budget_.spend(inverse_.multiply(direction_));
    round_direction();
  }
  void set_column(variable v) {
    std::fill(direction_.begin(), direction_.end(), 0.0);
    if (v < 0)
      direction_[row_of(v)] = -1;
    else
      for (auto const i : columns_[index(v)]) direction_[i] += 1;
  }
  void round_direction() {
    for (auto& d : direction_)
      if (magnitude(d) < 1e-13) d = 0;
  }
  // The free row of fewest columns among those with the largest entries of direction_; rows_ if no row is free.
  [[nodiscard]] std::size_t row_for_direction() const {
    double most = 0;
    for (std::size_t i = 0; i < rows_; ++i)
      if (order_.free(i)) most = (std::max)(most, magnitude(direction_[i]));
    auto r = rows_;
    for (std::size_t i = 0; i < rows_; ++i)
      if (order_.free(i) && magnitude(direction_[i]) >= most / 8 && (r == rows_ || order_.columns(i) < order_.columns(r))) r = i;
    return r;
  }
  // Replaces the variable of row r by that of direction_; dual values change by `step` times row_.
  void pivot(std::size_t r, variable entering, double step) {
    add_multiple(dual_.data(), row_.data(), step, rows_);
    auto const value = x_[r] / direction_[r];
    add_multiple(x_.data(), direction_.data(), -value, rows_);
    x_[r] = value;
    inverse_.pivot(r, direction_);
    place(basis_[r], nowhere);
    enter(r, entering);
    excess_ += 2 * inverse_.added();
    budget_.spend(2 * rows_);
  }

  // The ratio test of the dual method over row_: the variable that enters, or none.
  [[nodiscard]] variable least_ratio() {
    auto entering = none;
    double best = (std::numeric_limits<double>::max)(), pivot = 0;
    auto const offer = [&](double part, double cost, variable v) {
      auto const ratio = (std::max)(cost, 0.0) / part;
      if (ratio >= best - 1e-10 && (ratio >= best + 1e-10 || part <= pivot)) return;
      best = (std::min)(best, ratio);
      pivot = part;
      entering = v;
    };
    for (std::size_t j = 0; j < at_.size(); ++j) {
      if (!may_enter(j)) continue;
      double part = 0, cost = 1;
      for (auto const i : columns_[j]) {
        part += row_[i];
        cost -= dual_[i];
      }
      if (part > 1e-7) offer(part, cost, static_cast<variable>(j));
    }
    for (std::size_t i = 0; i < rows_; ++i)
      if (surplus_at_[i] == nowhere && row_[i] < -1e-7) offer(-row_[i], dual_[i], surplus(i));
    budget_.spend(2 * columns_.entries() + 3 * rows_);
    return entering;
  }

  // Weights of 1.
  void set_weights() {
    weight_.assign(at_.size(), 1);
    surplus_weight_.assign(rows_, 1);
  }
  // Reduced costs.
  void set_costs() {
    cost_.assign(at_.size(), 0);
    surplus_cost_.assign(rows_, 0);
    for (std::size_t j = 0; j < at_.size(); ++j)
      if (may_enter(j)) cost_[j] = reduced_cost(static_cast<variable>(j));
    for (std::size_t i = 0; i < rows_; ++i)
      if (surplus_at_[i] == nowhere) surplus_cost_[i] = dual_[i];
    budget_.spend(columns_.entries() + rows_);
  }
  // The variable of largest squared cost over weight, or none.
  [[nodiscard]] variable best_price() {
    auto entering = none;
    double best = 0;
    auto const offer = [&](double cost, double weight, variable v) {
      auto const price = cost * cost;
      if (price <= best * weight) return;
      best = price / weight;
      entering = v;
    };
    for (std::size_t j = 0; j < at_.size(); ++j)
      if (cost_[j] < -least_cost && at_[j] == nowhere) offer(cost_[j], weight_[j], static_cast<variable>(j));
    for (std::size_t i = 0; i < rows_; ++i)
      if (surplus_cost_[i] < -least_cost && surplus_at_[i] == nowhere) offer(surplus_cost_[i], surplus_weight_[i], surplus(i));
    budget_.spend((at_.size() + rows_) / 2);
    return entering;
  }
  // The ratio test of the primal method over direction_: the row whose variable leaves, or rows_. Fixed columns leave first.
  [[nodiscard]] std::size_t leaving() const {
    auto r = rows_;
    double least = (std::numeric_limits<double>::max)();
    for (std::size_t i = 0; i < rows_; ++i) {
      auto const part = direction_[i], size = magnitude(part);
      auto const fixed = is_fixed(basis_[i]);
      if (fixed ? size <= 1e-7 : part <= 1e-8) continue;
      auto const ratio = fixed ? 0 : (std::max)(x_[i], 0.0) / part;
      if (ratio >= least - 1e-12 && (ratio > least + 1e-12 || (r != rows_ && size <= magnitude(direction_[r])))) continue;
      least = ratio;
      r = i;
    }
    return r;
  }
  // Pivots, and updates costs and weights.
  void exchange(std::size_t r, variable entering, double cost) {
    auto const out = basis_[r];
    auto const share = 1 / direction_[r], weight = weight_of(entering);
    set_row(r);
    for (auto& entry : row_) entry *= share;
    part_.assign(at_.size(), 0);
    for (std::size_t j = 0; j < at_.size(); ++j) {
      if (!may_enter(j)) continue;
      double part = 0;
      for (auto const i : columns_[j]) part += row_[i];
      part_[j] = part;
      if (part != 0) weight_[j] = (std::max)(weight_[j], part * part * weight);
    }
    add_multiple(cost_.data(), part_.data(), -cost, part_.size());
    for (std::size_t i = 0; i < rows_; ++i)
      if (surplus_at_[i] == nowhere && row_[i] != 0) surplus_weight_[i] = (std::max)(surplus_weight_[i], row_[i] * row_[i] * weight);
    add_multiple(surplus_cost_.data(), row_.data(), cost, rows_);
    budget_.spend(columns_.entries() + 4 * rows_);
    pivot(r, entering, cost);
    cost_of(out) = is_fixed(out) ? 0 : -cost * share;
    weight_of(out) = (std::max)(weight * share * share, 1.0);
  }

  pattern_columns& columns_;
  search_budget& budget_;
  std::size_t rows_;
  basis_inverse inverse_;
  pivot_order order_;  // of the basis that was factored
  std::vector<double> x_, dual_, demand_, shift_, direction_, row_;
  std::vector<variable> basis_;                                               // variable of each row
  std::vector<std::int32_t> surplus_at_, at_;                                 // row of each variable in the basis
  std::vector<double> cost_, weight_, surplus_cost_, surplus_weight_, part_;  // of the primal method
  std::uint64_t anew_ = 0, excess_ = 0;  // work to compute the inverse anew, and that pivots since then have added
};

}  // namespace ballast::inline v0_2::detail
