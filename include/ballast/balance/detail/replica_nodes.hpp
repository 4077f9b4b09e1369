// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/balance/detail/replica_search.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Groups of experts to nodes, each node the same number, and the experts of a node to its ranks.
template <class = when_called>
class replica_groups {
 public:
  /// `of` is the problem of all ranks.
  replica_groups(replica_problem const& of, std::size_t groups, std::size_t nodes, replica_budget& budget)
      : of_(of), nodes_(nodes), each_(groups / nodes), budget_(budget), rows_(groups) {
    auto const size = of.weights.size() / groups;
    for (std::size_t e = 0; e < of.weights.size(); ++e) rows_[e / size] += of.weights[e];
  }

  [[nodiscard]] bounded_layout plan() {
    auto best = solved(dealt());
    auto bound = (std::max)(replica_bound(of_, fewest_rows_per_copy(of_)), groups_bound());
    if (rows_.size() <= enumerated) {
      while (!budget_.satisfied(best.value, bound) && !budget_.over()) {
        auto const next = least_partition(false);
        if (next.value >= best.value) break;
        auto const known = std::all_of(next.sets.begin(), next.sets.end(), [&](auto const& s) { return solved_.contains(s); });
        if (auto const found = solved(next.sets); found.value < best.value) best = found;
        if (known) break;
      }
      bound = (std::max)(bound, least_partition(true).value);
    }
    return {assembled(best.sets), (std::min)(bound, best.value)};
  }

 private:
  using set = std::vector<std::size_t>;
  static constexpr std::size_t enumerated = 12;  // groups, of which all sets are tried
  struct partition {
    std::vector<set> sets;  // groups of each node, ascending
    std::int64_t value = 0;
  };

