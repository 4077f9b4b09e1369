// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
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
/// (devex prices) follows new columns, the dual one a new demand or fixed columns. The inverse of the basis is explicit and dense.
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
        inverse_(rows * rows),
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
      inverse(i)[i] = single ? 1 : -1;
      enter(i, single ? static_cast<variable>(i) : surplus(i));
    }
    pivots_ = 0;
    set_solution();
    set_duals();
  }
  /// Begins with these variables, where they are independent, and completes them by surplus.
  void install(std::vector<variable> wanted) {
    clear();
    for (std::size_t i = 0; i < rows_; ++i) {
      inverse(i)[i] = -1;
      enter(i, surplus(i));
    }
    std::vector<char> open(rows_, 1);
    std::erase_if(wanted, [&](variable v) { return v < 0 && (open[row_of(v)] = 0, true); });
    std::sort(wanted.begin(), wanted.end(), [&](variable a, variable b) {
      auto const na = columns_[index(a)].size(), nb = columns_[index(b)].size();
      return na != nb ? na < nb : a < b;
    });
    for (auto const v : wanted) {
      if (!budget_.allows()) break;
      set_direction(v);
      auto r = rows_;
      for (std::size_t i = 0; i < rows_; ++i)
        if (open[i] != 0 && (r == rows_ || magnitude(direction_[i]) > magnitude(direction_[r]))) r = i;
      if (r == rows_ || magnitude(direction_[r]) < 1e-9) continue;
      pivot(r, v, 0);
      open[r] = 0;
    }
    pivots_ = 0;
    set_solution();
    set_duals();
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
      if (pivots_ > most_pivots) reinvert();
      auto r = rows_;
      double worst = 1e-8;
      for (std::size_t i = 0; i < rows_; ++i) {
        auto const wrong = x_[i] < 0 ? -x_[i] : is_fixed(basis_[i]) ? x_[i] : 0;
        if (wrong <= worst) continue;
        worst = wrong;
        r = i;
      }
      if (r == rows_) return true;
      for (std::size_t k = 0; k < rows_; ++k) row_[k] = x_[r] < 0 ? -inverse(k)[r] : inverse(k)[r];
      auto const entering = least_ratio();
      if (entering == none) return false;
      auto const cost = reduced_cost(entering);
      set_direction(entering);
      if (magnitude(direction_[r]) < 1e-9) return false;
      pivot(r, entering, cost);
    }
    return false;
  }

  enum class outcome : std::uint8_t { optimal, failed, spent };
  /// The primal method: pivots until no column improves the solution.
  [[nodiscard]] outcome improve(std::uint64_t end) {
    auto checked = false;
    for (std::size_t trial = 0, most = 200 * rows_ + 20'000; trial < most;) {
      set_costs();
      for (; trial < most; ++trial) {
        if (!budget_.allows(end)) return outcome::spent;
        auto const entering = best_price();
        if (entering == none) {
          if (checked || pivots_ <= 100) return outcome::optimal;
          checked = true;
          reinvert();
          break;
        }
        auto const cost = reduced_cost(entering);
        if (cost > -least_cost) {
          cost_of(entering) = cost;
          continue;
        }
        set_direction(entering);
        auto const r = leaving();
        if (r == rows_) return outcome::failed;
        exchange(r, entering, cost);
        if (pivots_ > most_pivots) {
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
  static constexpr std::size_t most_pivots = 300;  // before the inverse is computed anew

  [[nodiscard]] static variable surplus(std::size_t i) { return -1 - static_cast<variable>(i); }
  [[nodiscard]] static std::size_t row_of(variable v) { return static_cast<std::size_t>(-1 - v); }
  [[nodiscard]] static std::size_t index(variable v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] static double magnitude(double v) { return v < 0 ? -v : v; }
  [[nodiscard]] double* inverse(std::size_t column) { return inverse_.data() + column * rows_; }
  [[nodiscard]] bool is_fixed(variable v) const { return v >= 0 && columns_.fixed(index(v)); }
  [[nodiscard]] bool may_enter(std::size_t j) const { return at_[j] == nowhere && !columns_.fixed(j); }
  [[nodiscard]] double& cost_of(variable v) { return v < 0 ? surplus_cost_[row_of(v)] : cost_[index(v)]; }
  [[nodiscard]] double& weight_of(variable v) { return v < 0 ? surplus_weight_[row_of(v)] : weight_[index(v)]; }

  void clear() {
    std::fill(inverse_.begin(), inverse_.end(), 0.0);
    at_.assign(columns_.size(), nowhere);
    std::fill(surplus_at_.begin(), surplus_at_.end(), nowhere);
  }
  void place(variable v, std::int32_t r) { (v < 0 ? surplus_at_[row_of(v)] : at_[index(v)]) = r; }
  void enter(std::size_t r, variable v) {
    basis_[r] = v;
    place(v, static_cast<std::int32_t>(r));
  }
  void set_solution() {
    std::fill(x_.begin(), x_.end(), 0.0);
    for (std::size_t k = 0; k < rows_; ++k)
      if (demand_[k] != 0) add_multiple(x_.data(), inverse(k), demand_[k], rows_);
    budget_.spend(rows_ * rows_ / 4);
  }
  void set_duals() {
    for (std::size_t k = 0; k < rows_; ++k) {
      double sum = 0;
      for (std::size_t r = 0; r < rows_; ++r) sum += basis_[r] >= 0 ? inverse(k)[r] : 0;
      dual_[k] = sum;
    }
    budget_.spend(rows_ * rows_ / 2);
  }
  void reinvert() { install(basis_); }

  // direction_ = inverse * column
  void set_direction(variable v) {
    if (v < 0) {
      auto const* const from = inverse(row_of(v));
      for (std::size_t r = 0; r < rows_; ++r) direction_[r] = -from[r];
    } else {
      std::fill(direction_.begin(), direction_.end(), 0.0);
      for (auto const i : columns_[index(v)]) {
        auto const* const from = inverse(i);
        for (std::size_t r = 0; r < rows_; ++r) direction_[r] += from[r];
      }
    }
    budget_.spend(2 * rows_);
  }

  // Replaces the variable of row r by that of direction_.
  void pivot(std::size_t r, variable entering, double cost) {
    auto const share = 1 / direction_[r];
    std::size_t touched = 0;
    for (std::size_t k = 0; k < rows_; ++k) {
      auto* const column = inverse(k);
      row_[k] = column[r] * share;
      if (column[r] == 0) continue;
      ++touched;
      if (magnitude(row_[k]) < 1e-14) row_[k] = 0;
      if (row_[k] != 0) add_multiple(column, direction_.data(), -row_[k], rows_);
      column[r] = row_[k];
    }
    add_multiple(dual_.data(), row_.data(), cost, rows_);
    auto const step = x_[r] * share;
    add_multiple(x_.data(), direction_.data(), -step, rows_);
    x_[r] = step;
    place(basis_[r], nowhere);
    enter(r, entering);
    ++pivots_;
    budget_.spend(touched * rows_ / 3 + rows_);
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

  // Reduced costs, and weights of 1.
  void set_costs() {
    cost_.assign(at_.size(), 0);
    weight_.assign(at_.size(), 1);
    surplus_cost_.assign(rows_, 0);
    surplus_weight_.assign(rows_, 1);
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
    for (std::size_t k = 0; k < rows_; ++k) row_[k] = inverse(k)[r] * share;
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
  std::vector<double> inverse_;  // column after column
  std::vector<double> x_, dual_, demand_, shift_, direction_, row_;
  std::vector<variable> basis_;                                               // variable of each row
  std::vector<std::int32_t> surplus_at_, at_;                                 // row of each variable in the basis
  std::vector<double> cost_, weight_, surplus_cost_, surplus_weight_, part_;  // of the primal method
  std::size_t pivots_ = 0;                                                    // since the inverse was computed
};

}  // namespace ballast::inline v0_2::detail
