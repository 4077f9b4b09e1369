// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/weights/detail/layout_fronts.hpp>
#include <ballast/weights/detail/layout_prices.hpp>
#include <ballast/weights/detail/layout_search.hpp>
#include <ballast/weights/layout_model.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_layouts`: which weights of a model are split over a group of devices, and how, so that a step is fastest within a memory.

namespace ballast::inline v0_2 {

namespace detail {

/// Plans a chain of blocks by products of the matrices of its blocks.
template <class = when_called>
class layout_planner {
 public:
  layout_planner(layout_chain const& chain, layout_setting const& options) : chain_(chain), options_(options) {
    layout_prices<> const prices(options);
    for (auto const& b : chain.blocks) searches_.emplace_back(b, prices);
  }

  [[nodiscard]] layout_plan plan() {
    layout_plan out;
    for (auto const& s : searches_) out.evaluated += s.evaluated();
    if (chain_.runs.empty()) return {.status = status::feasible};
    layout_products<> corners;
    auto const whole = product(corners);
    auto const corner_points = points_of(corners[whole].points);
    layout_front hull;
    for (auto const h : hull_of<>(corner_points)) hull.push_back(corner_points[h]);
    out.operations = out.evaluated + corners.operations();
    if (hull.empty() || hull[0].bytes > options_.memory) {
      out.shortage = hull.empty() ? 0 : hull[0].bytes - options_.memory;
      return out;
    }
    out.status = status::feasible;
    if (hull.back().bytes <= options_.memory) {  // the fastest layouts fit
      out.time = {hull.back().time, hull.back().time};
      write(corners, whole, hull.back(), out);
      return out;
    }
    std::size_t more = 0;
    while (hull[more].bytes <= options_.memory) ++more;
    auto const &p = hull[more - 1], &q = hull[more];
    layout_products<> near({.less = p, .more = q}, options_.memory, options_.tuning.points);
    auto const all = product(near);
    out.operations += near.operations();
    auto best = hull[more - 1];
    auto const points = points_of(near[all].points);
    for (auto const& each : points)  // ascending bytes, descending time
      if (each.bytes <= options_.memory && each.time <= best.time) best = each;
    out.exact = near.exact();
    out.time = {best.time, out.exact ? best.time : hull_bound(p, q)};
    write(near, all, best, out);
    return out;
  }

 private:
  [[nodiscard]] std::uint32_t product(layout_products<>& into) const {
    std::vector<std::uint32_t> leaves;
    leaves.reserve(searches_.size());
    for (std::uint32_t b = 0; b < searches_.size(); ++b) leaves.push_back(into.add(b, searches_[b].points()));
    auto out = layout_products<>::none;
    for (auto const& r : chain_.runs) {
      auto const power = into.power(leaves[r.block], r.count);
      out = out == layout_products<>::none ? power : into.multiply_nodes(out, power);
    }
    return out;
  }
  /// The best points over all layouts of the input and output of the model: `left` in the entry `middle` of the matrix.
  [[nodiscard]] static layout_front points_of(layout_matrix const& matrix) {
    layout_front out;
    for (std::uint32_t e = 0; e < matrix.size(); ++e)
      for (std::uint32_t i = 0; i < matrix[e].size(); ++i)
        out.push_back({.time = matrix[e][i].time, .bytes = matrix[e][i].bytes, .left = i, .middle = e});
    keep_best(out);
    return out;
  }
  /// Least time at the memory on the line between two corners: no layouts have less, because all points are on or above the hull.
  [[nodiscard]] std::int64_t hull_bound(layout_point const& p, layout_point const& q) const {
    auto const fall = static_cast<std::uint64_t>(p.time - q.time), run = static_cast<std::uint64_t>(options_.memory - p.bytes),
               width = static_cast<std::uint64_t>(q.bytes - p.bytes);
    auto const up = multiply_divide_up(fall, run, width);
    return p.time - static_cast<std::int64_t>(multiply(up, width) == multiply(fall, run) ? up : up - 1);
  }
  void write(layout_products<> const& from, std::uint32_t node, layout_point const& best, layout_plan& out) const {
    out.time.value = best.time;
    out.bytes = best.bytes;
    std::map<std::pair<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>, std::uint32_t> known;
    from.expand(node, best.middle, best.left, [&](std::uint32_t block, std::uint32_t entry, std::uint32_t point) {
      auto const [at, added] = known.emplace(std::pair(block, std::pair(entry, point)), static_cast<std::uint32_t>(known.size()));
      if (added) {
        out.layouts.push_back(searches_[block].layouts_of(entry, point));
        out.layouts.back().block = block;
      }
      if (!out.runs.empty() && out.runs.back().block == at->second)
        ++out.runs.back().count;
      else
        out.runs.push_back({at->second, 1});
    });
  }

  layout_chain const& chain_;
  layout_setting const& options_;
  std::vector<block_layout_search<>> searches_;
};

}  // namespace detail

/// @brief Chooses the layout of each weight of a model on a group of devices, and of each activation between them.
///
/// The time of a step is that of all matrices and attention, divided by the devices unless these do the same, and of all exchanges that
/// computation does not hide: changes of layout in both passes, tokens to experts and back, and gradients of weights that devices use for
/// other tokens. The bytes of a device are states of weights and what is kept for the backward pass. The time is minimised; the bytes are
/// limited by `options.memory`. Without that limit the weights would commonly be replicated.
///
/// Each block is planned once, for each layout of its input and output: all pairs of time and bytes that no other layouts beat in both.
/// Blocks that follow each other are products of such tables, and equal blocks are powers, by squares: the work grows with the logarithm of
/// their number. The corners of the convex hull of these pairs are always exact. They give a lower bound for every memory. Of the other
/// pairs, `options.tuning.points` are kept around the memory; if that is all of them, the plan is optimal (`exact`). Where the fastest
/// layouts fit into the memory, it is always.
///
/// @param chain    the model
/// @param options  devices, tokens, memory, links, and what a plan may use
/// @return the plan; infeasible, with the bytes that are missing, if no layouts fit into the memory
/// @post `check_layouts` accepts the plan
/// @throws invalid_input naming what is out of range, or if a sum reaches 2^62
/// @par Complexity
/// O(blocks x operators x layouts of an operator x pairs) for the blocks, and O(27 points^2 log count) for each run of equal blocks, with
/// as many points more as hulls have corners. Writing the plan takes O(count).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// Planning one of equal subgraphs, and splits of weights: Shi et al., "TAP", arXiv 2302.00247. Splits of a transformer layer: Shoeybi et
/// al., "Megatron-LM", arXiv 1909.08053. Powers over pairs, and the bound, are our own.
template <class = when_called>
[[nodiscard]] layout_plan plan_layouts(layout_chain const& chain, layout_setting const& options) {
  detail::require_valid(options);
  detail::require_valid<>(chain);
  return detail::layout_planner<>(chain, options).plan();
}

BALLAST_INSTANTIATE(layout_plan plan_layouts(layout_chain const&, layout_setting const&))

}  // namespace ballast::inline v0_2
