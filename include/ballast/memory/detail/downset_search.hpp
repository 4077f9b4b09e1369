// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/detail/downset_walk.hpp>
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_problem.hpp>
#include <ballast/memory/detail/word_sets.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// Searches for an order of less than a given peak, from the first operator on or, undoing them, from the last. A state is a closed set of
// operators that have run, with the least peak on a way to it. The state of least peak goes on first, so the peak rises level by level, and
// the first way to the end is optimal.
//
// At each level the other end is closed too: within the level, the last operators (the first ones for a search backwards) have a set of
// ways from the end back to a set E of no more memory than any between. So M(P and E) <= M(P) for any set P, and an order within the level
// that passes P1, P2, ... can pass P1 and E, P2 and E, ... up to E. Therefore the search is over the subsets of E, and ends there. E
// becomes smaller from level to level; of a state that is not within E any more, the part within E goes on.
template <class = when_called>
class downset_search {
 public:
  enum class outcome : std::uint8_t { found, exhausted, paused };

  // No order needs less than `floor`.
  downset_search(order_problem const& p, bool backwards, std::int64_t floor, std::int64_t below)
      : p_(p), backwards_(backwards), below_(below), walk_(p, backwards), end_(p, !backwards), sets_(walk_.here().size()) {
    auto const peak = (std::max)({floor, walk_.sweep().memory(), end_.sweep().memory()});
    if (peak >= below_) return;
    std::ignore = close_end(peak);
    walk_.close(peak, end_.here());
    add(none, none, peak);
  }

  void want_below(std::int64_t below) { below_ = (std::min)(below_, below); }
  [[nodiscard]] std::size_t states() const noexcept { return state_.size(); }
  // No order needs less: the least peak of a state that can still go on.
  [[nodiscard]] std::int64_t lower_bound() const { return queue_.empty() ? below_ : (std::min)(below_, queue_.front().peak); }

  // Goes on until there are that many states, or the budget ends.
  [[nodiscard]] outcome run(std::size_t most, search_budget& budget) {
    while (!queue_.empty() && queue_.front().peak < below_) {
      budget.spend(2 * (walk_.work() + end_.work() + std::exchange(work_, 0)));
      if (state_.size() >= most || !budget.allows()) return outcome::paused;
      auto const top = queue_.front();
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      queue_.pop_back();
      if (top.peak != state_[top.id].next) continue;
      if (top.peak > level_ && close_end(top.peak)) return outcome::found;
      if (cut(sets_[top.id])) {
        go_on_within(top.id);
      } else if (top.left == end_.path().size()) {
        found_ = top.id;
        return outcome::found;
      } else {
        go_on_from(top.id);
      }
    }
    queue_.clear();
    return outcome::exhausted;
  }

