// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The validators of chunks and of the tasks of a chain, of this library or any other planner. They share no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that a chunking breaks.
struct chunk_fault : common_fault {
  static constexpr rule sample_out_of_range{"ranges[{index}] is of sample {found}, which must be below {expected}"};
  static constexpr rule bad_range{"ranges[{index}] ends at {found}: it must hold a token and be inside its sample of {expected} tokens"};
  static constexpr rule empty_chunk{"chunk {index} is empty"};
  static constexpr rule overfull_chunk{"chunk {index} holds {found} tokens, more than {expected}"};
  static constexpr rule mixed_chunk{"chunk {index} holds a part of sample {found} beside another range"};
  static constexpr rule bad_chains{"chains.offsets[{index}] = {found}: no chain may be empty, and offsets must rise from 0 to {expected}"};
  static constexpr rule chunk_out_of_range{"chains.members[{index}] = {found} must be below {expected}"};
  static constexpr rule chunk_twice{"chunk {index} occurs twice, the second time in chain {found}"};
  static constexpr rule chunk_missing{"chunk {index} is in no chain"};
  static constexpr rule mixed_chain{"chain {index} holds sample {found} beside sample {expected}"};
  static constexpr rule split_sample{"sample {index} is in chain {found} and in chain {expected}"};
  static constexpr rule token_twice{"sample {index}: token {found} is in two ranges"};
  static constexpr rule wrong_order{"sample {index}: a chunk begins at token {found}, but its predecessor in the chain ends at {expected}"};
  static constexpr rule token_missing{"sample {index}: token {found} is in no range"};
};

namespace detail {

/// The rules of a chunking, one group of them after the other.
template <index_type Index, length_range R>
class chunk_rules {
 public:
  chunk_rules(chunking<Index> const& plan, R const& lengths, std::int64_t size)
      : plan_(plan), lengths_(read_by_position(lengths)), samples_(static_cast<std::size_t>(std::ranges::size(lengths))), size_(size) {}

  [[nodiscard]] verdict check() const {
    for (auto const group : {&chunk_rules::check_ranges, &chunk_rules::check_chains, &chunk_rules::check_tokens})
      if (auto const v = (this->*group)(); !v.valid()) return v;
    return check_certificate(plan_.count, plan_.size());
  }

 private:
  using broken = chunk_fault;

  [[nodiscard]] std::int64_t length_of(std::size_t i) const { return static_cast<std::int64_t>(lengths_[i]); }

  /// Each range, and the ranges of each chunk.
  [[nodiscard]] verdict check_ranges() const {
    if (auto const v = check_offsets(plan_.offsets, plan_.ranges.size()); !v.valid()) return v;
    for (std::size_t k = 0; k < plan_.size(); ++k) {
      auto const begin = plan_.offsets[k], end = plan_.offsets[k + 1];
      if (begin == end) return {broken::empty_chunk, k, 0, 1};
      auto room = size_;
      for (auto j = static_cast<std::size_t>(begin); j < end; ++j) {
        auto const& r = plan_.ranges[j];
        if (r.sample >= samples_) return {broken::sample_out_of_range, j, r.sample, samples_};
        auto const length = length_of(r.sample);
        if (r.begin < 0 || r.begin >= r.end || r.end > length) return {broken::bad_range, j, r.end, length};
        auto const tokens = r.end - r.begin;
        if (end - begin > 1 && tokens < length) return {broken::mixed_chunk, k, r.sample};
        if (tokens > room)
          return {broken::overfull_chunk, k, static_cast<std::uint64_t>(size_ - room) + static_cast<std::uint64_t>(tokens), size_};
        room -= tokens;
      }
    }
    return {};
  }
  /// Each chunk is in one chain, and a chain of several chunks is one sample.
  [[nodiscard]] verdict check_chains() const {
    auto const& [offsets, members] = plan_.chains;
    if (auto const v = check_offsets(offsets, members.size(), broken::bad_chains); !v.valid()) return v;
    for (std::size_t c = 1; c < offsets.size(); ++c)
      if (offsets[c] == offsets[c - 1]) return {broken::bad_chains, c, offsets[c], members.size()};
    occurrences seen(plan_.size(), broken::chunk_out_of_range, broken::chunk_twice, broken::chunk_missing);
    for (std::size_t c = 0; c < plan_.chains.size(); ++c)
      for (auto j = static_cast<std::size_t>(offsets[c]); j < offsets[c + 1]; ++j) {
        if (auto const v = seen.add(members[j], j, c); !v.valid()) return v;
        auto const first = plan_[members[static_cast<std::size_t>(offsets[c])]].front().sample;
        for (auto const& r : plan_[members[j]])
          if (plan_.chains[c].size() > 1 && r.sample != first) return {broken::mixed_chain, c, r.sample, first};
      }
    return seen.complete();
  }
  /// The ranges of each sample are one after the other in one chain, from its first token to its last.
  [[nodiscard]] verdict check_tokens() const {
    auto const none = plan_.chains.size();
    std::vector<std::int64_t> done(samples_, 0);
    std::vector<std::size_t> chain_of(samples_, none);
    for (std::size_t c = 0; c < none; ++c)
      for (auto const k : plan_.chains[c])
        for (auto const& r : plan_[k]) {
          auto const i = static_cast<std::size_t>(r.sample);
          if (r.begin < done[i]) return {broken::token_twice, i, r.begin};
          if (chain_of[i] != none && chain_of[i] != c) return {broken::split_sample, i, c, chain_of[i]};
          chain_of[i] = c;
          if (r.begin > done[i]) return {broken::wrong_order, i, r.begin, done[i]};
          done[i] = r.end;
        }
    for (std::size_t i = 0; i < samples_; ++i)
      if (done[i] != length_of(i)) return {broken::token_missing, i, done[i]};
    return {};
  }

