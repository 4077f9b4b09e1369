// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/count.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What all packers share around their algorithm: validation, padding, the over-size policy, the count constraint and the certificate.
// A packer is a function object that receives `packing_items` and writes groups.

namespace ballast::inline v0_2::detail {

/// Scratch memory of the driver, kept between calls.
template <index_type Index>
struct driver_workspace {
  histogram classes;
  fold_workspace folds;
  std::vector<std::int64_t> weights;
  std::vector<Index> set_aside;
  std::vector<sample_piece> pieces;
};

/// What a packer sees: `weight[i]` in 1 … capacity, or 0 for an item that is not to be packed, for i below `count`.
template <class Weights>
struct packing_items {
  Weights weight;             ///< indexable, values convert to std::int64_t
  std::size_t count;          ///< number of items
  std::int64_t capacity;      ///< largest total weight of a pack
  std::uint64_t max_samples;  ///< most items in a pack, at least 1
  histogram const& classes;   ///< of the weights that are not 0
  std::uint64_t seed;         ///< for packers that shuffle
};

inline void require_valid(packing_options const& o) {
  auto const positive = [](auto value, char const* name) {
    require(value > 0, [&] { return std::string(name) + " = " + std::to_string(value) + " must be positive"; });
  };
  positive(o.capacity, "capacity");
  positive(o.sample_multiple, "sample_multiple");
  positive(o.pack_multiple, "pack_multiple");
  positive(o.pack_count_multiple, "pack_count_multiple");
  auto const countable = [](std::uint64_t value, char const* name) {  // so that a number of packs rounded up to it stays below 2^63
    require(value <= std::uint64_t{1} << 62, [&] { return std::string(name) + " = " + std::to_string(value) + " must be at most 2^62"; });
  };
  countable(o.pack_count_multiple, "pack_count_multiple");
  countable(o.pack_count, "pack_count");
  require(o.pack_multiple <= o.capacity,
          [&] { return "pack_multiple = " + std::to_string(o.pack_multiple) + " exceeds capacity " + std::to_string(o.capacity); });
  require(o.pack_count % o.pack_count_multiple == 0, [&] {
    return "pack_count = " + std::to_string(o.pack_count) +
           " is not a multiple of pack_count_multiple = " + std::to_string(o.pack_count_multiple);
  });
}

[[nodiscard]] inline count_verdict<packing_bound> judge_count(std::uint64_t found, std::uint64_t items, packs_needed bound,
                                                              packing_options const& o) {
  return judge_count(found, items, bound.packs, bound.bound, o.pack_count_multiple, o.pack_count);
}

/// Brings the number of packs to what the options demand; sets status and certificate.
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

/// Validates, applies the over-size policy, runs `solve(items, packs)` and certifies. `out` is overwritten, not before all is valid; a
/// packer that appends to `packs` is given a fresh one.
template <index_type Index, length_range R, cost_model Cost, class Solve>
void drive(R const& lengths, packing_options const& o, Cost const& cost, Solve&& solve, driver_workspace<Index>& ws, packing<Index>& out) {
  require_valid(o);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  constexpr auto most_indices = std::uint64_t{(std::numeric_limits<Index>::max)()};
  require(n <= most_indices, [&] { return std::to_string(n) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  auto const length_at = read_by_position(lengths);
  auto const length = [&](std::size_t i) { return static_cast<std::int64_t>(length_at[i]); };
  auto& set_aside = ws.set_aside;
  auto& pieces = ws.pieces;
  set_aside.clear();
  pieces.clear();
  std::int64_t tokens_packed = 0;

  constexpr bool in_tokens = std::same_as<Cost, token_cost>;
  auto const capacity = round_down(o.capacity, o.pack_multiple);
  auto const largest = round_down(capacity, o.sample_multiple);  // most that one sample may weigh before rounding
  auto const max_samples = o.max_samples != 0 ? o.max_samples : std::uint64_t{n} + 1;
  auto const solve_and_settle = [&](auto weight, std::size_t count, std::vector<Index> const& alone) {
    out.set_aside = set_aside;
    out.pieces = pieces;
    out.tokens = tokens_packed;
    solve(packing_items<decltype(weight)>{weight, count, capacity, max_samples, ws.classes, o.seed}, out.packs);
    auto bound = packing_lower_bound(ws.classes, capacity, max_samples, static_cast<std::int64_t>(out.packs.size()));
    bound.packs += static_cast<std::int64_t>(alone.size());
    for (auto i : alone) out.packs.push_back(std::span(&i, 1));
    settle_count(out, bound, o, [&](Index i) {  // a sample alone in its pack has weight 0 here, and is never moved
      return static_cast<std::int64_t>(weight[i]);
    });
  };

  if (in_tokens && o.sample_multiple == 1) {  // the usual case: the lengths are the weights, and folding them proves them valid
    auto const limit = (std::min)(largest, longest_for_a_table(n));
    if (fold_by_table(length_at, n, limit, false, ws.classes, ws.folds.table)) {
      tokens_packed = ws.classes.tokens();
      return solve_and_settle(length_at, n, {});
    }
  }
  auto const whole = measure(lengths);
  tokens_packed = whole.tokens;
  if (in_tokens && o.sample_multiple == 1 && whole.longest <= largest) {
    fold(length_at, n, whole.longest, ws.classes, ws.folds);
    return solve_and_settle(length_at, n, {});
  }

  std::vector<Index> alone;
  auto& weights = ws.weights;
  weights.assign(n, 0);
  std::int64_t heaviest = 0;
  auto left = (std::numeric_limits<std::int64_t>::max)();  // of 63 bits, for the sum of weights
  auto const entry = [&](std::size_t i) { return "lengths[" + std::to_string(i) + "] = " + std::to_string(length(i)); };
  auto const place = [&](std::size_t i, std::int64_t raw) {
    weights[i] = round_up(raw, o.sample_multiple);
    heaviest = weights[i] > heaviest ? weights[i] : heaviest;
    require(weights[i] <= left, [&] { return entry(i) + " brings the sum of costs to 2^63 or more"; });
    left -= weights[i];
  };
  require(in_tokens || (o.oversize != oversize::truncate && o.oversize != oversize::split), [&] {
    return std::string(
        "oversize policies truncate and split cut to a number of tokens; with a cost of your own use reject, set_aside or own");
  });
  require(largest > 0 || (o.oversize != oversize::truncate && o.oversize != oversize::split), [&] {
    return "sample_multiple = " + std::to_string(o.sample_multiple) + " exceeds the capacity " + std::to_string(capacity) +
           ": no piece fits";
  });
  std::uint64_t extra = 0;
  if (o.oversize == oversize::split)
    for (std::size_t i = 0; i < n; ++i) extra += static_cast<std::uint64_t>((length(i) - 1) / largest);
  require(extra <= most_indices - n, [&] { return std::to_string(n + extra) + " pieces need a 64-bit index: call with <std::uint64_t>"; });

  for (std::size_t i = 0; i < n; ++i) {
    auto const tokens = length(i);
    if constexpr (bounded_cost_model<Cost>)
      require(cost.fits(tokens), [&] { return entry(i) + " has a cost that is negative, not a number or too large for 63 bits"; });
    auto const value = cost(tokens);
    require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0),
            [&] { return entry(i) + " has cost " + std::to_string(value) + ", outside [0, 2^63)"; });
    auto const raw = static_cast<std::int64_t>(value);
    require(raw > 0, [&] { return entry(i) + " costs 0; a packer needs positive costs"; });
    if (raw <= largest) {
      place(i, raw);
      continue;
    }
    switch (o.oversize) {
      case oversize::reject:
        require(false, [&] {
          return entry(i) + (in_tokens ? "" : ", cost " + std::to_string(raw) + ",") + " exceeds capacity " + std::to_string(capacity) +
                 (o.sample_multiple > 1 ? " when rounded up to a multiple of " + std::to_string(o.sample_multiple) : "") +
                 " (see oversize policy)";
        });
        break;
      case oversize::set_aside:
        set_aside.push_back(static_cast<Index>(i));
        tokens_packed -= tokens;
        break;
      case oversize::own: alone.push_back(static_cast<Index>(i)); break;
      case oversize::truncate:
        place(i, largest);
        tokens_packed -= tokens - largest;
        break;
      case oversize::split:
        place(i, largest);
        for (auto at = largest; at < tokens; at += (std::min)(largest, tokens - at))
          pieces.push_back({i, at, (std::min)(largest, tokens - at)});
        break;
    }
  }
  weights.resize(n + pieces.size());
  for (std::size_t j = 0; j < pieces.size(); ++j) {
    auto const i = n + j;
    auto const raw = pieces[j].length;
    weights[i] = round_up(raw, o.sample_multiple);
    heaviest = weights[i] > heaviest ? weights[i] : heaviest;
    require(weights[i] <= left,
            [&] { return entry(static_cast<std::size_t>(pieces[j].sample)) + " brings the sum of costs to 2^63 or more"; });
    left -= weights[i];
  }
  fold(weights.data(), weights.size(), heaviest, ws.classes, ws.folds);
  solve_and_settle(weights.data(), weights.size(), alone);
}

/// The common form of a packer: a result by value.
template <index_type Index, length_range R, cost_model Cost, class Solve>
[[nodiscard]] packing<Index> drive(R const& lengths, packing_options const& o, Cost const& cost, Solve&& solve) {
  driver_workspace<Index> ws;
  packing<Index> out;
  drive<Index>(lengths, o, cost, solve, ws, out);
  return out;
}

}  // namespace ballast::inline v0_2::detail
