// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/tiles.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `document_shares`: cuts a packed micro-batch over context-parallel ranks, each document by itself or the packed sequence as one.

namespace ballast::inline v0_2 {

/// @brief What is cut into two chunks for each rank, of which a rank gets an early and a late one.
enum class share_cut : std::uint8_t {
  per_document,  ///< each document: ranks compute the same number of pairs, but pieces of short documents fill no tile
  per_sequence,  ///< the packed sequence: pieces are long, but ranks with the ends of long documents compute more pairs
};

/// @brief Time of one tile of attention: less where a piece has many queries.
///
/// On Hopper, two rows of tiles load keys and values together. Any other `cost_model` of the number of queries does as well, such as a
/// table of measured times.
struct stepped_tile_time {
  std::int64_t slow = 0;    ///< time of a tile in a piece of fewer than `from` queries, positive
  std::int64_t fast = 0;    ///< time of a tile in other pieces, positive
  std::int64_t from = 256;  ///< the number of queries from which tiles are fast
  /// @brief The time of one tile. @param queries number of queries of the piece, in full tiles
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t queries) const noexcept { return queries < from ? slow : fast; }
  friend constexpr bool operator==(stepped_tile_time const&, stepped_tile_time const&) = default;
};
static_assert(cost_model<stepped_tile_time>);

/// @brief The ranks of a micro-batch, and the tiles of the kernel.
struct document_share_options {
  std::uint64_t ranks = 0;          ///< number of context-parallel ranks, at least 1
  std::int64_t tile_queries = 128;  ///< queries of a tile of the kernel, positive
  std::int64_t tile_keys = 128;     ///< keys of a tile of the kernel, positive
};

/// @brief A micro-batch on its ranks, and what both ways to cut it would take.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct document_sharing {
  share_cut chosen = share_cut::per_document;  ///< the faster way
  std::int64_t per_document = 0;               ///< time of the slowest rank if each document is cut
  std::int64_t per_sequence = 0;               ///< time of the slowest rank if the packed sequence is cut
  /// One pass for each rank, all pieces in one group. The bound of `time` holds for any cut of the micro-batch.
  ballast::shards<Index> shards;
};

namespace detail {

/// Cuts the packed sequence of all documents; there are at least as many tokens as ranks.
template <index_type Index, length_range R>
[[nodiscard]] shards<Index> cut_sequence(R const& lengths, std::int64_t tokens, std::uint64_t ranks) {
  shards<Index> out;
  auto const at = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  std::vector<std::int64_t> start(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) start[i + 1] = start[i] + static_cast<std::int64_t>(at[i]);
  out.rank_offsets.resize(static_cast<std::size_t>(ranks) + 1);
  std::iota(out.rank_offsets.begin(), out.rank_offsets.end(), std::uint64_t{0});
  out.pass_offsets.assign(static_cast<std::size_t>(ranks) + 1, 0);
  cut_sample(tokens, ranks, 0, share_layout::zigzag, [&](std::uint64_t k, std::int64_t begin, std::int64_t end) {
    auto i = static_cast<std::size_t>(std::upper_bound(start.begin(), start.end(), begin) - start.begin()) - 1;
    for (; i < n && start[i] < end; ++i)
      out.pieces.push_back({static_cast<Index>(i), (std::max)(begin, start[i]) - start[i], (std::min)(end, start[i + 1]) - start[i],
                            ranks > 1 ? 0 : not_shared});
    out.pass_offsets[static_cast<std::size_t>(k) + 1] = out.pieces.size();
  });
  if (ranks > 1) {
    std::vector<std::uint32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0U);
    out.rank_groups.push_back(all);
  }
  return out;
}

/// Time of the slowest rank: the tiles that its pieces compute, times the time of a tile in each.
template <index_type Index, cost_model TileTime>
[[nodiscard]] std::int64_t slowest_rank(shards<Index> const& plan, document_share_options const& o, TileTime const& tile_time) {
  attention_tiles const tiles{.rows = o.tile_queries, .columns = o.tile_keys};
  std::int64_t most = 0;
  for (std::size_t r = 0; r < plan.ranks(); ++r) {
    checked sum(0);
    for (auto const& p : plan(r, 0)) {
      auto const queries = p.end - p.begin, full = (std::max)(o.tile_queries, round_down(queries, o.tile_queries));
      sum = sum + checked(tiles(queries, p.end)) * checked(static_cast<std::int64_t>(tile_time(full)));
    }
    require(sum.fits(), [&] { return sentence("the time of rank ", r, " reaches 2^63"); });
    most = (std::max)(most, sum.value);
  }
  return most;
}

}  // namespace detail