  chunking<Index> const& plan_;
  decltype(read_by_position(std::declval<R const&>())) lengths_;
  std::size_t samples_;
  std::int64_t size_;
};

}  // namespace detail

/// @brief Checks chunks against the definition.
///
/// Each token of each sample is in exactly one chunk, and no chunk has more than `options.size` tokens. A chunk with a part of a sample
/// holds nothing else. Each chunk is in one chain; a chain of several chunks is one sample, in the order of its tokens.
///
/// @tparam Index  index type of the chunks
/// @tparam R      range of integers
/// @param plan     the chunks; all members may have any values
/// @param lengths  tokens of each sample
/// @param options  the size of a chunk
/// @return the first broken rule, in this order: chunk after chunk, chains, tokens in the order of the chains, missing tokens, certificate.
/// Its index is an offset, a range, a chunk, a member of a chain, a chain or a sample, as the sentence of `describe` says
/// @par Complexity
/// O(samples + ranges).
template <index_type Index, length_range R>
[[nodiscard]] verdict check_chunks(chunking<Index> const& plan, R const& lengths, chunking_options const& options) {
  return detail::chunk_rules<Index, R>(plan, lengths, options.size).check();
}

/// @brief The rule that the tasks of a chain break.
struct retention_fault : common_fault {
  static constexpr rule chunk_out_of_range{"task {index} is of chunk {found}, which must be below {expected}"};
  static constexpr rule forward_too_early{"task {index} runs chunk {found} forward before chunk {expected}"};
  static constexpr rule forward_twice{"task {index} runs chunk {found} forward, which has run or holds its activations"};
  static constexpr rule backward_too_early{"task {index} is of chunk {found}, but chunk {expected} must run backward first"};
  static constexpr rule not_held{"task {index} runs chunk {found} backward, which does not hold its activations"};
  static constexpr rule too_many_held{"task {index} holds the activations of {found} chunks, more than {expected}"};
  static constexpr rule backward_missing{"chunk {index} does not run backward"};
};

/// @brief Checks the tasks of a chain of dependent chunks against the definition.
///
/// A forward needs the keys and values of all earlier chunks. A backward needs the activations of its chunk, and the backwards of all
/// later chunks; so does a repeated forward, whose backward must be possible at once. Never more than `retained` chunks hold activations.
///
/// @param tasks     the tasks, in order
/// @param chunks    number of chunks in the chain
/// @param retained  most chunks that hold their activations at once
/// @return the first broken rule; its index is the task or, for a missing backward, the chunk
/// @par Complexity
/// O(tasks + chunks).
template <class = when_called>
[[nodiscard]] inline verdict check_retention(std::span<chunk_task const> tasks, std::uint64_t chunks, std::uint64_t retained) {
  using broken = retention_fault;
  std::vector<bool> holds(static_cast<std::size_t>(chunks));
  std::uint64_t forwards = 0, left = chunks, held = 0;  // forwards so far; chunks that have not run backward
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    std::uint64_t const k = tasks[t].chunk;
    auto const pass = tasks[t].pass;
    if (k >= chunks) return {broken::chunk_out_of_range, t, k, chunks};
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_drop) {
      if (k < forwards) return {broken::forward_twice, t, k, 0};
      if (k > forwards) return {broken::forward_too_early, t, k, forwards};
      ++forwards;
    } else if (k + 1 != left) {
      return {broken::backward_too_early, t, k, left == 0 ? 0 : left - 1};
    } else if (k >= forwards) {
      return {broken::not_held, t, k, 0};
    }
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_again) {
      if (holds[k]) return {broken::forward_twice, t, k, 0};
      holds[k] = true;
      if (++held > retained) return {broken::too_many_held, t, held, retained};
    }
    if (pass == chunk_pass::backward) {
      if (!holds[k]) return {broken::not_held, t, k, 0};
      holds[k] = false;
      --held;
      --left;
    }
  }
  if (left > 0) return {broken::backward_missing, left - 1, 0, 1};
  return {};
}

}  // namespace ballast::inline v0_2
