// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/detail/layout_choices.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/layout_state.hpp>
#include <ballast/memory/detail/word_sets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// What a search under a capacity found.
enum class layout_answer : std::uint8_t { found, none, cut_short };

/// Depth-first search for a layout under a capacity. A node takes a section of a valley, which is a run of sections with one floor between
/// higher ones: the piece that starts there next is one of those that lie in the valley and can start at its floor; or nothing starts
/// there, and the floor rises. Sections that no unplaced piece joins are searched one after the other.
template <class = when_called>
class layout_search {
 public:
  layout_search(layout_problem<> const& problem, std::uint64_t seed, search_budget& budget)
      : problem_(problem), state_(problem), choice_(problem.sections), order_(problem, seed), budget_(budget) {}

  [[nodiscard]] layout_state<>& state() { return state_; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  /// Whether the search has to end. Counts the operations since the last question, of about a nanosecond.
  [[nodiscard]] bool over() {
    budget_.spend(4 * std::exchange(state_.work, 0));
    return !budget_.allows(end_);
  }
  /// Ends when so much of the budget is spent, by whomever.
  void until(std::uint64_t end) { end_ = end; }

  /// Sets the capacity in bytes. False: it is clear at once that no layout exists.
  [[nodiscard]] bool start(std::int64_t capacity) {
    capacity_ = capacity;
    return state_.start(capacity);
  }

  /// The starts of a layout, in units: every second run tries to come near to it.
  void guide(std::vector<std::int64_t> const& starts) { order_.guide(starts); }

  /// The run of this number under the capacity: its rule, order of values and number of nodes follow from the number.
  [[nodiscard]] layout_answer run(std::uint64_t number) {
    rule_ = static_cast<section_rule>(number % 3);
    nodes_left_ = (problem_.pieces.size() * 3 / 2 + 1) * luby(number / 3 + 1);
    order_.sort(number);
    auto const answer = search();
    if (answer != layout_answer::found) state_.undo(0);
    choice_.forget();
    return answer;
  }

 private:
  static constexpr std::size_t most_failed = std::size_t{1} << 23;  ///< words: 64 MiB
  struct frame {
    std::uint32_t first, last;  ///< its component
    layout_branch branch{};
    std::size_t mark = 0;               ///< of the state, before its child
    std::size_t choices = 0, next = 0;  ///< first entry of its pieces in `choices_`, and the next one
    std::size_t parts = 0;              ///< first entry of its child's components in `parts_`
  };
  struct component {
    std::uint32_t first, last;
    std::uint64_t weight;
  };

  [[nodiscard]] static std::uint64_t luby(std::uint64_t i) {
    for (;;) {
      std::uint64_t power = 1;
      while (2 * power <= i + 1) power *= 2;
      if (power == i + 1) return power / 2;
      i -= power - 1;
    }
  }

  /// Appends the components of sections first … last - 1 to `parts_`; the next to search comes last.
  void split(std::uint32_t first, std::uint32_t last) {
    auto const begin = static_cast<std::ptrdiff_t>(parts_.size());
    for (auto i = first; i < last;) {
      auto j = i + 1;
      auto weight = choice_.weight(i);
      for (; j < last && state_.cross[j] != 0; ++j) weight = (std::max)(weight, choice_.weight(j));
      if (state_.count[i] != 0) parts_.push_back({i, j, weight});
      i = j;
    }
    state_.work += last - first;
    std::sort(parts_.begin() + begin, parts_.end(),
              [](auto const& a, auto const& b) { return a.weight != b.weight ? a.weight < b.weight : a.first > b.first; });
  }

  void write_key(std::uint32_t first, std::uint32_t last) {
    key_.clear();
    key_.push_back(static_cast<std::uint64_t>(capacity_));
    key_.push_back(std::uint64_t{first} << 32 | last);
    auto const from = problem_.begins[first], to = problem_.begins[last];
    for (auto i = from / 64; i * 64 < to; ++i) {
      auto word = state_.unplaced[i];
      if (i == from / 64) word &= ~std::uint64_t{0} << (from % 64);
      if (i == to / 64) word &= (std::uint64_t{1} << (to % 64)) - 1;
      key_.push_back(word);
    }
    for (auto s = first; s < last; ++s) {
      key_.push_back(static_cast<std::uint64_t>(state_.floor[s]));
      key_.push_back(static_cast<std::uint64_t>(state_.top[s]));
    }
    state_.work += key_.size();
  }

  /// Enters a component. False: it failed before.
  [[nodiscard]] bool enter(std::uint32_t first, std::uint32_t last) {
    write_key(first, last);
    if (failed_.find(key_) != failed_.size()) return false;
    ++nodes_;
    frame f{.first = first,
            .last = last,
            .branch = choice_.choose(state_, rule_, first, last),
            .mark = state_.mark(),
            .choices = choices_.size(),
            .next = choices_.size(),
            .parts = parts_.size()};
    auto const s = f.branch.section;
    for (auto const u : state_.live(s))
      if (state_.lowest[u] == state_.floor[s] && (!problem_.twins(u) || state_.is_placed(u - 1))) choices_.push_back(u);
    std::sort(choices_.begin() + static_cast<std::ptrdiff_t>(f.choices), choices_.end(),
              [&](auto a, auto b) { return order_.rank(a) < order_.rank(b); });
    frames_.push_back(f);
    return true;
  }

  /// Applies the next child of the last frame that does not fail at once. False: there is none.
  [[nodiscard]] bool next_child() {
    auto& f = frames_.back();
    for (;;) {
      state_.undo(f.mark);
      parts_.resize(f.parts);
      bool good = false;
      if (f.next < choices_.size()) {
        good = state_.place(choices_[f.next++]);
      } else if (f.branch.waste) {
        f.branch.waste = false;
        auto const s = f.branch.section;
        auto const to = state_.next_start(s, 0);
        if (to == state_.never || to > state_.floor[s] + state_.slack(s)) return false;
        good = state_.raise(s, to);
      } else {
        return false;
      }
      if (good) {
        split(f.first, f.last);
        return true;
      }
      choice_.failed_at(state_.failed_at());
    }
  }

  [[nodiscard]] layout_answer search() {
    frames_.clear();
    choices_.clear();
    parts_.clear();
    split(0, problem_.sections);
    auto const roots = parts_;
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
      parts_.clear();
      choices_.clear();
      auto const answer = solve(root->first, root->last);
      if (answer != layout_answer::found) return answer;
    }
    return layout_answer::found;
  }

