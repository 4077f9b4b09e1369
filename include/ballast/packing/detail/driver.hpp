// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/fit_samples.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/raise_pack_count.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

// The parts that all packers share: validation, padding, the over-size policy, the demanded number of packs and the certificate. A packer
// is a function object that receives `packing_items` and writes packs.

namespace ballast::inline v0_2::detail {

/// Scratch memory of the driver, kept between calls.
template <index_type Index>
struct driver_workspace {
  histogram classes;
  fold_workspace folds;
  std::vector<std::int64_t> weights;
  std::vector<Index> set_aside, alone;
  std::vector<sample_piece> pieces;
  std::int64_t tokens = 0;  ///< tokens that are packed
};

/// The input of a packer: `weight[i]` is in 1 … capacity, or 0 for an item that must not be packed, for i below `count`.
template <class Weights>
struct packing_items {
  Weights weight;             ///< indexable, values convert to std::int64_t
  std::size_t count;          ///< number of items
  std::int64_t capacity;      ///< largest total weight of a pack
  std::uint64_t max_samples;  ///< most items in a pack, at least 1
  histogram& classes;         ///< histogram of the weights that are not 0; if `Solve::unfolded` holds: empty memory for it
  std::uint64_t seed;         ///< for packers that shuffle
};

[[nodiscard]] inline settled_count<packing_bound> judge_count(std::uint64_t found, std::uint64_t items, packs_needed bound,
                                                              packing_options const& o) {
  return judge_count(found, items, bound.packs, bound.bound, o.pack_count_multiple, o.pack_count);
}

/// Raises the number of packs to what the options demand, and sets status and certificate.
template <index_type Index, class Weight>
void settle_count(packing<Index>& out, packs_needed bound, packing_options const& o, Weight const& weight) {
  auto const verdict = judge_count(out.packs.size(), out.packs.members.size(), bound, o);
  out.status = verdict.status;
  out.count = verdict.count;
  out.bound = verdict.bound;
  if (verdict.status == status::feasible) {
    (void)raise_pack_count(out.packs, static_cast<std::size_t>(verdict.count.value), weight);
  } else {
    out.packs.clear();
    out.tokens = 0;
  }
}

/// Weighs all items, with 0 for items that are not packed with others, and folds the weights. Returns true if the lengths are the weights:
/// then no weights are written, and folding the lengths has validated them. Items are not folded where `unfolded(count, heaviest)` holds.
template <index_type Index, length_range R, cost_model Cost, class Unfolded>
[[nodiscard]] bool weigh_items(R const& lengths, packing_options const& o, Cost const& cost, Unfolded const& unfolded,
                               driver_workspace<Index>& ws) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  auto const as_they_are = std::same_as<Cost, token_cost> && o.sample_multiple == 1;
  auto const largest = largest_item(o);
  ws.classes.clear();
  if (as_they_are && !unfolded(n, largest) &&
      fold_by_table(length_at, n, (std::min)(largest, longest_for_a_table(n)), false, ws.classes, memory_of(ws.folds).table)) {
    ws.tokens = ws.classes.tokens();
    return true;
  }
  auto const whole = extent_of(lengths);
  ws.tokens = whole.tokens;
  if (as_they_are && whole.longest <= largest) {
    if (!unfolded(n, whole.longest)) fold(length_at, n, whole.longest, ws.classes, ws.folds);
    return true;
  }
  ws.weights.assign(n, 0);
  std::int64_t heaviest = 0;
  cost_sum sum;
  ws.tokens -= fit_samples(length_at, n, o, cost, ws, [&](std::size_t item, std::size_t sample, std::int64_t, std::int64_t size) {
    auto const weight = round_up(size, o.sample_multiple);
    if (item < n)
      ws.weights[item] = weight;
    else
      ws.weights.push_back(weight);
    heaviest = (std::max)(heaviest, weight);
    sum.add(weight, [&] { return name_length(length_at, sample); });
  });
  auto const items = ws.weights.size();
  if (!unfolded(items, heaviest)) fold(std::as_const(ws.weights).data(), items, heaviest, ws.classes, ws.folds);
  return false;
}

/// The return value of a packer that computes a lower bound itself.
struct solved {
  packs_needed bound;  ///< lower bound on the number of packs it wrote
  bool complete;
};

/// Validates, applies the over-size policy, calls `solve(items, packs)` and certifies. `out` is overwritten only after everything is valid
/// and a search is over, as what its progress throws leaves `out` unchanged; `packs` is empty when a packer appends to it.
template <index_type Index, length_range R, cost_model Cost, class Solve>
void drive(R const& lengths, packing_options const& o, Cost const& cost, Solve&& solve, driver_workspace<Index>& ws, packing<Index>& out) {
  require_valid(o);
  auto const n = indexable_size<Index>(lengths);
  ws.set_aside.clear();
  ws.alone.clear();
  ws.pieces.clear();
  auto const capacity = round_down(o.capacity, o.pack_multiple);
  auto const max_samples = o.max_samples != 0 ? o.max_samples : std::uint64_t{n} + 1;
  auto const solve_and_settle = [&](auto weight, std::size_t count) {
    packing_items<decltype(weight)> const items{weight, count, capacity, max_samples, ws.classes, o.seed};
    packs_needed bound;
    if constexpr (std::same_as<decltype(solve(items, out.packs)), solved>) {
      auto const found = solve(items, out.packs);
      bound = found.bound;
      out.complete = found.complete;
    } else {
      solve(items, out.packs);
      bound = packing_lower_bound(ws.classes, capacity, max_samples, static_cast<std::int64_t>(out.packs.size()));
    }
    out.set_aside = ws.set_aside;
    out.pieces = ws.pieces;
    out.tokens = ws.tokens;
    bound.packs += static_cast<std::int64_t>(ws.alone.size());
    for (auto i : ws.alone) out.packs.push_back(std::span(&i, 1));
    settle_count(out, bound, o, [&](Index i) {  // a sample packed alone has weight 0 here, and is never moved
      return static_cast<std::int64_t>(weight[i]);
    });
  };
  auto const unfolded = [&](std::size_t count, std::int64_t heaviest) {
    if constexpr (requires { solve.unfolded(count, heaviest); }) return solve.unfolded(count, heaviest);
    return false;
  };
  if (weigh_items(lengths, o, cost, unfolded, ws))
    solve_and_settle(read_by_position(lengths), n);
  else
    solve_and_settle(std::as_const(ws.weights).data(), ws.weights.size());
}

/// As above, by value: the common form of a packer.
template <index_type Index, length_range R, cost_model Cost, class Solve>
[[nodiscard]] packing<Index> drive(R const& lengths, packing_options const& o, Cost const& cost, Solve&& solve) {
  driver_workspace<Index> ws;
  packing<Index> out;
  drive<Index>(lengths, o, cost, solve, ws, out);
  return out;
}

}  // namespace ballast::inline v0_2::detail
