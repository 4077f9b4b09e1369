// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/methods/odb.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief ODB as a loop: `odb::rank_stream` is the buffer of one rank, `odb::plan_epoch` runs all ranks of an epoch in one process.

namespace ballast::inline v0_2::odb {

/// @brief Options of a rank; the same on all ranks.
struct rank_options {
  std::int64_t budget = 0;               ///< most padded tokens of a group, positive
  std::uint64_t buffer = 256;            ///< samples that are gathered before a round: loader workers times prefetched samples
  keeping keep = keeping::most_samples;  ///< which groups leave if a rank has more than the others can take
  friend constexpr bool operator==(rank_options const&, rank_options const&) = default;
};

/// @brief The buffer of one rank. Samples arrive one by one, with lengths that are known only then; groups leave round by round.
///
/// A round: each rank pushes samples until it is `ready`, all ranks gather their `counts`, compute `group_target` of them, and `take` that
/// many groups. A rank that has run out of samples takes none: it is idle for as many steps as the others have groups.
///
/// @tparam Index  type of the sample numbers: the first sample pushed is 0
template <index_type Index = std::uint32_t>
class rank_stream {
 public:
  /// @brief A sample in the buffer.
  struct waiting {
    Index number = 0;         ///< number of the sample
    std::int64_t length = 0;  ///< its tokens
    friend bool operator==(waiting const&, waiting const&) = default;
  };
  /// @brief The state that a restart needs in addition to the options, in plain members for any file format.
  struct state_type {
    std::uint64_t samples = 0;    ///< number of samples pushed so far
    bool ended = false;           ///< whether no more samples will come
    std::vector<waiting> buffer;  ///< samples that have not left, ascending by number
    friend bool operator==(state_type const&, state_type const&) = default;
  };

  /// @brief Starts a stream, or continues one. @param options budget, size of the buffer, and what is kept
  /// @param state  `state()` of the stream that is continued
  /// @throws invalid_input if the budget or the buffer is not positive, or the state is not one of a stream
  /// @par Complexity O(samples in the buffer).
  explicit rank_stream(rank_options const& options, state_type state = {}) : options_(options), state_(std::move(state)) {
    require(options_.budget > 0, [&] { return "budget = " + std::to_string(options_.budget) + " must be positive"; });
    require(options_.buffer > 0, [] { return std::string("buffer = 0 must be positive"); });
    for (std::size_t k = 0; k < state_.buffer.size(); ++k) {
      auto const& one = state_.buffer[k];
      require(one.length > 0, [&] { return entry("state.buffer", k, one.length) + " tokens must be positive"; });
      require(one.number < state_.samples && (k == 0 || state_.buffer[k - 1].number < one.number),
              [&] { return entry("state.buffer", k, one.number) + " must ascend, below state.samples"; });
    }
  }

  /// @brief Takes the next sample. @param length its tokens, positive; it may exceed the budget @return its number
  /// @throws invalid_input if the length is not positive, the stream has ended, or `Index` cannot number the sample
  /// @par Complexity O(1), amortised.
  Index push(std::int64_t length) {
    require(length > 0, [&] { return entry("sample", state_.samples, length) + " tokens must be positive"; });
    require(!state_.ended, [] { return std::string("the stream has ended"); });
    require_index<Index>(state_.samples + 1, "samples");
    state_.buffer.push_back({static_cast<Index>(state_.samples), length});
    return static_cast<Index>(state_.samples++);
  }
  /// @brief Says that no more samples will come.
  void end() noexcept { state_.ended = true; }
  /// @brief Whether the rank can take part in a round: its buffer is full, or the stream has ended.
  [[nodiscard]] bool ready() const noexcept { return state_.ended || state_.buffer.size() >= options_.buffer; }
  /// @brief Whether all samples have left and no more will come.
  [[nodiscard]] bool done() const noexcept { return state_.ended && state_.buffer.empty(); }

