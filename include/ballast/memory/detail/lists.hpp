// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

using operator_order = std::vector<std::uint32_t>;

// The change of memory of each operator, kept while a sweep steps.
template <class = when_called>
class kept_changes {
 public:
  kept_changes(order_problem const& p, order_sweep<> const& sweep, bool backwards) : p_(p), sweep_(sweep), backwards_(backwards) {
    for (std::uint32_t v = 0; v < p.size(); ++v) change_.push_back(sweep.change(v));
  }
  [[nodiscard]] std::int64_t operator[](std::uint32_t v) const { return change_[v]; }
  // Follows a step of the sweep; `lowered` is called with each other user of a storage whose change the step lowers.
  template <class Lowered>
  void stepped(std::uint32_t v, Lowered const& lowered) {
    for (auto const s : p_.touched[v]) {
      auto const users = p_.users[s];
      if (users.size() < 2 || sweep_.left(s) != (backwards_ ? users.size() - 1 : 1)) continue;
      for (auto const u : users)
        if (u != v) change_[u] -= p_.bytes[s], lowered(u);
    }
  }

 private:
  order_problem const& p_;
  order_sweep<> const& sweep_;
  bool backwards_;
  std::vector<std::int64_t> change_;
};

// Runs, or undoes, of the ready operators the one that adds the least memory. Keys only fall while an operator is ready, so a key that is
// no longer right lies behind the right one in the heap.
template <class = when_called>
[[nodiscard]] operator_order least_change_order(order_problem const& p, bool backwards) {
  using key = std::pair<std::int64_t, std::uint32_t>;
  order_sweep<> sweep(p, backwards);
  kept_changes<> change(p, sweep, backwards);
  std::vector<key> heap;
  std::vector<std::uint8_t> done(p.size(), 0);
  operator_order out, released, seen(p.size(), order_problem::none);
  out.reserve(p.size());
  auto const push = [&](std::uint32_t v) {
    heap.emplace_back(change[v], backwards ? ~v : v);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (std::uint32_t v = 0; v < p.size(); ++v)
    if (sweep.ready(v)) push(v);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    auto const v = backwards ? ~heap.back().second : heap.back().second;
    heap.pop_back();
    if (std::exchange(done[v], std::uint8_t{1}) != 0) continue;
    out.push_back(v);
    released.clear();
    auto const release = [&](std::uint32_t u) {
      if (done[u] == 0 && sweep.ready(u) && std::exchange(seen[u], v) != v) released.push_back(u);
    };
    sweep.step(v, release);
    change.stepped(v, release);
    for (auto const u : released) push(u);
  }
  if (backwards) std::reverse(out.begin(), out.end());
  return out;
}

// Values that change, with the first in order of any range of them: a tree in which a node has the first of the two below it.
template <class Value, class Before>
class range_firsts {
 public:
  range_firsts(std::size_t count, Value none)
      : none_(none), size_(std::bit_ceil((std::max)(count, std::size_t{1}))), nodes_(2 * size_, none) {}

  [[nodiscard]] Value const& operator[](std::size_t i) const { return nodes_[size_ + i]; }
  void set(std::size_t i, Value const& value) {
    i += size_;
    for (nodes_[i] = value, i /= 2; i > 0; i /= 2) {
      auto const& first = first_of(nodes_[2 * i], nodes_[2 * i + 1]);
      if (nodes_[i] == first) return;
      nodes_[i] = first;
    }
  }
  // Changes the values from `begin` on.
  void write(std::size_t begin, std::span<Value const> values) {
    if (values.empty()) return;
    std::copy(values.begin(), values.end(), nodes_.begin() + static_cast<std::ptrdiff_t>(size_ + begin));
    for (auto first = (size_ + begin) / 2, last = (size_ + begin + values.size() - 1) / 2; first > 0; first /= 2, last /= 2)
      for (auto i = first; i <= last; ++i) nodes_[i] = first_of(nodes_[2 * i], nodes_[2 * i + 1]);
  }
  // The first in order of values begin ... end - 1, or `none`.
  [[nodiscard]] Value first(std::size_t begin, std::size_t end) const {
    auto out = none_;
    for (auto i = size_ + begin, j = size_ + end; i < j; i /= 2, j /= 2) {
      if (i % 2 == 1) out = first_of(out, nodes_[i++]);
      if (j % 2 == 1) out = first_of(out, nodes_[--j]);
    }
    return out;
  }
  // Where it is; there is a value.
  [[nodiscard]] std::size_t where_first(std::size_t begin, std::size_t end) const {
    auto const wanted = first(begin, end);
    auto i = size_ + begin;
    while (Before()(wanted, nodes_[i])) {  // the next node to the right, as high as possible
      while (i % 2 == 1) i /= 2;
      ++i;
    }
    while (i < size_) i = 2 * i + (Before()(wanted, nodes_[2 * i]) ? 1 : 0);
    return i - size_;
  }

 private:
  [[nodiscard]] static Value const& first_of(Value const& a, Value const& b) { return Before()(b, a) ? b : a; }

  Value none_;
  std::size_t size_;
  std::vector<Value> nodes_;
};

