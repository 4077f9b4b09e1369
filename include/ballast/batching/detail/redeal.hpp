// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_dealer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Distributes the samples of a step over its places again, or exchanges some if not all fit; keeps the old places unless the step becomes
/// cheaper.
template <index_type Index>
void redeal_steps(batching<Index>& b, weighed_samples const& items, batching_options const& o) {
  // If ranks wait at every micro-batch, each row of places counts as a step.
  auto const rows = o.synchronisation == synchronisation::per_micro_batch ? b.micro_batches : 1;
  auto const each = static_cast<std::size_t>(b.micro_batches / rows), ranks = static_cast<std::size_t>(b.ranks);
  step_dealer<Index> deal(items, b.ranks, each, o.capacity);
  constexpr std::array rules{deal_rule::rate_cap, deal_rule::longest_first};
  std::vector<Index> samples;
  std::vector<std::uint32_t> rank_of;
  std::vector<std::vector<Index>> contents(b.packs.size());
  for (std::size_t p = 0; p < contents.size(); ++p) contents[p].assign(b.packs[p].begin(), b.packs[p].end());
  for (std::size_t s = 0; s < b.steps(); ++s)
    for (std::size_t row = 0; row < rows; ++row) {
      samples.clear();
      rank_of.clear();
      std::int64_t slowest = 0;
      bool whole = true;
      auto const place = [&](std::size_t r, std::size_t m) { return b.at(s, r, rows == 1 ? m : row); };
      for (std::size_t r = 0; r < ranks; ++r) {
        std::int64_t mine = 0;
        for (std::size_t m = 0; m < each; ++m) {
          auto const p = place(r, m);
          whole = whole && p != b.none;
          if (p == b.none) continue;
          for (auto i : contents[p]) mine += items.cost[i];
          samples.insert(samples.end(), contents[p].begin(), contents[p].end());
          rank_of.insert(rank_of.end(), contents[p].size(), static_cast<std::uint32_t>(r));
        }
        slowest = (std::max)(slowest, mine);
      }
      if (!whole) continue;
      deal.gather(samples);
      auto const cheaper = [&](bool all) { return all && deal.slowest() < slowest; };
      if (!cheaper(deal.deal_all(rules)) && !cheaper(deal.improve(rank_of)))
        continue;  // with full packs there is no room to distribute samples again, but often to exchange some
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          whole = whole && !got.empty();
        }
      if (!whole) continue;
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          contents[place(r, m)].assign(got.begin(), got.end());
        }
    }
  b.packs.clear();
  for (auto const& c : contents) b.packs.push_back(c);
}

}  // namespace ballast::inline v0_2::detail
