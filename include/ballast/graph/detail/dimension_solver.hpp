// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/graph/detail/narrow_ranges.hpp>
#include <ballast/graph/detail/rewriting.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Equalities of dimensions, solved by substitution and completion. Private.

namespace ballast::inline v0_2::detail {

template <class = when_called>
class dimension_solver {
 public:
  std::vector<dimension> dimensions;
  std::vector<symbolic> solved;   // over the dimensions that are not solved themselves
  std::vector<symbolic> pending;  // polynomials that are 0, over the same dimensions
  std::vector<new_dimension> introduced;

  dimension_solver(std::span<dimension const> declared, std::span<symbolic const> zeros)
      : dimensions(declared.begin(), declared.end()), pending(zeros.begin(), zeros.end()), known_(pending) {
    for (std::size_t d = 0; d < dimensions.size(); ++d) solved.push_back(symbolic::of(d));
  }
  /// Returns false if no values can make all polynomials 0.
  bool solve() {
    for (bool changed = true; changed;) {
      changed = false;
      if (!narrow()) return false;
      for (std::size_t d = 0; d < dimensions.size(); ++d)
        if (dimensions[d].low == dimensions[d].high && in_basis(d)) changed = replace(d, dimensions[d].low) || changed;
      for (std::size_t i = 0; i < pending.size();) {
        if (!divide_by_common(pending[i], dimensions)) return false;
        auto const trivial = pending[i].terms().empty();
        if (trivial || isolate(i) || parametrise(i)) {
          changed = changed || !trivial;
          pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
        } else
          ++i;
      }
      if (!changed) changed = complete();
    }
    return true;
  }

