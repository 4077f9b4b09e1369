// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Splits the packs of the replicas of one step until all replicas have the same number of packs.
template <index_type Index>
class replica_packs {
 public:
  using packs_of_replica = std::vector<std::vector<Index>>;
  replica_packs(weighed_samples const& items, std::span<packs_of_replica> replicas) : items_(items), replicas_(replicas) {}

  /// Brings every replica to `count` packs, most expensive first. No replica may have more, and there must be a sample for each
  /// pack: replicas with too few samples get some of others.
  void raise(std::size_t count) {
    lend(count);
    for (auto& packs : replicas_) {
      split(packs, count);
      std::vector<std::uint32_t> order(packs.size());
      std::iota(order.begin(), order.end(), 0U);
      cost_.resize(packs.size());
      std::ranges::transform(packs, cost_.begin(), [&](auto const& pack) { return cost_of(pack); });
      sort_by(order, [&](auto a, auto b) { return cost_[a] != cost_[b] ? cost_[a] > cost_[b] : packs[a].front() < packs[b].front(); });
      packs_of_replica sorted;
      for (auto const k : order) sorted.push_back(std::move(packs[k]));
      packs.swap(sorted);
    }
  }

 private:
  [[nodiscard]] std::int64_t cost_of(std::vector<Index> const& pack) const { return sum_of<Index>(items_.cost, pack); }

  /// Gives each replica at least `count` samples. The pack with most samples gives its last one.
  void lend(std::size_t count) {
    std::vector<std::size_t> has(replicas_.size(), 0), poor;
    for (std::size_t r = 0; r < has.size(); ++r) {
      for (auto const& pack : replicas_[r]) has[r] += pack.size();
      if (has[r] < count) poor.push_back(r);
    }
    if (poor.empty()) return;
    std::vector<std::array<std::size_t, 3>> largest;  // a heap of samples, replica and pack
    for (std::size_t r = 0; r < has.size(); ++r)
      for (std::size_t p = 0; p < replicas_[r].size() && has[r] > count; ++p) largest.push_back({replicas_[r][p].size(), r, p});
    std::make_heap(largest.begin(), largest.end());
    while (!poor.empty()) {
      std::pop_heap(largest.begin(), largest.end());
      auto const [samples, from, p] = largest.back();
      largest.pop_back();
      if (has[from] == count || samples == 0) continue;
      auto const to = poor.back();
      auto& pack = replicas_[from][p];
      replicas_[to].push_back({pack.back()});
      pack.pop_back();
      --has[from];
      largest.push_back({samples - 1, from, p});
      std::push_heap(largest.begin(), largest.end());
      if (++has[to] == count) poor.pop_back();
    }
    for (auto& packs : replicas_) std::erase_if(packs, [](auto const& pack) { return pack.empty(); });
  }

  /// Splits packs into parts such that the most expensive part costs little.
  void split(packs_of_replica& packs, std::size_t count) {
    auto const given = packs.size();
    if (given == count) return;
    cost_.resize(given);
    for (std::size_t p = 0; p < given; ++p) cost_[p] = cost_of(packs[p]);
    parts_.assign(given, 1);
    for (auto have = given; have < count; ++have) {
      auto best = given;
      for (std::size_t p = 0; p < given; ++p)
        if (parts_[p] < static_cast<std::int64_t>(packs[p].size()) &&
            (best == given || compare_products(cost_[p], parts_[best], cost_[best], parts_[p]) > 0))
          best = p;
      ++parts_[best];
    }
    for (std::size_t p = 0; p < given; ++p) {
      if (parts_[p] == 1) continue;
      auto samples = std::exchange(packs[p], {});
      sort_by(samples, falling([&](Index i) { return items_.cost[i]; }));
      load_.assign(static_cast<std::size_t>(parts_[p]), {});
      auto const first = packs.size();
      packs.resize(first + load_.size() - 1);
      for (auto i : samples) {  // longest processing time first
        auto const part = static_cast<std::size_t>(std::min_element(load_.begin(), load_.end()) - load_.begin());
        packs[part == 0 ? p : first + part - 1].push_back(i);
        load_[part].first += items_.cost[i];
        ++load_[part].second;
      }
    }
  }

  weighed_samples const& items_;
  std::span<packs_of_replica> replicas_;
  std::vector<std::int64_t> cost_, parts_;
  std::vector<std::pair<std::int64_t, std::size_t>> load_;  ///< cost and number of samples of each part
};

}  // namespace ballast::inline v0_2::detail
