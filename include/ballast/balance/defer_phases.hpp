// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/deferral_search.hpp>
#include <ballast/balance/detail/deferral_starts.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `defer_phases`: one global batch of samples with an encoder and a language model, where a sample may reach the language model in
/// a later micro-batch than the encoder.

namespace ballast::inline v0_2 {

/// @brief Shape of the batch. Only `ranks` and `micro_batches` have no default.
struct deferral_options {
  std::uint64_t ranks = 0;                    ///< that wait for each other after each phase of each micro-batch, at least 1
  std::uint64_t micro_batches = 0;            ///< most of each rank, at least 1; with a capacity, the last ones may stay empty
  std::array<std::int64_t, 2> capacity = {};  ///< most tokens of a micro-batch in the encoder and in the language model; 0 = no limit
  std::int64_t work = std::int64_t{1} << 24;  ///< limit of the search, in loads of micro-batches that are compared
};

/// @brief The micro-batches of both phases.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct deferred_phases {
  ballast::status status = ballast::status::feasible;  ///< `infeasible` and `unknown` have no micro-batches
  groups<Index> encoder;                               ///< items of each micro-batch of the encoder, ascending, rank after rank
  groups<Index> language;       ///< of the language model; an item is on the same rank, and in no earlier one than in the encoder
  certificate time;             ///< sum over micro-batches and phases of the slowest rank; no plan takes less than the bound
  std::int64_t undeferred = 0;  ///< the same where each item has one micro-batch for both phases, from which the plan was made
  std::int64_t held = 0;        ///< most tokens of the language model on a rank that are encoded and wait for a later micro-batch
};

namespace detail {

/// The samples, checked.
template <length_range R, phase_cost_model Costs, phase_cost_model Sizes>
[[nodiscard]] deferred_items weigh_deferred(R const& items, deferral_options const& o, Costs const& costs, Sizes const& sizes) {
  deferred_items out{
      .capacity = o.capacity, .ranks = static_cast<std::size_t>(o.ranks), .micro_batches = static_cast<std::size_t>(o.micro_batches)};
  auto const at = read_by_position(items);
  std::int64_t all_costs = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(items)); ++i) {
    auto const item = static_cast<std::int64_t>(at[i]);
    auto const cost = costs(item);
    auto const size = sizes(item);
    require(std::ranges::size(cost) == 2 && std::ranges::size(size) == 2, [&] {
      return sentence(entry("items", i, at[i]), " has ", std::ranges::size(cost), " costs and ", std::ranges::size(size),
                      " sizes, not 2 of both");
    });
    for (std::size_t p = 0; p < 2; ++p) {
      out.cost[p].push_back(static_cast<std::int64_t>(read_by_position(cost)[p]));
      out.size[p].push_back(static_cast<std::int64_t>(read_by_position(size)[p]));
      add_checked(all_costs, out.cost[p][i], "costs of items", i);
      add_checked(out.all_sizes[p], out.size[p][i], "sizes of items", i);
    }
  }
  return out;
}

/// The best plan that is found.
struct deferral_plan {
  deferral_search::places at{};  // empty: none
  std::int64_t time = 0, undeferred = 0;
};

/// The best of the starts with few micro-batches, improved. Micro-batches that are left empty take no time, and more samples in one are
/// easier to balance. @param start  places with a number of micro-batches of a rank, empty without room
template <class Start>
[[nodiscard]] deferral_search improved_start(deferred_items const& of, std::int64_t work, bool defers, Start const& start) {
  deferral_search best(of, work);
  int found = 0;
  for (auto rows = of.fewest_rows(); rows <= of.micro_batches && found < 3; ++rows) {
    deferral_search next(of, work);
    auto places = start(rows);
    if (places.empty() || !next.start(std::move(places))) continue;
    if (found++ == 0 || next.time < best.time) best = std::move(next);
  }
  if (found > 0) best.improve(defers);
  return best;
}

template <class = when_called>
[[nodiscard]] inline deferral_plan plan_deferral(deferred_items const& of, std::int64_t work, std::int64_t lower) {
  deferral_plan out;
  auto const keep = [&](deferral_search const& search) {
    if (search.at.empty() || (!out.at.empty() && search.time >= out.time)) return;
    out.at = search.at;
    out.time = search.time;
  };
  auto const rows_of_both = [&](std::size_t rows) {
    auto dealt = undeferred_rows(of, rows);
    if (rows > of.fewest_rows()) return dealt;
    deferral_search known(of, 0), next(of, 0);
    auto const fits = !dealt.empty() && known.start(dealt);
    if (fits && known.time - lower <= lower / 50) return dealt;
    auto even = even_cells(of, work / 8);
    return !even.empty() && next.start(even) && (!fits || next.time < known.time) ? even : dealt;
  };
  auto const whole = improved_start(of, work / 4, false, rows_of_both);
  if (!whole.at.empty()) {
    out.undeferred = whole.time;
    deferral_search apart(of, work / 8 * 3);
    (void)apart.start(whole.at);
    apart.improve(true);
    keep(apart);
  }
  std::vector<std::uint32_t> rank_of(of.count());
  auto const ranks = balance_phases(of.numbers(), {.sets = of.ranks}, of.costs());
  for (std::uint32_t r = 0; r < ranks.sets.size(); ++r)
    for (auto const i : ranks.sets[r]) rank_of[i] = r;
  keep(improved_start(of, work / 8 * 3, true, [&](std::size_t rows) { return encode_early(of, rank_of, rows); }));
  return out;
}

