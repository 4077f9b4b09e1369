// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/memory/detail/dive_trees.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/piece_boxes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Which piece goes first where several can start.
enum class dive_order : std::uint8_t { area, span, size, wide_area, tall_area };

/// Lays pieces out from the bottom and never takes one back. A run is a stretch of sections with one floor; a piece is inside if it lies in
/// one run. A valley, a run below its neighbours, takes a piece that is inside and covers its most urgent section, which has few such
/// pieces and little slack; it rises to the lower of its neighbours when it has none. Where pieces come to be inside and outside too often
/// for a count, dives begin again by slack alone: a valley then takes its section of least slack, which rises if no piece inside covers it.
/// Fixed addresses are not looked at.
template <class = when_called>
class layout_dive {
 public:
  explicit layout_dive(layout_problem<> const& problem) : problem_(problem) {
    std::int64_t largest = 1;
    for (auto const& p : problem.pieces) largest = (std::max)(largest, p.size);
    while (largest >> size_shift_ > std::int64_t{1} << 31) ++size_shift_;
    for (auto const load : problem.loads) most_ = (std::max)(most_, load);
    while (most_ >> load_shift_ > std::int64_t{1} << 24) ++load_shift_;
    for (std::size_t s = 0; s < problem.sections; ++s) {
      auto const covers = std::int64_t{problem.covers[s]};
      auto const slack = slack_weight * ((most_ - problem.loads[s]) >> load_shift_);
      urgency_.push_back({covers * (most_ >> load_shift_) + slack, covers});
      slack_.push_back({slack, covers});
    }
  }

  /// Work of all dives: how often a piece stopped or began to lie in one run; by slack, two for each time that a valley takes or rises.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// The starts of the pieces, in units.
  [[nodiscard]] std::vector<std::int64_t> run(dive_order order) {
    if (counts_) {
      start(order);
      auto most = operations_ + starts_.size();
      for (auto left = starts_.size(); left > 0 && counts_; counts_ = operations_ <= most)
        if (step()) --left, most += most_changes - 1;
      if (counts_) return starts_;
    }
    // By slack alone, layouts are lowest in the order of spans, so that one is first.
    start(order == dive_order::area ? dive_order::span : order == dive_order::span ? dive_order::area : order);
    for (auto left = starts_.size(); left > 0;) left -= step_by_slack() ? 1U : 0U;
    return starts_;
  }

 private:
  static constexpr std::int64_t slack_weight = 30;
  /// Of each piece, on average, that are counted, all but one of them as pieces are placed; lifetimes of real graphs need 2 … 11.
  static constexpr std::uint64_t most_changes = 16;

  void start(dive_order order) {
    auto const m = problem_.sections;
    starts_.assign(problem_.pieces.size(), 0);
    order_pieces(order);
    sections_.start(counts_ ? urgency_ : slack_);
    if (counts_)
      pieces_.start(problem_.pieces, rank_);
    else
      boxes_.start(problem_.pieces, rank_);
    end_.assign(m, 0);
    begin_.assign(m, 0);
    floor_.assign(m, 0);
    at_ = 0;
    make_run(0, m, 0);
  }
  /// A valley near the last one. Nothing around a valley changes before it does, so the order of valleys does not matter to the layout;
  /// what is near is in the cache.
  [[nodiscard]] std::uint32_t valley() {
    for (;;) {
      auto const h = floor_[at_];
      if (at_ > 0 && floor_[begin_[at_ - 1]] < h)
        at_ = begin_[at_ - 1];
      else if (end_[at_] < problem_.sections && floor_[end_[at_]] < h)
        at_ = end_[at_];
      else
        return at_;
    }
  }
  /// A valley takes a piece, or a part that no piece inside covers rises. Whether it took one.
  bool step() {
    auto const first = valley(), last = end_[first], covered = sections_.first_covered(first, last);
    auto const bare = covered == last ? first : sections_.first_bare(first, last);
    if (bare != last) {
      rise(first, bare, covered == last ? last : sections_.first_covered(bare, last));
      return false;
    }
    auto const s = sections_.most_urgent(first, last);
    auto const best = pieces_.first_reaching(problem_.begins[first], problem_.begins[s + 1], s);
    auto const& p = problem_.pieces[best];
    pieces_.place(best);
    cover(best, -1);
    auto const leave = [&](std::uint32_t i) { cover(i, -1); };
    pieces_.cut(problem_.begins[first], problem_.begins[p.first], p.first, leave);
    pieces_.cut(problem_.begins[p.first], problem_.begins[p.last], p.last, leave);
    add_covers();
    place(first, best);
    return true;
  }
  /// The same by slack alone.
  bool step_by_slack() {
    operations_ += 2;
    auto const first = valley(), last = end_[first], s = sections_.most_urgent(first, last);
    auto const rank = boxes_.first_covering(first, s, last);
    if (rank == boxes_.none) {
      rise(first, boxes_.end_before(first, s), boxes_.begin_after(s + 1, last));
      return false;
    }
    boxes_.place(order_[rank]);
    place(first, order_[rank]);
    return true;
  }

