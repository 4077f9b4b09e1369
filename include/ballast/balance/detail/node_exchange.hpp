// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Rows that travel between nodes, and exchanges that lower them without raising the largest load.
template <class = when_called>
class node_exchanger {
 public:
  node_exchanger(replica_problem const& of, std::size_t nodes, search_budget& budget, replica_layout& plan)
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
      for (std::size_t a = 0; a < of_.ranks && budget_.allows(); ++a)
        for (auto b = a + 1; b < of_.ranks; ++b) better = exchange_ranks(a, b) || better;
      for (std::size_t i = 0; i < plan_.held.size() && budget_.allows(); ++i)
        if (plan_.copies[plan_.held[i]] > 1)
          for (std::size_t j = 0; j < plan_.held.size(); ++j) better = exchange_slots(i, j) || better;
      better = better && budget_.allows();
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
  search_budget& budget_;
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
