// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/version.hpp>
#include <ballast/graph/detail/signed_math.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `symbolic`: sizes and times of a batch that is not known yet, as polynomials over named dimensions, with bounds and comparison.

namespace ballast::inline v0_2 {

/// @brief A number that the batch determines: tokens, tiles, a sum of squares.
struct dimension {
  std::string name;                           ///< name for reports
  std::int64_t low = 1;                       ///< smallest value, not negative
  std::int64_t high = std::int64_t{1} << 20;  ///< largest value, at least `low`
};

/// @brief A dimension k that was added behind others: an earlier dimension equals `offset + step * k`.
struct new_dimension {
  std::uint32_t from = 0;   ///< index of the earlier dimension
  std::int64_t offset = 0;  ///< value of the earlier dimension where k is 0
  std::int64_t step = 1;    ///< positive

  friend constexpr bool operator==(new_dimension const&, new_dimension const&) = default;
};

/// @brief Bounds on a polynomial over the ranges of its dimensions. Both are proven. Both are attained if the polynomial has a degree of at
/// most 2 and, over the integers in the ranges, is monotone in each dimension; beyond degree 2 they often are.
struct symbolic_range {
  std::int64_t low = 0;   ///< lower bound; the smallest 64-bit integer if none was proven
  std::int64_t high = 0;  ///< upper bound; the largest 64-bit integer if none was proven
  friend constexpr bool operator==(symbolic_range const&, symbolic_range const&) = default;
};

/// @brief A polynomial with integer coefficients over dimensions, which are identified by their index.
class symbolic {
 public:
  /// @brief A coefficient times a product of powers.
  struct term {
    std::vector<std::uint16_t> powers;  ///< exponent of each dimension, below 256; no zeros at the end
    std::int64_t coefficient = 0;       ///< coefficient, not 0
    friend bool operator==(term const&, term const&) = default;
  };

  /// @brief A constant. @param value any above -2^63
  symbolic(std::int64_t value = 0) {  // implicit: a number is a polynomial
    if (value != 0) terms_.push_back({{}, value});
  }
  /// @brief The polynomial that equals one dimension. @param index index of the dimension @return the polynomial
  [[nodiscard]] static symbolic of(std::size_t index) {
    symbolic out;
    term t{std::vector<std::uint16_t>(index + 1), 1};
    t.powers[index] = 1;
    out.terms_.push_back(std::move(t));
    return out;
  }
  /// @brief A coefficient times a product of powers. @param powers exponent of each dimension, below 256 @param coefficient above -2^63
  /// @return the polynomial
  [[nodiscard]] static symbolic monomial(std::vector<std::uint16_t> powers, std::int64_t coefficient) {
    while (!powers.empty() && powers.back() == 0) powers.pop_back();
    symbolic out;
    if (coefficient != 0) out.terms_.push_back({std::move(powers), coefficient});
    return out;
  }
  /// @brief The terms, in order of their powers.
  [[nodiscard]] std::span<term const> terms() const& noexcept { return terms_; }
  std::span<term const> terms() const&& = delete;  ///< a view of a temporary would dangle

  /// @brief Sum. @param a any @param b any @return a + b @throws invalid_input if a coefficient reaches 2^63
  friend symbolic operator+(symbolic const& a, symbolic const& b) { return fitting(sum(a, b, 1)); }
  /// @brief Difference. @param a any @param b any @return a - b @throws invalid_input if a coefficient reaches 2^63
  friend symbolic operator-(symbolic const& a, symbolic const& b) { return fitting(sum(a, b, -1)); }
  /// @brief Product. @param a any @param b any @return a * b @throws invalid_input if a coefficient reaches 2^63 or a power 256
  friend symbolic operator*(symbolic const& a, symbolic const& b) { return fitting(product(a, b)); }
  friend bool operator==(symbolic const&, symbolic const&) = default;

  /// @brief Replaces a dimension by a polynomial, for example if two shapes are known to be multiples of each other.
  /// @param index  index of the dimension @param by what it equals @return the polynomial without the dimension, unless `by` has it
  /// @throws invalid_input if a coefficient reaches 2^63
  [[nodiscard]] symbolic substitute(std::size_t index, symbolic const& by) const { return fitting(substituted(index, by)); }

  /// @brief The value of the polynomial for one batch.
  /// @param values  values of all dimensions
  /// @return the value
  /// @throws invalid_input if a dimension has no value or an intermediate result reaches 2^63
  /// @par Complexity
  /// O(terms * powers).
  [[nodiscard]] std::int64_t operator()(std::span<std::int64_t const> values) const {
    std::int64_t out = 0;
    for (auto const& t : terms_) {
      require(t.powers.size() <= values.size(),
              [&] { return sentence("values: ", values.size(), " given, dimension ", t.powers.size() - 1, " is used"); });
      auto product = t.coefficient;
      bool fits = true;
      for (std::size_t d = 0; d < t.powers.size(); ++d)
        for (std::uint16_t e = 0; e < t.powers[d]; ++e) fits = fits && detail::multiply_signed(product, values[d], product);
      fits = fits && detail::add_signed(out, product, out);
      require(fits, [&] { return sentence("coefficient ", t.coefficient, " brings a symbolic value to 2^63 or more"); });
    }
    return out;
  }

