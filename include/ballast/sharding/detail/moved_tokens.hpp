// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

// Tokens that move between the ranks of two phases.

namespace ballast::inline v0_2::detail {

/// The tokens of a sample on a rank.
template <index_type Index>
struct rank_share {
  Index sample;
  std::size_t rank;
  std::int64_t tokens;
};

/// The shares of all samples, by sample, then rank.
template <index_type Index>
[[nodiscard]] std::vector<rank_share<Index>> rank_shares(shards<Index> const& of) {
  std::vector<rank_share<Index>> out;
  for (std::size_t r = 0; r < of.ranks(); ++r)
    for (std::size_t m = 0; m < of.passes(r); ++m)
      for (auto const& p : of(r, m)) out.push_back({p.sample, r, p.end - p.begin});
  std::sort(out.begin(), out.end(),
            [](auto const& a, auto const& b) { return std::tie(a.sample, a.rank, a.tokens) < std::tie(b.sample, b.rank, b.tokens); });
  std::size_t kept = 0;
  for (auto const& s : out) {
    if (kept > 0 && out[kept - 1].sample == s.sample && out[kept - 1].rank == s.rank)
      out[kept - 1].tokens += s.tokens;
    else
      out[kept++] = s;
  }
  out.resize(kept);
  return out;
}

/// Calls `emit(held, needed, tokens)` for each share of a phase and each share of its sample in the last phase, with the tokens that could
/// stay if both had one rank.
template <index_type Index, length_range R, length_range S, class Emit>
void each_overlap(shards<Index> const& phase, shards<Index> const& last, R const& lengths, S const& last_lengths, Emit const& emit) {
  auto const held = rank_shares(phase), needed = rank_shares(last);
  auto const here = read_by_position(lengths);
  auto const there = read_by_position(last_lengths);
  auto first = needed.begin();
  for (auto const& s : held) {
    while (first != needed.end() && first->sample < s.sample) ++first;
    for (auto n = first; n != needed.end() && n->sample == s.sample; ++n) {
      auto const part = multiply_divide_up(static_cast<std::uint64_t>(here[s.sample]), static_cast<std::uint64_t>(n->tokens),
                                           static_cast<std::uint64_t>(there[s.sample]));
      emit(s, *n, (std::min)(s.tokens, static_cast<std::int64_t>(part)));
    }
  }
}

/// The tokens of a phase that go to other ranks for the last phase, of samples that have tokens there.
template <index_type Index, length_range R, length_range S>
[[nodiscard]] std::int64_t moved_tokens(shards<Index> const& phase, shards<Index> const& last, R const& lengths, S const& last_lengths) {
  auto const there = read_by_position(last_lengths);
  std::int64_t sum = 0;
  for (auto const& p : phase.pieces)
    if (there[p.sample] != 0) sum += p.end - p.begin;
  each_overlap(phase, last, lengths, last_lengths, [&](auto const& held, auto const& needed, std::int64_t tokens) {
    if (held.rank == needed.rank) sum -= tokens;
  });
  return sum;
}

/// Tokens that stay if a rank is renamed.
struct rank_pair {
  std::size_t from, to;
  std::int64_t tokens;
};

/// Pairs ranks that are not fixed, those of most common tokens first. Returns the old rank of each new one.
template <class = when_called>
[[nodiscard]] inline std::vector<std::size_t> pair_ranks(std::vector<rank_pair> pairs, std::vector<char> named) {
  std::sort(pairs.begin(), pairs.end(),
            [](rank_pair const& a, rank_pair const& b) { return std::tie(a.from, a.to, a.tokens) < std::tie(b.from, b.to, b.tokens); });
  std::size_t kept = 0;
  for (auto const& p : pairs) {
    if (kept > 0 && pairs[kept - 1].from == p.from && pairs[kept - 1].to == p.to)
      pairs[kept - 1].tokens += p.tokens;
    else
      pairs[kept++] = p;
  }
  pairs.resize(kept);
  std::sort(pairs.begin(), pairs.end(),
            [](rank_pair const& a, rank_pair const& b) { return std::tie(b.tokens, a.from, a.to) < std::tie(a.tokens, b.from, b.to); });
  auto const ranks = named.size();
  std::vector<std::size_t> source(ranks, ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    if (named[r] != 0) source[r] = r;
  for (auto const& p : pairs)
    if (named[p.from] == 0 && source[p.to] == ranks) {
      named[p.from] = 1;
      source[p.to] = p.from;
    }
  std::size_t left = 0;
  for (auto& s : source) {
    if (s != ranks) continue;
    while (named[left] != 0) ++left;
    named[left] = 1;
    s = left;
  }
  return source;
}

/// The shards of a phase, with ranks in no group renamed such that fewer tokens move: the pair of ranks with most common tokens first.
template <index_type Index, length_range R, length_range S>
[[nodiscard]] shards<Index> renamed_ranks(shards<Index> const& phase, shards<Index> const& last, R const& lengths, S const& last_lengths) {
  auto const ranks = phase.ranks();
  std::vector<char> fixed(ranks, 0);
  for (auto const r : phase.rank_groups.members) fixed[r] = 1;
  std::vector<rank_pair> pairs;
  each_overlap(phase, last, lengths, last_lengths, [&](auto const& held, auto const& needed, std::int64_t tokens) {
    if (fixed[held.rank] == 0 && fixed[needed.rank] == 0) pairs.push_back({held.rank, needed.rank, tokens});
  });
  auto const source = pair_ranks(std::move(pairs), std::move(fixed));

  auto out = phase;
  out.rank_offsets.assign(1, 0);
  out.pass_offsets.assign(1, 0);
  out.pieces.clear();
  for (auto const r : source) {
    for (std::size_t m = 0; m < phase.passes(r); ++m) {
      auto const pieces = phase(r, m);
      out.pieces.insert(out.pieces.end(), pieces.begin(), pieces.end());
      out.pass_offsets.push_back(out.pieces.size());
    }
    out.rank_offsets.push_back(out.pass_offsets.size() - 1);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
