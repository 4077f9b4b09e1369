// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/global_schedule.hpp>
#include <ballast/sharding.hpp>

#include "shards.hpp"

#include <algorithm>
#include <span>

namespace plan_hashes {

using namespace ballast;

namespace {

void shards_by_all(std::string const& name, numbers const& lengths, sharding_options o) {
  for (auto const policy : {execution::independent, execution::mixed}) {
    o.execution = policy;
    for (auto const deep : {false, true})
      show("plan_shards", name + ',' + std::string(to_string(policy)) + (deep ? ",deep" : ""),
           plan_shards(lengths, o, shared_cost, {.deep = deep}));
  }
  show("homogeneous_shards", name, homogeneous_shards(lengths, o, shared_cost));
  show("shard_bounds", name, shard_bounds(lengths, o, shared_cost));
  show("price_bound", name, price_bound(lengths, o, shared_cost));
  show("any_degree_shards", name, any_degree_shards(lengths, o, shared_cost));
  show("any_degree_bound", name, any_degree_bound(lengths, o, shared_cost));
  o.execution = execution::lockstep;
  for (auto const deep : {false, true})
    show("plan_shards", name + ",lockstep" + (deep ? ",deep" : ""), plan_shards(lengths, o, shared_cost, {.deep = deep}));
  show("lockstep_shards", name + ",counts=5", lockstep_shards(lengths, o, shared_cost, {.counts = 5}));
  show("homogeneous_shards", name + ",lockstep", homogeneous_shards(lengths, o, shared_cost));
  auto const longest = lengths.empty() ? 1 : *std::max_element(lengths.begin(), lengths.end());
  show("static_shards", name, static_shards(lengths, longest, o, shared_cost));
  std::size_t few = 0;  // as many as fill three quarters of one pass
  for (std::int64_t room = o.capacity * static_cast<std::int64_t>(o.ranks) * 3 / 4; few < lengths.size() && lengths[few] <= room; ++few)
    room -= lengths[few];
  show("power_of_two_groups", name, power_of_two_groups(std::span(lengths).first(few), o, shared_cost));
}

void whole_or_shared(std::string const& name, numbers const& lengths, std::int64_t capacity) {
  auto const exchange = [](std::int64_t tokens) { return 2000 + 3 * tokens; };
  std::span const few(lengths.data(), (std::min)(lengths.size(), std::size_t{40}));
  std::int64_t tokens = 0;
  for (auto const l : few) tokens += l;
  local_or_distributed_options one{.capacity = (std::max)(capacity, tokens / 4 + tokens / 20), .ranks = 4, .cost_per_pass = 5000};
  show("local_or_distributed", name, local_or_distributed(few, one, shared_cost, exchange));
  one.share_more = true;
  show("local_or_distributed", name + ",share_more", local_or_distributed(few, one, shared_cost, exchange));
  one.roll_back = rolling_back::published;
  one.order = placing_order::as_given;
  show("local_or_distributed", name + ",published,as_given", local_or_distributed(few, one, shared_cost, exchange));
  global_schedule_options all{.groups = 3, .group = {.capacity = capacity, .ranks = 4, .cost_per_pass = 5000}};
  show("global_schedule", name, global_schedule(lengths, all, shared_cost, exchange));
  all.group.share_more = true;
  all.balance = group_balance::karmarkar_karp;
  show("global_schedule", name + ",share_more,karmarkar_karp", global_schedule(lengths, all, shared_cost, exchange));
}

void documents_and_attention(std::string const& name, numbers const& lengths) {
  for (auto const cut : {share_cut::per_document, share_cut::per_sequence}) {
    auto const placed = cut_documents(lengths, 8, cut);
    auto const how = name + (cut == share_cut::per_document ? ",per_document" : ",per_sequence");
    show("cut_documents", how, placed);
    auto const tasks = attention_tasks_of(placed);
    for (auto const filling : {filling::two_sided, filling::one_sided})
      show("water_filling", how + (filling == filling::two_sided ? "" : ",one_sided"),
           water_filling(tasks, {.servers = 8, .query_bytes = 16, .key_value_bytes = 4, .multiple = 16, .filling = filling}));
  }
  show("document_shares", name,
       document_shares(lengths, {.ranks = 8, .tile_queries = 16, .tile_keys = 16}, stepped_tile_time{.slow = 5, .fast = 4, .from = 32}));
  show("length_buckets", name, length_buckets(lengths, 6));
  show("length_buckets", name + ",most_excess", length_buckets(lengths, 3, static_cast<std::int64_t>(lengths.size()) * 20));
  show("equal_interval_buckets", name, equal_interval_buckets(lengths, 6));
}

}  // namespace

void sharding() {
  for (auto const& c : data_cases()) {
    std::string const name(c.name);
    auto lengths = c.lengths;
    for (auto& l : lengths) l = (std::max)(l, std::int64_t{16});  // no share without a token
    auto const capacity = c.capacity / 3;
    sharding_options const usual{.capacity = capacity, .ranks = 16, .cost_per_pass = 100'000};
    shards_by_all(name, lengths, usual);
    shards_by_all(name + ",6 ranks", lengths, {.capacity = capacity, .ranks = 6, .cost_per_pass = 0, .layout = share_layout::contiguous});
    shards_by_all(name + ",at most 4", lengths, {.capacity = capacity, .ranks = 8, .cost_per_pass = 400'000, .most_ranks_shared = 4});
    for (std::size_t const n : {std::size_t{1}, std::size_t{8}, std::size_t{12}, std::size_t{60}})
      if (n < lengths.size())
        shards_by_all(name + ',' + std::to_string(n) + " samples", {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(n)},
                      usual);
    whole_or_shared(name, lengths, capacity);
    documents_and_attention(name, lengths);
  }
}

}  // namespace plan_hashes
