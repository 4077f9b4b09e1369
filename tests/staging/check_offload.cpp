// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/check_offload.hpp>
#include <ballast/staging/offload.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace test_staging_check_offload {

using namespace ballast;

TEST_CASE("check_offload: each rule is named") {
  constexpr std::int64_t mega = 1'000'000;
  std::vector<offload_layer> const layers(5, {.forward = 1000, .backward = 2000, .states = {2 * mega, 4 * mega, 12 * mega}});
  offload_options const options{.device_memory = 40 * mega, .host_memory = 100 * mega, .rates = {1000 * mega, 1000 * mega, 1000 * mega}};
  auto const good = plan_offload(layers, options);
  REQUIRE(check_offload(good, layers, options).valid());
  auto const fault = [&](std::function<void(offload_plan&)> const& change, offload_options const& with) {
    auto bad = good;
    change(bad);
    auto const v = check_offload(bad, layers, with);
    CHECK(!describe(v).empty());
    return v.fault;
  };
  CHECK(fault([](auto& p) { p.placement.pop_back(); }, options) == offload_fault::wrong_size);
  CHECK(fault([](auto& p) { p.placement[2] = static_cast<hosted>(9); }, options) == offload_fault::no_choice);
  CHECK(fault([](auto& p) { p.memory.host += 1; }, options) == offload_fault::wrong_memory);
  CHECK(fault([](auto& p) { p.status = status::infeasible; }, options) == offload_fault::plan_refused);
  CHECK(fault([](auto& p) { p.timeline.events.pop_back(); }, options) == ballast::prefetch_fault::not_once);
  CHECK(fault([](auto& p) { p.time.value += 1; }, options) == offload_fault::wrong_value);
  CHECK(fault([](auto& p) { p.time.lower_bound = p.time.value + 1; }, options) == offload_fault::wrong_bound);
  auto less = options;
  less.device_memory = good.memory.device - 1;
  CHECK(fault([](auto&) {}, less) == offload_fault::over_device);
  less = options;
  less.host_memory = good.memory.host - 1;
  CHECK(fault([](auto&) {}, less) == offload_fault::over_host);
}

}  // namespace test_staging_check_offload
