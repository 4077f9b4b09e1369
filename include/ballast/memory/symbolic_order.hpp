// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/detail/region_planner.hpp>
#include <ballast/memory/region_orders.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_regions`: orders the operators of a graph once, before the dimensions of batches are known.

namespace ballast::inline v0_2 {

/// @brief How many regions `plan_regions` makes, and where.
struct region_options {
  std::size_t regions = 256;   ///< largest number of regions, at least 1
  std::size_t samples = 4096;  ///< number of batches, at least 1, where it looks for regions
  std::uint64_t seed = 1;      ///< seed of the batches that are drawn
  std::span<std::vector<std::int64_t> const>
      likely{};  ///< batches that are likely: values of all dimensions; they are samples before others
};

namespace detail {

// Batches where regions are looked for, and the product of dimensions that all sizes may depend on.

/// The sum of all sizes. Throws unless they are within [0, 2^62), also together.
template <class = when_called>
[[nodiscard]] symbolic total_size(basic_graph<symbolic> const& g, std::span<dimension const> dimensions) {
  symbolic total;
  auto const add = [&](symbolic const& size, char const* what, std::size_t i) {
    require(size.bounds(dimensions).low >= 0,
            [&] { return sentence(what, "[", i, "] holds ", to_string(size, dimensions), ", which is not proven not to be negative"); });
    total = total + size;
  };
  for (std::size_t t = 0; t < g.tensors.size(); ++t) add(g.tensors[t].bytes, "tensors", t);
  for (std::size_t v = 0; v < g.size(); ++v) add(g.operators[v].workspace, "operators", v);
  require(total.bounds(dimensions).high < std::int64_t{1} << 62, [] { return "the sizes of a graph together reach 2^62"; });
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
              [&] { return sentence("likely[", i, "] has no value within the range of ", dimensions[d].name); });
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

}  // namespace detail

/// @brief Orders the operators of a graph whose sizes are polynomials over dimensions, once for each region of dimensions.
///
/// Within a region, list scheduling (of the ready operators always the one that adds the least memory, then the first) compares the same
/// net changes with the same results, so it makes the same order. The schedule is made symbolically: comparisons that have one result
/// within the ranges are decided by bounds; at the first that has two, the region is divided by the sign of the difference, and its ranges
/// are narrowed on both sides. If all sizes are polynomials in one product of dimensions, such as n = batch * length, then the regions are
/// ranges of n. Regions are made where batches are: a drawn or likely sample is in each of them. The region with most samples is divided
/// first. When the largest number of regions is reached, the remaining comparisons are answered by a sample of the region, and the region
/// is not called decided.
///
/// @tparam Improve  a callable from `graph` to an order of its operators (`std::vector<std::uint32_t>`), or `std::nullptr_t` for none
/// @param g           a valid graph; its sizes are not negative within the ranges
/// @param dimensions  ranges of all dimensions
/// @param options     number of regions and samples
/// @param improve     makes an order for one batch, for instance by search. It is called for up to three samples of each region; of these
/// orders and the list, the region has the one whose peaks are the least for up to eight of its samples, each relative to the least peak
/// for this sample. The order is then no longer that of the list, decided or not.
/// @param limits      work, stop and clock; `gap` is not used
/// @return the orders, and the tree that picks one
/// @throws invalid_input if the graph or a range is not valid, a size uses a dimension without a range, may be negative or brings the sum
/// of all sizes to 2^62, options are 0, a likely batch is out of range, or `improve` returns something else than an order
/// @par Complexity
/// At most `regions` lists of O((operators + inputs) log operators + steps * distinct net changes that are ready), bounds of the distinct
/// differences in each, and up to three calls of `improve` in each.
/// @par Determinism
/// A pure function of the arguments, unless a stop or the clock ended it.
/// @par Source
/// The symbolic operator scheduling of BladeDISC++, arXiv 2412.16985, which falls back to a structural rule where a comparison is unknown;
/// this library divides into regions instead.
template <class Improve = std::nullptr_t>
[[nodiscard]] region_orders plan_regions(basic_graph<symbolic> const& g, std::span<dimension const> dimensions,
                                         region_options const& options = {}, Improve const& improve = nullptr,
                                         search_limits const& limits = {}) {
  require_valid(g);
  require(options.regions > 0 && options.samples > 0, [] { return "plan_regions: regions and samples must be at least 1"; });
  auto const total = detail::total_size(g, dimensions);
  region_orders out;
  out.dimensions.assign(dimensions.begin(), dimensions.end());
  auto samples = detail::region_samples(dimensions, options.samples, options.seed, options.likely);
  std::sort(samples.begin(), samples.end(), [&](auto const& a, auto const& b) {  // so that the middle of some is one of middle size
    auto const of_a = total(a), of_b = total(b);
    return of_a != of_b ? of_a < of_b : a < b;
  });
  auto const one = detail::single_product(g, dimensions);
  auto const plan = [&](basic_graph<symbolic> const& over, std::span<dimension const> ranges) {
    for (auto& s : samples) {
      std::vector<std::int64_t> known;
      known.reserve(out.quantities.size());
      for (auto const& q : out.quantities) known.push_back(q(s));
      s = std::move(known);
    }
    detail::region_planner planner(over, ranges, std::move(samples), options.regions, limits);
    planner.plan(improve);
    out.orders = std::move(planner.orders);
    out.nodes = std::move(planner.nodes);
    out.complete = planner.complete;
  };
  if (one) {
    out.quantities.push_back(symbolic::monomial(*one, 1));
    auto const range = out.quantities[0].bounds(dimensions);
    dimension const product{to_string(out.quantities[0], dimensions), range.low, range.high};
    plan(map_sizes(g, [&](symbolic const& size) { return detail::over_product(size, *one); }), {&product, 1});
  } else {
    for (std::size_t d = 0; d < dimensions.size(); ++d) out.quantities.push_back(symbolic::of(d));
    plan(g, dimensions);
  }
  return out;
}

}  // namespace ballast::inline v0_2