  /// @brief Computes bounds on the polynomial.
  ///
  /// The polynomial is expanded around the smallest and around the largest values of the dimensions. In each expansion, the terms of one
  /// sign give a bound on one side. The tighter bound of both expansions is returned. If the terms of both expansions have both signs, the
  /// difference p(x + 1) - p(x) in each dimension is bounded too: if it is never negative, or never positive, the extremes are at the ends
  /// of that dimension's range, and the polynomial without such dimensions is bounded there. That takes up to (d + 2)^2 pairs of expansions
  /// in d dimensions.
  ///
  /// @param dimensions  ranges of all dimensions
  /// @return proven bounds; a bound that does not fit in 64 bits becomes the smallest or largest integer
  /// @throws invalid_input if a dimension has no range or an invalid one
  [[nodiscard]] symbolic_range bounds(std::span<dimension const> dimensions) const {
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      require(dimensions[d].low >= 0 && dimensions[d].low <= dimensions[d].high,
              [&] { return sentence("dimensions[", d, "] (", dimensions[d].name, ") has no range from 0 up"); });
    for (auto const& t : terms_)
      require(t.powers.size() <= dimensions.size(), [&] { return sentence("dimension ", t.powers.size() - 1, " has no range"); });
    return bounded(dimensions, 2);
  }

 private:
  static symbolic fitting(std::optional<symbolic> made) {
    require(made.has_value(), [] { return "a symbolic coefficient reaches 2^63, or a power 256"; });
    return *std::move(made);
  }
  static std::optional<symbolic> sum(symbolic const& a, symbolic const& b, std::int64_t sign) {
    symbolic out;
    std::size_t i = 0, j = 0;
    while (i < a.terms_.size() || j < b.terms_.size()) {
      auto const only_a = j == b.terms_.size() || (i < a.terms_.size() && a.terms_[i].powers < b.terms_[j].powers);
      auto const only_b = i == a.terms_.size() || (j < b.terms_.size() && b.terms_[j].powers < a.terms_[i].powers);
      auto t = only_b ? b.terms_[j] : a.terms_[i];
      if (only_b) t.coefficient *= sign;
      if (!only_a && !only_b && !detail::add_signed(t.coefficient, sign * b.terms_[j].coefficient, t.coefficient)) return std::nullopt;
      if (t.coefficient != 0) out.terms_.push_back(std::move(t));
      i += only_b ? 0U : 1U;
      j += only_a ? 0U : 1U;
    }
    return out;
  }
  static std::optional<symbolic> product(symbolic const& a, symbolic const& b) {
    symbolic out;
    for (auto const& x : a.terms_) {
      symbolic row;  // stays sorted: adding the same powers to all terms keeps their order
      for (auto const& y : b.terms_) {
        term t{x.powers.size() < y.powers.size() ? y.powers : x.powers, 0};
        auto const& shorter = x.powers.size() < y.powers.size() ? x.powers : y.powers;
        for (std::size_t d = 0; d < shorter.size(); ++d) {
          if (t.powers[d] + shorter[d] > 255) return std::nullopt;
          t.powers[d] = static_cast<std::uint16_t>(t.powers[d] + shorter[d]);
        }
        if (!detail::multiply_signed(x.coefficient, y.coefficient, t.coefficient)) return std::nullopt;
        row.terms_.push_back(std::move(t));
      }
      std::sort(row.terms_.begin(), row.terms_.end(), [](term const& s, term const& t) { return s.powers < t.powers; });
      auto next = sum(out, row, 1);
      if (!next) return std::nullopt;
      out = *std::move(next);
    }
    return out;
  }
  [[nodiscard]] std::optional<symbolic> substituted(std::size_t index, symbolic const& by) const {
    std::optional<symbolic> out = symbolic{};
    for (auto const& t : terms_) {
      symbolic rest;
      rest.terms_.push_back(t);
      auto& powers = rest.terms_[0].powers;
      auto const e = index < powers.size() ? powers[index] : std::uint16_t{0};
      if (e != 0) powers[index] = 0;
      while (!powers.empty() && powers.back() == 0) powers.pop_back();
      std::optional<symbolic> whole = std::move(rest);
      for (std::uint16_t k = 0; k < e && whole; ++k) whole = product(*whole, by);
      if (whole) out = sum(*out, *whole, 1);
      if (!whole || !out) return std::nullopt;
    }
    return out;
  }
  // Bounds by expansions and, where these may not be attained, by differences: so many times, of differences too. All dimensions whose
  // direction is known are replaced by their ends together.
  [[nodiscard]] symbolic_range bounded(std::span<dimension const> dimensions, int times) const {
    auto const low = around(dimensions, true), high = around(dimensions, false);
    symbolic_range out{(std::max)(low.first.low, high.first.low), (std::min)(low.first.high, high.first.high)};
    if (times == 0 || low.second || high.second) return out;
    auto least = *this, most = *this;
    auto decided = false;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (std::none_of(terms_.begin(), terms_.end(), [&](term const& t) { return d < t.powers.size() && t.powers[d] != 0; })) continue;
      auto const next = substituted(d, of(d) + 1);
      auto const change = next ? sum(*next, *this, -1) : std::nullopt;
      if (!change) continue;
      std::vector<dimension> inner(dimensions.begin(), dimensions.end());
      if (inner[d].low < inner[d].high) --inner[d].high;
      auto const by = change->bounded(inner, times - 1);
      if (by.low < 0 && by.high > 0) continue;
      auto const rises = by.low >= 0;
      auto lower = least.substituted(d, rises ? dimensions[d].low : dimensions[d].high);
      auto upper = most.substituted(d, rises ? dimensions[d].high : dimensions[d].low);
      if (!lower || !upper) continue;
      least = *std::move(lower);
      most = *std::move(upper);
      decided = true;
    }
    if (!decided) return out;
    return {(std::max)(out.low, least.bounded(dimensions, times - 1).low), (std::min)(out.high, most.bounded(dimensions, times - 1).high)};
  }
  // Bounds from the expansion around the low or high ends of all ranges, and whether all its terms have one sign: then they are attained.
  [[nodiscard]] std::pair<symbolic_range, bool> around(std::span<dimension const> dimensions, bool at_low) const {
    constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
    constexpr symbolic_range unknown{(std::numeric_limits<std::int64_t>::min)(), most};
    std::optional<symbolic> expanded = *this;
    for (std::size_t d = 0; d < dimensions.size() && expanded; ++d) {
      auto const shifted = at_low ? sum(symbolic(dimensions[d].low), of(d), 1) : sum(symbolic(dimensions[d].high), of(d), -1);
      expanded = expanded->substituted(d, *shifted);
    }
    if (!expanded) return {unknown, false};
    symbolic_range out;
    bool rises = false, falls = false;
    for (auto const& t : expanded->terms_) {
      auto extreme = t.coefficient;
      bool fits = true;
      for (std::size_t d = 0; d < t.powers.size(); ++d)
        for (std::uint16_t e = 0; e < t.powers[d]; ++e)
          fits = fits && detail::multiply_signed(extreme, dimensions[d].high - dimensions[d].low, extreme);
      auto const add = [&](std::int64_t& end, std::int64_t none, bool constant) {
        if (end == none || (!constant && (t.coefficient < 0) != (none < 0))) return;
        if (!fits || !detail::add_signed(end, extreme, end)) end = none;
      };
      add(out.low, unknown.low, t.powers.empty());
      add(out.high, unknown.high, t.powers.empty());
      rises = rises || (!t.powers.empty() && t.coefficient > 0);
      falls = falls || (!t.powers.empty() && t.coefficient < 0);
    }
    return {out, !rises || !falls};
  }