/// @brief Cuts a packed micro-batch over context-parallel ranks, one pass on each.
///
/// Each rank gets an early and a late chunk, of each document or of the packed sequence. Numbers of tokens that do not divide evenly are
/// dealt to the ranks in turn, so nothing is padded: ranks differ by one token at most. If there are fewer tokens than ranks, the first
/// rank has them all.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each document, in the order in which they are packed
/// @param ranks    number of ranks, at least 1
/// @param cut      what is cut
/// @return the shards; `time` is not set
/// @throws invalid_input if a length or the number of ranks is not positive
/// @par Complexity
/// O(documents times ranks) per document, O(documents + ranks) per sequence.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] shards<Index> cut_documents(R const& lengths, std::uint64_t ranks, share_cut cut) {
  require(ranks > 0 && ranks < 1U << 20, [&] { return sentence("ranks = ", ranks, " must be in 1 ... 2^20 - 1"); });
  auto const tokens = extent_of(lengths).tokens;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "documents");
  auto const few = tokens < static_cast<std::int64_t>(ranks);
  shards<Index> out;
  if (cut == share_cut::per_sequence && !few) {
    out = detail::cut_sequence<Index>(lengths, tokens, ranks);
  } else {
    pass_list<Index> list;
    std::vector<std::uint32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0U);
    list.ranks.push_back(all);
    for (std::size_t i = 0; i < n; ++i) list.placements.push_back({static_cast<Index>(i), 0, few || ranks == 1 ? 0 : list.all_ranks});
    out = make_shards(lengths, list, ranks);
  }
  out.execution = execution::mixed;
  return out;
}

/// @brief A lower bound on the time of the slowest rank, however the queries of the documents are divided over the ranks.
///
/// Some rank computes the mean number of tiles or more, and no tile takes less than the fastest.
///
/// @tparam R         range of integers
/// @tparam TileTime  a `cost_model`
/// @param lengths    tokens of each document
/// @param options    ranks and tiles
/// @param tile_time  as for `document_shares`
/// @return the bound, in units of `tile_time`
/// @throws invalid_input as `document_shares`
/// @par Complexity
/// O(documents), and one call of `tile_time` for each row of tiles of the longest document.
template <length_range R, cost_model TileTime>
[[nodiscard]] std::int64_t least_share_time(R const& lengths, document_share_options const& options, TileTime const& tile_time) {
  require(options.ranks > 0, [] { return "ranks = 0 must be in 1 ... 2^20 - 1"; });
  auto const longest = extent_of(lengths).longest;
  for (auto const size : {options.tile_queries, options.tile_keys})
    require(size > 0 && size < 1 << 24, [&] { return sentence("a tile of ", size, " must have 1 ... 2^24 - 1 queries and keys"); });
  require(longest < std::int64_t{1} << 31, [&] { return sentence("a document of ", longest, " tokens must have fewer than 2^31"); });
  std::int64_t fastest = 0;
  for (std::int64_t queries = options.tile_queries; queries == options.tile_queries || queries <= longest;
       queries += options.tile_queries) {
    auto const time = static_cast<std::int64_t>(tile_time(queries));
    require(time > 0, [&] { return sentence("tile_time(", queries, ") = ", time, " must be positive"); });
    fastest = fastest == 0 ? time : (std::min)(fastest, time);
  }
  std::int64_t pairs = 0;
  auto const at = read_by_position(lengths);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i)
    add_checked(pairs, causal_pairs{}(static_cast<std::int64_t>(at[i])), "pairs of lengths", i);
  auto const tiles =
      checked(divide_up(divide_up(pairs, options.tile_queries * options.tile_keys), static_cast<std::int64_t>(options.ranks)));
  auto const least = tiles * checked(fastest);
  require(least.fits(), [] { return "the time of a rank reaches 2^63"; });
  return least.value;
}

/// @brief Cuts a packed micro-batch in the way that is predicted to be faster: each document, or the packed sequence.
///
/// The time of a rank is that of the tiles which its pieces compute, where a piece fills complete rows of tiles. A micro-batch of short
/// documents favours cuts of the sequence, one with a long document cuts of each document.
///
/// @tparam Index     type of the sample indices
/// @tparam R         range of integers
/// @tparam TileTime  a `cost_model`
/// @param lengths    tokens of each document, in the order in which they are packed
/// @param options    ranks and tiles
/// @param tile_time  time of one tile in a piece, by the number of its queries in full tiles (one tile, if it has fewer)
/// @return the shards of the faster way (of equal ones, per document), and both times
/// @throws invalid_input if a length, an option or a time is not positive, or a sum of times reaches 2^63
/// @par Complexity
/// O(documents times ranks), and one call of `tile_time` for each row of tiles of the longest document.
/// @par Determinism
/// A pure function of its arguments; decided in integers.
/// @par Source
/// Wang et al., "WLB-LLM: Workload-Balanced 4D Parallelism for Large Language Model Training", arXiv 2503.17924.
/// There, the last d mod 2 N tokens of a document are pieces of their own; here they extend its chunks, as each piece costs a row of tiles.
template <index_type Index = std::uint32_t, length_range R, cost_model TileTime>
[[nodiscard]] document_sharing<Index> document_shares(R const& lengths, document_share_options const& options, TileTime const& tile_time) {
  auto const least = least_share_time(lengths, options, tile_time);
  document_sharing<Index> out;
  out.shards = cut_documents<Index>(lengths, options.ranks, share_cut::per_document);
  auto by_sequence = cut_documents<Index>(lengths, options.ranks, share_cut::per_sequence);
  out.per_document = detail::slowest_rank(out.shards, options, tile_time);
  out.per_sequence = detail::slowest_rank(by_sequence, options, tile_time);
  if (out.per_sequence < out.per_document) {
    out.chosen = share_cut::per_sequence;
    out.shards = std::move(by_sequence);
  }
  out.shards.time = {(std::min)(out.per_document, out.per_sequence), least};
  return out;
}

}  // namespace ballast::inline v0_2
