// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/fewest_packs_program.hpp>
#include <ballast/patterns/detail/full_pack_joins.hpp>
#include <ballast/patterns/detail/full_packs_program.hpp>
#include <ballast/patterns/detail/listed_packs.hpp>
#include <ballast/patterns/detail/pattern_dive.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
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
  bool reduce = true;  ///< first makes packs that some plan of fewest packs has, without a limit; if false, `values` are of all lengths,
                       ///< and the first program is solved to its optimum
  std::uint64_t seed = 1;                             ///< of the random numbers
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
  bool fractional = false;           ///< true if parts of packs fit, so that no linear program of patterns proves that there is no plan
  std::uint64_t work = 0;            ///< work spent, in the unit of `search_limits::work`
  bool complete = true;              ///< false if a stop request or the wall clock ended the search early
};

namespace detail {

inline constexpr std::uint64_t most_reduced = 4096;                    // distinct lengths; reduction takes time quadratic in them
inline constexpr std::int64_t most_capacity = std::int64_t{1} << 30;   // for which no sum of 2^33 samples overflows
inline constexpr std::uint64_t least_rooms = 256;                      // of a table of pricing; with fewer, it would promise too much
inline constexpr std::size_t first_searches = 8, later_searches = 16;  // of joins, before programs and after each of them
inline constexpr std::uint64_t first_search_work = 1'000'000;

/// The rooms of a table of `cells` cells that prices patterns of so many lengths, with a layer for each number of samples under a limit.
[[nodiscard]] constexpr std::uint64_t rooms_of_table(std::uint64_t cells, std::uint64_t rows, std::uint64_t max_samples) {
  auto const layers = max_samples == 0 ? 1 : max_samples + 1;
  return cells / (rows + 1) / layers;  // a table has a row more than there are lengths
}
/// Whether patterns can be priced at all; otherwise each answer is `unknown`.
[[nodiscard]] constexpr bool can_price(std::int64_t capacity, std::uint64_t rows, std::uint64_t max_samples, std::uint64_t cells) {
  return capacity <= most_capacity && rooms_of_table(cells, rows, max_samples) >= least_rooms;
}

/// Packs that some plan of fewest packs has, and the samples that are left, without a limit of samples per pack. In the memory pool of a
/// search.
struct reduced_stock {
  basic_pack_patterns<pool_allocator> made;
  histogram left;                         ///< empty if no packs were made
  pooled_vector<std::uint32_t> class_of;  ///< of each length that is left

  template <class = when_called>
  reduced_stock(histogram const& lengths, std::int64_t capacity, search_budget& budget, std::uint64_t end) {
    budget.spend(lengths.lengths.size());
    if (!has_packs(lengths, capacity)) return;
    basic_pattern_rows<pool_allocator> rows;
    rows.capacity = capacity;
    rows.add(lengths);
    budget.spend(stock_reduction(rows, made, end - (std::min)(end, budget.spent())).steps());
    for (auto i = rows.size(); i-- > 0;) {
      left.append(rows.length[i], rows.count[i]);
      class_of.push_back(rows.item_class[i]);
    }
  }

 private:
  // Whether two samples fill a pack, or the longest one cannot be beside two others.
  [[nodiscard]] static bool has_packs(histogram const& lengths, std::int64_t capacity) {
    auto const& l = lengths.lengths;
    if (l.size() < 2 || lengths.samples() < 3 || l[0] + l[lengths.counts[0] > 1 ? 0 : 1] > capacity - l.back()) return !l.empty();
    for (std::size_t i = 0, j = l.size(); i < j;) {
      auto const room = capacity - l[j - 1];
      if (l[i] == room && (i + 1 < j || lengths.counts[i] > 1)) return true;
      if (l[i] <= room)
        ++i;
      else
        --j;
    }
    return false;
  }
};

/// A question of `solve_cutting_stock` with valid arguments, within a search that has begun, until its work is `end`.
template <class = when_called>
class stock_solver {
 public:
  stock_solver(histogram const& lengths, cutting_stock_options const& options, search_budget& budget, std::uint64_t end)
      : lengths_(lengths), options_(options), budget_(budget), end_(end), distinct_(lengths.lengths.size()), begin_(budget.spent()) {}

