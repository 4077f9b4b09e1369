// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/balance/detail/replica_search.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>

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
  replica_groups(replica_problem const& of, std::size_t groups, std::size_t nodes, search_budget& budget)
      : of_(of), nodes_(nodes), each_(groups / nodes), budget_(budget), rows_(groups) {
    auto const size = of.weights.size() / groups;
    for (std::size_t e = 0; e < of.weights.size(); ++e) rows_[e / size] += of.weights[e];
  }

  [[nodiscard]] bounded_layout plan() {
    auto best = solved(dealt());
    auto bound = (std::max)(replica_bound(of_, fewest_rows_per_copy(of_)), groups_bound());
    if (rows_.size() <= enumerated) {
      while (!budget_.satisfied(certificate{best.value, bound}) && budget_.allows()) {
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
    budget_.spend(rows_.size() * each_);
    if (!budget_.allows()) return false;
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
  search_budget& budget_;
  std::vector<std::int64_t> rows_;  // of each group
  std::map<set, bounded_layout> solved_;
};

}  // namespace ballast::inline v0_2::detail
