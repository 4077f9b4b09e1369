// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing.hpp>

#include "results.hpp"

// What is planned on classes of lengths.

namespace plan_hashes {

inline void put(digest& d, ballast::packs_needed const& n) { put(d, n.packs, n.bound); }
inline void put(digest& d, ballast::pack_tally const& t) { put(d, t.status, t.count, t.bound, t.tokens, t.set_aside); }
inline void put(digest& d, ballast::near_optimal_plan const& p) {
  put(d, p.patterns, p.count, p.bound, p.duals, p.dual_capacity, p.complete);
}
inline void put(digest& d, ballast::pack_run const& r) { put(d, r.first, r.pack, r.length, r.room, r.per_pack, r.slot); }
inline void put(digest& d, ballast::pack_block const& b) { put(d, b.first_pack, b.first_member, b.samples, b.tokens); }
inline void put(digest& d, ballast::pack_runs const& p) { put(d, p.capacity, p.sample_multiple, p.samples, p.packs, p.runs, p.blocks); }
inline void put(digest& d, ballast::placement const& p) { put(d, p.pack, p.slot, p.offset, p.member); }

}  // namespace plan_hashes
