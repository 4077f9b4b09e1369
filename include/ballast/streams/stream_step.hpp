// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief What every policy for streams takes and returns: samples that arrive, and steps that leave. Policies can be exchanged without a
/// change of types. `replay_stream` runs a recorded stream through a policy, and measures balance and delay.

namespace ballast::inline v0_2 {

/// @brief A sample of a stream.
struct stream_sample {
  std::uint64_t number = 0;   ///< counted from the first sample of the stream
  std::int64_t length = 0;    ///< tokens; of several measures the last
  std::uint64_t arrived = 0;  ///< number of the step with whose block of samples it came
  friend constexpr bool operator==(stream_sample const&, stream_sample const&) = default;
};

/// @brief The micro-batches of one step of a stream.
struct stream_step {
  groups<std::uint64_t> micro_batches;  ///< numbers of the samples in each
  std::vector<std::int64_t> lengths;    ///< tokens of each entry of `micro_batches.members`; all measures of each, if there are several
  std::vector<std::uint64_t> delays;    ///< how many steps each entry waited
  std::vector<std::int64_t> workloads;  ///< sum of the costs of each micro-batch
  std::vector<std::uint64_t> late{};    ///< numbers of the samples that had to leave with this step but exceed its capacity; ascending

  /// @brief The imbalance of the step: its largest workload over the mean workload. @return in millionths, at least 1,000,000; 1,000,000
  /// without work
  [[nodiscard]] std::int64_t imbalance() const noexcept {
    std::int64_t most = 0;
    wide all;
    for (auto const w : workloads) {
      most = (std::max)(most, w);
      all = all + wide{0, static_cast<std::uint64_t>(w)};
    }
    return all == wide{} ? 1'000'000 : in_millionths(multiply(static_cast<std::uint64_t>(most), workloads.size()), all);
  }
  friend bool operator==(stream_step const&, stream_step const&) = default;
};

/// @brief Blocks of a stream, each with the tokens of its samples; with all measures of each sample, one after another, if there are
/// several.
using stream_blocks = std::vector<std::vector<std::int64_t>>;

/// @brief Steps of a stream, and the samples that are in none of them.
struct stream_replay {
  std::vector<stream_step> steps;   ///< in order
  std::vector<stream_sample> left;  ///< samples that still waited at the end, by number

  /// @brief Mean over the steps of the largest workload over the mean workload. @return in millionths
  [[nodiscard]] std::int64_t imbalance() const noexcept {
    std::int64_t sum = 0;
    for (auto const& s : steps) sum += s.imbalance();
    return steps.empty() ? 1'000'000 : sum / static_cast<std::int64_t>(steps.size());
  }
  /// @brief Sum over the steps of the largest workload over the sum of the mean workloads, each rounded down: what the imbalance costs in
  /// time, since steps with much work count more. @return in millionths; 1,000,000 without work
  [[nodiscard]] std::int64_t time_imbalance() const noexcept {
    wide most, mean;
    for (auto const& s : steps) {
      if (s.workloads.empty()) continue;
      wide all;
      for (auto const w : s.workloads) all = all + wide{0, static_cast<std::uint64_t>(w)};
      most = most + wide{0, static_cast<std::uint64_t>((std::ranges::max)(s.workloads))};
      mean = mean + wide{0, divide(all, s.workloads.size()).whole};
    }
    return mean == wide{} ? 1'000'000 : in_millionths(most, mean);
  }
  /// @brief Mean number of steps that a token of the steps waited. @return in millionths of a step, rounded up
  [[nodiscard]] std::int64_t delay() const noexcept {
    wide waited, tokens;
    for (auto const& s : steps) {
      if (s.delays.empty()) continue;
      auto const measures = s.lengths.size() / s.delays.size();
      for (std::size_t i = 0; i < s.delays.size(); ++i) {
        auto const length = static_cast<std::uint64_t>(s.lengths[(i + 1) * measures - 1]);
        waited = waited + multiply(length, s.delays[i]);
        tokens = tokens + wide{0, length};
      }
    }
    return in_millionths(waited, tokens);
  }
  /// @brief The most steps that a sample waited.
  [[nodiscard]] std::uint64_t longest_delay() const noexcept {
    std::uint64_t most = 0;
    for (auto const& s : steps)
      for (auto const d : s.delays) most = (std::max)(most, d);
    return most;
  }
};

/// @brief Pushes all blocks of a stream through a policy, without ending the stream.
///
/// @tparam Policy  a class with `push(lengths)`, which returns a `stream_step`, and `waiting()`, which returns the samples that wait
/// @param blocks  the blocks
/// @param policy  the policy, which is copied
/// @return a step for each block, and the samples that wait at the end
/// @throws invalid_input as `policy.push`
/// @par Complexity
/// That of `policy.push` for each block.
/// @par Determinism
/// A pure function of its arguments.
template <class Policy>
[[nodiscard]] stream_replay replay_stream(stream_blocks const& blocks, Policy policy) {
  stream_replay out;
  for (auto const& block : blocks) out.steps.push_back(policy.push(block));
  out.left = policy.waiting();
  return out;
}

}  // namespace ballast::inline v0_2