// Of the ready operators that run within the peak so far, the one that adds least; if there is none, the one that needs least to run.
template <class = when_called>
[[nodiscard]] operator_order least_peak_first(order_problem const& p) {
  auto const n = p.size();
  operator_order by_need(n), rank(n), out, released;
  out.reserve(n);
  std::iota(by_need.begin(), by_need.end(), 0U);
  std::sort(by_need.begin(), by_need.end(), [&](auto a, auto b) { return p.need[a] != p.need[b] ? p.need[a] < p.need[b] : a < b; });
  for (std::uint32_t r = 0; r < n; ++r) rank[by_need[r]] = r;
  order_sweep<> sweep(p, false);
  kept_changes<> change(p, sweep, false);
  using key = std::pair<std::int64_t, std::uint32_t>;
  constexpr key none{(std::numeric_limits<std::int64_t>::max)(), order_problem::none};
  range_firsts<key, std::less<>> ready(n, none);  // by rank
  operator_order heap;                            // ranks of ready operators, and of some that have run
  auto const add = [&](std::uint32_t v) { ready.set(rank[v], {change[v], v}); };
  auto const holds = [&](std::uint32_t r) { return ready[r] != none; };
  auto const release = [&](std::uint32_t v) {
    add(v);
    heap.push_back(rank[v]);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (std::uint32_t v = 0; v < n; ++v)
    if (sweep.ready(v)) release(v);
  std::int64_t peak = p.start;
  while (out.size() < n) {
    auto const room = peak - sweep.memory();
    auto const end = std::partition_point(by_need.begin(), by_need.end(), [&](auto v) { return p.need[v] <= room; }) - by_need.begin();
    auto v = ready.first(0, static_cast<std::size_t>(end)).second;
    while (v == order_problem::none) {
      if (holds(heap.front())) v = by_need[heap.front()];
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      heap.pop_back();
    }
    ready.set(rank[v], none);
    out.push_back(v);
    peak = (std::max)(peak, sweep.running(v));
    released.clear();
    sweep.step(v, [&](std::uint32_t u) { released.push_back(u); });
    change.stepped(v, [&](std::uint32_t u) {
      if (holds(rank[u])) add(u);
    });
    for (auto const u : released) release(u);
  }
  return out;
}

// First come, first run: by the steps of what had to run before, compared one by one.
template <class = when_called>
[[nodiscard]] operator_order breadth_first(order_problem const& p) {
  auto steps = p.before;  // the same rows, with steps for members
  operator_order heap, step(p.size()), out;
  order_sweep<> sweep(p, false);
  auto const later = [&](std::uint32_t a, std::uint32_t b) {
    auto const x = steps[a], y = steps[b];
    if (std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end())) return false;
    return std::lexicographical_compare(y.begin(), y.end(), x.begin(), x.end()) || a > b;
  };
  auto const push = [&](std::uint32_t v) {
    auto const begin = static_cast<std::ptrdiff_t>(steps.offsets[v]), end = static_cast<std::ptrdiff_t>(steps.offsets[v + 1]);
    for (auto i = begin; i < end; ++i) {
      auto& m = steps.members[static_cast<std::size_t>(i)];
      m = step[m];
    }
    std::sort(steps.members.begin() + begin, steps.members.begin() + end);
    heap.push_back(v);
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (std::uint32_t v = 0; v < p.size(); ++v)
    if (sweep.ready(v)) push(v);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    auto const v = heap.back();
    heap.pop_back();
    step[v] = static_cast<std::uint32_t>(out.size());
    out.push_back(v);
    sweep.step(v, push);
  }
  return out;
}

// Program order, but an update runs as soon as all has run that must run before it.
template <class = when_called>
[[nodiscard]] operator_order updates_at_once(order_problem const& p) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> keys;  // where in program order each one runs: in its place, but for updates
  for (std::uint32_t v = 0; v < p.size(); ++v) {
    auto behind = p.update[v] != 0 ? 0 : v + 1;
    for (auto const u : p.before[v]) behind = (std::max)(behind, keys[u].first);
    keys.emplace_back(behind, v);
  }
  std::sort(keys.begin(), keys.end());
  operator_order out;
  for (auto const& [behind, v] : keys) out.push_back(v);
  return out;
}

// What an operator needs runs just before it; of several, first the one that reads and writes least.
template <class = when_called>
[[nodiscard]] operator_order depth_first(order_problem const& p) {
  auto const n = p.size();
  std::vector<std::int64_t> moved(n, 0);
  for (std::size_t v = 0; v < n; ++v)
    for (auto const s : p.touched[v]) moved[v] += p.bytes[s];
  operator_order by_moved(n), out, path;
  std::iota(by_moved.begin(), by_moved.end(), 0U);
  std::sort(by_moved.begin(), by_moved.end(), [&](auto a, auto b) { return moved[a] != moved[b] ? moved[a] < moved[b] : a < b; });
  auto before = p.before;  // rows in that order
  auto next = before.offsets;
  for (auto const u : by_moved)
    for (auto const v : p.after[u]) before.members[static_cast<std::size_t>(next[v]++)] = u;
  std::copy(before.offsets.begin(), before.offsets.end(), next.begin());
  std::vector<std::uint8_t> seen(n, 0);
  for (auto const root : by_moved) {
    if (seen[root] != 0) continue;
    seen[root] = 1;
    path.push_back(root);
    while (!path.empty()) {
      auto const v = path.back();
      if (next[v] == before.offsets[v + 1]) {
        out.push_back(v);
        path.pop_back();
      } else if (auto const u = before.members[static_cast<std::size_t>(next[v]++)]; std::exchange(seen[u], std::uint8_t{1}) == 0) {
        path.push_back(u);
      }
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
