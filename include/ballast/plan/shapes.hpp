// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/cost/layer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `shapes_of`: the size of each pack, from which costs of layers are computed.

namespace ballast::inline v0_2 {

/// @brief Computes the size of each pack: its tokens, the sum of its squared lengths, and its image tiles.
///
/// @tparam Index  index type of the packs
/// @param packs   sample indices of each pack
/// @param tokens  tokens of each sample
/// @param tiles   image tiles of each sample; empty: there are none
/// @return one entry per pack
/// @throws invalid_input if a pack has an index beyond `tokens`, a value is negative, a sum of squares or of tiles reaches 2^63, or `tiles`
/// has another size than `tokens`
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] std::vector<batch_shape> shapes_of(groups<Index> const& packs, std::span<std::int64_t const> tokens,
                                                 std::span<std::int64_t const> tiles = {}) {
  require(tiles.empty() || tiles.size() == tokens.size(),
          [&] { return "tiles has " + std::to_string(tiles.size()) + " entries for " + std::to_string(tokens.size()) + " samples"; });
  std::vector<batch_shape> out;
  out.reserve(packs.size());
  for (auto const pack : packs) {
    batch_shape shape;
    for (auto const i : pack) {
      require(i < tokens.size(), [&] {
        return "packs[" + std::to_string(out.size()) + "] has index " + std::to_string(i) + ", but there are " +
               std::to_string(tokens.size()) + " samples";
      });
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

}  // namespace ballast::inline v0_2
