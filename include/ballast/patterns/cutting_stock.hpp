// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/fewest_packs_program.hpp>
#include <ballast/patterns/detail/full_packs_program.hpp>
#include <ballast/patterns/detail/pattern_dive.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `solve_cutting_stock`: do these samples fit into that many packs? The exact end game of near-optimal packing.

namespace ballast::inline v0_2 {

/// @brief What `solve_cutting_stock` is asked.
struct cutting_stock_options {
  std::int64_t capacity = 0;      ///< tokens of one pack, at least 1
  std::uint64_t packs = 0;        ///< number of packs
  std::uint64_t max_samples = 0;  ///< largest number of samples in one pack; 0 = no limit
  bool reduce = true;      ///< first makes packs that some plan of fewest packs has, without a limit; if false, `values` are of all lengths
  std::uint64_t seed = 1;  ///< of the random numbers
  std::size_t most_rows = 1'000;                      ///< with more distinct lengths the answer is `unknown`
  std::uint64_t most_cells = std::uint64_t{1} << 22;  ///< of the table that prices patterns, 4 bytes each; lengths are rounded for it
};

/// @brief Whether samples fit into a number of packs, with a plan or what proves that there is none.
struct cutting_stock {
  ballast::status status = ballast::status::unknown;  ///< `infeasible` is proven in integers, by a linear program or by exhaustive search
  pack_patterns patterns;                             ///< if feasible, a plan of at most that many packs
  std::vector<std::int32_t> values;  ///< value of each length in the last linear program of all samples, or empty; 0 if no sample was in it
  std::int64_t value_of_pack = 0;    ///< no pack of the samples holds more value
  pack_patterns basis;               ///< patterns of that program; a similar program can start from them
  std::uint64_t work = 0;            ///< work spent, in the unit of `search_limits::work`
  bool complete = true;              ///< false if a stop request or the wall clock ended the search early
};

namespace detail {

inline constexpr std::uint64_t most_reduced = 4096;                   // distinct lengths; reduction takes time quadratic in them
inline constexpr std::int64_t most_capacity = std::int64_t{1} << 30;  // for which no sum of 2^33 samples overflows
inline constexpr std::uint64_t least_rooms = 256;                     // of a table of pricing; with fewer, it would promise too much

/// `solve_cutting_stock` of valid arguments within a search that has begun, until its work is `end`.
template <class = when_called>
[[nodiscard]] cutting_stock solve_stock(histogram const& lengths, cutting_stock_options const& options, search_budget& budget,
                                        std::uint64_t end, pack_patterns const& start) {
  cutting_stock out;
  auto const distinct = std::uint64_t{lengths.lengths.size()};
  if (options.capacity > most_capacity || lengths.samples() >> 33 != 0 || distinct > most_reduced) return out;
  auto const begin = budget.spent();
  pattern_rows rows{options.capacity, {}, {}, {}, 0};
  for (auto c = lengths.lengths.size(); c-- > 0;) {
    rows.length.push_back(lengths.lengths[c]);
    rows.item_class.push_back(static_cast<std::uint32_t>(c));
    rows.count.push_back(lengths.counts[c]);
  }
  pack_patterns made;
  if (options.max_samples != 0 && !lengths.lengths.empty() &&
      options.max_samples < (std::min)(lengths.samples(), static_cast<std::uint64_t>(options.capacity / lengths.lengths.front())))
    rows.max_samples = options.max_samples;  // it may bind
  if (options.reduce && rows.max_samples == 0) {
    budget.spend(distinct * distinct);
    stock_reduction(rows, made);
  }
  std::uint64_t volume = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) volume += rows.count[i] * static_cast<std::uint64_t>(rows.length[i]);
  out.work = budget.spent() - begin;
  auto packs = made.packs() + divide_up(volume, static_cast<std::uint64_t>(options.capacity));
  if (rows.max_samples != 0) packs = (std::max)(packs, divide_up(lengths.samples(), rows.max_samples));
  if (packs > options.packs) {
    out.status = status::infeasible;
    return out;
  }
  auto const layers = rows.max_samples == 0 ? 1 : rows.max_samples + 1;
  auto const most_rooms = options.most_cells / (std::uint64_t{rows.size()} + 1) / layers;  // a table has a row more than there are lengths
  if (most_rooms < least_rooms) return out;
  auto const unit = static_cast<std::int64_t>(divide_up(static_cast<std::uint64_t>(options.capacity) + 1, most_rooms));
  auto const table = (std::uint64_t{rows.size()} + 1) * layers * (static_cast<std::uint64_t>(options.capacity / unit) + 1);
  auto const work = (std::min)(end, budget.limit()) - (std::min)(begin, (std::min)(end, budget.limit()));
  if (rows.size() > options.most_rows || table > work) return out;  // a pricing takes about half of `table`
  std::vector<std::uint32_t> row_of(lengths.lengths.size(), static_cast<std::uint32_t>(rows.size()));
  for (std::uint32_t i = 0; i < rows.size(); ++i) row_of[rows.item_class[i]] = i;
  std::vector<std::vector<std::uint32_t>> columns;
  for (std::size_t p = 0; p < start.size(); ++p) {
    std::vector<std::uint32_t> column;
    auto whole = true;
    for (auto const& [c, copies] : start[p]) {
      whole = whole && row_of[c] < rows.size();
      column.insert(column.end(), copies, row_of[c]);
    }
    std::sort(column.begin(), column.end());
    if (whole) columns.push_back(std::move(column));
  }
  std::vector<pattern_item> pack;
  auto const append = [&](pack_patterns& to) {
    return [&](std::span<std::uint32_t const> of) {
      pack.clear();
      for (auto const i : of) add_copies(pack, rows.item_class[i]);
      to.push_back(pack, 1);
    };
  };
  auto const attempts = [&]<class Program>(typename Program::pricing knapsack) {
    for (std::uint64_t attempt = 0; out.status == status::unknown && (attempt == 0 || budget.allows(end)); ++attempt) {
      pattern_attempt shared(rows, options.seed + attempt, attempt % Program::turns != Program::turns - 1, budget, end);
      pattern_dive<Program> dive(shared, knapsack);
      out.status = dive.run(options.packs - made.packs(), columns);
      auto const& program = dive.program();
      if (attempt == 0 && !program.values().empty()) {
        out.values.assign(lengths.lengths.size(), 0);
        for (std::size_t i = 0; i < rows.size(); ++i) out.values[rows.item_class[i]] = program.values()[i];
        out.value_of_pack = program.value_of_pack();
        program.for_each_basic(append(out.basis));
      }
      if (out.status != status::feasible) continue;
      out.patterns = made;
      dive.for_each_pack(append(out.patterns));
    }
  };
  auto const all_full = volume == (options.packs - made.packs()) * static_cast<std::uint64_t>(options.capacity);
  if (options.reduce && rows.max_samples == 0 && unit == 1 && all_full)
    attempts.template operator()<full_packs_program<>>(full_knapsack<>(rows));
  else
    attempts.template operator()<fewest_packs_program<>>(pattern_knapsack<>(rows, unit));
  out.work = budget.spent() - begin;
  out.complete = !budget.interrupted();
  return out;
}

BALLAST_INSTANTIATE(cutting_stock solve_stock(histogram const&, cutting_stock_options const&, search_budget&, std::uint64_t,
                                              pack_patterns const&))

}  // namespace detail

