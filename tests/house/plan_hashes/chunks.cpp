// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/search_order.hpp>

#include "stages.hpp"

#include <string>
#include <utility>

// Batches in chunks, and schedules of chunks that depend on each other.

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, token_range<Index> const& r) {
  put(d, r.sample, r.begin, r.end);
}
template <class Index>
void put(digest& d, chunking<Index> const& c) {
  put(d, c.ranges, c.offsets, c.chains, c.count, c.bound);
}
inline void put(digest& d, scheduled_pipeline const& s) {
  put(d, s.status, s.order.micro_batches, s.order.stage_of, s.order.offsets, s.order.fill);
  for (auto const& t : s.order.tasks) put(d, t.micro_batch, t.virtual_stage, t.pass);
  put(d, s.timeline, s.shortage.stage, s.shortage.chain, s.shortage.capacity, s.shortage.needed);
}

namespace {

void on_a_pipeline(std::string const& name, chunking<> const& plan) {
  auto const times = chunk_times(plan, square);
  auto const work = [&](std::uint64_t stage, std::uint64_t chunk) {
    auto const t = times[static_cast<std::size_t>(chunk)] / 1000 + static_cast<std::int64_t>(stage);
    return stage_work{.forward = t, .backward = 2 * t, .kept = plan.tokens(static_cast<std::size_t>(chunk))};
  };
  list_options options{.stages = 4};
  show("list_schedule", name, list_schedule(plan.chains, options, work));
  options.capacity.assign(4, 3 * 4096);
  options.tie = list_tie::later_chain;
  options.events = true;
  show("list_schedule", name + ",capacity", list_schedule(plan.chains, options, work));
  auto const found = search_order(plan.chains, options, work, {.simulations = 40});
  show("search_order", name, static_cast<scheduled_pipeline const&>(found), found.options.warm_up);
}

}  // namespace

void chunks() {
  for (auto const& c : data_cases())
    for (auto const size : {c.capacity / 8, c.capacity / 2, c.capacity}) {
      auto const name = std::string(c.name) + ',' + std::to_string(size);
      auto const plan = make_chunks(c.lengths, {.size = size});
      show("make_chunks", name, plan);
      show("equal_time_chunks", name, equal_time_chunks(c.lengths, {.size = size}, square));
      if (size == c.capacity / 2 && plan.size() != 0) on_a_pipeline(name, plan);
    }
}

}  // namespace plan_hashes
