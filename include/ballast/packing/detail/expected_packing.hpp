// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

// For the validator only: computes what a packing must hold, without code of the packers.

namespace ballast::inline v0_2::detail {

/// What the samples are under the options: the weight of every possible member, and the lists that the result must have.
struct expected_packing {
  std::vector<std::uint64_t> weight;  ///< weight of each member, samples before pieces; above `capacity` if it fits no pack
  std::vector<bool> absent;           ///< by sample: whether it is set aside
  std::vector<std::uint64_t> set_aside;
  std::vector<sample_piece> pieces;
  std::uint64_t capacity = 0;
  std::uint64_t tokens = 0;
};

template <length_range R, cost_model Cost>
[[nodiscard]] expected_packing expect(R const& lengths, packing_options const& o, Cost const& cost) {
  require(o.capacity > 0 && o.sample_multiple > 0 && o.pack_multiple > 0 && o.pack_count_multiple > 0,
          [] { return std::string("capacity, sample_multiple, pack_multiple and pack_count_multiple must be positive"); });
  expected_packing e;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  e.capacity = static_cast<std::uint64_t>(o.capacity / o.pack_multiple * o.pack_multiple);
  e.weight.resize(n);
  e.absent.resize(n);
  auto const multiple = static_cast<std::uint64_t>(o.sample_multiple);
  auto const padded = [&](std::int64_t raw) { return (static_cast<std::uint64_t>(raw) + (multiple - 1)) / multiple * multiple; };
  auto const fits = static_cast<std::int64_t>(e.capacity / multiple * multiple);  // tokens of the longest piece
  auto at = std::ranges::begin(lengths);
  for (std::size_t i = 0; i < n; ++i, ++at) {
    auto const length = *at;
    require(std::cmp_greater(length, 0) && std::in_range<std::int64_t>(length),
            [&] { return entry("lengths", i, length) + " must be in 1 ... 2^63 - 1"; });
    auto const tokens = static_cast<std::int64_t>(length);
    auto const units = cost(tokens);
    require(std::cmp_greater(units, 0) && std::in_range<std::int64_t>(units),
            [&] { return entry("lengths", i, length) + " has cost " + std::to_string(units) + ", which is not in 1 ... 2^63 - 1"; });
    e.weight[i] = padded(static_cast<std::int64_t>(units));
    e.tokens += static_cast<std::uint64_t>(tokens);
    if (e.weight[i] <= e.capacity) continue;
    if (o.oversize == oversize::set_aside) {
      e.absent[i] = true;
      e.set_aside.push_back(i);
      e.tokens -= static_cast<std::uint64_t>(tokens);
    } else if (o.oversize == oversize::truncate || o.oversize == oversize::split) {
      require(fits > 0, [] { return std::string("sample_multiple exceeds the capacity: no piece fits"); });
      e.weight[i] = static_cast<std::uint64_t>(fits);
      if (o.oversize == oversize::truncate)
        e.tokens -= static_cast<std::uint64_t>(tokens - fits);
      else
        for (auto done = fits; done < tokens; done += e.pieces.back().length)
          e.pieces.push_back({i, done, (std::min)(fits, tokens - done)});
    }
  }
  for (auto const& piece : e.pieces) e.weight.push_back(padded(piece.length));
  return e;
}

}  // namespace ballast::inline v0_2::detail
