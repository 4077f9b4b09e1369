// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer.hpp>
#include <ballast/footprint/cluster.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_footprint_cluster {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("rates_of: FLOPs and one-way bytes of a millisecond") {
  auto const rates = rates_of({.device = device_named("h100"), .mfu = 0.4});
  CHECK(rates.work_per_ms == 395'760'000'000);
  CHECK(rates.memory_bytes_per_ms == 3'350'000'000);
  CHECK(rates.links.inside(450'000'000) == 1'000'000'000);  // a millisecond, in picoseconds
  CHECK(rates.links.between(50'000'000) == 1'000'000'000);
  CHECK(rates.stage_devices == 1);
  CHECK(rates.units_per_byte == 1);
  CHECK(refusal([&] { return rates_of({.device = device_named("h100"), .mfu = 0}); }) == "mfu = 0.000000 must be in (0, 1]");
}

TEST_CASE("rates_of: links as given, or the device's own where it has no network, or none") {
  auto plain = device_named("a100");
  plain.network_bandwidth = 0;
  CHECK(rates_of({.device = plain}).links.between(300'000'000) == 1'000'000'000);
  plain.link_bandwidth = 0;
  CHECK(rates_of({.device = plain}).links.between(300'000'000) == 0);
  CHECK(rates_of({.links = fabric{.per_node = 4, .inside = {}, .between = link_line{7, 1}}}, 4).links.between(0) == 7);
}

TEST_CASE("rates_of: a boundary takes the link that it crosses") {
  auto const rates = rates_of({}, 4);  // two stages fill a node
  layer_evaluator const evaluate(rates);
  layer const of{.name = {}, .options = {{}}, .boundary = {.per_token = 450}};
  auto const transfer = [&](std::uint64_t stage) { return evaluate(of, of.options[0], {.tokens = 1'000'000}, stage, stage + 1).transfer; };
  CHECK((transfer(0) == 1'000'000 && transfer(2) == 1'000'000));  // 450 MB at 450 GB/s
  CHECK((transfer(1) == 9'000'000 && transfer(3) == 9'000'000));  // at 50 GB/s
}

}  // namespace test_footprint_cluster
