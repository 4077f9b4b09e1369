// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of chunks, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that a chunking breaks.
enum class chunk_fault : std::uint8_t {
  none,                 ///< the chunks are valid
  bad_offsets,          ///< the offsets do not rise from 0 to the number of ranges
  sample_out_of_range,  ///< a range is not of a sample
  bad_range,            ///< a range is empty or leaves its sample
  empty_chunk,          ///< a chunk has no range
  overfull_chunk,       ///< a chunk has more tokens than allowed
  mixed_chunk,          ///< a part of a sample shares its chunk
  bad_chains,           ///< the offsets of the chains do not rise from 0 to the number of their members, or a chain is empty
  chunk_out_of_range,   ///< a member of a chain is not a chunk
  chunk_twice,          ///< a chunk occurs twice in the chains
  chunk_missing,        ///< a chunk is in no chain
  mixed_chain,          ///< a chain of several chunks holds more than one sample
  split_sample,         ///< the chunks of a sample are in several chains
  token_twice,          ///< a token is in two ranges
  wrong_order,          ///< a chunk does not begin where its predecessor in the chain ends
  token_missing,        ///< a token is in no range
  wrong_value,          ///< `count.value` is not the number of chunks
  wrong_bound,          ///< `count.lower_bound` exceeds the number of chunks
};

