// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Polynomials that are 0 in every batch, used to rewrite others. Private.

namespace ballast::inline v0_2::detail {

using exponents = std::vector<std::uint16_t>;

[[nodiscard]] inline bool uses_dimension(symbolic const& p, std::size_t d) {
  return std::any_of(p.terms().begin(), p.terms().end(), [d](auto const& t) { return d < t.powers.size() && t.powers[d] != 0; });
}
[[nodiscard]] inline std::uint64_t degree(exponents const& powers) {
  return std::accumulate(powers.begin(), powers.end(), std::uint64_t{0});
}
/// The order of products that decides which one a rule replaces: by degree, then by the exponents of later dimensions. No zeros at the end.
[[nodiscard]] inline bool replaced_before(exponents const& a, exponents const& b) {
  if (degree(a) != degree(b)) return degree(a) > degree(b);
  if (a.size() != b.size()) return a.size() > b.size();
  return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}
/// The exponents of a / b, if b divides a.
template <class = when_called>
[[nodiscard]] std::optional<exponents> quotient(exponents a, exponents const& b) {
  if (b.size() > a.size()) return std::nullopt;
  for (std::size_t d = 0; d < b.size(); ++d) {
    if (b[d] > a[d]) return std::nullopt;
    a[d] = static_cast<std::uint16_t>(a[d] - b[d]);
  }
  return a;
}

/// A polynomial that is 0 in every batch, with its leading term, which it replaces.
struct rewriting {
  symbolic zero;
  exponents powers;
  std::int64_t coefficient;  // positive

  explicit rewriting(symbolic const& p) : zero(p) {
    auto const lead = std::min_element(p.terms().begin(), p.terms().end(),
                                       [](auto const& s, auto const& t) { return replaced_before(s.powers, t.powers); });
    powers = lead->powers;
    coefficient = lead->coefficient;
    if (coefficient > 0) return;
    zero = symbolic{} - p;
    coefficient = -coefficient;
  }
  /// A multiple of `zero` that has the term `t` up to a remainder of its coefficient from 0 to `coefficient` - 1; none if that changes
  /// nothing.
  [[nodiscard]] std::optional<symbolic> multiple(symbolic::term const& t) const {
    auto const times = t.coefficient / coefficient - (t.coefficient % coefficient < 0 ? 1 : 0);
    if (times == 0) return std::nullopt;
    auto rest = quotient(t.powers, powers);
    if (!rest) return std::nullopt;
    return symbolic::monomial(*std::move(rest), times) * zero;
  }
};

/// Rewrites the terms of a polynomial until no rule applies.
template <class = when_called>
[[nodiscard]] symbolic rewritten(symbolic p, std::span<rewriting const> rules) {
  auto const next = [&]() -> std::optional<symbolic> {  // the term that comes first in the order of products, so that this ends
    std::optional<symbolic> out;
    exponents const* first = nullptr;
    for (auto const& t : p.terms())
      for (auto const& r : rules) {
        if (first != nullptr && !replaced_before(t.powers, *first)) break;
        auto made = r.multiple(t);
        if (!made) continue;
        out = std::move(made);
        first = &t.powers;
      }
    return out;
  };
  if (rules.empty()) return p;
  for (auto change = next(); change; change = next()) p = p - *change;
  return p;
}

/// The combination of two zeros in which their leading terms cancel; none if these have no factor in common.
template <class = when_called>
[[nodiscard]] std::optional<symbolic> cancelled(rewriting const& a, rewriting const& b) {
  exponents of_a((std::max)(a.powers.size(), b.powers.size())), of_b = of_a;
  bool common = false;
  for (std::size_t d = 0; d < of_a.size(); ++d) {
    auto const x = d < a.powers.size() ? a.powers[d] : std::uint16_t{0}, y = d < b.powers.size() ? b.powers[d] : std::uint16_t{0};
    of_a[d] = static_cast<std::uint16_t>((std::max)(x, y) - x);
    of_b[d] = static_cast<std::uint16_t>((std::max)(x, y) - y);
    common = common || (x != 0 && y != 0);
  }
  auto const shared = std::gcd(a.coefficient, b.coefficient);
  if (!common && shared == 1) return std::nullopt;
  return symbolic::monomial(std::move(of_a), b.coefficient / shared) * a.zero -
         symbolic::monomial(std::move(of_b), a.coefficient / shared) * b.zero;
}

/// Divides a zero by the common divisor of its coefficients and by the dimensions that all its terms share and that are never 0. False if
/// it cannot be 0: its constant term is not a multiple of the common divisor of the others.
template <class = when_called>
[[nodiscard]] bool divide_by_common(symbolic& zero, std::span<dimension const> dimensions) {
  if (zero.terms().empty()) return true;
  std::int64_t divisor = 0;
  auto shared = zero.terms().back().powers;
  for (auto const& t : zero.terms()) {
    if (!t.powers.empty()) divisor = std::gcd(divisor, t.coefficient);
    for (std::size_t d = 0; d < shared.size(); ++d) shared[d] = (std::min)(shared[d], d < t.powers.size() ? t.powers[d] : std::uint16_t{0});
  }
  auto const& first = zero.terms().front();
  if (first.powers.empty() && (divisor == 0 || first.coefficient % divisor != 0)) return false;
  for (std::size_t d = 0; d < shared.size(); ++d)
    if (dimensions[d].low == 0) shared[d] = 0;
  while (!shared.empty() && shared.back() == 0) shared.pop_back();
  if (divisor == 1 && shared.empty()) return true;
  symbolic out;
  for (auto const& t : zero.terms()) out = out + symbolic::monomial(*quotient(t.powers, shared), t.coefficient / divisor);
  zero = std::move(out);
  return !zero.terms().front().powers.empty() || zero.terms().size() > 1;  // and no other constant than 0
}

}  // namespace ballast::inline v0_2::detail
