// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ballast::inline v0_2::detail {

// A search for an order looks at the clock once for each so much work.
inline constexpr auto order_interval = std::uint64_t{1} << 18;

// A maximum flow by blocking flows over shortest paths (Dinic). The flow found so far is never above the least cut.
template <class = when_called>
class flow_network {
 public:
  static constexpr auto endless = std::int64_t{1} << 62;

  void clear(std::size_t nodes) {
    ends_.clear();
    nodes_ = nodes;
  }
  std::uint32_t add_node() { return static_cast<std::uint32_t>(nodes_++); }
  void add_arc(std::uint32_t from, std::uint32_t to, std::int64_t capacity) { ends_.push_back({from, to, capacity}); }
  // The flow from node 0 to node 1, or a smaller one if the budget ends, or `end` of it is spent.
  [[nodiscard]] std::int64_t flow(search_budget& budget, std::uint64_t end) {
    std::int64_t sum = 0;
    place_arcs(budget);
    while (budget.allows(end) && find_levels(budget)) {
      at_.assign(first_.begin(), first_.end() - 1);
      path_.clear();
      for (auto more = augment(budget); more > 0; more = augment(budget)) {
        sum += more;
        if (!budget.allows(end)) break;
      }
    }
    return sum;
  }

 private:
  static constexpr auto none = order_problem::none;
  static constexpr std::uint64_t arc_work = 6;
  struct arc {
    std::uint32_t to, reverse;
    std::int64_t left;
  };
  struct arc_ends {
    std::uint32_t from, to;
    std::int64_t capacity;
  };
  // The arcs of a node, with the reverses of those that lead to it, lie side by side.
  void place_arcs(search_budget& budget) {
    first_.assign(nodes_ + 1, 0);
    for (auto const& e : ends_) ++first_[e.from + 1], ++first_[e.to + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    at_.assign(first_.begin(), first_.end() - 1);
    arcs_.resize(2 * ends_.size());
    for (auto const& e : ends_) {
      auto const there = at_[e.from]++, back = at_[e.to]++;
      arcs_[there] = {e.to, back, e.capacity};
      arcs_[back] = {e.from, there, 0};
    }
    budget.spend(arc_work * (nodes_ + arcs_.size()));
  }
  bool find_levels(search_budget& budget) {
    level_.assign(nodes_, none);
    level_[0] = 0;
    queue_.assign(1, 0);
    for (std::size_t i = 0; i < queue_.size() && level_[1] == none; ++i)
      for (auto a = first_[queue_[i]]; a != first_[queue_[i] + 1]; ++a)
        if (arcs_[a].left > 0 && level_[arcs_[a].to] == none) {
          level_[arcs_[a].to] = level_[queue_[i]] + 1;
          queue_.push_back(arcs_[a].to);
        }
    budget.spend(arc_work * (nodes_ + arcs_.size()));
    return level_[1] != none;
  }
  // Sends what one more path can take, and returns it; 0 where no path is left. `path_` keeps what of the path can take more.
  std::int64_t augment(search_budget& budget) {
    for (auto v = path_.empty() ? 0U : arcs_[path_.back()].to; v != 1;) {
      auto const end = first_[v + 1];
      auto& a = at_[v];
      std::uint64_t passed = 1;
      for (; a != end && (arcs_[a].left == 0 || level_[arcs_[a].to] != level_[v] + 1); ++a) ++passed;
      budget.spend(arc_work * passed);
      if (a != end) {
        path_.push_back(a);
        v = arcs_[a].to;
      } else if (path_.empty()) {
        return 0;
      } else {
        v = arcs_[arcs_[path_.back()].reverse].to;
        ++at_[v];
        path_.pop_back();
      }
    }
    auto sent = endless;
    for (auto const a : path_) sent = (std::min)(sent, arcs_[a].left);
    for (auto const a : path_) arcs_[a].left -= sent, arcs_[arcs_[a].reverse].left += sent;
    budget.spend(arc_work * path_.size());
    path_.erase(std::find_if(path_.begin(), path_.end(), [&](auto a) { return arcs_[a].left == 0; }), path_.end());
    return sent;
  }

  std::size_t nodes_ = 0;
  std::vector<arc_ends> ends_;  // of the arcs as they were added
  std::vector<arc> arcs_;       // those of node v from first_[v] on
  std::vector<std::uint32_t> first_, level_, at_, queue_, path_;
};

// Lower bounds on the memory while an operator runs, in any order: what it needs, and the least memory of a set of operators that contains
// all that must run before it and nothing that must run behind it. That set is a minimum cut.
template <class = when_called>
class cut_bounds {
 public:
  explicit cut_bounds(order_problem const& p) : p_(p), side_(p.size()), node_(p.size()) {}

