// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>
#include <ballast/streams/stream_step.hpp>

#include "show.hpp"

// Packs and steps, which several rooms return.

namespace plan_hashes {

inline void put(digest& d, ballast::sample_piece const& p) { put(d, p.sample, p.offset, p.length); }
template <class Index>
void put(digest& d, ballast::packing<Index> const& p) {
  put(d, p.status, p.packs, p.count, p.bound, p.tokens, p.set_aside, p.pieces, p.complete);
}
template <class Index>
void put(digest& d, ballast::vector_packing<Index> const& p) {
  put(d, p.status, p.packs, p.count, p.bound, p.measure, p.totals, p.set_aside, p.packer, p.complete);
}
inline void put(digest& d, ballast::pattern_item const& i) { put(d, i.item_class, i.copies); }
inline void put(digest& d, ballast::pack_patterns const& p) { put(d, p.offsets, p.items, p.repeats); }
template <class Index>
void put(digest& d, ballast::shared_sample<Index> const& s) {
  put(d, s.sample, s.step, s.first_rank, s.ranks);
}
template <class Index>
void put(digest& d, ballast::batching<Index> const& b) {
  put(d, b.packs, b.table, b.ranks, b.micro_batches, b.slowest, b.cost, b.tokens, b.dropped, b.repeated, b.shared, b.token_delay, b.method,
      b.window, b.longest_delay);
}
inline void put(digest& d, ballast::stream_step const& s) { put(d, s.micro_batches, s.lengths, s.delays, s.workloads); }

}  // namespace plan_hashes
