// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/partition/min_max.hpp>

#include "suite.hpp"
#include "support/archetypes.hpp"

#include <concepts>
#include <ranges>
#include <span>

namespace test_partition_min_max {

using namespace ballast_test;
using ballast::min_max_partition;

namespace {

/// Forward FLOPs of a vision-language model, layer by layer: patches, 45 vision layers, projector, embedding, 48 language layers, head.
numbers vision_language_chain(std::int64_t tiles, std::int64_t text) {
  auto const& m = ballast::vision_language_preset("internvl-chat-1.5");
  auto const vision = ballast::layer_flops(m.vision.body, 0)(m.vision.tokens());
  auto const tokens = tiles * m.projector.tokens + text;
  numbers chain{tiles * (ballast::tile_flops(m.vision) - m.vision.body.layers * vision)};
  chain.insert(chain.end(), static_cast<std::size_t>(m.vision.body.layers), tiles * vision);
  chain.push_back(tiles * ballast::tile_flops(m.projector));
  chain.push_back(0);
  chain.insert(chain.end(), static_cast<std::size_t>(m.language.layers), ballast::layer_flops(m.language, 0)(tokens));
  chain.push_back(ballast::head_flops_per_token(m.language) * tokens);
  return chain;
}

/// The most expensive stage of equal numbers of layers, cuts rounded to nearest, halves to even.
std::int64_t equal_counts(numbers const& layers, std::size_t stages) {
  auto const cut = [&](std::size_t s) {
    auto const twice = 2 * s * layers.size(), whole = twice / (2 * stages), rest = twice % (2 * stages);
    return whole + (rest > stages || (rest == stages && whole % 2 == 1) ? 1 : 0);
  };
  std::int64_t largest = 0;
  for (std::size_t s = 0; s < stages; ++s)
    largest = (std::max)(largest, std::accumulate(layers.begin() + static_cast<std::ptrdiff_t>(cut(s)),
                                                  layers.begin() + static_cast<std::ptrdiff_t>(cut(s + 1)), std::int64_t{0}));
  return largest;
}

}  // namespace

TEST_CASE("min_max_partition: the vision-language chain, as published") {
  struct published {
    std::int64_t tiles, text;
    std::uint64_t stages;
    double over_ideal, equal_count;
    std::int64_t bottleneck;
  };
  auto const row = GENERATE(published{1, 512, 8, 1.040, 1.444, 5457646190592}, published{1, 4096, 8, 1.063, 1.857, 25395710656512},
                            published{4, 1024, 16, 1.049, 1.359, 8491264000000}, published{7, 512, 16, 1.016, 1.167, 11176211644416},
                            published{7, 512, 24, 1.016, 1.249, 7456830617600}, published{12, 512, 16, 1.054, 1.082, 19105344000000});
  auto const chain = vision_language_chain(row.tiles, row.text);
  REQUIRE(chain.size() == 97);
  auto const plan = min_max_partition(chain, {.stages = row.stages});
  require_valid(check_partition(plan, chain, {.stages = row.stages}));
  CHECK(plan.bottleneck == ballast::certificate{row.bottleneck, row.bottleneck});
  auto const total = static_cast<double>(std::accumulate(chain.begin(), chain.end(), std::int64_t{0}));
  auto const bottleneck = static_cast<double>(row.bottleneck);
  CHECK_THAT(bottleneck * static_cast<double>(row.stages) / total, Catch::Matchers::WithinAbs(row.over_ideal, 0.0006));
  CHECK_THAT(static_cast<double>(equal_counts(chain, row.stages)) / bottleneck, Catch::Matchers::WithinAbs(row.equal_count, 0.001));
}

TEST_CASE("min_max_partition: test vectors of other partitioners") {
  auto const five = min_max_partition(numbers{1, 1, 1, 1, 1}, {.stages = 4});  // some leave a stage empty: 0 2 4 5 5
  CHECK((five.boundaries == cut{0, 2, 3, 4, 5} && five.bottleneck == ballast::certificate{2, 2}));
  numbers padded(48, 1);
  for (std::size_t i : {0U, 1U, 2U, 45U, 46U, 47U}) padded[i] = 0;
  partition_options const o{.stages = 16, .min_layers = 1, .min_weighted = 1};
  auto const plan = min_max_partition(padded, o);
  require_valid(check_partition(plan, padded, o));
  CHECK(plan.bottleneck == ballast::certificate{3, 3});
  for (std::size_t s = 0; s < 16; ++s)
    CHECK(std::accumulate(padded.begin() + plan.boundaries[s], padded.begin() + plan.boundaries[s + 1], std::int64_t{0}) > 0);
  auto const crowded = min_max_partition(padded, {.stages = 43, .min_weighted = 1});
  CHECK((crowded.status == status::infeasible && crowded.bound == partition_bound::min_weighted));
  CHECK(crowded.bottleneck == ballast::certificate{42, 43});
}

TEST_CASE("min_max_partition: a longest prefix that is a dead end") {
  numbers const heavy_pair{1, 1, 1, 3, 3, 1, 0, 0, 0, 0};  // 0 3 leaves a stage with only one layer below 5
  partition_options const pairs{.stages = 3, .min_layers = 2};
  auto const plan = min_max_partition(heavy_pair, pairs);
  require_valid(check_partition(plan, heavy_pair, pairs));
  CHECK(plan.bottleneck == ballast::certificate{4, 4});
  numbers const layers{5, 1, 9}, room{10, 1, 10};  // the first stage could take two layers, and the second then none
  partition_options const tight{.stages = 3, .size = layers, .capacity = room};
  CHECK(min_max_partition(layers, tight).boundaries == cut{0, 1, 2, 3});
}

TEST_CASE("min_max_partition: corners") {
  auto const of = [](numbers const& layers, partition_options const& o) { return min_max_partition(layers, o); };
  auto const none = of({}, {.stages = 3, .min_layers = 0});
  CHECK((none.status == status::feasible && none.boundaries == cut{0, 0, 0, 0} && none.bottleneck == ballast::certificate{}));
  CHECK(none.bound == partition_bound::none);
  auto const one = of({7}, {.stages = 1});
  CHECK((one.boundaries == cut{0, 1} && one.bottleneck == ballast::certificate{7, 7} && one.bound == partition_bound::mean));
  auto const zeros = of({0, 0, 0}, {.stages = 2});
  CHECK((zeros.bottleneck == ballast::certificate{} && zeros.boundaries == cut{0, 2, 3}));
  CHECK(of({9, 1, 1}, {.stages = 2}).bound == partition_bound::largest_layer);
  CHECK(of({2, 2, 2}, {.stages = 2}).bound == partition_bound::window);
  CHECK(of({2, 3, 2}, {.stages = 2}).bound == partition_bound::window);
  CHECK(of({3, 1, 3}, {.stages = 2}).bound == partition_bound::mean);
  CHECK(of({4, 3, 2, 9}, {.stages = 3}).bound == partition_bound::largest_layer);
  CHECK(of({4, 5, 4, 5}, {.stages = 3}).bound == partition_bound::window);
  CHECK(of({3, 1, 3, 3}, {.stages = 2}).bound == partition_bound::probe);

  auto const fails = [&](numbers const& layers, partition_options const& o, partition_bound bound, ballast::certificate numbers_of_it) {
    auto const plan = of(layers, o);
    CHECK((plan.status == status::infeasible && plan.boundaries.empty() && plan.bound == bound && plan.bottleneck == numbers_of_it));
    require_valid(check_partition(plan, layers, o));
  };
  fails({}, {.stages = 3}, partition_bound::min_layers, {0, 3});
  fails({1, 1, 1}, {.stages = 2, .min_layers = 2}, partition_bound::min_layers, {3, 4});
  fails({1, 0, 0}, {.stages = 2, .min_weighted = 1}, partition_bound::min_weighted, {1, 2});
  numbers const sizes{4, 9, 4}, low{8, 8}, scarce{7, 9}, split{8, 9};
  fails({1, 1, 1}, {.stages = 2, .size = sizes, .capacity = low}, partition_bound::layer_size, {8, 9});
  fails({1, 1, 1}, {.stages = 2, .size = sizes, .capacity = scarce}, partition_bound::capacity, {16, 17});
  fails({1, 1, 1}, {.stages = 2, .size = sizes, .capacity = split}, partition_bound::probe, {2, 3});  // two layers of three find room
}

TEST_CASE("min_max_partition: stages that can only stay empty are not searched") {
  ballast::partition_workspace ws;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, empty_stages | (seed % 2 == 0 ? transfers : nothing));
    auto const n = c.layers.size();
    auto o = c.options();
    o.stages = n + 3;
    ballast::staged<> few, many;
    min_max_partition(c.layers, o, ballast::token_cost{}, ws, few);
    require_valid(check_partition(few, c.layers, o));
    o.stages = 100'000;
    ws = {};
    min_max_partition(c.layers, o, ballast::token_cost{}, ws, many);
    require_valid(check_partition(std::span<std::uint32_t const>(many.boundaries), c.layers, o));
    REQUIRE((many.bottleneck == few.bottleneck && many.boundaries.size() == 100'001));
    REQUIRE(ballast::detail::memory_of(ws).probe.reach.size() <= n + 2);  // a probe looks at each of these
  }
}

TEST_CASE("min_max_partition: refusals") {
  auto const says = [](numbers const& layers, partition_options const& o) { return refusal([&] { return min_max_partition(layers, o); }); };
  numbers const two{1, 1}, one{1}, negative{-1, 1}, zero{0, 1};
  auto const most = ballast::unaffordable;
  numbers const large{most / 2, most / 2};
  CHECK(says(two, {}) == "stages = 0 must be in 1 ... 2^31");
  CHECK(says({3, -1}, {.stages = 1}) == "layers[1] = -1 has a cost that is negative, not a number or too large for 63 bits");
  CHECK(says({most, 1}, {.stages = 1}) == "layers[1] = 1 brings the sum of costs to 2^63 or more");
  CHECK(says(two, {.stages = 2, .unit_time = one}) == "unit_time has 1 entry for 2 stages");
  CHECK(says(two, {.stages = 2, .unit_time = zero}) == "unit_time[0] = 0 must be positive");
  CHECK(says({1, 2}, {.stages = 2, .unit_time = large}) ==
        "unit_time[0] = 4611686018427387903 brings the cost of all layers to 2^63 or more");
  CHECK(says(two, {.stages = 2, .size = two}) == "size and capacity must be given together");
  CHECK(says(two, {.stages = 2, .size = one, .capacity = two}) == "size has 1 entry for 2 layers");
  CHECK(says(two, {.stages = 2, .size = negative, .capacity = two}) == "size[0] = -1 must not be negative");
  CHECK(says({1, 1, 1}, {.stages = 2, .size = numbers{most, 1, 0}, .capacity = two}) == "size[1] = 1 brings a sum to 2^63 or more");
  CHECK(says(two, {.stages = 2, .size = two, .capacity = one}) == "capacity has 1 entry for 2 stages");
  CHECK(says(two, {.stages = 2, .size = two, .capacity = negative}) == "capacity[0] = -1 must not be negative");
  CHECK(says(two, {.stages = 2, .transfer = two}) == "transfer has 2 entries for 1 inner cuts");
  CHECK(says({1, 1, 1}, {.stages = 2, .transfer = negative}) == "transfer[0] = -1 must not be negative");
  CHECK(says({1, 1, 1}, {.stages = 2, .transfer = large}) == "transfer[0] = 4611686018427387903 brings the sum of costs to 2^63 or more");
  CHECK(refusal([] { return min_max_partition(std::vector<std::uint64_t>{std::uint64_t{1} << 63}, {.stages = 1}); }) ==
        "layers[0] = 9223372036854775808 must be below 2^63");
}

TEST_CASE("min_max_partition: any range, any cost, any index; floating costs are scaled at the border") {
  ballast::splitmix64 draw(3);
  auto const layers = draw_numbers(97, 0, 900, draw);
  partition_options const o{.stages = 8};
  auto const plan = min_max_partition(layers, o);
  CHECK(plan.units_per_1 == 1);
  CHECK(min_max_partition(weakest_lengths(layers), o).boundaries == plan.boundaries);
  auto const wide = min_max_partition<std::uint64_t>(layers, o);
  static_assert(std::same_as<decltype(wide.boundaries), std::vector<std::uint64_t>>);
  CHECK(std::equal(wide.boundaries.begin(), wide.boundaries.end(), plan.boundaries.begin(), plan.boundaries.end()));
  CHECK(min_max_partition(layers, o, smallest_cost(2)).boundaries == plan.boundaries);
  auto const index = std::views::iota(std::int64_t{0}, std::int64_t{97});
  CHECK(min_max_partition(index, o, [&](std::int64_t i) { return layers[static_cast<std::size_t>(i)]; }).boundaries == plan.boundaries);
  auto const seconds = [&](std::int64_t i) { return static_cast<double>(layers[static_cast<std::size_t>(i)]) * 1e-3; };
  auto const scaled = min_max_partition(index, o, ballast::scaled(seconds, 1e6));
  CHECK(scaled.boundaries == plan.boundaries);
  CHECK(scaled.bottleneck.value == 1000 * plan.bottleneck.value);
  CHECK(scaled.units_per_1 == 1e6);
  CHECK(refusal([&] {
          return min_max_partition(index, o, ballast::scaled([](std::int64_t i) { return 3.0 - static_cast<double>(i); }, 1));
        }) == "layers[4] = 4 has a cost that is negative, not a number or too large for 63 bits");
  auto const half = std::int64_t{1} << 62;
  CHECK(min_max_partition(numbers{half, half - 1}, {.stages = 2}).bottleneck == ballast::certificate{half, half});
}

TEST_CASE("min_max_partition: long chains against the definition, and golden") {
  ballast::fnv1a golden;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, seed % 2 == 0 ? nothing : several_layers | speeds | capacities, 400, 40);
    auto const plan = min_max_partition(c.layers, c.options());
    require_valid(check_partition(plan, c.layers, c.options()));
    for (auto const b : plan.boundaries) golden.append(b);
    golden.append(static_cast<std::uint64_t>(plan.bottleneck.value));
  }
  CHECK(golden.value() == 10843685943383446143U);
}