  /// @brief What the other ranks need to know. @param slots groups that the trainer of this rank can take now
  /// @return the counts to be gathered
  /// @par Complexity O(n log n) for n samples in the buffer.
  [[nodiscard]] rank_counts counts(std::uint64_t slots = (std::numeric_limits<std::uint64_t>::max)()) const {
    return {grouped().size(), state_.buffer.size(), slots};
  }
  /// @brief Hands out the groups of this round. @param target `group_target` of all ranks' counts
  /// @return `target` groups of sample numbers, which leave the buffer; no group if the buffer is empty
  /// @throws invalid_input if the rank has fewer samples than `target`, but some
  /// @par Complexity O(n log n) for n samples in the buffer.
  [[nodiscard]] groups<Index> take(std::uint64_t target) {
    if (state_.buffer.empty()) return {};
    auto round = align_groups(grouped(), target, options_.keep);
    std::vector<waiting> left;
    for (auto const k : round.recycled) left.push_back(state_.buffer[static_cast<std::size_t>(k)]);
    for (auto& k : round.groups.members) k = state_.buffer[static_cast<std::size_t>(k)].number;
    state_.buffer = std::move(left);
    return std::move(round.groups);
  }
  /// @brief The state that a restart needs.
  [[nodiscard]] state_type const& state() const noexcept { return state_; }

 private:
  [[nodiscard]] groups<Index> grouped() const {
    std::vector<std::int64_t> lengths;
    lengths.reserve(state_.buffer.size());
    for (auto const& one : state_.buffer) lengths.push_back(one.length);
    return group_by_budget<Index>(lengths, options_.budget);
  }

  rank_options options_;
  state_type state_;
};

/// @brief An epoch: what each rank trains on in each step.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct epoch {
  std::uint64_t ranks = 1;            ///< data-parallel ranks
  groups<Index> batches;              ///< of step s and rank r at s * ranks + r; an empty group is a rank that is idle
  std::uint64_t rounds = 0;           ///< rounds, each with one exchange of counts
  std::vector<std::uint64_t> delays;  ///< for each sample, the rounds in which it was in the buffer and did not leave
  /// @brief Number of steps.
  [[nodiscard]] std::size_t steps() const noexcept { return batches.size() / static_cast<std::size_t>(ranks); }
  friend bool operator==(epoch const&, epoch const&) = default;
};

/// @brief Runs an epoch as if samples arrived in their order, sample i on rank i modulo `ranks`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample, in the order of the data loader
/// @param ranks    data-parallel ranks, at least 1
/// @param options  budget, buffer and what is kept
/// @param slots    groups that a trainer takes in one round, at least 1
/// @return the batches of all steps
/// @post every sample is in exactly one batch; on every step, each rank has a batch or has run out of samples
/// @throws invalid_input if `ranks` or `slots` is 0, or as `group_by_budget` and `rank_stream`
/// @par Complexity
/// O(rounds * ranks * buffer log buffer).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] epoch<Index> plan_epoch(R const& lengths, std::uint64_t ranks, rank_options const& options,
                                      std::uint64_t slots = (std::numeric_limits<std::uint64_t>::max)()) {
  require(ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
  require(slots > 0, [] { return std::string("slots = 0 must be positive"); });
  static_cast<void>(extent_of(lengths));
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  auto const at = read_by_position(lengths);
  epoch<Index> out;
  out.ranks = ranks;
  out.delays.resize(static_cast<std::size_t>(n), 0);
  std::vector<rank_stream<Index>> streams(static_cast<std::size_t>(ranks), rank_stream<Index>(options));
  std::vector<rank_counts> counts(streams.size());
  std::vector<groups<Index>> taken(streams.size());
  for (;; ++out.rounds) {
    for (std::size_t r = 0; r < streams.size(); ++r) {
      auto& stream = streams[r];
      while (!stream.ready()) {
        auto const next = stream.state().samples * ranks + r;
        if (next < n)
          stream.push(static_cast<std::int64_t>(at[static_cast<std::size_t>(next)]));
        else
          stream.end();
      }
      counts[r] = stream.counts(slots);
    }
    auto const target = group_target(counts);
    if (target == 0) return out;
    for (std::size_t r = 0; r < streams.size(); ++r) {
      taken[r] = streams[r].take(target);
      for (auto& i : taken[r].members) i = static_cast<Index>(i * ranks + r);
      for (auto const& one : streams[r].state().buffer) ++out.delays[static_cast<std::size_t>(one.number * ranks + r)];
    }
    for (std::size_t s = 0; s < target; ++s)
      for (auto const& mine : taken) out.batches.push_back(mine.empty() ? std::span<Index const>() : mine[s]);
  }
}

}  // namespace ballast::inline v0_2::odb
