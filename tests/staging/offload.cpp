// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/staging/check_offload.hpp>
#include <ballast/staging/offload.hpp>

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_staging_offload {

using namespace ballast;

namespace {

using layer_list = std::vector<offload_layer>;

constexpr std::int64_t mega = 1'000'000;

/// A layer of a number of parameters, with 18 bytes each.
[[nodiscard]] offload_layer trained_layer(std::int64_t parameters, std::int64_t forward, std::int64_t backward) {
  return {.forward = forward, .backward = backward, .device_update = 1, .states = {2 * parameters, 4 * parameters, 12 * parameters}};
}
[[nodiscard]] std::int64_t bytes_of(layer_list const& layers) {
  std::int64_t sum = 0;
  for (auto const& l : layers) sum += l.states.total();
  return sum;
}
[[nodiscard]] layer_list random_layers(std::size_t n, splitmix64& draw) {
  layer_list out;
  auto const kinds = 1 + uniform_below(3, draw);
  layer_list kind;
  for (std::uint64_t k = 0; k < kinds; ++k) {
    auto const parameters = static_cast<std::int64_t>(uniform_below(9, draw)) * mega;
    kind.push_back(trained_layer(parameters, static_cast<std::int64_t>(uniform_below(3 * mega, draw)),
                                 static_cast<std::int64_t>(uniform_below(6 * mega, draw))));
    if (uniform_below(5, draw) == 0) kind.back().states = {2 * parameters, 0, 0};  // frozen
  }
  for (std::size_t i = 0; i < n; ++i) out.push_back(kind[static_cast<std::size_t>(uniform_below(kinds, draw))]);
  return out;
}
[[nodiscard]] offload_options random_options(layer_list const& layers, splitmix64& draw) {
  auto const all = bytes_of(layers);
  auto const rate = [&] { return static_cast<std::int64_t>(1 + uniform_below(40, draw)) * 1'000 * mega; };
  return {.device_memory = all * static_cast<std::int64_t>(uniform_below(110, draw)) / 100,
          .host_memory = all * static_cast<std::int64_t>(10 + uniform_below(150, draw)) / 100,
          .rates = {rate(), rate(), rate()},
          .buffers = 1 + uniform_below(3, draw)};
}
/// Calls `see` with every placement.
template <class See>
void for_each_placement(std::size_t n, See const& see) {
  std::vector<hosted> now(n, hosted::none);
  for (std::uint64_t code = 0;; ++code) {
    auto rest = code;
    for (auto& h : now) {
      h = static_cast<hosted>(rest % hosted_choices);
      rest /= hosted_choices;
    }
    if (rest > 0) return;
    see(now);
  }
}

}  // namespace

TEST_CASE("plan_offload: with few layers, the best of all placements, or none exists") {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 150; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const layers = random_layers(static_cast<std::size_t>(1 + seed % 4), draw);
    auto options = random_options(layers, draw);
    constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
    auto best = never, least_device = never, least_host = never;
    for_each_placement(layers.size(), [&](auto const& placement) {
      auto const taken = memory_of(layers, placement, options.buffers);
      least_device = (std::min)(least_device, taken.device);
      if (taken.device <= options.device_memory) least_host = (std::min)(least_host, taken.host);
      auto const plan = evaluate_offload(layers, placement, options);
      if (plan.status == status::feasible) best = (std::min)(best, plan.time.value);
    });
    auto const plan = plan_offload(layers, options);
    REQUIRE(check_offload(plan, layers, options) == verdict{});
    if (best < never) {
      ++feasible;
      REQUIRE(plan.time == certificate{best, best});
      for (std::uint64_t const work : {0U, 300U}) {  // the search and the bound of many layers
        options.work = work;
        auto const searched = plan_offload(layers, options);
        REQUIRE(check_offload(searched, layers, options).valid());
        if (searched.status == status::feasible) {
          REQUIRE(searched.time.lower_bound <= best);
          REQUIRE(searched.time.value >= best);
        }
      }
      continue;
    }
    ++infeasible;
    REQUIRE(plan.status == status::infeasible);
    if (least_device > options.device_memory) {
      REQUIRE(plan.shortage == short_memory::device);
      REQUIRE(plan.needed == least_device);
    } else {
      REQUIRE(plan.shortage == short_memory::host);
      REQUIRE(plan.needed > options.host_memory);
      REQUIRE(plan.needed <= least_host);
    }
  }
  CHECK(feasible > 0);
  CHECK(infeasible > 0);
}

TEST_CASE("plan_offload: within both memories, and no rule that fits is faster") {
  std::int64_t times = 0, bounds = 0;
  for (std::uint64_t seed = 1000; seed < 1100; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const layers = random_layers(8 + static_cast<std::size_t>(uniform_below(40, draw)), draw);
    auto options = random_options(layers, draw);
    options.work = 20'000;
    auto const plan = plan_offload(layers, options);
    REQUIRE(check_offload(plan, layers, options) == verdict{});
    REQUIRE(plan_offload(layers, options) == plan);
    for (auto const rule : {offload_rule::everything, offload_rule::first, offload_rule::last, offload_rule::stride})
      for (std::size_t c = 0; c < hosted_choices; ++c) {
        auto const by_rule = offload_by_rule(layers, rule, options, static_cast<hosted>(c));
        if (by_rule.status != status::feasible) continue;
        REQUIRE(check_offload(by_rule, layers, options).valid());
        REQUIRE(plan.status == status::feasible);
        REQUIRE(plan.time.value <= by_rule.time.value);
        REQUIRE(plan.time.lower_bound <= by_rule.time.value);
      }
    times += plan.time.value / 1000;
    bounds += plan.time.lower_bound / 1000;
  }
  CHECK(times * 85 < bounds * 100);
}

TEST_CASE("plan_offload: a thousand layers are near the bound, and more device memory is not slower") {
  layer_list const layers(1000, {.forward = 30 * mega, .backward = 60 * mega, .states = {436 * mega, 872 * mega, 2616 * mega}});
  auto const all = bytes_of(layers);
  offload_options options{.device_memory = all, .host_memory = 2 * all, .rates = {25'000 * mega, 25'000 * mega, 20'000 * mega}};
  auto const free = plan_offload(layers, options);
  CHECK(free.time == certificate{90'000 * mega, 90'000 * mega});
  CHECK(std::count(free.placement.begin(), free.placement.end(), hosted::none) == 1000);
  options.device_memory = all / 5 * 2;
  auto const tight = plan_offload(layers, options);
  CHECK(check_offload(tight, layers, options).valid());
  CHECK(tight.time.gap() < 0.01);
  CHECK(tight.memory.device > options.device_memory - layers[0].states.total());  // the device is just full
  auto const everything = offload_by_rule(layers, offload_rule::everything, options);
  CHECK(everything.time.value * 2 > 3 * tight.time.value);
}

TEST_CASE("plan_offload: one large layer does not make the buffers of all too large") {
  layer_list layers(30, trained_layer(mega, 1000, 2000));
  layers[0] = trained_layer(20 * mega, 1000, 2000);
  // Eight buffers of 6 bytes a parameter for the small layers alone, and the parameters and gradients of the large one.
  offload_options const options{
      .device_memory = 180 * mega, .host_memory = 900 * mega, .rates = {mega, mega, mega}, .buffers = 8, .work = 10'000};
  auto const plan = plan_offload(layers, options);
  CHECK(check_offload(plan, layers, options).valid());
  CHECK(plan.status == status::feasible);
}

TEST_CASE("plan_offload: what is short, and by how much") {
  layer_list const layers(20, trained_layer(mega, 10, 20));
  offload_options options{.device_memory = 12 * mega - 1, .host_memory = 1000 * mega, .rates = {mega, mega, mega}, .buffers = 2};
  auto const device = plan_offload(layers, options);  // two buffers of 6 bytes a parameter, and nothing else
  CHECK(device.status == status::infeasible);
  CHECK(device.shortage == short_memory::device);
  CHECK(device.needed == 12 * mega);
  options.device_memory = 12 * mega;
  CHECK(plan_offload(layers, options).status == status::feasible);
  options.host_memory = 360 * mega - 1;
  auto const host = plan_offload(layers, options);
  CHECK(host.status == status::infeasible);
  CHECK(host.shortage == short_memory::host);
  CHECK(host.needed == 360 * mega);
}

}  // namespace test_staging_offload