  void order_pieces(dive_order order) {
    auto const n = problem_.pieces.size();
    std::vector<std::pair<wide, std::uint32_t>> keys(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      auto const& p = problem_.pieces[i];
      auto const span = std::uint64_t{p.last - p.first}, size = static_cast<std::uint64_t>(p.size >> size_shift_);
      auto& key = keys[i].first;
      switch (order) {
        case dive_order::area: key = multiply(span, size); break;
        case dive_order::span: key = {span, size}; break;
        case dive_order::size: key = {size, span}; break;
        case dive_order::wide_area: key = multiply(span * size, span); break;
        case dive_order::tall_area: key = multiply(span * size, size); break;
      }
      keys[i].second = i;
    }
    std::sort(keys.begin(), keys.end(),
              [](auto const& a, auto const& b) { return a.first == b.first ? a.second < b.second : b.first < a.first; });
    rank_.resize(n);
    order_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) rank_[order_[i] = keys[i].second] = i;
  }

  /// Makes sections first … last - 1 a run. Which pieces are inside does not change.
  void make_run(std::uint32_t first, std::uint32_t last, std::int64_t h) {
    if (first == last) return;
    end_[first] = last;
    begin_[last - 1] = first;
    floor_[first] = h;
  }
  /// Joins a run with neighbours of its height.
  void merge(std::uint32_t first) {
    auto const last = end_[first];
    if (last < problem_.sections && floor_[last] == floor_[first]) join(first, last);
    if (first > 0 && floor_[begin_[first - 1]] == floor_[first]) join(begin_[first - 1], first);
  }
  void join(std::uint32_t first, std::uint32_t middle) {
    auto const last = end_[middle];
    if (at_ == middle) at_ = first;
    end_[first] = last;
    begin_[last - 1] = first;
    if (!counts_) return;
    pieces_.join(problem_.begins[first], problem_.begins[middle], last, [&](std::uint32_t i) { cover(i, 1); });
    add_covers();
  }
  void cover(std::uint32_t i, std::int64_t by) {
    ++operations_;
    auto const& p = problem_.pieces[i];
    sections_.note(p.first, p.last, by);
  }
  void add_covers() { sections_.add_noted({most_ >> load_shift_, 1}); }
  void waste(std::uint32_t first, std::uint32_t last, std::int64_t from, std::int64_t to) {
    if (from < to && to != never) sections_.add(first, last, {-slack_weight * ((to - from) >> load_shift_), 0});
  }
  [[nodiscard]] std::int64_t least_neighbour(std::uint32_t first) const {
    auto const last = end_[first];
    return (std::min)(first > 0 ? floor_[begin_[first - 1]] : never, last < problem_.sections ? floor_[last] : never);
  }

  /// Sections begin … end - 1 of a run rise to its lower neighbour. No inside piece covers them.
  void rise(std::uint32_t first, std::uint32_t begin, std::uint32_t end) {
    auto const last = end_[first];
    auto const from = floor_[first], to = least_neighbour(first);
    waste(begin, end, from, to);
    make_run(first, begin, from);
    make_run(end, last, from);
    make_run(begin, end, to);
    merge(begin);
  }

  /// Puts piece i on the floor of a run.
  void place(std::uint32_t first, std::uint32_t i) {
    auto const& p = problem_.pieces[i];
    auto const last = end_[first];
    auto const h = floor_[first], start = round_up(h, p.alignment);
    starts_[i] = start;
    waste(p.first, p.last, h, start);
    make_run(first, p.first, h);
    make_run(p.last, last, h);
    make_run(p.first, p.last, start + p.size);
    merge(p.first);
  }

  static constexpr auto never = (std::numeric_limits<std::int64_t>::max)();

  layout_problem<> const& problem_;
  std::int64_t most_ = 1;                 ///< the largest load of a section
  int size_shift_ = 0, load_shift_ = 0;   ///< bits that keys leave out, so that none overflows
  bool counts_ = true;                    ///< whether pieces inside are counted; otherwise slack alone decides
  std::vector<section_urgency> urgency_;  ///< at the start
  std::vector<section_urgency> slack_;    ///< the same by slack alone
  section_tree<> sections_;
  piece_tree<> pieces_;               ///< where they are counted
  piece_boxes<> boxes_;               ///< where they are not
  std::vector<std::uint32_t> rank_;   ///< of a piece: its place in the order
  std::vector<std::uint32_t> order_;  ///< of a rank: its piece
  std::vector<std::uint32_t> end_;    ///< of the first section of a run: its end
  std::vector<std::uint32_t> begin_;  ///< of the last section of a run: its first
  std::vector<std::int64_t> floor_;   ///< of the first section of a run
  std::vector<std::int64_t> starts_;  ///< of a piece
  std::uint64_t operations_ = 0;
  std::uint32_t at_ = 0;  ///< first section of a run
};

}  // namespace ballast::inline v0_2::detail
