// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/streams/stream_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `stream_sources`: what a policy for streams does to a mixture of sources, in shares and delays.

namespace ballast::inline v0_2 {

/// @brief Totals of a source of a stream.
struct source_total {
  std::int64_t arrived = 0;         ///< tokens that arrived
  std::int64_t left = 0;            ///< tokens that left with a step
  wide waited;                      ///< sum over the tokens that left of the steps that they waited
  std::uint64_t longest_delay = 0;  ///< most steps that a sample which left waited
  /// @brief Mean steps that a token which left waited. @return in millionths, rounded up
  [[nodiscard]] std::int64_t delay() const noexcept { return in_millionths(waited, {0, static_cast<std::uint64_t>(left)}); }
  friend constexpr bool operator==(source_total const&, source_total const&) = default;
};

/// @brief What a restart of `stream_sources` needs, in plain members for any file format.
struct stream_sources_state {
  std::uint64_t samples = 0;           ///< number of samples that arrived
  std::vector<source_total> totals;    ///< of each source
  std::vector<std::uint64_t> numbers;  ///< numbers of the samples that wait, ascending
  std::vector<std::uint32_t> sources;  ///< the source of each
  friend bool operator==(stream_sources_state const&, stream_sources_state const&) = default;
};

/// @brief Keeps account of the sources of a stream beside any policy: tokens that arrived and left, and how long they waited.
///
/// A policy holds samples back, so the sources do not leave in the shares in which they arrived. But no share differs by more than the
/// share of the tokens that wait among all that arrived, and what waits is bounded by the deadline of the policy.
class stream_sources {
 public:
  /// @brief Starts an account. @param sources number of sources, at least 1 @throws invalid_input if there are none, or 2^20 or more
  explicit stream_sources(std::size_t sources) {
    require(sources > 0 && sources < 1U << 20, [&] { return "sources = " + std::to_string(sources) + " must be in 1 ... 2^20 - 1"; });
    state_.totals.resize(sources);
  }
  /// @brief Continues an account. @param state from `state()` @throws invalid_input if it is not one
  explicit stream_sources(stream_sources_state state) : stream_sources(state.totals.size()) {
    require(state.numbers.size() == state.sources.size(), [&] {
      return "a state of " + std::to_string(state.numbers.size()) + " samples with " + std::to_string(state.sources.size()) + " sources";
    });
    for (std::size_t i = 0; i < state.numbers.size(); ++i) {
      require(state.numbers[i] < state.samples && (i == 0 || state.numbers[i] > state.numbers[i - 1]),
              [&] { return entry("numbers", i, state.numbers[i]) + " must ascend below samples = " + std::to_string(state.samples); });
      require(state.sources[i] < state.totals.size(), [&] { return entry("sources", i, state.sources[i]) + " is no source"; });
    }
    auto room = (std::int64_t{1} << 62) - 1;
    for (std::size_t s = 0; s < state.totals.size(); ++s) {
      auto const& t = state.totals[s];
      require(t.left >= 0 && t.left <= t.arrived && t.arrived <= room && t.longest_delay < std::uint64_t{1} << 40 &&
                  !(multiply(static_cast<std::uint64_t>(t.left), t.longest_delay) < t.waited),
              [&] { return "totals[" + std::to_string(s) + "]: tokens or delays that cannot be"; });
      room -= t.arrived;
    }
    state_ = std::move(state);
  }

  /// @brief Notes the samples of a block. @param sources the source of each @param lengths the tokens of each
  /// @throws invalid_input if the two have not the same size, a source is unknown, a length is negative, or tokens reach 2^62; nothing is
  /// noted then
  void arrive(std::span<std::uint32_t const> sources, std::span<std::int64_t const> lengths) {
    require(sources.size() == lengths.size(),
            [&] { return std::to_string(sources.size()) + " sources for " + std::to_string(lengths.size()) + " lengths"; });
    auto room = (std::int64_t{1} << 62) - 1 - arrived();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      require(sources[i] < state_.totals.size(), [&] { return entry("sources", i, sources[i]) + " is no source"; });
      require(lengths[i] >= 0 && lengths[i] <= room,
              [&] { return entry("lengths", i, lengths[i]) + " is negative or brings the tokens to 2^62"; });
      room -= lengths[i];
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      state_.totals[sources[i]].arrived += lengths[i];
      state_.numbers.push_back(state_.samples++);
    }
    state_.sources.insert(state_.sources.end(), sources.begin(), sources.end());
  }
  /// @brief Notes the samples of a step. @param step a step of the policy that got the same samples in the same order
  /// @throws invalid_input if a sample did not arrive or left before; nothing is noted then
  /// @par Complexity
  /// O(members log waiting + waiting).
  void leave(stream_step const& step) {
    auto const& members = step.micro_batches.members;
    std::vector<std::size_t> at;
    std::vector<char> leaves(state_.numbers.size(), 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto const found = std::lower_bound(state_.numbers.begin(), state_.numbers.end(), members[i]);
      at.push_back(static_cast<std::size_t>(found - state_.numbers.begin()));
      require(found != state_.numbers.end() && *found == members[i] && leaves[at.back()] == 0,
              [&] { return entry("members", i, members[i]) + " is no sample that waits"; });
      leaves[at.back()] = 1;
    }
    auto const measures = members.empty() ? 1 : step.lengths.size() / members.size();
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto& total = state_.totals[state_.sources[at[i]]];
      auto const length = step.lengths[(i + 1) * measures - 1];
      total.left += length;
      total.waited = total.waited + multiply(static_cast<std::uint64_t>(length), step.delays[i]);
      total.longest_delay = (std::max)(total.longest_delay, step.delays[i]);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i] != 0) continue;
      state_.numbers[kept] = state_.numbers[i];
      state_.sources[kept++] = state_.sources[i];
    }
    state_.numbers.resize(kept);
    state_.sources.resize(kept);
  }

  /// @brief The largest difference, over the sources, between a source's share of the tokens that left and its share of those that arrived.
  /// @return in millionths, both shares rounded up; 0 before anything leaves
  /// @post at most `waiting_share() + 1`
  [[nodiscard]] std::int64_t deviation() const noexcept {
    auto const all = arrived(), out = all - waiting();
    if (out == 0) return 0;
    std::int64_t most = 0;
    for (auto const& t : state_.totals) {
      auto const difference = millionths(t.left, out) - millionths(t.arrived, all);
      most = (std::max)(most, difference < 0 ? -difference : difference);
    }
    return most;
  }
  /// @brief The share of the tokens that wait among all that arrived. @return in millionths, rounded up
  [[nodiscard]] std::int64_t waiting_share() const noexcept { return arrived() == 0 ? 0 : millionths(waiting(), arrived()); }
  /// @brief Totals of each source.
  [[nodiscard]] std::vector<source_total> const& totals() const noexcept { return state_.totals; }
  /// @brief What a restart needs.
  [[nodiscard]] stream_sources_state const& state() const noexcept { return state_; }

 private:
  [[nodiscard]] static std::int64_t millionths(std::int64_t part, std::int64_t all) noexcept {
    return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(part), 1'000'000, static_cast<std::uint64_t>(all)));
  }
  [[nodiscard]] std::int64_t arrived() const noexcept {
    std::int64_t sum = 0;
    for (auto const& t : state_.totals) sum += t.arrived;
    return sum;
  }
  [[nodiscard]] std::int64_t waiting() const noexcept {
    std::int64_t sum = 0;
    for (auto const& t : state_.totals) sum += t.arrived - t.left;
    return sum;
  }

  stream_sources_state state_;
};

}  // namespace ballast::inline v0_2
