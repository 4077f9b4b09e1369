// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/methods/length_buckets.hpp>
#include <ballast/sharding.hpp>

#include "show.hpp"

// What schedules of long samples consist of.

namespace plan_hashes {

/// The time of samples that several ranks share.
inline ballast::degree_cost const shared_cost{.linear = 400'000, .square = 900, .exchange = {0, 30'000, 30'000, 90'000}};

template <class Index>
void put(digest& d, ballast::shards<Index> const& s) {
  put(d, s.status, s.execution, hash(s), s.time);
}
template <class Index>
void put(digest& d, ballast::grouped_samples<Index> const& g) {
  put(d, g.status, g.time, g.widths, g.samples);
}
template <class Index>
void put(digest& d, ballast::split_batch<Index> const& b) {
  put(d, b.status, b.rank_of, b.loads, b.overlapped, b.shards);
}
template <class Index>
void put(digest& d, ballast::group_schedule<Index> const& s) {
  put(d, s.status, s.samples, s.micro_batches, s.times, s.overlapped, s.shards);
}
template <class Index>
void put(digest& d, ballast::attention_plan<Index> const& p) {
  put(d, hash(p), p.loads, p.bytes_moved, p.moves, p.load);
}
template <class Index>
void put(digest& d, ballast::document_sharing<Index> const& s) {
  put(d, s.chosen, s.per_document, s.per_sequence, s.shards);
}
template <class Index>
void put(digest& d, ballast::bucketed_lengths<Index> const& b) {
  put(d, b.upper, b.samples, b.excess);
}
inline void put(digest& d, ballast::price_certificate const& p) { put(d, p.time, p.per_token, p.per_time); }
inline void put(digest& d, ballast::shard_lower_bounds const& b) { put(d, b.longest, b.area, b.rate); }

}  // namespace plan_hashes