  /// Groups with the most rows first, each to the node with the fewest rows that has room.
  [[nodiscard]] std::vector<set> dealt() const {
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rows_[a] != rows_[b] ? rows_[a] > rows_[b] : a < b; });
    std::vector<set> sets(nodes_);
    std::vector<std::int64_t> loads(nodes_);
    for (auto const g : order) {
      auto to = nodes_;
      for (std::size_t n = 0; n < nodes_; ++n)
        if (sets[n].size() < each_ && (to == nodes_ || loads[n] < loads[to])) to = n;
      sets[to].push_back(g);
      loads[to] += rows_[g];
    }
    while (exchange(sets, loads)) {
    }
    for (auto& s : sets) std::sort(s.begin(), s.end());
    return sets;
  }

  /// Exchanges a group of the node with the most rows for one of another node, if that lowers the larger of both.
  [[nodiscard]] bool exchange(std::vector<set>& sets, std::vector<std::int64_t>& loads) const {
    auto const most = static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    if (!budget_.spend(rows_.size() * each_)) return false;
    for (auto& a : sets[most])
      for (std::size_t n = 0; n < nodes_; ++n)
        for (auto& b : sets[n]) {
          auto const less = rows_[a] - rows_[b];
          if (n == most || less <= 0 || loads[n] + less >= loads[most]) continue;
          std::swap(a, b);
          loads[most] -= less;
          loads[n] += less;
          return true;
        }
    return false;
  }

  [[nodiscard]] std::int64_t rank_rows(std::int64_t rows_of_node) const {  // at least of the most loaded rank
    return divide_up(replica_units * rows_of_node, static_cast<std::int64_t>(of_.ranks / nodes_));
  }
  [[nodiscard]] std::int64_t mean_of(set const& groups) const {
    std::int64_t rows = 0;
    for (auto const g : groups) rows += rows_[g];
    return rank_rows(rows);
  }
  /// The node of the largest group has each_ - 1 others.
  [[nodiscard]] std::int64_t groups_bound() const {
    auto sorted = rows_;
    std::sort(sorted.begin(), sorted.end());
    return rank_rows(std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(each_ - 1), sorted.back()));
  }

  [[nodiscard]] std::vector<std::uint32_t> experts_of(set const& groups) const {
    auto const size = of_.weights.size() / rows_.size();
    std::vector<std::uint32_t> out;
    for (auto const g : groups)
      for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<std::uint32_t>(g * size + i));
    return out;
  }

  [[nodiscard]] partition solved(std::vector<set> const& sets) {
    partition out{sets, 0};
    for (auto const& s : sets) {
      auto const [at, fresh] = solved_.try_emplace(s);
      if (fresh) {
        replica_problem node{.weights = {}, .ranks = of_.ranks / nodes_, .each = of_.each, .may_share = of_.may_share};
        for (auto const e : experts_of(s)) node.weights.push_back(of_.weights[e]);
        auto part = budget_.part(nodes_);  // so that every node of the first partition has as much
        at->second = plan_replicas(node, part);
        budget_.add(part);
      }
      out.value = (std::max)(out.value, at->second.plan.value);
    }
    return out;
  }

  /// The partition whose worst set is best, by the mean of sets that are not solved, and by the value, or the bound, of the others.
  [[nodiscard]] partition least_partition(bool by_bound) {
    auto const count = rows_.size(), all = (std::size_t{1} << count) - 1;
    std::vector<std::int64_t> estimate(all + 1, -1), least(all + 1, -1);
    std::vector<std::size_t> taken(all + 1);
    for (std::size_t mask = 1; mask <= all; ++mask) {
      if (static_cast<std::size_t>(std::popcount(mask)) != each_) continue;
      auto const known = solved_.find(groups_of(mask));
      estimate[mask] = known == solved_.end() ? mean_of(groups_of(mask)) : by_bound ? known->second.bound : known->second.plan.value;
    }
    least[0] = 0;
    for (std::size_t mask = 1; mask <= all; ++mask) {
      if (static_cast<std::size_t>(std::popcount(mask)) % each_ != 0) continue;
      for (auto sub = mask; sub > 0; sub = (sub - 1) & mask) {
        if (estimate[sub] < 0 || (sub & mask & (~mask + 1)) == 0) continue;  // the lowest group is in it
        auto const worst = (std::max)(estimate[sub], least[mask ^ sub]);
        if (least[mask] >= 0 && worst >= least[mask]) continue;
        least[mask] = worst;
        taken[mask] = sub;
      }
      budget_.spend(std::size_t{1} << std::popcount(mask));
    }
    partition out{{}, least[all]};
    for (auto mask = all; mask > 0; mask ^= taken[mask]) out.sets.push_back(groups_of(taken[mask]));
    return out;
  }
  [[nodiscard]] static set groups_of(std::size_t mask) {
    set out;
    for (; mask > 0; mask &= mask - 1) out.push_back(static_cast<std::size_t>(std::countr_zero(mask)));
    return out;
  }

  [[nodiscard]] replica_layout assembled(std::vector<set> const& sets) {
    replica_layout out{.copies = std::vector<std::int64_t>(of_.weights.size()), .held = {}, .loads = {}};
    for (auto const& s : sets) {
      auto const experts = experts_of(s);
      auto const& node = solved_.at(s).plan;
      for (std::size_t i = 0; i < experts.size(); ++i) out.copies[experts[i]] = node.copies[i];
      for (auto const e : node.held) out.held.push_back(experts[e]);
      out.loads.insert(out.loads.end(), node.loads.begin(), node.loads.end());
      out.value = (std::max)(out.value, node.value);
    }
    return out;
  }

  replica_problem const& of_;
  std::size_t nodes_, each_;
  replica_budget& budget_;
  std::vector<std::int64_t> rows_;  // of each group
  std::map<set, bounded_layout> solved_;
};

/// Rows that travel between nodes, and exchanges that lower them without raising the largest load.
template <class = when_called>
class node_exchanger {
 public:
  node_exchanger(replica_problem const& of, std::size_t nodes, replica_budget& budget, replica_layout& plan)
      : of_(of), nodes_(nodes), budget_(budget), plan_(plan), here_(of.weights.size() * nodes) {
    for (std::size_t i = 0; i < plan.held.size(); ++i) ++here(plan.held[i], node_of(i));
  }

  /// Units of rows between nodes.
  [[nodiscard]] std::int64_t between() const {
    std::int64_t sum = 0;
    for (std::uint32_t e = 0; e < plan_.copies.size(); ++e) sum += between(e);
    return sum;
  }

  void exchange() {
    for (auto better = true; better;) {
      better = false;
      for (std::size_t a = 0; a < of_.ranks && !budget_.over(); ++a)
        for (auto b = a + 1; b < of_.ranks; ++b) better = exchange_ranks(a, b) || better;
      for (std::size_t i = 0; i < plan_.held.size() && !budget_.over(); ++i)
        if (plan_.copies[plan_.held[i]] > 1)
          for (std::size_t j = 0; j < plan_.held.size(); ++j) better = exchange_slots(i, j) || better;
      better = better && !budget_.over();
    }
  }

 private:
  [[nodiscard]] std::int64_t& here(std::uint32_t e, std::size_t node) { return here_[e * nodes_ + node]; }
  [[nodiscard]] std::size_t node_of(std::size_t slot) const { return slot / (plan_.held.size() / nodes_); }

