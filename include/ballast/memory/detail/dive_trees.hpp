// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/memory/detail/layout_problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// What a dive knows of a section.
struct section_urgency {
  std::int64_t key = 0;     ///< the section with the least is the most urgent
  std::int64_t covers = 0;  ///< pieces that cover it and could start at its floor
};

/// A segment tree of sections: adds to a range, and finds the first or the least in a range.
template <class = when_called>
class section_tree {
 public:
  void start(std::vector<section_urgency> const& sections) {
    size_ = std::bit_ceil((std::max)(sections.size(), std::size_t{1}));
    nodes_.assign(2 * size_, node{});
    for (std::size_t s = 0; s < sections.size(); ++s) nodes_[size_ + s] = {sections[s].key, sections[s].covers, sections[s].covers, 0, 0};
    for (auto at = size_; at-- > 1;) pull(at);
    steps_.assign(sections.size() + 1, 0);
  }
  void add(std::uint32_t first, std::uint32_t last, section_urgency by) { add(1, 0, size_, first, last, by); }
  /// Notes an addition of `by` times `cover()`'s urgency to a range, which counts from `add_noted` on.
  void note(std::uint32_t first, std::uint32_t last, std::int64_t by) {
    noted_.push_back({first, last, by});
    noted_first_ = (std::min)(noted_first_, first);
    noted_last_ = (std::max)(noted_last_, last);
  }
  /// Makes the noted additions: one by one, or many in one sweep over the sections from the first to the last.
  void add_noted(section_urgency const& of) {
    if (noted_.size() * sweep < noted_last_ - noted_first_) {
      for (auto const& n : noted_) add(n.first, n.last, {n.by * of.key, n.by * of.covers});
    } else if (!noted_.empty()) {
      for (auto const& n : noted_) steps_[n.first] += n.by, steps_[n.last] -= n.by;
      std::int64_t by = 0;
      add_steps(1, 0, size_, of, by);
      steps_[noted_last_] = 0;
    }
    noted_.clear();
    noted_first_ = none, noted_last_ = 0;
  }
  /// The first section of first … last - 1 that a piece covers, or `last`.
  [[nodiscard]] std::uint32_t first_covered(std::uint32_t first, std::uint32_t last) const {
    return find(1, 0, size_, first, last, 0, [](node const& t, std::int64_t above) { return t.most_covers + above > 0; });
  }
  /// The first section that no piece covers, or `last`.
  [[nodiscard]] std::uint32_t first_bare(std::uint32_t first, std::uint32_t last) const {
    return find(1, 0, size_, first, last, 0, [](node const& t, std::int64_t above) { return t.least_covers + above == 0; });
  }
  /// The first section with the least key; the range is not empty.
  [[nodiscard]] std::uint32_t most_urgent(std::uint32_t first, std::uint32_t last) const {
    least best;
    search(1, 0, size_, first, last, 0, best);
    while (best.at < size_) best.at = 2 * best.at + (nodes_[2 * best.at + 1].key < nodes_[2 * best.at].key ? 1 : 0);
    return static_cast<std::uint32_t>(best.at - size_);
  }

 private:
  struct node {
    std::int64_t key = (std::numeric_limits<std::int64_t>::max)() / 2;
    std::int64_t least_covers = 1, most_covers = 0;
    std::int64_t key_added = 0, covers_added = 0;  ///< to all below, and not yet in their nodes
  };
  struct least {
    std::int64_t key = (std::numeric_limits<std::int64_t>::max)();
    std::size_t at = 0;
  };
  void pull(std::size_t at) {
    auto const &a = nodes_[2 * at], &b = nodes_[2 * at + 1];
    auto& t = nodes_[at];
    t.key = (std::min)(a.key, b.key) + t.key_added;
    t.least_covers = (std::min)(a.least_covers, b.least_covers) + t.covers_added;
    t.most_covers = (std::max)(a.most_covers, b.most_covers) + t.covers_added;
  }
  void add(std::size_t at, std::size_t begin, std::size_t end, std::uint32_t first, std::uint32_t last, section_urgency by) {
    if (first >= end || last <= begin) return;
    if (first <= begin && end <= last) {
      auto& t = nodes_[at];
      t.key += by.key, t.key_added += by.key;
      t.least_covers += by.covers, t.most_covers += by.covers, t.covers_added += by.covers;
      return;
    }
    auto const middle = (begin + end) / 2;
    add(2 * at, begin, middle, first, last, by);
    add(2 * at + 1, middle, end, first, last, by);
    pull(at);
  }
  void add_steps(std::size_t at, std::size_t begin, std::size_t end, section_urgency const& of, std::int64_t& by) {
    if (noted_first_ >= end || noted_last_ <= begin) return;
    if (end - begin == 1) {
      by += std::exchange(steps_[begin], 0);
      auto& t = nodes_[at];
      t.key += by * of.key;
      t.least_covers += by * of.covers, t.most_covers += by * of.covers;
      return;
    }
    auto const middle = (begin + end) / 2;
    add_steps(2 * at, begin, middle, of, by);
    add_steps(2 * at + 1, middle, end, of, by);
    pull(at);
  }
  template <class Test>
  [[nodiscard]] std::uint32_t find(std::size_t at, std::size_t begin, std::size_t end, std::uint32_t first, std::uint32_t last,
                                   std::int64_t above, Test const& test) const {
    if (first >= end || last <= begin || !test(nodes_[at], above)) return last;
    if (end - begin == 1) return static_cast<std::uint32_t>(begin);
    auto const middle = (begin + end) / 2;
    above += nodes_[at].covers_added;
    auto const left = find(2 * at, begin, middle, first, last, above, test);
    return left != last ? left : find(2 * at + 1, middle, end, first, last, above, test);
  }
  void search(std::size_t at, std::size_t begin, std::size_t end, std::uint32_t first, std::uint32_t last, std::int64_t above,
              least& best) const {
    if (first >= end || last <= begin || nodes_[at].key + above >= best.key) return;
    if (first <= begin && end <= last) {
      best = {nodes_[at].key + above, at};
      return;
    }
    auto const middle = (begin + end) / 2;
    above += nodes_[at].key_added;
    search(2 * at, begin, middle, first, last, above, best);
    search(2 * at + 1, middle, end, first, last, above, best);
  }

