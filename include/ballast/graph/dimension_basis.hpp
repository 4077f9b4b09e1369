// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/graph/detail/dimension_solver.hpp>
#include <ballast/graph/symbolic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `solve_dimensions`: which dimensions of a batch follow from others, so that sizes that are always equal are written alike.

namespace ballast::inline v0_2 {

/// @brief A statement on dimensions that holds in every batch, such as S0 = 12 S1 or, for a reshape, S0 S1 = S2 S3.
struct dimension_equality {
  symbolic left{};   ///< one side
  symbolic right{};  ///< the other side

  friend bool operator==(dimension_equality const&, dimension_equality const&) = default;
};

/// @brief The dimensions of a batch after their equalities were solved. `solve_dimensions` makes one.
///
/// Polynomials before and after have the same numbering: dimension d is the declared dimension d. Behind the declared dimensions there
/// may be new ones, of which declared dimensions are multiples: 3 S0 = 2 S1 makes S0 = 2 k and S1 = 3 k.
struct dimension_basis {
  /// Whether there are values that satisfy everything: `feasible` (some are known), `infeasible` (there are none) or `unknown`.
  ballast::status status = ballast::status::unknown;
  std::size_t contradiction = 0;        ///< if infeasible: the equality that cannot hold together with those before it
  std::vector<dimension> dimensions{};  ///< declared and new dimensions with the ranges that the equalities leave
  std::vector<symbolic> solved{};       ///< for each dimension, what it equals over the basis; a dimension of the basis equals itself
  std::vector<std::uint32_t> basis{};   ///< the dimensions that determine all others, ascending
  std::vector<dimension_equality> residual{};    ///< what could not be solved, over the basis: `left` is rewritten to `right`
  std::vector<dimension_equality> equalities{};  ///< as they were given
  std::vector<new_dimension> introduced{};       ///< how the new dimensions follow from earlier ones

  /// @brief Number of declared dimensions.
  [[nodiscard]] std::size_t declared() const noexcept { return dimensions.size() - introduced.size(); }

  /// @brief Writes a polynomial over the basis, with residual equalities used from left to right.
  ///
  /// Two polynomials whose difference is a sum of multiples of the equalities become the same, except where a residual equality begins with
  /// a coefficient other than 1 or where there were too many of them to be completed.
  ///
  /// @param p  a polynomial over the dimensions
  /// @return a polynomial that has the same value wherever the equalities hold
  /// @throws invalid_input if a coefficient reaches 2^63
  /// @par Complexity
  /// O(terms of the result of substituting * residual equalities).
  [[nodiscard]] symbolic reduce(symbolic const& p) const {
    auto out = p;
    for (std::size_t d = 0; d < solved.size(); ++d)
      if (detail::uses_dimension(p, d) && solved[d] != symbolic::of(d)) out = out.substitute(d, solved[d]);
    std::vector<detail::rewriting> rules;
    rules.reserve(residual.size());
    for (auto const& r : residual) rules.emplace_back(r.left - r.right);
    return detail::rewritten(std::move(out), rules);
  }

  /// @brief The values of all dimensions in one batch, from those of the basis.
  /// @param values  values of the dimensions of `basis`, in this order
  /// @return values of all dimensions, declared and new
  /// @throws invalid_input if a dimension is outside its range, an equality does not hold or an intermediate result reaches 2^63
  /// @par Complexity
  /// O(terms).
  [[nodiscard]] std::vector<std::int64_t> values(std::span<std::int64_t const> values) const {
    require(values.size() == basis.size(), [&] { return sentence(values.size(), " values for a basis of ", basis.size(), " dimensions"); });
    std::vector<std::int64_t> known(dimensions.size(), 0), out(dimensions.size());
    for (std::size_t i = 0; i < basis.size(); ++i) known[basis[i]] = values[i];
    for (std::size_t d = 0; d < dimensions.size(); ++d) out[d] = solved[d](known);
    require_held(out);
    return out;
  }

  /// @brief The values of the basis in one batch, from those of the declared dimensions.
  /// @param values  values of the declared dimensions
  /// @return values of the dimensions of `basis`, in this order
  /// @throws invalid_input if a dimension is outside its range, an equality does not hold or an intermediate result reaches 2^63
  /// @par Complexity
  /// O(terms).
  [[nodiscard]] std::vector<std::int64_t> basis_values(std::span<std::int64_t const> values) const {
    require(values.size() == declared(), [&] { return sentence(values.size(), " values for ", declared(), " declared dimensions"); });
    std::vector<std::int64_t> all(values.begin(), values.end()), out;
    require_held(all);
    for (auto const& made : introduced) all.push_back((all[made.from] - made.offset) / made.step);
    for (auto const d : basis) out.push_back(all[d]);
    return out;
  }