  [[nodiscard]] cutting_stock run(pack_patterns const& start) {
    if (options_.capacity <= most_capacity && lengths_.samples() >> 33 == 0 && distinct_ <= most_reduced && !decided_early(start))
      search(start);
    out_.work = budget_.spent() - begin_;
    out_.complete = !budget_.interrupted();
    return std::move(out_);
  }

 private:
  // Makes what some best plan has, and what every plan has if all packs have to be full. Whether that is the answer.
  [[nodiscard]] bool decided_early(pack_patterns const& start) {
    rows_.capacity = options_.capacity;
    rows_.add(lengths_);
    if (options_.max_samples != 0 && distinct_ != 0 &&
        options_.max_samples < (std::min)(lengths_.samples(), static_cast<std::uint64_t>(options_.capacity / lengths_.lengths.front())))
      rows_.max_samples = options_.max_samples;  // it may bind
    auto const pairs = std::uint64_t{distinct_} * distinct_;
    auto const reduce = options_.reduce && rows_.max_samples == 0 && pairs <= work_left();
    if (reduce) {
      budget_.spend(pairs);
      stock_reduction(rows_, made_);
    }
    auto const capacity = static_cast<std::uint64_t>(options_.capacity);
    auto packs = made_.packs() + divide_up(rows_.tokens(), capacity);
    if (rows_.max_samples != 0) packs = (std::max)(packs, divide_up(lengths_.samples(), rows_.max_samples));
    if (packs > options_.packs) {
      out_.status = status::infeasible;
      return true;
    }
    packs_left_ = (std::min)(options_.packs, lengths_.samples()) - made_.packs();  // no product with more overflows
    full_ = reduce && rows_.tokens() == packs_left_ * capacity;
    auto const joins_need = full_pack_joins<>::least_work(rows_, options_.most_cells);
    if (!full_ || joins_need >= work_left()) return false;
    // What less work than that would do comes first, so that more work takes no answer back.
    auto const end = std::exchange(end_, budget_.spent() + joins_need);
    search(start);
    end_ = end;
    list_.reset();
    if (out_.status == status::unknown) {
      joins_.emplace(rows_, budget_, end_);
      note_joins(joins_->join_all());
      if (joins_->joined()) search_joins(first_searches, 2 * (budget_.spent() - begin_) + first_search_work);
      rows_ = joins_->rows_left(static_cast<std::uint32_t>(distinct_));
      packs_left_ = rows_.tokens() / capacity;
    }
    return out_.status != status::unknown;
  }
  [[nodiscard]] std::uint64_t work_left() const {
    auto const end = (std::min)(end_, budget_.limit());
    return end - (std::min)(budget_.spent(), end);
  }

  void search_joins(std::size_t searches, std::uint64_t most) {
    if (joins_ && out_.status == status::unknown) note_joins(joins_->search(searches, (std::min)(end_, budget_.spent() + most)));
  }
  void note_joins(status found) {
    out_.status = found;
    if (found != status::feasible) return;
    out_.patterns = made_;
    joins_->for_each_pack([&](auto const& pack) { append(out_.patterns, joins_->rows(), pack); });
  }
  static void append(pack_patterns& to, pattern_rows const& rows, std::span<std::uint32_t const> held) {
    std::vector<pattern_item> pack;
    for (auto const i : held) add_copies(pack, rows.item_class[i]);
    to.push_back(pack, 1);
  }