  /// A node has an n-th of the rows of an expert and takes its own first: the others travel.
  [[nodiscard]] std::int64_t between(std::uint32_t e) const {
    auto const c = plan_.copies[e], n = static_cast<std::int64_t>(nodes_);
    std::int64_t missing = 0;  // in shares of an n c-th
    for (std::size_t k = 0; k < nodes_; ++k) missing += (std::max)(std::int64_t{0}, c - n * here_[e * nodes_ + k]);
    return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(replica_units * of_.weights[e]),
                                                        static_cast<std::uint64_t>(missing), static_cast<std::uint64_t>(n * c)));
  }

  /// What moving slots changes: `move` is called once, and undone if it does not help.
  template <class Move>
  [[nodiscard]] bool helps(std::vector<std::uint32_t> const& experts, Move const& move) {
    std::int64_t before = 0, after = 0;
    for (auto const e : experts) before += between(e);
    move(1);
    for (auto const e : experts) after += between(e);
    budget_.spend(8 * experts.size() * nodes_);
    if (after < before) return true;
    move(-1);
    return false;
  }

  [[nodiscard]] bool exchange_ranks(std::size_t a, std::size_t b) {
    auto const from = node_of(a * of_.each), to = node_of(b * of_.each);
    if (from == to) return false;
    touched_.clear();
    for (std::size_t i = 0; i < 2 * of_.each; ++i) {
      auto const e = plan_.held[i < of_.each ? a * of_.each + i : (b - 1) * of_.each + i];
      if (plan_.copies[e] > 1) touched_.push_back(e);
    }
    if (touched_.empty()) return false;
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    if (!helps(touched_, [&](std::int64_t by) {
          for (std::size_t i = 0; i < of_.each; ++i) {
            shift(plan_.held[a * of_.each + i], from, to, by);
            shift(plan_.held[b * of_.each + i], to, from, by);
          }
        }))
      return false;
    auto const at = [&](std::size_t r) { return plan_.held.begin() + static_cast<std::ptrdiff_t>(r * of_.each); };
    std::swap_ranges(at(a), at(a + 1), at(b));
    std::swap(plan_.loads[a], plan_.loads[b]);
    return true;
  }

  [[nodiscard]] bool exchange_slots(std::size_t i, std::size_t j) {
    auto const from = node_of(i), to = node_of(j);
    auto const e = plan_.held[i], f = plan_.held[j];
    if (from == to || e == f) return false;
    auto const a = i / of_.each, b = j / of_.each;
    auto const less = of_.share(e, plan_.copies[e]) - of_.share(f, plan_.copies[f]);
    if (plan_.loads[a] - less > plan_.value || plan_.loads[b] + less > plan_.value) return false;
    if (!of_.may_share && (on_rank(a, f) || on_rank(b, e))) return false;
    touched_ = {e, f};
    if (!helps(touched_, [&](std::int64_t by) {
          shift(e, from, to, by);
          shift(f, to, from, by);
        }))
      return false;
    std::swap(plan_.held[i], plan_.held[j]);
    plan_.loads[a] -= less;
    plan_.loads[b] += less;
    return true;
  }

  void shift(std::uint32_t e, std::size_t from, std::size_t to, std::int64_t by) {
    here(e, from) -= by;
    here(e, to) += by;
  }
  [[nodiscard]] bool on_rank(std::size_t rank, std::uint32_t e) const {
    auto const first = plan_.held.begin() + static_cast<std::ptrdiff_t>(rank * of_.each);
    auto const last = first + static_cast<std::ptrdiff_t>(of_.each);
    return std::find(first, last, e) != last;
  }

  replica_problem const& of_;
  std::size_t nodes_;
  replica_budget& budget_;
  replica_layout& plan_;
  std::vector<std::int64_t> here_;  // copies of each expert on each node
  std::vector<std::uint32_t> touched_;
};

/// A lower bound on the rows between nodes: each copy beyond the first lets at most an n-th of its expert's rows stay, up to n copies.
template <class = when_called>
[[nodiscard]] std::int64_t between_bound(replica_problem const& of, std::size_t nodes) {
  auto sorted = of.weights;
  std::sort(sorted.rbegin(), sorted.rend());
  std::int64_t rows = 0;
  for (auto const w : sorted) rows += w;
  rows *= static_cast<std::int64_t>(nodes) - 1;
  auto left = of.slots() - sorted.size();
  for (std::size_t i = 0; i < sorted.size() && left > 0; ++i) {
    auto const more = (std::min)(left, nodes - 1);
    rows -= static_cast<std::int64_t>(more) * sorted[i];
    left -= more;
  }
  return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(replica_units), nodes));
}

}  // namespace ballast::inline v0_2::detail