 private:
  [[nodiscard]] bool in_basis(std::size_t d) const { return solved[d] == symbolic::of(d); }
  // Narrows ranges through all that is known, until nothing changes or 64 rounds are over.
  bool narrow() {
    auto zeros = known_;
    zeros.insert(zeros.end(), pending.begin(), pending.end());
    for (std::size_t d = 0; d < solved.size(); ++d)
      if (!in_basis(d)) zeros.push_back(symbolic::of(d) - solved[d]);
    bool changed = true;
    for (int round = 0; round < 64 && changed; ++round) {
      changed = false;
      for (auto const& z : zeros) {
        auto const after = narrow_ranges(z, {0, 0}, dimensions);
        if (after == narrowing::empty) return false;
        changed = changed || after == narrowing::changed;
      }
    }
    return true;
  }
  // Replaces a dimension by a polynomial everywhere; returns false, with nothing changed, if a coefficient would be too large.
  bool replace(std::size_t d, symbolic const& by) {
    std::vector<std::pair<symbolic*, symbolic>> next;
    try {
      for (auto* const list : {&solved, &pending})
        for (auto& p : *list)
          if (uses_dimension(p, d)) next.emplace_back(&p, p.substitute(d, by));
    } catch (invalid_input const&) {
      return false;
    }
    for (auto& [p, with] : next) *p = std::move(with);
    return true;
  }
  // Solves pending[at] for a dimension that it contains once, alone, with coefficient 1 or -1.
  bool isolate(std::size_t at) {
    auto const& zero = pending[at];
    std::optional<std::size_t> best;
    bool best_is_sum = false;
    symbolic by;
    for (auto const& t : zero.terms()) {
      if ((t.coefficient != 1 && t.coefficient != -1) || degree(t.powers) != 1) continue;
      auto const d = t.powers.size() - 1;
      auto const rest = t.coefficient > 0 ? symbolic::of(d) - zero : symbolic::of(d) + zero;
      auto const is_sum = std::all_of(rest.terms().begin(), rest.terms().end(), [](auto const& r) { return r.coefficient > 0; });
      if (uses_dimension(rest, d) || (best && (is_sum != best_is_sum ? best_is_sum : *best > d))) continue;
      best = d;
      best_is_sum = is_sum;
      by = rest;
    }
    return best && replace(*best, by);
  }
  // Replaces pending[at], if it is a x + b y + c, by two polynomials that make x and y multiples of a new dimension.
  bool parametrise(std::size_t at) {
    constexpr auto most = std::int64_t{1} << 31;  // products of two coefficients fit
    auto const zero = pending[at];
    std::int64_t c = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> linear;
    for (auto const& t : zero.terms()) {
      if (degree(t.powers) > 1 || t.coefficient > most || t.coefficient < -most) return false;
      if (t.powers.empty())
        c = t.coefficient;
      else
        linear.emplace_back(t.powers.size() - 1, t.coefficient);
    }
    if (linear.size() != 2) return false;
    auto const [y, b] = linear[0];
    auto const [x, a] = linear[1];  // terms are in order of their powers: the dimension declared first comes last
    auto const step = b < 0 ? -b : b;
    if (step == 1 || a == 1 || a == -1) return false;
    auto const residue = [step](std::int64_t value) { return (value % step + step) % step; };
    auto r = std::pair(step, residue(a)), s = std::pair(std::int64_t{0}, std::int64_t{1});  // s.first becomes the inverse of a
    while (r.second != 0) {
      auto const q = r.first / r.second;
      r = {r.second, r.first - q * r.second};
      s = {s.second, s.first - q * s.second};
    }
    auto const offset = residue(residue(-c) * residue(s.first));  // the least x from 0 up for which y is an integer
    auto const low = divide_up((std::max)(std::int64_t{0}, dimensions[x].low - offset), step);
    auto const high = dimensions[x].high < offset ? -1 : (dimensions[x].high - offset) / step;
    if (low > high) {
      pending.emplace_back(1);  // a constant, which is never 0
      return true;
    }
    auto const k = symbolic::of(dimensions.size());
    auto const by_x = symbolic(offset) + symbolic(step) * k;
    symbolic by_y;
    auto const total = symbolic(-c) - symbolic(a) * by_x;
    for (auto const& t : total.terms()) by_y = by_y + symbolic::monomial(t.powers, t.coefficient / b);
    auto const& name = dimensions[x].name;
    auto text = (offset == 0 ? name : "(" + name + "-" + std::to_string(offset) + ")") + "/" + std::to_string(step);
    dimensions.push_back({std::move(text), low, high});
    solved.push_back(k);
    introduced.push_back({static_cast<std::uint32_t>(x), offset, step});
    pending.push_back(symbolic::of(x) - by_x);
    pending.push_back(symbolic::of(y) - by_y);
    return true;
  }
  // Rewrites the polynomials by each other, and adds combinations in which leading terms cancel. Returns whether anything changed.
  bool complete() {
    constexpr std::size_t most = 64;  // polynomials, and terms in one
    std::vector<rewriting> rules(pending.begin(), pending.end());
    try {
      for (std::size_t i = 0; i < rules.size() && steps_ < 4096; ++i) {
        ++steps_;
        auto others = rules;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        auto next = rewritten(pending[i], others);
        if (next == pending[i] || next.terms().size() > most) continue;
        pending[i] = std::move(next);
        return true;
      }
      for (std::size_t i = 0; i < rules.size(); ++i)
        for (std::size_t j = 0; j < i && rules.size() < most && steps_ < 4096; ++j) {
          auto const combined = cancelled(rules[i], rules[j]);
          if (!combined) continue;
          ++steps_;
          auto next = rewritten(*combined, rules);
          if (next.terms().empty() || next.terms().size() > most) continue;
          pending.push_back(std::move(next));
          return true;
        }
    } catch (invalid_input const&) {
      return false;  // a coefficient is too large: the rules stay as they are
    }
    return false;
  }

  std::vector<symbolic> known_;  // as given
  std::size_t steps_ = 0;
};

}  // namespace ballast::inline v0_2::detail