/// Writes the micro-batches of a plan.
template <index_type Index>
void write_deferral(deferred_phases<Index>& out, deferred_items const& of, deferral_search::places const& at) {
  auto const cells = of.ranks * of.micro_batches;
  std::array<std::vector<std::vector<Index>>, 2> in{std::vector<std::vector<Index>>(cells), std::vector<std::vector<Index>>(cells)};
  std::vector<std::int64_t> waiting(cells, 0);
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto const& place = at[i];
    for (std::size_t p = 0; p < 2; ++p) in[p][place.rank * of.micro_batches + place.slot[p]].push_back(static_cast<Index>(i));
    for (auto m = place.slot[0]; m < place.slot[1]; ++m)
      out.held = (std::max)(out.held, waiting[place.rank * of.micro_batches + m] += of.size[1][i]);
  }
  for (auto const& b : in[0]) out.encoder.push_back(b);
  for (auto const& b : in[1]) out.language.push_back(b);
}

}  // namespace detail

/// @brief Plans one global batch for ranks that wait for each other after the encoder and after the language model of every micro-batch,
/// such that both phases are balanced: a sample may wait, encoded, for a later micro-batch of the language model.
///
/// Under FSDP, each micro-batch lasts as long as its slowest rank in the encoder and its slowest rank in the language model. If both phases
/// of a sample are in one micro-batch, its few samples do not balance both. Deferral gives each phase micro-batches of its own: on the same
/// rank, but later in the language model. It costs memory (`held`), and the encoder's backward pass runs after the last micro-batch that
/// needs it.
///
/// A plan without deferral is made first (`balance_phases`, or samples dealt by both phases towards several targets; then moves and
/// exchanges). From it, and from ranks that encode as early as the capacity allows, moves and exchanges that take each phase by itself lead
/// to the plan. Both begin with the fewest micro-batches that have room: the more samples are in one, the more even its ranks are.
/// Micro-batches that stay empty take no time. The bound adds up both phases, and knows that a rank with a long sample of one phase has
/// little room for the other.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model` of two phases
/// @tparam Sizes  a `phase_cost_model` of two phases
/// @param items    the samples, one integer each; may be empty
/// @param options  ranks, micro-batches, capacities and work
/// @param costs    times of an item in the encoder and in the language model, not negative
/// @param sizes    tokens of an item in the encoder and in the language model, not negative
/// @return the micro-batches of both phases, their time with a lower bound, and the time without deferral; `infeasible` if an item or all
/// of them exceed a capacity, `unknown` if no plan was found
/// @post `time.value` is at most `undeferred` where that is above 0; each item is in one micro-batch of each phase. The bound holds for
/// every plan on these ranks, with any deferral
/// @throws invalid_input for a bad option, other than two costs or sizes, or sums outside [0, 2^63)
/// @par Complexity
/// That of `balance_phases` into all micro-batches, and O(work).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// Deferral: "Entrain", arXiv 2605.27918, which equalises the encoder's micro-batches and defers the excess of the other phase. The bound
/// and the search: this library.
template <index_type Index = std::uint32_t, length_range R, phase_cost_model Costs, phase_cost_model Sizes>
[[nodiscard]] deferred_phases<Index> defer_phases(R const& items, deferral_options const& options, Costs const& costs, Sizes const& sizes) {
  constexpr auto most = std::uint64_t{1} << 20;
  require(options.ranks >= 1 && options.micro_batches >= 1 && options.ranks <= most / options.micro_batches, [&] {
    return sentence("ranks = ", options.ranks, " and micro_batches = ", options.micro_batches,
                    " must be at least 1, together at most 2^20");
  });
  require(options.capacity[0] >= 0 && options.capacity[1] >= 0 && options.work >= 0,
          [] { return "capacity and work must not be negative"; });
  require_index<std::uint32_t>(std::ranges::size(items), "items");
  auto const of = detail::weigh_deferred(items, options, costs, sizes);
  deferred_phases<Index> out;
  detail::deferral_plan best;
  if (of.count() > 0) {
    out.time.lower_bound = of.bound();
    if (of.fewest_rows() > of.micro_batches) {
      out.status = status::infeasible;
      return out;
    }
    best = detail::plan_deferral(of, options.work, out.time.lower_bound);
    out.undeferred = best.undeferred;
    if (best.at.empty()) {
      out.status = status::unknown;
      return out;
    }
    out.time.value = best.time;
  }
  detail::write_deferral(out, of, best.at);
  return out;
}

}  // namespace ballast::inline v0_2
