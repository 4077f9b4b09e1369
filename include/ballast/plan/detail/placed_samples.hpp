// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/packing/oversize.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// The samples that planners of steps see. Private.

namespace ballast::inline v0_2::detail {

/// The samples that have a place, renumbered if some have none: number k is sample `kept[k]`. `kept` is empty if all samples are kept.
template <index_type Index>
struct placed_samples {
  weighed_samples samples;
  std::vector<Index> kept;

  placed_samples(trained_samples<Index> const& all, batching_options const& o) {
    if (all.set_aside.empty()) {
      samples = weigh(all.tokens, all.cost, o);
      return;
    }
    std::vector<std::int64_t> tokens, cost;
    for (auto* const list : {&tokens, &cost}) list->reserve(all.tokens.size() - all.set_aside.size());
    kept.reserve(all.tokens.size() - all.set_aside.size());
    auto next = all.set_aside.begin();
    for (std::size_t i = 0; i < all.tokens.size(); ++i) {
      if (next != all.set_aside.end() && *next == i) {
        ++next;
        continue;
      }
      kept.push_back(static_cast<Index>(i));
      tokens.push_back(all.tokens[i]);
      cost.push_back(all.cost[i]);
    }
    samples = weigh(tokens, cost, o);
  }
};

}  // namespace ballast::inline v0_2::detail
