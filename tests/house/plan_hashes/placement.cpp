// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/balance/replicated.hpp>
#include <ballast/balance/share_units.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/methods/eplb.hpp>
#include <ballast/methods/tap.hpp>
#include <ballast/methods/tap_operators.hpp>
#include <ballast/methods/whale.hpp>
#include <ballast/staging/offload.hpp>

#include "show.hpp"

namespace plan_hashes {

using namespace ballast;

namespace {

void unequal() {
  for (auto const& c : data_cases()) {
    unequal_options plain{.unit_time = {3, 3, 4, 7, 7}};
    auto limited = plain;
    limited.largest = {c.capacity, c.capacity, c.capacity, c.capacity / 2, c.capacity / 4};
    for (auto const& [what, o] : {std::pair{"plain", plain}, {"limited", limited}}) {
      auto const plan = balance_unequal(c.lengths, o, square);
      show("balance_unequal", std::string(c.name) + ',' + what, plan.status, plan.sets, plan.time);
    }
    auto const batch =
        plan_unequal_batch(c.lengths, {.unit_time = {2, 5, 5}, .capacity = {c.capacity, c.capacity, c.capacity / 2}}, square);
    show("plan_unequal_batch", c.name, batch.micro_batches, batch.rank_of, batch.time, batch.too_long);
  }
  for (std::int64_t const units : {7, 512, 4096}) {
    unequal_options const o{.unit_time = {3, 5, 7, 11}, .capacity = {units / 4, units, units / 3, units}};
    show("share_units", std::to_string(units), share_units(units, o).units);
    show("whale.share_units", std::to_string(units), whale::share_units(units, o).units);
  }
}

void experts() {
  for (std::uint64_t const seed : {1U, 2U}) {
    auto const loads = long_tailed(64, 100'000, seed);
    for (auto const& o : {replication_options{.ranks = 16, .slots = 80},
                          {.ranks = 16, .slots = 96, .nodes = 2},
                          {.ranks = 16, .slots = 80, .nodes = 4, .groups = 8}}) {
      auto const name = std::to_string(seed) + ',' + std::to_string(o.nodes) + ',' + std::to_string(o.groups);
      auto const plan = balance_replicated(loads, o, {.work = 20'000});
      show("balance_replicated", name, plan.copies, plan.expert_of, plan.loads, plan.load, plan.between);
      show("eplb.place", name, eplb::place(loads, o));
    }
  }
}

void states() {
  for (std::int64_t const gib : {20, 60, 140}) {
    auto const plan = tap::shard(tap::operators_of(transformer_preset("llama-3.1-8b"), 4096),
                                 {.devices = 8, .tokens = 32'768, .memory = gib << 30, .links = datasheet_fabric(device_named("h100"))});
    digest layouts;
    for (auto const& block : plan.plan.layouts)
      for (auto const& o : block.operators)
        for (auto const& w : o.weights) put(layouts, w.layout, w.reads);
    show("tap.shard", std::to_string(gib), plan.plan.status, plan.plan.time, plan.plan.bytes, layouts.value());
  }
  for (std::size_t const layers : {5U, 60U}) {
    std::vector<offload_layer> each;
    for (std::size_t i = 0; i < layers; ++i) {
      auto const n = static_cast<std::int64_t>(2 + i % 3) * 100'000'000;
      each.push_back({.forward = n / 20, .backward = n / 10, .device_update = n / 1000, .states = {2 * n, 2 * n, 12 * n}});
    }
    auto const most = static_cast<std::int64_t>(layers) * 2'000'000'000;
    auto const plan = plan_offload(
        each, {.device_memory = most, .host_memory = 3 * most, .rates = {25'000'000'000, 20'000'000'000, 4'000'000'000}, .work = 20'000});
    show("plan_offload", std::to_string(layers), plan.status, plan.time, plan.placement, plan.memory.device, plan.memory.host);
  }
}

}  // namespace

void placement() {
  unequal();
  experts();
  states();
}

}  // namespace plan_hashes
