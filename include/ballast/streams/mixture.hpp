// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/streams/mixture_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `mixture`: draws samples from several sources in given shares.

namespace ballast::inline v0_2 {

/// @brief Draws `count` samples from several sources such that each source has its share after every draw.
///
/// Each draw takes the source whose next sample is due first, among the sources that then stay within their share. The samples of a source
/// come in a random order; when all have come, they come again in another random order, so the numbers of times that any two samples of a
/// source occur differ by at most one.
///
/// @tparam Index  type of the sample indices
/// @param source  number of the source of each sample, below `share.size()`
/// @param share   share of each source, in any unit: `{3, 1}` draws three of the first for each of the second; not negative
/// @param count   number of samples to draw
/// @param seed    any value; another seed gives another order
/// @return sample indices in the order of the draws; samples of an over-sampled source occur several times
///
/// @post for every k, a source of share s has k s / sum(share) of the first k draws, rounded up or down
/// @throws invalid_input if a source has no entry in `share`, or has a positive share but no samples; if a share is negative or 2^31 or
/// more, or no share is positive
/// @par Complexity
/// O(samples + count * sources).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Balinski, Young, "The quota method of apportionment", Amer. Math. Monthly 82 (1975).
template <index_type Index = std::uint32_t>
[[nodiscard]] std::vector<Index> mixture(std::span<std::uint32_t const> source, std::span<std::int64_t const> share, std::size_t count,
                                         std::uint64_t seed) {
  std::vector<std::vector<Index>> of(share.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    require(source[i] < share.size(),
            [&] { return entry("source", i, source[i]) + " has no share: there are " + std::to_string(share.size()); });
    of[source[i]].push_back(static_cast<Index>(i));
  }
  for (std::size_t s = 0; s < share.size(); ++s)
    require(share[s] <= 0 || !of[s].empty(), [&] { return entry("share", s, share[s]) + " but the source has no samples"; });
  std::vector<Index> out;
  if (count == 0 && std::all_of(share.begin(), share.end(), [](auto s) { return s == 0; })) return out;
  mixture_stream stream({share.begin(), share.end()});
  std::vector<std::vector<Index>> order(share.size());
  out.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    auto const [from, drawn] = stream.next();
    auto const size = of[from].size();
    auto const at = static_cast<std::size_t>(drawn % size);
    if (at == 0) order[from] = random_permutation<Index>(size, splitmix64(seed + drawn + 1)() ^ from);
    out.push_back(of[from][order[from][at]]);
  }
  return out;
}

}  // namespace ballast::inline v0_2