  // The order that `run` found, which has this peak.
  [[nodiscard]] std::int64_t peak() const { return level_; }
  [[nodiscard]] operator_order order() {
    std::vector<std::uint32_t> way;
    for (auto id = found_; id != none; id = state_[id].parent) way.push_back(id);
    std::reverse(way.begin(), way.end());
    operator_order out;
    for (auto const id : way) {  // closes each state again as it was closed when it was found
      auto const& s = state_[id];
      auto const end = end_at(s.peak);
      auto from = s.parent == none ? downset(end.size(), 0) : downset(sets_[s.parent].begin(), sets_[s.parent].end());
      for (std::size_t w = 0; w < end.size(); ++w) from[w] &= ~end[w];
      walk_.go_to(from);
      if (s.ran != none) walk_.run(s.ran);
      walk_.close(s.peak, end);
      out.insert(out.end(), walk_.path().begin(), walk_.path().end());
    }
    std::erase_if(out, [&](std::uint32_t v) { return (end_.here()[v / 64] >> v % 64 & 1) != 0; });
    out.insert(out.end(), end_.path().rbegin(), end_.path().rend());
    if (backwards_) std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  static constexpr auto none = order_problem::none;
  struct state {
    std::int64_t peak;  // least on a way to the set
    std::int64_t next;  // least with the ready operators from which the search did not go on yet
    std::int64_t memory;
    std::uint32_t parent, ran;  // the operator that ran before the state was closed
    std::uint32_t left, last;   // operators that have not run; the last one from which the search went on
  };
  struct waiting {
    std::int64_t peak;
    std::uint32_t left;
    std::int64_t memory;
    std::uint32_t id;
    auto operator<=>(waiting const&) const = default;
  };

  // Closes the other end; whether it meets a state.
  [[nodiscard]] bool close_end(std::int64_t level) {
    level_ = level;
    end_.close(level, downset(end_.here().size(), 0));
    closed_.emplace_back(level, end_.path().size());
    downset rest(end_.here());
    for (auto& word : rest) word = ~word;
    if (p_.size() % 64 != 0) rest.back() &= (std::uint64_t{1} << p_.size() % 64) - 1;
    auto const id = sets_.find(rest);
    if (id == sets_.size()) return false;
    found_ = id;
    return true;
  }
  // The operators that belong to the end at a level so far.
  [[nodiscard]] downset end_at(std::int64_t level) const {
    downset out(end_.here().size(), 0);
    auto const after = std::upper_bound(closed_.begin(), closed_.end(), std::pair(level, (std::numeric_limits<std::size_t>::max)()));
    for (std::size_t i = 0; i < std::prev(after)->second; ++i) out[end_.path()[i] / 64] |= std::uint64_t{1} << end_.path()[i] % 64;
    return out;
  }
  [[nodiscard]] bool cut(std::span<std::uint64_t const> set) const {
    for (std::size_t w = 0; w < set.size(); ++w)
      if ((set[w] & end_.here()[w]) != 0) return true;
    return false;
  }
  void go_on_within(std::uint32_t id) {
    downset within(sets_[id].begin(), sets_[id].end());
    for (std::size_t w = 0; w < within.size(); ++w) within[w] &= ~end_.here()[w];
    state_[id].next = (std::numeric_limits<std::int64_t>::max)();
    walk_.go_to(within);
    walk_.close(level_, end_.here());
    add(id, none, level_);
  }
  // Runs the operators that are ready in a state one by one, first those that raise the peak least. Those that raise it more wait until the
  // search has no smaller peak, and those that raise it as much until it comes back from what the first leads to.
  void go_on_from(std::uint32_t id) {
    walk_.go_to(sets_[id]);
    auto const key = [&](std::uint32_t v) {
      work_ += 4 + 2 * p_.touched[v].size();
      return std::tuple((std::max)(state_[id].peak, walk_.sweep().running(v)), walk_.sweep().change(v), backwards_ ? ~v : v);
    };
    next_.clear();
    walk_.for_each_ready(end_.here(), [&](std::uint32_t v) {
      if (auto const k = key(v); std::get<0>(k) < below_) next_.push_back(k);
    });
    std::sort(next_.begin(), next_.end());
    auto at = state_[id].last == none ? next_.begin() : std::upper_bound(next_.begin(), next_.end(), key(state_[id].last));
    for (bool added = false; at != next_.end(); ++at) {
      auto const& [then, change, number] = *at;
      if (added || then > level_) {
        state_[id].next = then;
        return enqueue(id);
      }
      auto const v = state_[id].last = backwards_ ? ~number : number;
      walk_.run(v);
      walk_.close(then, end_.here());
      added = add(id, v, then);
      walk_.take_back(0);
    }
    state_[id].next = (std::numeric_limits<std::int64_t>::max)();
  }
  // Whether the set of the walk is new, or was reached with a smaller peak than before.
  bool add(std::uint32_t parent, std::uint32_t v, std::int64_t peak) {
    auto const [id, is_new] = sets_.insert(walk_.here());
    if (is_new) {
      auto left = static_cast<std::uint32_t>(p_.size());
      for (auto const word : walk_.here()) left -= static_cast<std::uint32_t>(std::popcount(word));
      state_.push_back({peak, peak, walk_.sweep().memory(), parent, v, left, none});
    } else if (peak < state_[id].peak) {
      state_[id].peak = state_[id].next = peak, state_[id].parent = parent, state_[id].ran = v;
    } else {
      return false;
    }
    enqueue(id);
    return true;
  }
  void enqueue(std::uint32_t id) {
    queue_.push_back({state_[id].next, state_[id].left, state_[id].memory, id});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  order_problem const& p_;
  bool backwards_;
  std::int64_t below_, level_ = 0;
  downset_walk<> walk_, end_;
  std::vector<std::pair<std::int64_t, std::size_t>> closed_;  // levels, and how much of the end is closed at each
  word_sets<> sets_;
  std::vector<state> state_;
  std::vector<waiting> queue_;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> next_;  // ready operators: peak, change of memory, number
  std::uint32_t found_ = none;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