  void search(pack_patterns const& start) {
    auto const layers = rows_.max_samples == 0 ? 1 : rows_.max_samples + 1;
    auto const most_rooms = rooms_of_table(options_.most_cells, rows_.size(), rows_.max_samples);
    if (most_rooms < least_rooms) return;
    auto const unit = static_cast<std::int64_t>(divide_up(static_cast<std::uint64_t>(options_.capacity) + 1, most_rooms));
    // Programs look at their work between pricings, so that a third of the limit bounds what the last one goes beyond it.
    if (rows_.size() > options_.most_rows || pricing_work(unit, layers) > work_left() / 3) return;
    if (full_ && unit == 1)
      attempt<full_packs_program<>>(full_knapsack<>(rows_), columns(start));
    else
      attempt<fewest_packs_program<>>(pattern_knapsack<>(rows_, unit), columns(start));
  }
  // An upper bound of the work of one pricing: its table takes a pass for each copy that a pack holds of a length.
  [[nodiscard]] std::uint64_t pricing_work(std::int64_t unit, std::uint64_t layers) const {
    auto const width = static_cast<std::uint64_t>(options_.capacity / unit) + 1;
    auto cells = width;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto const copies = (std::min)({rows_.count[i], static_cast<std::uint64_t>(options_.capacity / rows_.length[i]),
                                      rows_.max_samples == 0 ? ~std::uint64_t{0} : rows_.max_samples});
      cells += layers * (width / 4 + copies * width - static_cast<std::uint64_t>(rows_.length[i] / unit) * (copies * (copies + 1) / 2));
    }
    return cells / 3;
  }
  // The patterns of samples that are left, as rows.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> columns(pack_patterns const& start) const {
    std::vector<std::uint32_t> row_of(distinct_ + 1, static_cast<std::uint32_t>(rows_.size()));
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
      if (rows_.item_class[i] < distinct_) row_of[rows_.item_class[i]] = i;
    std::vector<std::vector<std::uint32_t>> out;
    for (std::size_t p = 0; p < start.size(); ++p) {
      std::vector<std::uint32_t> column;
      auto whole = true;
      for (auto const& [c, copies] : start[p]) {
        whole = whole && row_of[c] < rows_.size();
        column.insert(column.end(), copies, row_of[c]);
      }
      std::sort(column.begin(), column.end());
      if (whole) out.push_back(std::move(column));
    }
    return out;
  }
  template <class Program>
  void attempt(typename Program::pricing knapsack, std::vector<std::vector<std::uint32_t>> const& start) {
    for (std::uint64_t k = 0; out_.status == status::unknown && (k == 0 || budget_.allows(end_)); ++k) {
      auto const before = budget_.spent();
      pattern_attempt shared(rows_, options_.seed + k, k % Program::turns != Program::turns - 1, budget_, end_);
      shared.solve_root = !options_.reduce;
      pattern_dive<Program> dive(shared, knapsack);
      out_.status = dive.run(packs_left_, start);
      if (k == 0 && !joins_) note_values(dive.program());
      if (out_.status == status::feasible) note_packs(dive);
      if constexpr (std::is_same_v<Program, fewest_packs_program<>>) {
        out_.fractional = out_.fractional || dive.fractional();
        search_list(knapsack, k, dive.root());
      }
      search_joins(later_searches, (budget_.spent() - before) / 2);
    }
  }
  template <class Packs>
  void note_packs(Packs const& plan) {
    if (!joins_) out_.patterns = made_;
    plan.for_each_pack([&](auto const& held) {
      if (joins_)
        joins_->add_pack(rows_, held);
      else
        append(out_.patterns, rows_, held);
    });
    if (joins_) note_joins(status::feasible);
  }
  // After attempts that failed, lists the packs that a plan can have, and searches the list. `start` solves the program of all samples.
  void search_list(pattern_knapsack<>& knapsack, std::uint64_t attempt, std::vector<std::vector<std::uint32_t>> const& start) {
    if (out_.status != status::unknown || !knapsack.exact() || !budget_.allows(end_) || (attempt > 0 && !list_)) return;
    auto const spent = budget_.spent() - begin_;
    if (attempt == 0) {
      pattern_attempt shared(rows_, options_.seed, false, budget_, (std::min)(end_, budget_.spent() + spent / 3));
      list_.emplace(rows_, budget_);
      out_.status = list_->list(packs_left_, shared, knapsack, start);
    }
    if (!list_->complete()) return list_.reset();
    if (out_.status == status::unknown) out_.status = list_->search((std::min)(end_, budget_.spent() + spent / 8));
    if (out_.status == status::feasible) note_packs(*list_);
  }
  template <class Program>
  void note_values(Program const& program) {
    if (program.values().empty()) return;
    out_.values.assign(distinct_, 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) out_.values[rows_.item_class[i]] = program.values()[i];
    out_.value_of_pack = program.value_of_pack();
    program.for_each_basic([&](auto const& held) { append(out_.basis, rows_, held); });
  }

  histogram const& lengths_;
  cutting_stock_options const& options_;
  search_budget& budget_;
  std::uint64_t end_;
  std::size_t distinct_;
  std::uint64_t begin_;
  pattern_rows rows_;   // what is left
  pack_patterns made_;  // packs of a best plan
  std::uint64_t packs_left_ = 0;
  bool full_ = false;  // whether every pack of what is left has to be full
  std::optional<full_pack_joins<>> joins_;
  std::optional<listed_packs<>> list_;
  cutting_stock out_;
};

