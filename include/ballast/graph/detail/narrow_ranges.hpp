// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/graph/detail/signed_math.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Ranges of dimensions that a bound on a polynomial leaves. Private.

namespace ballast::inline v0_2::detail {

enum class narrowing : std::uint8_t { same, changed, empty };

/// All integers from low to high; the smallest and the largest integer stand for no bound.
struct span_of_values {
  static constexpr auto least = (std::numeric_limits<std::int64_t>::min)(), most = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t low = least, high = most;

  friend span_of_values operator+(span_of_values a, span_of_values b) {
    span_of_values out;
    if (a.low == least || b.low == least || !add_signed(a.low, b.low, out.low)) out.low = least;
    if (a.high == most || b.high == most || !add_signed(a.high, b.high, out.high)) out.high = most;
    return out;
  }
};

/// The values of a product of powers without the powers of `left_out`; never negative.
template <class = when_called>
[[nodiscard]] span_of_values product_of(std::vector<std::uint16_t> const& powers, std::span<dimension const> dimensions,
                                        std::size_t left_out) {
  span_of_values out{1, 1};
  for (std::size_t d = 0; d < powers.size(); ++d)
    for (int e = d == left_out ? 0 : powers[d]; e > 0; --e) {
      if (!multiply_signed(out.low, dimensions[d].low, out.low)) out.low = 0;
      if (dimensions[d].high == 0)
        out.high = 0;
      else if (out.high == span_of_values::most || !multiply_signed(out.high, dimensions[d].high, out.high))
        out.high = span_of_values::most;
    }
  return out;
}
/// The values of a term.
template <class = when_called>
[[nodiscard]] span_of_values values_of(symbolic::term const& t, std::span<dimension const> dimensions) {
  auto const product = product_of(t.powers, dimensions, t.powers.size());
  span_of_values out;
  auto& of_low = t.coefficient > 0 ? out.low : out.high;
  auto& of_high = t.coefficient > 0 ? out.high : out.low;
  auto const none_low = of_low, none_high = of_high;
  if (!multiply_signed(product.low, t.coefficient, of_low)) of_low = none_low;
  if (product.high == span_of_values::most || !multiply_signed(product.high, t.coefficient, of_high)) of_high = none_high;
  return out;
}
/// The largest integer whose power is at most `value`, not negative.
[[nodiscard]] inline std::int64_t root(std::int64_t value, std::uint16_t power) {
  if (power == 1) return value;
  return first_where(std::int64_t{1}, std::int64_t{1} << 32,
                     [&](std::int64_t root) {
                       std::int64_t raised = 1;
                       bool fits = true;
                       for (int e = 0; e < power && fits; ++e) fits = multiply_signed(raised, root, raised) && raised <= value;
                       return !fits;
                     }) -
         1;
}

/// Narrows the dimension d, of which `t` has a power, given that the term is between the bounds of `target`.
template <class = when_called>
[[nodiscard]] narrowing narrow_dimension(std::size_t d, symbolic::term const& t, span_of_values target, std::span<dimension> dimensions) {
  constexpr auto least = span_of_values::least, most = span_of_values::most;
  auto const size = t.coefficient < 0 ? -t.coefficient : t.coefficient;
  if (t.coefficient < 0) target = {target.high == most ? least : -target.high, target.low == least ? most : -target.low};
  auto const others = product_of(t.powers, dimensions, d);
  auto low = dimensions[d].low, high = dimensions[d].high;
  if (target.high < 0) return narrowing::empty;
  if (target.high != most && others.low > 0) high = (std::min)(high, root(target.high / size / others.low, t.powers[d]));
  if (target.low > 0 && others.high == 0) return narrowing::empty;
  if (target.low > 0 && others.high != most) {
    auto const least_power = ((target.low - 1) / size + 1 - 1) / others.high + 1;  // both quotients rounded up
    low = (std::max)(low, root(least_power - 1, t.powers[d]) + 1);
  }
  if (low > high) return narrowing::empty;
  if (low == dimensions[d].low && high == dimensions[d].high) return narrowing::same;
  dimensions[d].low = low;
  dimensions[d].high = high;
  return narrowing::changed;
}

/// Narrows all dimensions of a polynomial that is between the bounds of `asked`.
template <class = when_called>
[[nodiscard]] narrowing narrow_ranges(symbolic const& p, span_of_values asked, std::span<dimension> dimensions) {
  constexpr auto least = span_of_values::least, most = span_of_values::most;
  auto out = narrowing::same;
  auto const terms = p.terms();
  auto const constant = terms.empty() ? 0 : terms[0].coefficient;
  if (terms.empty() || (terms.size() == 1 && terms[0].powers.empty()))
    return asked.low > constant || asked.high < constant ? narrowing::empty : out;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].powers.empty()) continue;
    span_of_values others{0, 0};
    for (std::size_t j = 0; j < terms.size(); ++j)
      if (j != i) others = others + values_of(terms[j], dimensions);
    auto const target = asked + span_of_values{others.high == most ? least : -others.high, others.low == least ? most : -others.low};
    for (std::size_t d = 0; d < terms[i].powers.size(); ++d) {
      if (terms[i].powers[d] == 0) continue;
      auto const after = narrow_dimension(d, terms[i], target, dimensions);
      if (after == narrowing::empty) return after;
      if (after == narrowing::changed) out = after;
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
