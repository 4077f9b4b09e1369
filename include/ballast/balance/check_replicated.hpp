// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of experts with copies on ranks, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that experts with copies break.
struct replication_fault : common_fault {
  static constexpr rule wrong_slot_count{"there are {found} slots, not {expected}"};
  static constexpr rule expert_out_of_range{"expert_of[{index}] = {found} must be below {expected}"};
  static constexpr rule expert_missing{"expert {index} has no copy"};
  static constexpr rule wrong_copies{"copies[{index}] = {found}, but the slots hold {expected}"};
  static constexpr rule copies_on_one_rank{"rank {index} has two copies of expert {found}"};
  static constexpr rule group_on_two_nodes{"group {index} is on node {found} and on node {expected}"};
  static constexpr rule wrong_load{"loads[{index}] = {found}, but the copies of the rank have {expected}"};
};

namespace detail {
/// The parts of `check_replicated`, each of which returns the first rule that it finds broken.
template <class = when_called>
class replication_check {
 public:
  replication_check(replicated_experts const& plan, std::span<std::int64_t const> rows, replication_options const& options)
      : plan_(plan),
        rows_(rows),
        by_(options),
        n_(rows.size()),
        nodes_(static_cast<std::size_t>(options.nodes)),
        ranks_(static_cast<std::size_t>(options.ranks)),
        copies_(n_),
        on_node_(n_ * nodes_) {}

  [[nodiscard]] verdict slots() {
    auto const demanded = by_.slots == 0 ? std::uint64_t{n_} : by_.slots;
    if (size() != demanded) return {replication_fault::wrong_slot_count, 0, size(), demanded};
    for (std::size_t i = 0; i < size(); ++i) {
      auto const e = plan_.expert_of[i];
      if (e >= n_) return {replication_fault::expert_out_of_range, i, e, n_};
      ++copies_[e];
      ++on_node_[e * nodes_ + i * nodes_ / size()];
    }
    for (std::size_t e = 0; e < n_; ++e)
      if (copies_[e] == 0) return {replication_fault::expert_missing, e, 0, 1};
    for (std::size_t e = 0; e < n_; ++e)
      if (auto const found = plan_.copies.size() == n_ ? plan_.copies[e] : 0; found != copies_[e])
        return {replication_fault::wrong_copies, e, found, copies_[e]};
    return {};
  }

  [[nodiscard]] verdict places() const {
    std::vector<std::uint64_t> last(n_, ranks_);
    for (std::size_t i = 0; i < size() && !by_.may_share; ++i) {
      auto& rank = last[plan_.expert_of[i]];
      if (rank == rank_of(i)) return {replication_fault::copies_on_one_rank, rank, plan_.expert_of[i], 0};
      rank = rank_of(i);
    }
    if (by_.groups <= 1) return {};
    std::vector<std::size_t> home(static_cast<std::size_t>(by_.groups), nodes_);
    for (std::size_t e = 0; e < n_; ++e) {
      auto const group = e * home.size() / n_;
      for (std::size_t k = 0; k < nodes_; ++k) {
        if (on_node_[e * nodes_ + k] == 0) continue;
        if (home[group] == nodes_) home[group] = k;
        if (home[group] != k) return {replication_fault::group_on_two_nodes, group, k, home[group]};
      }
    }
    return {};
  }

  [[nodiscard]] verdict figures() const {
    std::vector<std::uint64_t> load(ranks_);
    for (std::size_t i = 0; i < size(); ++i)
      load[rank_of(i)] += multiply_divide_up(unit, static_cast<std::uint64_t>(rows_[plan_.expert_of[i]]), copies_[plan_.expert_of[i]]);
    std::uint64_t largest = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (plan_.loads.size() != ranks_) return {replication_fault::wrong_load, 0, 0, load[0]};
      if (std::cmp_not_equal(plan_.loads[r], load[r])) return {replication_fault::wrong_load, r, plan_.loads[r], load[r]};
      largest = load[r] > largest ? load[r] : largest;
    }
    if (auto const v = check_certificate(plan_.load, largest); !v.valid()) return v;
    auto v = check_certificate(plan_.between, travelling());
    v.index = v.valid() ? 0 : 1;
    return v;
  }

 private:
  static constexpr auto unit = static_cast<std::uint64_t>(row_units);

  [[nodiscard]] std::size_t size() const noexcept { return plan_.expert_of.size(); }
  [[nodiscard]] std::size_t rank_of(std::size_t slot) const noexcept { return slot * ranks_ / size(); }

  /// Of c copies, x on a node take x / c of the rows, and an n-th of the rows are its own.
  [[nodiscard]] std::uint64_t travelling() const {
    std::uint64_t sum = 0;
    for (std::size_t e = 0; e < n_; ++e) {
      std::uint64_t staying = 0;
      for (std::size_t k = 0; k < nodes_; ++k) {
        auto const room = nodes_ * on_node_[e * nodes_ + k];
        staying += room < copies_[e] ? room : copies_[e];
      }
      sum += multiply_divide_up(unit * static_cast<std::uint64_t>(rows_[e]), nodes_ * copies_[e] - staying, nodes_ * copies_[e]);
    }
    return sum;
  }

  replicated_experts const& plan_;
  std::span<std::int64_t const> rows_;
  replication_options const& by_;
  std::size_t n_, nodes_, ranks_;
  std::vector<std::uint64_t> copies_, on_node_;  // of each expert; of each expert on each node
};
}  // namespace detail

/// @brief Checks a plan of experts with copies against the options, and the figures it gives about itself.
///
/// @param plan     the plan; it may have any values
/// @param rows     rows of each expert, as `balance_replicated` takes them
/// @param options  the options that the plan must meet
/// @return the first broken rule, in the order of `replication_fault`. Its index is a slot, an expert, a rank or a group; for figures of
/// the certificates, 0 is `load` and 1 is `between`
/// @throws invalid_input if the options do not suit the number of experts
/// @par Complexity
/// O(slots + experts nodes).
template <class = when_called>
[[nodiscard]] verdict check_replicated(replicated_experts const& plan, std::span<std::int64_t const> rows,
                                       replication_options const& options) {
  require_valid(options, rows.size());
  detail::replication_check<> check(plan, rows, options);
  if (auto const v = check.slots(); !v.valid()) return v;
  if (auto const v = check.places(); !v.valid()) return v;
  return check.figures();
}

}  // namespace ballast::inline v0_2