  std::vector<term> terms_;
};

/// @brief Compares two polynomials over all values of the dimensions; the result may be that their order is not known.
/// @param a           a polynomial
/// @param b           another
/// @param dimensions  ranges of all dimensions
/// @return less, equivalent or greater if that holds for all values in the ranges; unordered if none of them is proven
/// @throws invalid_input as `symbolic::bounds`, or if a coefficient of the difference reaches 2^63
/// @par Source
/// The symbolic comparison of BladeDISC++, arXiv 2412.16985, section 3, with this library's bounds by expansion and differences.
template <class = when_called>
[[nodiscard]] inline std::partial_ordering compare(symbolic const& a, symbolic const& b, std::span<dimension const> dimensions) {
  auto const difference = (a - b).bounds(dimensions);
  if (difference.low > 0) return std::partial_ordering::greater;
  if (difference.high < 0) return std::partial_ordering::less;
  if (difference.low == 0 && difference.high == 0) return std::partial_ordering::equivalent;
  return std::partial_ordering::unordered;
}

/// @brief Writes a polynomial as text, as in "34 tokens^2 + 5 tiles". @param p the polynomial @param dimensions names of all dimensions
/// @return the text
template <class = when_called>
[[nodiscard]] inline std::string to_string(symbolic const& p, std::span<dimension const> dimensions) {
  std::string out;
  for (auto at = p.terms().rbegin(); at != p.terms().rend(); ++at) {
    auto const negative = at->coefficient < 0;
    out += out.empty() ? (negative ? "-" : "") : negative ? " - " : " + ";
    auto const digits = std::to_string(at->coefficient);
    out += negative ? digits.substr(1) : digits;
    for (std::size_t d = 0; d < at->powers.size(); ++d)
      if (at->powers[d] != 0)
        out += " " + (d < dimensions.size() ? dimensions[d].name : "x" + std::to_string(d)) +
               (at->powers[d] > 1 ? "^" + std::to_string(at->powers[d]) : "");
  }
  return out.empty() ? "0" : out;
}

}  // namespace ballast::inline v0_2