TEST_CASE("min_max_partition: a workspace may be used for chains of any size") {
  ballast::partition_workspace workspace;
  ballast::staged<> out;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, seed % 64, 60, 9);
    min_max_partition(c.layers, c.options(), ballast::token_cost{}, workspace, out);
    auto const fresh = min_max_partition(c.layers, c.options());
    REQUIRE((out.boundaries == fresh.boundaries && out.bottleneck == fresh.bottleneck && out.bound == fresh.bound));
    REQUIRE(out.status == fresh.status);
  }
}

TEST_CASE("min_max_partition: an empty chain may have capacities") {
  numbers const none, room{4, 0}, negative{4, -1};
  auto const cut = [&](std::uint64_t min_layers) {
    return ballast::min_max_partition(none, {.stages = 2, .min_layers = min_layers, .capacity = room});
  };
  auto const empty = cut(0);
  CHECK(empty.status == status::feasible);
  CHECK(empty.boundaries == std::vector<std::uint32_t>{0, 0, 0});
  require_valid(check_partition(empty, none, {.stages = 2, .min_layers = 0, .capacity = room}));
  CHECK(cut(1).bound == partition_bound::min_layers);
  CHECK(refusal([&] { return ballast::min_max_partition(none, {.stages = 3, .capacity = room}); }) ==
        "capacity has 2 entries for 3 stages");
  CHECK(refusal([&] { return ballast::min_max_partition(none, {.stages = 2, .capacity = negative}); }) ==
        "capacity[1] = -1 must not be negative");
  CHECK(refusal([&] { return ballast::min_max_partition(none, {.stages = 2, .size = room, .capacity = room}); }) ==
        "size has 2 entries for 0 layers");
}

}  // namespace test_partition_min_max
