// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/step_shards.hpp>
#include <ballast/methods/batch_rebalance.hpp>
#include <ballast/methods/bytescale.hpp>
#include <ballast/methods/distca.hpp>
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/methods/skrull.hpp>
#include <ballast/methods/skrull_costs.hpp>
#include <ballast/methods/skrull_group_size.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/methods/wlb.hpp>

#include "results.hpp"
#include "shards.hpp"

#include <algorithm>
#include <span>
#include <utility>

// Published schedulers of long samples, and the steps that long samples are part of.

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, megatron_hybrid_cp::schedule_result<Index> const& s) {
  put(d, s.shards, s.time, s.rounds, s.round_of);
}
template <class Index>
void put(digest& d, batch_rebalance::plan<Index> const& s) {
  put(d, s.status, s.micro_batches, s.most);
}
template <class Index>
void put(digest& d, distca::schedule<Index> const& s) {
  put(d, s.shards, s.attention, s.time);
}
template <class Index>
void put(digest& d, skrull::sized_schedule<Index> const& s) {
  put(d, s.ranks, s.schedule);
}

namespace {

void flexsp_and_verl(std::string const& name, numbers const& lengths, sharding_options const& o) {
  show("flexsp::schedule", name, flexsp::schedule(lengths, o, shared_cost));
  show("flexsp::schedule", name + ",exact", flexsp::schedule(lengths, o, shared_cost, {.buckets = 0, .fewest_ranks = 1}));
  show("flexsp::schedule", name + ",warm_start", flexsp::schedule(lengths, o, shared_cost, {.how = flexsp::grouping::warm_start}));
  show("verl::schedule", name, verl::schedule(lengths, o, shared_cost));
  show("verl::schedule", name + ",8,equal_counts", verl::schedule(lengths, o, shared_cost, {.context_ranks = 8, .equal_counts = true}));
  show("verl::schedule", name + ",as_published", verl::schedule(lengths, o, shared_cost, {.as_published = true}));
}

void hybrid_context_parallelism(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  megatron_hybrid_cp::options megatron{.capacity = capacity, .ranks = 16, .cost_per_pass = 100'000};
  show("megatron_hybrid_cp::schedule", name, megatron_hybrid_cp::schedule(lengths, megatron, shared_cost));
  megatron.passes = megatron_hybrid_cp::filling::one_each;
  megatron.widest_first = true;
  show("megatron_hybrid_cp::schedule", name + ",one_each,widest_first", megatron_hybrid_cp::schedule(lengths, megatron, shared_cost));
  bytescale::options bytes{.capacity = capacity, .ranks = 12, .cost_per_pass = 100'000};
  show("bytescale::schedule", name, bytescale::schedule(lengths, bytes, shared_cost));
  bytes.from = bytescale::balance::pipeline;
  bytes.delta = 1'000'000;
  show("bytescale::schedule", name + ",pipeline,delta", bytescale::schedule(lengths, bytes, shared_cost));
}

void schedulers_of_frameworks(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  for (auto const ranks : {12, 16}) {
    auto const of = name + "," + std::to_string(ranks);
    sharding_options const o{.capacity = capacity, .ranks = static_cast<std::uint64_t>(ranks), .cost_per_pass = 100'000};
    megatron_dynamic_cp::options dynamic{.capacity = capacity, .ranks = o.ranks, .cost_per_pass = 100'000};
    show("megatron_dynamic_cp::schedule", of, megatron_dynamic_cp::schedule(lengths, dynamic, shared_cost));
    dynamic.micro_batch_multiple = 2;
    show("megatron_dynamic_cp::schedule", of + ",multiple", megatron_dynamic_cp::schedule(lengths, dynamic, shared_cost));
    show("megatron_dp_balanced::schedule", of, megatron_dp_balanced::schedule(lengths, o, shared_cost));
    for (auto const balance : {slime::balance::in_turn, slime::balance::by_ranks, slime::balance::by_packs})
      show("slime::schedule", of + "," + std::to_string(static_cast<int>(balance)),
           slime::schedule(lengths, o, shared_cost, square, {.balance = balance}));
    batch_rebalance::options const padded{.ranks = o.ranks, .micro_batches = 2};
    show("batch_rebalance::as_published", of, batch_rebalance::as_published(lengths, padded));
    show("batch_rebalance::optimal", of, batch_rebalance::optimal(lengths, padded));
  }
}

void groups_of_skrull(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  auto model = skrull::shape_named("qwen2.5-0.5b");
  model.capacity = capacity;
  skrull::run run{.model = model};
  show("skrull::best_groups", name, skrull::best_groups(lengths, run));
  run.share_more = true;
  show("skrull::best_groups", name + ",share_more", skrull::best_groups(lengths, run));
  show("skrull::best_groups", name + ",cost", skrull::best_groups(lengths, skrull::options_of(run), shared_cost));
}

void attention_of_distca(std::string const& name, numbers const& lengths) {
  distca::run run{.servers = {.servers = 8, .query_bytes = 16, .key_value_bytes = 4, .multiple = 16}, .per_token = 500, .per_pair = 1};
  show("distca::plan", name, distca::plan(lengths, run));
  run.placement = distca::placement::in_order;
  show("distca::plan", name + ",in_order", distca::plan(lengths, run));
  show("distca::plan", name + ",published", distca::plan(lengths, distca::published(run)));
}

void stream_of_wlb(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  for (auto const& thresholds : {numbers{}, numbers{capacity / 4, capacity / 2}}) {
    wlb::packer packer({.micro_batches = 8, .capacity = capacity, .thresholds = thresholds}, square);
    std::vector<wlb::step> steps;
    for (std::size_t first = 0; first < lengths.size(); first += 60)
      steps.push_back(packer.push(std::span(lengths).subspan(first, (std::min)(std::size_t{60}, lengths.size() - first))));
    for (auto& step : packer.flush()) steps.push_back(std::move(step));
    show("wlb::packer", name + (thresholds.empty() ? "" : ",2 queues"), steps);
  }
}

void steps_as_shards(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  auto const plan = plan_steps(lengths, {.capacity = capacity, .ranks = 8, .micro_batches = 2}, square, {.most_ranks_shared = 8});
  std::vector<shards<>> mixed, lockstep;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    mixed.push_back(shards_of(plan, s, lengths));
    lockstep.push_back(shards_of(plan, s, lengths, share_layout::contiguous, execution::lockstep));
  }
  show("shards_of", name, plan.shared, mixed);
  show("shards_of", name + ",contiguous,lockstep", lockstep);
}

}  // namespace

void schedulers() {
  for (auto const& c : data_cases()) {
    std::string const name(c.name);
    auto lengths = c.lengths;
    for (auto& l : lengths) l = (std::max)(l, std::int64_t{16});  // no share without a token
    auto const capacity = c.capacity / 3;
    flexsp_and_verl(name, lengths, {.capacity = capacity, .ranks = 16, .cost_per_pass = 100'000});
    hybrid_context_parallelism(name, lengths, capacity);
    schedulers_of_frameworks(name, lengths, capacity);
    groups_of_skrull(name, lengths, capacity);
    attention_of_distca(name, lengths);
    stream_of_wlb(name, lengths, c.capacity);
    steps_as_shards(name, lengths, capacity);
  }
}

}  // namespace plan_hashes