/// `solve_cutting_stock` of valid arguments within a search that has begun, until its work is `end`.
template <class = when_called>
[[nodiscard]] cutting_stock solve_stock(histogram const& lengths, cutting_stock_options const& options, search_budget& budget,
                                        std::uint64_t end, pack_patterns const& start) {
  return stock_solver<>(lengths, options, budget, end).run(start);
}

BALLAST_INSTANTIATE(cutting_stock solve_stock(histogram const&, cutting_stock_options const&, search_budget&, std::uint64_t,
                                              pack_patterns const&))

/// The last answer of `solve_stock` for `options.packs` packs, and for one more as long as that is proven impossible, but for fewer than
/// `most`; afterwards no plan has fewer than `options.packs`. Each program begins with the basis of the one before. Tables have at most
/// `full_cells` cells where every pack has to be full.
template <class = when_called>
[[nodiscard]] cutting_stock solve_fewest(histogram const& lengths, cutting_stock_options& options, std::uint64_t most,
                                         std::uint64_t full_cells, search_budget& budget, std::uint64_t end, pack_patterns start) {
  cutting_stock out;
  for (auto const cells = options.most_cells; options.packs < most; ++options.packs) {
    auto const full = static_cast<std::uint64_t>(lengths.tokens()) == options.packs * static_cast<std::uint64_t>(options.capacity);
    options.most_cells = full ? full_cells : cells;
    options.seed = start.repeats.empty() ? 1 : 2;
    out = solve_stock(lengths, options, budget, end, start);
    if (out.status != status::infeasible) break;
    start = out.basis;
  }
  return out;
}

}  // namespace detail

/// @brief Finds out whether samples fit into a number of packs, for up to about a thousand distinct lengths (4,096 before reduction).
///
/// Packs that some plan of fewest packs has are made first. Then the linear program over all patterns is solved, with a row for each length
/// and patterns that hold no length more often than it occurs. Where capacities are large, a table of rounded lengths bounds a depth-first
/// search of patterns. If the program's values prove that more packs are needed, the answer is `infeasible`. Where the samples have to fill
/// every pack (and `reduce` is true), samples that every plan has in one pack are joined, which alone proves many answers. Then least
/// squares over full packs take the place of the linear program, and `values` stay empty.
/// Otherwise dives take packs of the program one by one, and solve it anew for the samples that are left. At most eight last packs are
/// filled by exhaustive search. Where dives fail and few packs are good enough for a plan, these are listed and searched, which can prove
/// that there is none. Attempts with other random numbers follow until the work is spent.
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