  struct addition {
    std::uint32_t first, last;
    std::int64_t by;
  };
  static constexpr std::size_t sweep = 12;  ///< sections of a sweep that take as long as one addition
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  std::size_t size_ = 1;
  std::vector<node> nodes_;
  std::vector<addition> noted_;
  std::uint32_t noted_first_ = none, noted_last_ = 0;
  std::vector<std::int64_t> steps_;  ///< of a section: what is added from there on; 0 but in a sweep
};

/// A segment tree of pieces by first section: which of them are inside a run, which outside, and which are placed.
template <class = when_called>
class piece_tree {
 public:
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  /// All pieces are inside. `rank` is the place of each in an order.
  void start(std::vector<layout_piece> const& pieces, std::vector<std::uint32_t> const& rank) {
    rank_ = &rank;
    size_ = std::bit_ceil((std::max)(pieces.size(), std::size_t{1}));
    nodes_.assign(2 * size_, node{});
    for (std::uint32_t i = 0; i < pieces.size(); ++i) nodes_[size_ + i] = inside(i, pieces[i].last);
    for (auto at = size_; at-- > 1;) pull(at);
  }
  void place(std::uint32_t i) {
    auto at = size_ + i;
    nodes_[at] = {};
    for (at /= 2; at >= 1; at /= 2) pull(at);
  }
  /// The inside piece of begin … end - 1 that reaches beyond section `s` and is first in the order, or `none`.
  [[nodiscard]] std::uint32_t first_reaching(std::size_t begin, std::size_t end, std::uint32_t s) const {
    auto best = none, rank = none;
    search(1, 0, size_, begin, end, s, best, rank);
    return best;
  }
  /// Those that reach beyond the begin of section s come to be outside.
  template <class Body>
  void cut(std::size_t begin, std::size_t end, std::uint32_t s, Body const& body) {
    change(
        1, 0, size_, begin, end, [s](node const& t) { return t.inside > s; },
        [&](std::uint32_t i, node& t) {
          t = {.outside = t.inside};
          body(i);
        });
  }
  /// Those outside that end with section s - 1 or before come to be inside.
  template <class Body>
  void join(std::size_t begin, std::size_t end, std::uint32_t s, Body const& body) {
    change(
        1, 0, size_, begin, end, [s](node const& t) { return t.outside <= s; },
        [&](std::uint32_t i, node& t) {
          t = inside(i, t.outside);
          body(i);
        });
  }

 private:
  struct node {
    std::uint32_t inside = 0;      ///< the greatest last section of those inside
    std::uint32_t outside = none;  ///< the least of those outside
    std::uint32_t rank = none;     ///< the least of those inside
  };
  [[nodiscard]] node inside(std::uint32_t i, std::uint32_t last) const { return {last, none, (*rank_)[i]}; }
  void pull(std::size_t at) {
    auto const &a = nodes_[2 * at], &b = nodes_[2 * at + 1];
    nodes_[at] = {(std::max)(a.inside, b.inside), (std::min)(a.outside, b.outside), (std::min)(a.rank, b.rank)};
  }
  /// The half with the least rank goes first.
  void search(std::size_t at, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, std::uint32_t s, std::uint32_t& best,
              std::uint32_t& rank) const {
    if (begin >= to || end <= from || nodes_[at].inside <= s || nodes_[at].rank >= rank) return;
    if (to - from == 1) {
      best = static_cast<std::uint32_t>(from);
      rank = nodes_[at].rank;
      return;
    }
    auto const middle = (from + to) / 2;
    bool const right = nodes_[2 * at + 1].rank < nodes_[2 * at].rank;
    if (right) search(2 * at + 1, middle, to, begin, end, s, best, rank);
    search(2 * at, from, middle, begin, end, s, best, rank);
    if (!right) search(2 * at + 1, middle, to, begin, end, s, best, rank);
  }
  /// Calls `body` for the leaves that pass a test.
  template <class Test, class Body>
  void change(std::size_t at, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, Test const& test, Body const& body) {
    if (begin >= to || end <= from || !test(nodes_[at])) return;
    if (to - from == 1) return body(static_cast<std::uint32_t>(from), nodes_[at]);
    auto const middle = (from + to) / 2;
    change(2 * at, from, middle, begin, end, test, body);
    change(2 * at + 1, middle, to, begin, end, test, body);
    pull(at);
  }

  std::vector<std::uint32_t> const* rank_ = nullptr;
  std::size_t size_ = 1;
  std::vector<node> nodes_;
};

}  // namespace ballast::inline v0_2::detail
