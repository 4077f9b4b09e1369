// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/streams/stream_step.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of steps of a stream, of any policy. It shares no code with the policies.

namespace ballast::inline v0_2 {

/// @brief The rule that a step of a stream breaks. `index` of the verdict is an entry of `micro_batches.members` unless it says otherwise.
struct stream_fault : common_fault {
  static constexpr rule wrong_number{"there are {found} micro-batches, not {expected}"};
  static constexpr rule wrong_size{"lengths, delays or workloads has {found} entries, not {expected}"};
  static constexpr rule unknown_sample{"members[{index}]: sample {found} of the {expected} that have arrived is unknown or has left"};
  static constexpr rule wrong_length{"lengths[{index}] = {found}, but the sample has {expected}"};
  static constexpr rule wrong_delay{"delays[{index}] = {found}, but the sample waited {expected} steps"};
  static constexpr rule wrong_workload{"workloads[{index}] = {found}, but the costs add up to {expected}"};
  static constexpr rule over_capacity{"micro-batch {index} holds {found}, more than the capacity {expected}"};
  static constexpr rule kept_too_long{"sample {index} waits for {found} steps, at a deadline of {expected}, and is not late"};
  static constexpr rule not_late{"late[{index}] has left, did not arrive, or waits for {found} steps of {expected}"};
};

/// @brief What the steps of a stream must keep.
struct stream_rules {
  std::uint64_t micro_batches = 0;                                       ///< number of micro-batches of every step
  std::vector<std::int64_t> capacity{};                                  ///< largest total of each measure in a micro-batch
  std::uint64_t deadline = (std::numeric_limits<std::uint64_t>::max)();  ///< most steps that a sample waits, unless it was listed as late
};

/// @brief Checks the steps of a stream one by one, as they leave.
///
/// @tparam Cost  a pure callable from a length, or from the span of a sample's measures, to its cost
template <class Cost>
class stream_checker {
 public:
  /// @brief Starts with an empty stream. @param rules what every step must keep @param cost work of a sample
  stream_checker(stream_rules rules, Cost const& cost) : rules_(std::move(rules)), cost_(cost) {}

  /// @brief Checks the next step.
  /// @tparam R  range of integers
  /// @param block  the samples that arrived since the step before: all measures of each, one after another
  /// @param step   the step that left
  /// @return the first broken rule, in the order of `stream_fault`
  /// @par Complexity
  /// O((members + block) log waiting).
  template <length_range R>
  [[nodiscard]] verdict push(R const& block, stream_step const& step) {
    using broken = stream_fault;
    auto const each = rules_.capacity.size();
    std::vector<std::int64_t> sizes;
    for (auto const v : block) {
      sizes.push_back(static_cast<std::int64_t>(v));
      if (sizes.size() < each) continue;
      held_.emplace(arrived_++, sample{std::exchange(sizes, {}), now_});
    }
    auto const& packs = step.micro_batches;
    if (packs.size() != rules_.micro_batches) return {broken::wrong_number, 0, packs.size(), rules_.micro_batches};
    auto const n = packs.members.size();
    if (auto const v = check_offsets(packs.offsets, n); !v.valid()) return v;
    if (step.lengths.size() != n * each) return {broken::wrong_size, 0, step.lengths.size(), n * each};
    if (step.delays.size() != n) return {broken::wrong_size, 0, step.delays.size(), n};
    if (step.workloads.size() != packs.size()) return {broken::wrong_size, 0, step.workloads.size(), packs.size()};
    for (std::size_t m = 0, i = 0; m < packs.size(); ++m) {
      std::vector<std::int64_t> total(each, 0);
      std::int64_t work = 0;
      for (auto const which : packs[m]) {
        auto const found = held_.find(which);
        if (found == held_.end()) return {broken::unknown_sample, i, which, arrived_};
        auto const& s = found->second;
        for (std::size_t k = 0; k < each; ++k) {
          if (step.lengths[i * each + k] != s.sizes[k]) return {broken::wrong_length, i * each + k, step.lengths[i * each + k], s.sizes[k]};
          total[k] += s.sizes[k];
        }
        auto const waited = now_ - s.arrived;
        if (step.delays[i] != waited) return {broken::wrong_delay, i, step.delays[i], waited};
        work += cost_of(s.sizes);
        held_.erase(found);
        ++i;
      }
      if (step.workloads[m] != work) return {broken::wrong_workload, m, step.workloads[m], work};
      for (std::size_t k = 0; k < each; ++k)
        if (total[k] > rules_.capacity[k]) return {broken::over_capacity, m, total[k], rules_.capacity[k]};
    }
    for (std::size_t i = 0; i < step.late.size(); ++i) {
      auto const found = held_.find(step.late[i]);
      auto const waited = found == held_.end() ? 0 : now_ - found->second.arrived;
      if (found == held_.end() || waited < rules_.deadline) return {broken::not_late, i, waited, rules_.deadline};
      found->second.late = true;
    }
    for (auto const& [which, s] : held_) {
      if (now_ - s.arrived < rules_.deadline) break;  // later numbers came later
      if (!s.late) return {broken::kept_too_long, which, now_ - s.arrived, rules_.deadline};
    }
    ++now_;
    return {};
  }
  /// @brief Number of samples that arrived and did not leave.
  [[nodiscard]] std::size_t waiting() const noexcept { return held_.size(); }

 private:
  struct sample {
    std::vector<std::int64_t> sizes;
    std::uint64_t arrived = 0;
    bool late = false;
  };
  [[nodiscard]] std::int64_t cost_of(std::vector<std::int64_t> const& sizes) const {
    if constexpr (cost_model<Cost>)
      return static_cast<std::int64_t>(cost_(sizes[0]));
    else
      return static_cast<std::int64_t>(cost_(std::span<std::int64_t const>(sizes)));
  }

  stream_rules rules_;
  Cost cost_;
  std::map<std::uint64_t, sample> held_;  // by number
  std::uint64_t arrived_ = 0, now_ = 0;
};

}  // namespace ballast::inline v0_2