/// @brief Finds out whether samples fit into a number of packs, for up to about a thousand distinct lengths (4,096 before reduction).
///
/// Packs that some plan of fewest packs has are made first. Then the linear program over all patterns is solved, with a row for each length
/// and patterns that hold no length more often than it occurs. Where capacities are large, a table of rounded lengths bounds a depth-first
/// search of patterns. If the program's values prove that more packs are needed, the answer is `infeasible`. Where the samples have to fill
/// every pack (and `reduce` is true), least squares over full packs take the place of the linear program, and `values` stay empty.
/// Otherwise dives take packs of the program one by one, and solve it anew for the samples that are left. At most eight last packs are
/// filled by exhaustive search. Attempts with other random numbers follow until the work is spent.
///
/// @param lengths  a valid histogram of fewer than 2^33 samples, no length above the capacity, which is at most 2^30
/// @param options  capacity, number of packs, and what to do
/// @param limits   limits of the search; `gap` has no meaning
/// @param start    patterns of `lengths` to begin with, such as the `basis` of a similar program; may be empty
/// @return the answer, with a plan if it is feasible
/// @post a plan places every class exactly as often as it occurs; `infeasible` is never said of samples that fit
/// @throws invalid_input for an invalid histogram, a capacity that is not positive, or a length above the capacity
/// @par Complexity
/// The work that `limits` allow, and one pricing or one inversion more: O(`most_cells` + distinct lengths^3). As many entries as
/// `most_cells`, and twelve bytes for each pair of lengths.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search. The linear programs compute in doubles that
/// round in the same way with every compiler and flag.
/// @par Source
/// Gilmore, Gomory, Operations Research 9 (1961): column generation. Farley, Operations Research 38 (1990): the proof by values. Martello,
/// Toth, "Knapsack problems" (1990): reduction and bin completion. Dives with patterns that fit what is left: Wäscher, Gau, OR Spektrum 18
/// (1996), and Vanderbeck, Mathematical Programming 86 (1999). Lawson, Hanson, "Solving least squares problems" (1974).
template <class = when_called>
[[nodiscard]] inline cutting_stock solve_cutting_stock(histogram const& lengths, cutting_stock_options const& options,
                                                       search_limits const& limits = {}, pack_patterns const& start = {}) {
  require_valid(lengths);
  require(options.capacity > 0, [&] { return sentence("capacity = ", options.capacity, " must be positive"); });
  require(lengths.lengths.empty() || lengths.lengths.back() <= options.capacity,
          [&] { return entry("lengths", lengths.lengths.size() - 1, lengths.lengths.back()) + " exceeds the capacity"; });
  search_budget budget(limits);
  return detail::solve_stock(lengths, options, budget, ~std::uint64_t{0}, start);
}

}  // namespace ballast::inline v0_2
