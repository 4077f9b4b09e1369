// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/detail/region_planner.hpp>
#include <ballast/memory/detail/region_samples.hpp>
#include <ballast/memory/region_orders.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
  require(options.regions > 0 && options.samples > 0, [] { return std::string("plan_regions: regions and samples must be at least 1"); });
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