 private:
  void require_held(std::span<std::int64_t const> values) const {
    for (std::size_t i = 0; i < equalities.size(); ++i) {
      auto const left = equalities[i].left(values), right = equalities[i].right(values);
      require(left == right, [&] {
        auto const side = [&](symbolic const& p, std::int64_t is) { return sentence(to_string(p, dimensions), " = ", is); };
        return sentence("equalities[", i, "] does not hold: ", side(equalities[i].left, left), " and ", side(equalities[i].right, right));
      });
    }
    for (std::size_t d = 0; d < values.size(); ++d)
      require(values[d] >= dimensions[d].low && values[d] <= dimensions[d].high, [&] {
        return sentence(dimensions[d].name, " = ", values[d], " is outside its range from ", dimensions[d].low, " to ", dimensions[d].high);
      });
  }
};

/// @brief Solves equalities of dimensions to a basis.
///
/// An equality that contains a dimension once, alone and with coefficient 1, replaces this dimension everywhere. A linear equality of two
/// dimensions, such as 3 S0 = 2 S1, replaces both by a new one. Common factors are divided out if they cannot be 0. What then remains is
/// kept as rules that rewrite a product to another (S2 S3 to S0 S1). The rules are completed, as far as 64 of them suffice, so that the
/// order in which they are used does not matter. Ranges are narrowed through all equalities: S0 in [24, 120] and S0 = 12 S1 leave S1 in
/// [2, 10].
///
/// @param dimensions  the declared dimensions with their ranges
/// @param equalities  equalities of polynomials over them
/// @return the basis; `infeasible` if narrowed ranges, divisors or completed rules prove that no batch satisfies the equalities within the
/// ranges: it is then the basis of the equalities before the one that contradicts them
/// @throws invalid_input if a dimension has no range from 0 up, or an equality uses a dimension that is not declared
/// @par Complexity
/// O(dimensions * equalities * terms) for relations and products that can be replaced; the completion of rules is limited to 4,096 steps.
/// @par Determinism
/// A pure function of the arguments. Of several dimensions that an equality can replace, the one is replaced that becomes a sum without
/// negative terms, then the one declared last.
/// @par Source
/// The basis of symbolic dimensions of BladeDISC++, arXiv 2412.16985; rules are completed as in Buchberger's algorithm.
template <class = when_called>
[[nodiscard]] dimension_basis solve_dimensions(std::span<dimension const> dimensions, std::span<dimension_equality const> equalities) {
  static_cast<void>(symbolic{}.bounds(dimensions));  // throws for an invalid range
  std::vector<symbolic> zeros;
  for (std::size_t i = 0; i < equalities.size(); ++i) {
    for (auto const* const side : {&equalities[i].left, &equalities[i].right})
      for (auto const& t : side->terms())
        require(t.powers.size() <= dimensions.size(),
                [&] { return sentence("equalities[", i, "] uses dimension ", t.powers.size() - 1, " of ", dimensions.size()); });
    zeros.push_back(equalities[i].left - equalities[i].right);
  }
  detail::dimension_solver solver(dimensions, zeros);
  dimension_basis out;
  out.equalities.assign(equalities.begin(), equalities.end());
  if (!solver.solve()) {  // the first equalities [0, high) contradict each other, those [0, low) are not proven to
    out.status = status::infeasible;
    std::size_t low = 0, high = zeros.size();
    while (high - low > 1) {
      auto const middle = low + (high - low) / 2;
      solver = detail::dimension_solver(dimensions, std::span(zeros).first(middle));
      (solver.solve() ? low : high) = middle;
    }
    out.contradiction = low;
    solver = detail::dimension_solver(dimensions, std::span(zeros).first(low));
    solver.solve();
  }
  out.dimensions = std::move(solver.dimensions);
  out.solved = std::move(solver.solved);
  out.introduced = std::move(solver.introduced);
  for (std::uint32_t d = 0; d < out.solved.size(); ++d)
    if (out.solved[d] == symbolic::of(d)) out.basis.push_back(d);
  for (auto const& zero : solver.pending) {
    detail::rewriting const rule(zero);
    auto const left = symbolic::monomial(rule.powers, rule.coefficient);
    out.residual.push_back({left, left - rule.zero});
  }
  for (auto const at_low : {true, false}) {  // a witness at a corner of the ranges
    std::vector<std::int64_t> corner;
    corner.reserve(out.basis.size());
    for (auto const d : out.basis) corner.push_back(at_low ? out.dimensions[d].low : out.dimensions[d].high);
    if (out.status != status::unknown) break;
    try {
      static_cast<void>(out.values(corner));
      out.status = status::feasible;
    } catch (invalid_input const&) {
      continue;
    }
  }
  return out;
}

/// @brief Narrows the ranges of dimensions to what bounds on a polynomial leave.
/// @param p           a polynomial
/// @param asked       bounds that it is known to keep
/// @param dimensions  ranges of all dimensions, narrowed in place; no values that keep the bounds are lost
/// @return false if no values keep the bounds; the ranges then mean nothing
/// @throws invalid_input as `symbolic::bounds`
/// @par Complexity
/// O(terms^2 * powers), at most 16 times.
/// @par Determinism
/// A pure function of the arguments.
template <class = when_called>
[[nodiscard]] bool narrow_dimensions(symbolic const& p, symbolic_range asked, std::span<dimension> dimensions) {
  auto const range = p.bounds(dimensions);
  if (range.low > asked.high || range.high < asked.low) return false;
  auto after = detail::narrowing::changed;
  for (int round = 0; round < 16 && after == detail::narrowing::changed; ++round)
    after = detail::narrow_ranges(p, {asked.low, asked.high}, dimensions);
  return after != detail::narrowing::empty;
}

BALLAST_INSTANTIATE(dimension_basis solve_dimensions(std::span<dimension const>, std::span<dimension_equality const>))

}  // namespace ballast::inline v0_2