/// @brief Describes a verdict in a sentence, such as "chunk 17 holds 9000 tokens, more than 8192".
/// @param v  a verdict of `check_chunks`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<chunk_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case chunk_fault::none: return "the chunks are valid";
    case chunk_fault::bad_offsets:
      return "offsets[" + index + "] = " + found + ": offsets must rise from 0 to the number of ranges, " + expected;
    case chunk_fault::sample_out_of_range: return "ranges[" + index + "] is of sample " + found + ", which must be below " + expected;
    case chunk_fault::bad_range:
      return "ranges[" + index + "] ends at " + found + ": it must hold a token and be inside its sample of " + expected + " tokens";
    case chunk_fault::empty_chunk: return "chunk " + index + " is empty";
    case chunk_fault::overfull_chunk: return "chunk " + index + " holds " + found + " tokens, more than " + expected;
    case chunk_fault::mixed_chunk: return "chunk " + index + " holds a part of sample " + found + " beside another range";
    case chunk_fault::bad_chains:
      return "chains.offsets[" + index + "] = " + found + ": no chain may be empty, and offsets must rise from 0 to " + expected;
    case chunk_fault::chunk_out_of_range: return "chains.members[" + index + "] = " + found + " must be below " + expected;
    case chunk_fault::chunk_twice: return "chunk " + index + " occurs twice, the second time in chain " + found;
    case chunk_fault::chunk_missing: return "chunk " + index + " is in no chain";
    case chunk_fault::mixed_chain: return "chain " + index + " holds sample " + found + " beside sample " + expected;
    case chunk_fault::split_sample: return "sample " + index + " is in chain " + found + " and in chain " + expected;
    case chunk_fault::token_twice: return "sample " + index + ": token " + found + " is in two ranges";
    case chunk_fault::wrong_order:
      return "sample " + index + ": a chunk begins at token " + found + ", but its predecessor in the chain ends at " + expected;
    case chunk_fault::token_missing: return "sample " + index + ": token " + found + " is in no range";
    case chunk_fault::wrong_value: return "count.value = " + found + ", but there are " + expected + " chunks";
    case chunk_fault::wrong_bound: return "count.lower_bound = " + found + " exceeds the " + expected + " chunks";
  }
  return {};
}

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
[[nodiscard]] verdict<chunk_fault> check_chunks(chunking<Index> const& plan, R const& lengths, chunking_options const& options) {
  using enum chunk_fault;
  auto const samples = static_cast<std::uint64_t>(std::ranges::size(lengths));
  auto const length_of = [&](Index i) {
    return static_cast<std::int64_t>(std::ranges::begin(lengths)[static_cast<std::ranges::range_difference_t<R const>>(i)]);
  };
  auto const number = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  // The first offset that is out of place, or the number of offsets.
  auto const first_bad = [](std::vector<std::uint64_t> const& offsets, std::size_t end) {
    std::uint64_t before = 0;
    for (std::size_t k = 0; k < offsets.size(); before = offsets[k++])
      if ((k == 0 && offsets[k] != 0) || offsets[k] < before || offsets[k] > end) return k;
    return before == end ? offsets.size() : offsets.size() - (offsets.empty() ? 0 : 1);
  };
  auto const at_offset = [](std::vector<std::uint64_t> const& offsets, std::size_t k) { return k < offsets.size() ? offsets[k] : 0; };

  if (auto const k = first_bad(plan.offsets, plan.ranges.size()); k < plan.offsets.size() || (plan.offsets.empty() && !plan.ranges.empty()))
    return {bad_offsets, k, at_offset(plan.offsets, k), plan.ranges.size()};
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (plan.offsets[k] == plan.offsets[k + 1]) return {empty_chunk, k, 0, 1};
    auto room = options.size;
    for (auto j = static_cast<std::size_t>(plan.offsets[k]); j < plan.offsets[k + 1]; ++j) {
      auto const& r = plan.ranges[j];
      if (r.sample >= samples) return {sample_out_of_range, j, r.sample, samples};
      auto const length = length_of(r.sample);
      if (r.begin < 0 || r.begin >= r.end || r.end > length) return {bad_range, j, number(r.end), number(length)};
      if (plan.offsets[k + 1] - plan.offsets[k] > 1 && r.end - r.begin < length) return {mixed_chunk, k, r.sample, 0};
      auto const tokens = r.end - r.begin;
      if (tokens > room) return {overfull_chunk, k, number(options.size - room) + number(tokens), number(options.size)};
      room -= tokens;
    }
  }

  auto const& chains = plan.chains;
  auto bad_chain = first_bad(chains.offsets, chains.members.size());
  for (std::size_t c = 1; c < bad_chain && c < chains.offsets.size(); ++c)
    if (chains.offsets[c] == chains.offsets[c - 1]) bad_chain = c;
  if (bad_chain < chains.offsets.size() || (chains.offsets.empty() && !chains.members.empty()))
    return {bad_chains, bad_chain, at_offset(chains.offsets, bad_chain), chains.members.size()};
  std::vector<bool> seen(plan.size());
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (auto j = static_cast<std::size_t>(chains.offsets[c]); j < chains.offsets[c + 1]; ++j) {
      auto const k = chains.members[j];
      if (k >= plan.size()) return {chunk_out_of_range, j, k, plan.size()};
      if (seen[k]) return {chunk_twice, k, c, 0};
      seen[k] = true;
      auto const first = plan[chains.members[static_cast<std::size_t>(chains.offsets[c])]].front().sample;
      for (auto const& r : plan[k])
        if (chains[c].size() > 1 && r.sample != first) return {mixed_chain, c, r.sample, first};
    }
  for (std::size_t k = 0; k < seen.size(); ++k)
    if (!seen[k]) return {chunk_missing, k, 0, 1};

  std::vector<std::int64_t> done(static_cast<std::size_t>(samples), 0);
  std::vector<std::size_t> chain_of(static_cast<std::size_t>(samples), chains.size());
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (auto const k : chains[c])
      for (auto const& r : plan[k]) {
        auto const i = static_cast<std::size_t>(r.sample);
        if (r.begin < done[i]) return {token_twice, i, number(r.begin), 0};
        if (chain_of[i] != chains.size() && chain_of[i] != c) return {split_sample, i, c, chain_of[i]};
        chain_of[i] = c;
        if (r.begin > done[i]) return {wrong_order, i, number(r.begin), number(done[i])};
        done[i] = r.end;
      }
  for (std::size_t i = 0; i < done.size(); ++i)
    if (done[i] != length_of(static_cast<Index>(i))) return {token_missing, i, number(done[i]), 0};

  if (std::cmp_not_equal(plan.count.value, plan.size())) return {wrong_value, 0, number(plan.count.value), plan.size()};
  if (std::cmp_greater(plan.count.lower_bound, plan.size())) return {wrong_bound, 0, number(plan.count.lower_bound), plan.size()};
  return {};
}

}  // namespace ballast::inline v0_2
