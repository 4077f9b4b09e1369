// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Batches where regions are looked for, and the product of dimensions that all sizes may depend on. Private.

namespace ballast::inline v0_2::detail {

/// The sum of all sizes. Throws unless they are within [0, 2^62), also together.
template <class = when_called>
[[nodiscard]] symbolic total_size(basic_graph<symbolic> const& g, std::span<dimension const> dimensions) {
  symbolic total;
  auto const add = [&](symbolic const& size, char const* what, std::size_t i) {
    require(size.bounds(dimensions).low >= 0, [&] {
      return std::string(what) + "[" + std::to_string(i) + "] holds " + to_string(size, dimensions) +
             ", which is not proven not to be negative";
    });
    total = total + size;
  };
  for (std::size_t t = 0; t < g.tensors.size(); ++t) add(g.tensors[t].bytes, "tensors", t);
  for (std::size_t v = 0; v < g.size(); ++v) add(g.operators[v].workspace, "operators", v);
  require(total.bounds(dimensions).high < std::int64_t{1} << 62, [] { return std::string("the sizes of a graph together reach 2^62"); });
  return total;
}

/// Likely batches, then corners, then batches that are drawn, half of them uniformly and half uniformly in their number of digits.
template <class = when_called>
[[nodiscard]] std::vector<std::vector<std::int64_t>> region_samples(std::span<dimension const> dimensions, std::size_t count,
                                                                    std::uint64_t seed, std::span<std::vector<std::int64_t> const> likely) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::size_t i = 0; i < likely.size() && i < count; ++i) {
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      require(likely[i].size() == dimensions.size() && likely[i][d] >= dimensions[d].low && likely[i][d] <= dimensions[d].high,
              [&] { return "likely[" + std::to_string(i) + "] has no value within the range of " + dimensions[d].name; });
    out.push_back(likely[i]);
  }
  splitmix64 draw(seed);
  auto const between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(high - low) + 1, draw));
  };
  while (out.size() < count) {
    std::vector<std::int64_t> at;
    auto const kind = out.size() - (std::min)(likely.size(), out.size());
    for (auto const& d : dimensions) {
      if (kind < 2) {
        at.push_back(kind == 0 ? d.low : d.high);
      } else if (kind % 2 == 0) {
        at.push_back(between(d.low, d.high));
      } else {
        auto const digits = [](std::int64_t x) { return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(x))); };
        auto const drawn = between(digits(d.low), digits(d.high));
        auto const least = drawn == 0 ? 0 : std::int64_t{1} << (drawn - 1);
        at.push_back(between((std::max)(d.low, least), (std::min)(d.high, least + (least > 0 ? least - 1 : 0))));
      }
    }
    out.push_back(std::move(at));
  }
  return out;
}

/// The product in powers of which all sizes of a graph can be written; none if there is no such product or its values reach 2^62.
template <class = when_called>
[[nodiscard]] std::optional<std::vector<std::uint16_t>> single_product(basic_graph<symbolic> const& g,
                                                                       std::span<dimension const> dimensions) {
  std::optional<std::vector<std::uint16_t>> out;
  auto const fits = [&](symbolic const& size) {
    for (auto const& t : size.terms()) {
      if (t.powers.empty()) continue;
      auto base = t.powers;
      auto const power = std::accumulate(base.begin(), base.end(), std::uint16_t{0}, [](auto a, auto b) { return std::gcd(a, b); });
      for (auto& e : base) e = static_cast<std::uint16_t>(e / power);
      if (out && *out != base) return false;
      out = std::move(base);
    }
    return true;
  };
  for (auto const& t : g.tensors)
    if (!fits(t.bytes)) return std::nullopt;
  for (auto const& o : g.operators)
    if (!fits(o.workspace)) return std::nullopt;
  if (out && symbolic::monomial(*out, 1).bounds(dimensions).high >= std::int64_t{1} << 62) return std::nullopt;
  return out;
}

/// A size as a polynomial in the product, which is dimension 0.
template <class = when_called>
[[nodiscard]] symbolic over_product(symbolic const& size, std::vector<std::uint16_t> const& product) {
  symbolic out;
  auto const last = product.size() - 1;
  for (auto const& t : size.terms())
    out = out + (t.powers.empty() ? symbolic(t.coefficient)
                                  : symbolic::monomial({static_cast<std::uint16_t>(t.powers[last] / product[last])}, t.coefficient));
  return out;
}

}  // namespace ballast::inline v0_2::detail