  // Valid, but smaller than the best, if the budget ends or `end` of it is spent.
  [[nodiscard]] std::int64_t of(std::uint32_t v, search_budget& budget, std::uint64_t end = ~std::uint64_t{0}) {
    std::fill(side_.begin(), side_.end(), side::open);
    spread(v, p_.before, side::done);
    spread(v, p_.after, side::later);
    side_[v] = side::later;
    network_.clear(2);
    for (std::uint32_t u = 0; u < p_.size(); ++u)
      if (side_[u] == side::open) node_[u] = network_.add_node();
    for (std::uint32_t u = 0; u < p_.size(); ++u)
      if (side_[u] == side::open)
        for (auto const w : p_.before[u])
          if (side_[w] == side::open) network_.add_arc(node_[u], node_[w], network_.endless);
    auto memory = p_.start + p_.need[v];
    for (std::uint32_t s = 0; s < p_.bytes.size(); ++s) memory += add_storage(s);
    budget.spend(20 * (p_.size() + p_.before.members.size() + p_.users.members.size()));
    return memory + network_.flow(budget, end);
  }

 private:
  enum class side : std::uint8_t { open, done, later };

  void spread(std::uint32_t v, groups<std::uint32_t> const& next, side to) {
    path_.assign(1, v);
    while (!path_.empty()) {
      auto const from = path_.back();
      path_.pop_back();
      for (auto const u : next[from])
        if (side_[u] == side::open) side_[u] = to, path_.push_back(u);
    }
  }
  // Adds a storage that the cut decides to the network; returns what the others add to the memory, beside `start`.
  std::int64_t add_storage(std::uint32_t s) {
    auto const maker = p_.maker[s];
    bool const there = maker == order_problem::none;
    bool needed = p_.kept[s] != 0;
    open_.clear();
    for (auto const u : p_.users[s]) {
      needed = needed || side_[u] == side::later;
      if (side_[u] == side::open && u != maker) open_.push_back(u);
    }
    if (!there && side_[maker] == side::later) return 0;
    if (there || side_[maker] == side::done) {
      if (needed) return there ? 0 : p_.bytes[s];
      if (!open_.empty()) add_needed(0, p_.bytes[s]);
      return there ? -p_.bytes[s] : 0;
    }
    if (needed)
      network_.add_arc(node_[maker], 1, p_.bytes[s]);
    else if (!open_.empty())
      add_needed(node_[maker], p_.bytes[s]);
    return 0;
  }
  // Memory that is in use once `from` has run, until all of open_ have.
  void add_needed(std::uint32_t from, std::int64_t bytes) {
    if (open_.size() == 1) return network_.add_arc(from, node_[open_[0]], bytes);
    auto const t = network_.add_node();
    network_.add_arc(from, t, bytes);
    for (auto const u : open_) network_.add_arc(t, node_[u], network_.endless);
  }

  order_problem const& p_;
  std::vector<side> side_;
  std::vector<std::uint32_t> node_, path_, open_;
  flow_network<> network_;
};

// The most that an operator needs by itself: all that it uses, and what is there all the time.
template <class = when_called>
[[nodiscard]] std::int64_t footprint_bound(order_problem const& p) {
  std::vector<std::int64_t> need(p.need);
  auto always = p.start;
  for (std::size_t s = 0; s < p.bytes.size(); ++s) {
    if (p.maker[s] == order_problem::none) always -= p.bytes[s];
    for (auto const u : p.users[s])
      if (u != p.maker[s]) need[u] += p.bytes[s];
  }
  auto most = p.start;
  for (auto const n : need) most = (std::max)(most, n + always);
  return most;
}

}  // namespace ballast::inline v0_2::detail
