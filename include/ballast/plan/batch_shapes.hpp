// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `shapes_of`: the size of each pack, or of each pass of shards, from which costs of layers are computed.

namespace ballast::inline v0_2 {

/// @brief Computes the size of each pack: its tokens, the sum of its squared lengths, and its image tiles.
///
/// @tparam Index  index type of the packs
/// @param packs   sample indices of each pack
/// @param tokens  tokens of each sample
/// @param tiles   image tiles of each sample; empty: there are none
/// @return one entry per pack; a pack counts its samples whole, also those that ranks share (`batching::shared`)
/// @throws invalid_input if a pack has an index beyond `tokens`, a value is negative, a sum of squares or of tiles reaches 2^63, or `tiles`
/// has another size than `tokens`
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] std::vector<batch_shape> shapes_of(groups<Index> const& packs, std::span<std::int64_t const> tokens,
                                                 std::span<std::int64_t const> tiles = {}) {
  require(tiles.empty() || tiles.size() == tokens.size(),
          [&] { return sentence("tiles has ", tiles.size(), " entries for ", tokens.size(), " samples"); });
  std::vector<batch_shape> out;
  out.reserve(packs.size());
  for (auto const pack : packs) {
    batch_shape shape;
    for (auto const i : pack) {
      require(i < tokens.size(),
              [&] { return sentence("packs[", out.size(), "] has index ", i, ", but there are ", tokens.size(), " samples"); });
      auto const length = tokens[static_cast<std::size_t>(i)];
      batch_cost const sums{.per_token = 1, .per_square = length};
      batch_shape const more{.tokens = shape.squares, .squares = length, .tiles = 0};
      require(length >= 0 && sums.fits(more),
              [&] { return entry("tokens", i, length) + " is negative, or brings a sum of squares to 2^63"; });
      shape.tokens += length;  // no more than the squares
      shape.squares = sums(more);
      if (!tiles.empty()) add_checked(shape.tiles, tiles[static_cast<std::size_t>(i)], "tiles", static_cast<std::size_t>(i));
    }
    out.push_back(shape);
  }
  return out;
}

/// @brief Computes the size of each pass of shards: what its rank holds of every sample.
///
/// A pass has the tokens of its pieces. Tokens `[b, e)` of a sample bring e^2 - b^2 squares, as attention is causal. Ranks that share them
/// have equal parts of these squares, rounded up: `share_layout` promises that they attend equally.
///
/// @tparam Index  index type of the shards
/// @param plan  shards that `check_shards` accepts
/// @return one entry per pass, counted over all ranks
/// @throws invalid_input if a piece has no tokens, is of a group that does not exist, or brings a sum of squares to 2^63
/// @par Complexity
/// O(pieces log pieces).
template <index_type Index>
[[nodiscard]] std::vector<batch_shape> shapes_of(shards<Index> const& plan) {
  constexpr std::int64_t longest = 3'037'000'499;  // the largest of which the square is below 2^63
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    auto const& p = plan.pieces[i];
    require(p.begin >= 0 && p.begin < p.end && p.end <= longest, [&] {
      return sentence("pieces[", i, "] has the tokens ", p.begin, " to ", p.end, ", which are none, or have a square of 2^63 or more");
    });
    require(p.group == not_shared || (p.group < plan.rank_groups.size() && !plan.rank_groups[p.group].empty()),
            [&] { return entry("pieces.group", i, p.group) + " is no group"; });
  }
  auto const squares = [](piece<Index> const& p) { return p.end * p.end - p.begin * p.begin; };

  // Of each group, a rank's part of the squares of all tokens that the group holds.
  auto shared = plan.pieces;
  std::erase_if(shared, [](auto const& p) { return p.group == not_shared; });
  std::sort(shared.begin(), shared.end(), [](auto const& a, auto const& b) {
    return a.group != b.group ? a.group < b.group : a.sample != b.sample ? a.sample < b.sample : a.begin < b.begin;
  });
  std::vector<std::int64_t> part(plan.rank_groups.size(), 0);
  for (std::size_t i = 0, j = 0; i < shared.size(); i = j) {
    auto all = shared[i];
    for (; j < shared.size() && shared[j].group == all.group && shared[j].sample == all.sample; ++j) all.end = shared[j].end;
    auto const ranks = static_cast<std::int64_t>(plan.rank_groups[all.group].size());
    add_checked(part[all.group], divide_up(squares(all), ranks), "squares of group", all.group);
  }

  std::vector<batch_shape> out(plan.passes());
  std::vector<std::uint32_t> seen;  // groups of the pass
  for (std::size_t pass = 0; pass < out.size(); ++pass) {
    seen.clear();
    for (auto const& p : plan.of_pass(pass)) {
      add_checked(out[pass].tokens, p.end - p.begin, "tokens of pass", pass);
      auto const is_shared = p.group != not_shared;
      if (is_shared && std::find(seen.begin(), seen.end(), p.group) != seen.end()) continue;
      if (is_shared) seen.push_back(p.group);
      add_checked(out[pass].squares, is_shared ? part[p.group] : squares(p), "squares of pass", pass);
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
