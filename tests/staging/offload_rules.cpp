// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/check_offload.hpp>
#include <ballast/staging/offload_rules.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_staging_offload_rules {

using namespace ballast;

TEST_CASE("placement_by_rule: which layers are taken") {
  auto const taken = [](offload_rule rule, std::size_t k) {
    std::string out;
    for (auto const h : placement_by_rule(7, rule, k, hosted::all)) out += h == hosted::all ? 'x' : '.';
    return out;
  };
  CHECK(taken(offload_rule::everything, 0) == "xxxxxxx");
  CHECK(taken(offload_rule::first, 2) == "xx.....");
  CHECK(taken(offload_rule::last, 2) == ".....xx");
  CHECK(taken(offload_rule::stride, 0) == ".......");
  CHECK(taken(offload_rule::stride, 3) == "..x.x.x");
  CHECK(taken(offload_rule::stride, 7) == "xxxxxxx");
}

TEST_CASE("offload_by_rule: as few layers as fit the device") {
  std::vector<offload_layer> const layers(10, {.forward = 10, .backward = 20, .states = {200, 400, 1200}});
  for (auto const rule : {offload_rule::first, offload_rule::last, offload_rule::stride})
    for (std::int64_t memory = 1200; memory <= 18'000; memory += 400) {
      offload_options const options{
          .device_memory = memory, .host_memory = 20'000, .rates = {1'000'000, 1'000'000, 1'000'000}, .buffers = 2};
      auto const plan = offload_by_rule(layers, rule, options);
      REQUIRE(plan.status == status::feasible);
      REQUIRE(check_offload(plan, layers, options).valid());
      auto const k = std::count(plan.placement.begin(), plan.placement.end(), hosted::all);
      REQUIRE(k == (memory >= 18'000 ? 0 : (18'000 - memory + 1200 + 1799) / 1800));  // two buffers of 600 bytes
    }
  offload_options const none{.device_memory = 1199, .host_memory = 20'000, .rates = {1'000'000, 1'000'000, 1'000'000}};
  CHECK(offload_by_rule(layers, offload_rule::everything, none).status == status::unknown);
  CHECK(ballast_test::refusal([&] { return evaluate_offload(layers, std::vector<hosted>(9), none); }).find("9 entries for 10 layers") !=
        std::string::npos);
}

}  // namespace test_staging_offload_rules