  [[nodiscard]] layout_answer solve(std::uint32_t first, std::uint32_t last) {
    if (!enter(first, last)) return layout_answer::none;
    for (bool failed = true; !frames_.empty();) {  // failed: the last frame needs its next child
      if (nodes_left_ == 0 || over()) {
        frames_.clear();
        return layout_answer::cut_short;
      }
      if (failed && !next_child()) {
        leave_failed();
        continue;
      }
      auto& f = frames_.back();
      if (parts_.size() == f.parts) {  // all components of the child are solved
        choices_.resize(f.choices);
        frames_.pop_back();
        failed = false;
        if (frames_.empty()) return layout_answer::found;
        continue;
      }
      auto const part = parts_.back();
      parts_.pop_back();
      --nodes_left_;
      failed = true;
      static_cast<void>(enter(part.first, part.last));
    }
    return layout_answer::none;
  }

  void leave_failed() {
    auto const f = frames_.back();
    write_key(f.first, f.last);
    if (failed_.words() + key_.size() <= most_failed) failed_.insert(key_);
    choices_.resize(f.choices);
    frames_.pop_back();
  }

  layout_problem<> const& problem_;
  layout_state<> state_;
  section_choice<> choice_;
  value_order<> order_;
  search_budget& budget_;
  std::uint64_t end_ = ~std::uint64_t{0};
  word_sets<> failed_;  ///< components that have failed, as keys
  section_rule rule_ = section_rule::fewest_for_weight;
  std::vector<frame> frames_;
  std::vector<std::uint32_t> choices_;
  std::vector<component> parts_;
  std::vector<std::uint64_t> key_;
  std::int64_t capacity_ = 0;
  std::uint64_t nodes_ = 0, nodes_left_ = 0;
};

}  // namespace ballast::inline v0_2::detail
