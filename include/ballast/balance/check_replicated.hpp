// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of experts with copies on ranks, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that experts with copies break.
enum class replication_fault : std::uint8_t {
  none,                 ///< the plan is valid
  wrong_slot_count,     ///< the number of slots is not the demanded number
  expert_out_of_range,  ///< a slot holds no expert
  expert_missing,       ///< an expert has no copy
  wrong_copies,         ///< `copies` is not what the slots hold
  copies_on_one_rank,   ///< a rank has two copies of an expert, and `may_share` was not set
  group_on_two_nodes,   ///< experts of a group are on different nodes
  wrong_load,           ///< `loads` is not the load of a rank, or has not one entry for each
  wrong_value,          ///< `load.value` is not the largest load, or `between.value` not the rows between nodes
  wrong_bound,          ///< a lower bound exceeds its value
};

/// @brief Describes a verdict in a sentence, such as "expert 17 has no copy".
/// @param v  a verdict of `check_replicated`
/// @return the sentence
template <class = when_called>
[[nodiscard]] std::string describe(verdict<replication_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case replication_fault::none: return "the plan is valid";
    case replication_fault::wrong_slot_count: return "there are " + found + " slots, not " + expected;
    case replication_fault::expert_out_of_range: return "expert_of[" + index + "] = " + found + " must be below " + expected;
    case replication_fault::expert_missing: return "expert " + index + " has no copy";
    case replication_fault::wrong_copies: return "copies[" + index + "] = " + found + ", but the slots hold " + expected;
    case replication_fault::copies_on_one_rank: return "rank " + index + " has two copies of expert " + found;
    case replication_fault::group_on_two_nodes: return "group " + index + " is on node " + found + " and on node " + expected;
    case replication_fault::wrong_load: return "loads[" + index + "] = " + found + ", but the copies of the rank have " + expected;
    case replication_fault::wrong_value: return (v.index == 0 ? "load" : "between") + (".value = " + found) + " is not " + expected;
    case replication_fault::wrong_bound: return (v.index == 0 ? "load" : "between") + (".lower_bound = " + found) + " exceeds " + expected;
  }
  return {};
}

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

  [[nodiscard]] verdict<replication_fault> slots() {
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

  [[nodiscard]] verdict<replication_fault> places() const {
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

  [[nodiscard]] verdict<replication_fault> figures() const {
    std::vector<std::uint64_t> load(ranks_);
    for (std::size_t i = 0; i < size(); ++i)
      load[rank_of(i)] += multiply_divide_up(unit, static_cast<std::uint64_t>(rows_[plan_.expert_of[i]]), copies_[plan_.expert_of[i]]);
    std::uint64_t largest = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (plan_.loads.size() != ranks_) return {replication_fault::wrong_load, 0, 0, load[0]};
      if (auto const found = static_cast<std::uint64_t>(plan_.loads[r]); found != load[r])
        return {replication_fault::wrong_load, r, found, load[r]};
      largest = load[r] > largest ? load[r] : largest;
    }
    certificate const* stated[] = {&plan_.load, &plan_.between};
    for (std::uint64_t k = 0; k < 2; ++k)
      if (auto const found = static_cast<std::uint64_t>(stated[k]->value), right = k == 0 ? largest : travelling(); found != right)
        return {replication_fault::wrong_value, k, found, right};
    for (std::uint64_t k = 0; k < 2; ++k)
      if (stated[k]->lower_bound > stated[k]->value)
        return {replication_fault::wrong_bound, k, static_cast<std::uint64_t>(stated[k]->lower_bound),
                static_cast<std::uint64_t>(stated[k]->value)};
    return {};
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
[[nodiscard]] verdict<replication_fault> check_replicated(replicated_experts const& plan, std::span<std::int64_t const> rows,
                                                          replication_options const& options) {
  require_valid(options, rows.size());
  detail::replication_check<> check(plan, rows, options);
  if (auto const v = check.slots(); !v.valid()) return v;
  if (auto const v = check.places(); !v.valid()) return v;
  return check.figures();
}

}  // namespace ballast::inline v0_2
