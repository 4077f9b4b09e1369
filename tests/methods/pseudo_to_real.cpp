// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/pseudo_to_real.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>

namespace test_methods_pseudo_to_real {

using namespace ballast;

namespace {

constexpr std::int64_t giga = 1'000'000'000;

/// M6-10T on 512 V100 of 32 GB. Passes, rates and host memory are assumptions; the paper's are not known.
[[nodiscard]] pseudo_to_real::settings m6() {
  return {.stack = pseudo_to_real::m6_10t(),
          .summed = 4 * 1024 * 1024,
          .devices = 512,
          .device_memory = 32 * giga,
          .host_memory = 400 * giga,
          .rates = {.up = 12 * giga, .down = 12 * giga, .update = 5 * giga},
          .forward = 270'000'000,
          .backward = 540'000'000,
          .links = {.per_node = 8, .inside = link_line{0, 150 * giga}, .between = link_line{0, 12 * giga}},
          .run = {.steps = 20'000, .at = 15'000}};
}

}  // namespace

TEST_CASE("pseudo_to_real: ten trillion parameters on 512 devices of 32 GB") {
  auto const with = m6();
  auto const planned = pseudo_to_real::plan_training(with);
  CHECK(planned.real.costs.parameters == 10'050'424'799'232);
  CHECK_FALSE(planned.real.weights_fit);
  CHECK(planned.pseudo.fits);
  CHECK(pseudo_to_real::describe(planned.pseudo, "Pseudo", with) ==
        "Pseudo needs 7.4 GB of states a device and fits its 32.0 GB without offloading");
  auto const real = pseudo_to_real::describe(planned.real, "Real", with);
  CHECK(real.find("Real needs 39.3 GB of parameters and 353.3 GB of states a device; not even the parameters fit its 32.0 GB: ") == 0);
  CHECK(planned.real.status == status::feasible);
  CHECK(planned.real.offload.memory.device <= 32 * giga);
  CHECK(planned.pseudo.exchange * 40 < planned.real.exchange);
  CHECK(planned.run.time() == 15'000 * planned.pseudo.step_time + 5'000 * planned.real.step_time);
  REQUIRE(planned.run.copies.size() == 4);  // parameters, master copy and both moments of the one set, for each of 48 layers
  for (auto const& copy : planned.run.copies) CHECK(copy.copies == 48);
  CHECK(planned.run.copies[1].divisor == 1);
  CHECK(planned.run.copies[2].divisor == 48);  // a shared gradient is the sum over 48 layers
  CHECK(planned.run.copies[3].divisor == 48 * 48);
  CHECK(planned.run.copied_bytes == 14 * 10'050'424'799'232);
}

TEST_CASE("pseudo_to_real: the first phase does not start if the second cannot run") {
  auto with = m6();
  with.host_memory = 96 * giga;
  auto const planned = pseudo_to_real::plan_training(with);
  CHECK(planned.pseudo.status == status::feasible);
  CHECK(planned.real.status == status::infeasible);
  CHECK(planned.real.offload.shortage == short_memory::host);
  CHECK(planned.real.offload.needed > 320 * giga);
  CHECK(planned.run.status == status::infeasible);
  CHECK(planned.run.blocked_by == 1);
  CHECK(pseudo_to_real::describe(planned.real, "Real", with).find(", and the host would need 3") != std::string::npos);
  with = m6();
  with.device_memory = 7 * giga;
  auto const small = pseudo_to_real::plan_training(with);
  CHECK(small.pseudo.offload.needed == 7'361'150'976);
  CHECK(small.run.blocked_by == 0);
  with.summed = -1;
  CHECK(ballast_test::refusal([&] { return pseudo_to_real::plan_training(with); }).find("summed = -1") != std::string::npos);
}

TEST_CASE("pseudo_to_real: a budget of ten days decides the switch") {
  auto with = m6();
  with.run = {.steps = 20'000, .time_budget = std::int64_t{864'000} * giga, .copy_rate = 1'000 * giga};
  auto const planned = pseudo_to_real::plan_training(with);
  CHECK(planned.run.status == status::feasible);
  CHECK(planned.run.time() <= with.run.time_budget);
  CHECK(planned.run.second_steps > 0);
  CHECK(planned.run.time() + planned.real.step_time - planned.pseudo.step_time > with.run.time_budget);
}

}  // namespace test_methods_pseudo_to_real
