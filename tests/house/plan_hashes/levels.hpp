// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/curriculum/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>

#include "results.hpp"

// What plans in levels consist of.

namespace plan_hashes {

template <class Index>
void put(digest& d, ballast::level_packing<Index> const& p) {
  put(d, p.levels, p.packs, p.first_pack, p.count, p.tokens, p.lengths, p.set_aside, p.pieces, p.filled, p.filled_tokens);
}
template <class Index>
void put(digest& d, ballast::level_batching<Index> const& b) {
  put(d, b.levels, b.steps);
}
inline void put(digest& d, ballast::curriculum_plan const& p) { put(d, p.settings, p.source, p.index, p.warm_up, p.epoch); }

}  // namespace plan_hashes
