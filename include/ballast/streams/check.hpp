// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/streams/stream_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of steps of a stream, of any policy. It shares no code with the policies.

namespace ballast::inline v0_2 {

/// @brief The rule that a step of a stream breaks. `index` of the verdict is an entry of `micro_batches.members` unless it says otherwise.
enum class stream_fault : std::uint8_t {
  none,            ///< the step is valid
  wrong_number,    ///< not the demanded number of micro-batches
  bad_offsets,     ///< the offsets do not rise from 0 to the number of members; or an array has not one entry for each member or workload
  unknown_sample,  ///< a sample did not arrive, or left before
  wrong_length,    ///< a length is not the one that arrived; `index` is an entry of `lengths`
  wrong_delay,     ///< a delay is not the number of steps since the sample arrived
  wrong_workload,  ///< a workload is not the sum of the costs; `index` is the micro-batch
  over_capacity,   ///< a micro-batch exceeds a capacity; `index` is the micro-batch
  kept_too_long,   ///< a sample at its deadline neither left nor was listed as late; `index` is its number
  not_late,        ///< a sample is listed as late, but it left, did not arrive or has time left; `index` is an entry of `late`
};

/// @brief Describes a verdict in a few words. @param v any verdict @return for instance "wrong delay at 17: 2 instead of 3"
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<stream_fault, std::int64_t> const& v) {
  if (v.valid()) return "valid";
  constexpr char const* names[] = {"none",        "wrong number",   "bad offsets",   "unknown sample", "wrong length",
                                   "wrong delay", "wrong workload", "over capacity", "kept too long",  "not late"};
  return std::string(names[static_cast<std::size_t>(v.fault)]) + " at " + std::to_string(v.index) + ": " + std::to_string(v.found) +
         " instead of " + std::to_string(v.expected);
}

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
  [[nodiscard]] verdict<stream_fault, std::int64_t> push(R const& block, stream_step const& step) {
    using enum stream_fault;
    auto const each = rules_.capacity.size();
    std::vector<std::int64_t> sizes;
    for (auto const v : block) {
      sizes.push_back(static_cast<std::int64_t>(v));
      if (sizes.size() < each) continue;
      held_.emplace(arrived_++, sample{std::exchange(sizes, {}), now_});
    }
    auto const number = [](auto v) { return static_cast<std::int64_t>(v); };
    auto const& packs = step.micro_batches;
    if (packs.size() != rules_.micro_batches) return {wrong_number, 0, number(packs.size()), number(rules_.micro_batches)};
    auto const n = packs.members.size();
    if (packs.offsets.front() != 0 || packs.offsets.back() != n || !std::is_sorted(packs.offsets.begin(), packs.offsets.end()))
      return {bad_offsets, 0, number(packs.offsets.back()), number(n)};
    if (step.lengths.size() != n * each) return {bad_offsets, 0, number(step.lengths.size()), number(n * each)};
    if (step.delays.size() != n) return {bad_offsets, 0, number(step.delays.size()), number(n)};
    if (step.workloads.size() != packs.size()) return {bad_offsets, 0, number(step.workloads.size()), number(packs.size())};
    for (std::size_t m = 0, i = 0; m < packs.size(); ++m) {
      std::vector<std::int64_t> total(each, 0);
      std::int64_t work = 0;
      for (auto const which : packs[m]) {
        auto const found = held_.find(which);
        if (found == held_.end()) return {unknown_sample, i, number(which), number(arrived_)};
        auto const& s = found->second;
        for (std::size_t k = 0; k < each; ++k) {
          if (step.lengths[i * each + k] != s.sizes[k]) return {wrong_length, i * each + k, step.lengths[i * each + k], s.sizes[k]};
          total[k] += s.sizes[k];
        }
        auto const waited = now_ - s.arrived;
        if (step.delays[i] != waited) return {wrong_delay, i, number(step.delays[i]), number(waited)};
        work += cost_of(s.sizes);
        held_.erase(found);
        ++i;
      }
      if (step.workloads[m] != work) return {wrong_workload, m, step.workloads[m], work};
      for (std::size_t k = 0; k < each; ++k)
        if (total[k] > rules_.capacity[k]) return {over_capacity, m, total[k], rules_.capacity[k]};
    }
    for (std::size_t i = 0; i < step.late.size(); ++i) {
      auto const found = held_.find(step.late[i]);
      auto const waited = found == held_.end() ? 0 : now_ - found->second.arrived;
      if (found == held_.end() || waited < rules_.deadline) return {not_late, i, number(waited), number(rules_.deadline)};
      found->second.late = true;
    }
    for (auto const& [which, s] : held_) {
      if (now_ - s.arrived < rules_.deadline) break;  // later numbers came later
      if (!s.late) return {kept_too_long, which, number(now_ - s.arrived), number(rules_.deadline)};
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
