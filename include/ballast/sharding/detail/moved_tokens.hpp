// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The tokens of a phase that go to other ranks for the last phase.
template <index_type Index, length_range R, length_range S>
[[nodiscard]] std::int64_t moved_tokens(shards<Index> const& phase, shards<Index> const& last, R const& lengths, S const& last_lengths) {
  struct share {
    Index sample;
    std::size_t rank;
    std::int64_t tokens;
  };
  auto const shares = [](shards<Index> const& of) {
    std::vector<share> out;
    for (std::size_t r = 0; r < of.ranks(); ++r)
      for (std::size_t m = 0; m < of.passes(r); ++m)
        for (auto const& p : of(r, m)) out.push_back({p.sample, r, p.end - p.begin});
    std::sort(out.begin(), out.end(), [](share const& a, share const& b) {
      return a.sample != b.sample ? a.sample < b.sample : a.rank != b.rank ? a.rank < b.rank : a.tokens < b.tokens;
    });
    std::size_t kept = 0;
    for (auto const& s : out) {
      if (kept > 0 && out[kept - 1].sample == s.sample && out[kept - 1].rank == s.rank)
        out[kept - 1].tokens += s.tokens;
      else
        out[kept++] = s;
    }
    out.resize(kept);
    return out;
  };
  auto const held = shares(phase), needed = shares(last);
  auto const here = read_by_position(lengths);
  auto const there = read_by_position(last_lengths);
  std::int64_t sum = 0;
  auto next = needed.begin();
  for (auto const& s : held) {
    if (there[s.sample] == 0) continue;
    while (next != needed.end() && (next->sample < s.sample || (next->sample == s.sample && next->rank < s.rank))) ++next;
    auto const stays = next != needed.end() && next->sample == s.sample && next->rank == s.rank ? next->tokens : 0;
    auto const part = multiply_divide_up(static_cast<std::uint64_t>(here[s.sample]), static_cast<std::uint64_t>(stays),
                                         static_cast<std::uint64_t>(there[s.sample]));
    sum += (std::max)(s.tokens - static_cast<std::int64_t>(part), std::int64_t{0});
  }
  return sum;
}

}  // namespace ballast::inline v0_2::detail
