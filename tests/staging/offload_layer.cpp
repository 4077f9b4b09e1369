// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/offload.hpp>
#include <ballast/staging/offload_layer.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace test_staging_offload_layer {

using namespace ballast;

namespace {

using layer_list = std::vector<offload_layer>;

constexpr std::int64_t mega = 1'000'000;

}  // namespace

TEST_CASE("memory_of: both memories as `place` divides states") {
  layer_list const layers(3, {.states = {2 * mega, 4 * mega, 12 * mega}});
  auto const states = layers[0].states;
  for (auto const& [what, moved] :
       {std::pair{hosted::none, offload::none}, std::pair{hosted::optimizer, offload::optimizer},
        std::pair{hosted::gradients_and_optimizer, offload::gradients}, std::pair{hosted::all, offload::parameters}}) {
    auto const placed = place(states, moved);
    auto const taken = memory_of(layers, std::vector(3, what), 2);
    CHECK(taken.device == 3 * placed.device.total() + taken.buffers);
    CHECK(taken.host == 3 * placed.host.total());
    CHECK(taken.buffers == 2 * ((hosts_parameters(what) ? 2 : 0) + (hosts_gradients(what) ? 4 : 0)) * mega);
    CHECK(!to_string(what).empty());
  }
}

TEST_CASE("prefetch_layer_of: what moves for each choice") {
  offload_layer const layer{.forward = 1, .backward = 2, .device_update = 4, .states = {2 * mega, 4 * mega, 12 * mega}};
  host_rates const rates{.up = 1000 * mega, .down = 500 * mega, .update = 100 * mega};
  auto const of = [&](hosted what) { return prefetch_layer_of(layer, what, rates); };
  CHECK(of(hosted::none) == prefetch_layer{.forward = 1, .backward = 6});
  CHECK(of(hosted::parameters) ==
        prefetch_layer{.forward = 1, .backward = 6, .loaded = true, .spilled = true, .load = 2 * mega, .store = 4 * mega});
  CHECK(of(hosted::optimizer) ==
        prefetch_layer{.forward = 1, .backward = 2, .store = 8 * mega, .update = 120 * mega, .give_back = 2 * mega});
  CHECK(of(hosted::parameters_and_optimizer) ==
        prefetch_layer{.forward = 1, .backward = 2, .loaded = true, .load = 2 * mega, .store = 8 * mega, .update = 120 * mega});
  CHECK(of(hosted::gradients_and_optimizer) ==
        prefetch_layer{.forward = 1, .backward = 2, .spilled = true, .store = 8 * mega, .update = 120 * mega, .give_back = 2 * mega});
  CHECK(of(hosted::all) ==
        prefetch_layer{
            .forward = 1, .backward = 2, .loaded = true, .spilled = true, .load = 2 * mega, .store = 8 * mega, .update = 120 * mega});
  offload_layer const frozen{.forward = 1, .backward = 2, .device_update = 4, .states = {.parameter = 2 * mega}};
  CHECK(prefetch_layer_of(frozen, hosted::all, rates) == prefetch_layer{.forward = 1, .backward = 2, .loaded = true, .load = 2 * mega});
}

TEST_CASE("offload_layer: no layers, frozen layers, and misuse names the entry") {
  using ballast_test::refusal;
  offload_options options{.rates = {mega, mega, mega}};
  CHECK(plan_offload(layer_list{}, options).time == certificate{0, 0});
  layer_list const frozen(3, {.forward = 9, .backward = 9, .states = {.parameter = 1000}});
  options = {.device_memory = 2000, .host_memory = 3000, .rates = {mega, mega, mega}, .buffers = 1};
  auto const plan = plan_offload(frozen, options);  // one layer is resident, the others are loaded, and nothing is stored
  CHECK(plan.status == status::feasible);
  CHECK(std::all_of(plan.timeline.events.begin(), plan.timeline.events.end(),
                    [](auto const& e) { return e.task != prefetch_task::store && e.task != prefetch_task::update; }));
  auto const said = [](layer_list const& layers, offload_options const& with) {
    return refusal([&] { return plan_offload(layers, with); });
  };
  auto bad = options;
  bad.rates.down = 0;
  CHECK(said(frozen, bad).find("rates.down = 0") != std::string::npos);
  bad = options;
  bad.buffers = 0;
  CHECK(said(frozen, bad).find("buffers = 0") != std::string::npos);
  bad = options;
  bad.host_memory = -1;
  CHECK(said(frozen, bad).find("host_memory = -1") != std::string::npos);
  CHECK(said({{}, {.states = {.parameter = -5}}}, options).find("layers[1].states.parameter = -5") != std::string::npos);
  CHECK(said({{.forward = std::numeric_limits<std::int64_t>::max()}}, options).find("layers[0].forward") != std::string::npos);
}

}  // namespace test_staging_offload_layer
