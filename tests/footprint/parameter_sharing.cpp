// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/parameter_sharing.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_footprint_parameter_sharing {

using namespace ballast;

TEST_CASE("evaluate_stack: ten trillion parameters of M6-10T, own and shared") {
  // 48 layers of 10,240 experts with two matrices of 1,024 x 9,984; attention has four matrices of 1,024 x 1,024.
  constexpr std::int64_t experts = std::int64_t{10'240} * 2 * 1'024 * 9'984, attention = 4 * 1'024 * 1'024;
  constexpr layer_stack m6{.layers = 48, .parameters = experts + attention, .flops = 1'000};
  CHECK(48 * experts == 10'050'223'472'640);
  auto const real = evaluate_stack(m6, own_parameters, 512), pseudo = evaluate_stack(m6, shared_parameters(48), 512);
  CHECK(real.parameters == 10'050'424'799'232);
  CHECK(real.mine == 19'629'735'936);
  CHECK(real.states.parameter == 39'259'471'872);  // 39.3 GB of weights alone are above 32 GB
  CHECK(real.states.total() == 353'335'246'848);   // 353 GB
  CHECK(pseudo.parameters == 209'383'849'984);
  CHECK(pseudo.mine == 408'952'832);
  CHECK(pseudo.states.total() == 7'361'150'976);  // 7.4 GB
  CHECK(pseudo.exchange * 48 == real.exchange);
  CHECK(pseudo.flops == real.flops);
  CHECK(real.flops == 48'000);
}

TEST_CASE("evaluate_stack: between own and shared by all") {
  constexpr layer_stack ten{.layers = 10, .parameters = 7, .flops = 3};
  std::int64_t before = 71;
  for (std::int64_t by = 1; by <= 12; ++by) {
    auto const costs = evaluate_stack(ten, shared_parameters(by), 1, {.parameter = 2, .gradient = 4, .optimizer = 8});
    CHECK(parameter_sets(10, shared_parameters(by)) == (10 + by - 1) / by);
    CHECK(costs.parameters == 7 * ((10 + by - 1) / by));
    CHECK(costs.parameters <= before);
    CHECK(costs.states == state_size{2 * costs.mine, 4 * costs.mine, 8 * costs.mine});
    CHECK(costs.flops == 30);
    before = costs.parameters;
  }
  CHECK(evaluate_stack(ten, own_parameters, 3).mine == 24);  // 70 / 3, rounded up
}

TEST_CASE("evaluate_stack: misuse names the argument") {
  using ballast_test::refusal;
  CHECK(refusal([] { return evaluate_stack({.layers = 0}, own_parameters, 1); }).find("layers = 0") != std::string::npos);
  CHECK(refusal([] { return evaluate_stack({}, shared_parameters(0), 1); }).find("sharing.layers = 0") != std::string::npos);
  CHECK(refusal([] { return evaluate_stack({.parameters = -1}, own_parameters, 1); }).find("parameters = -1") != std::string::npos);
  CHECK(refusal([] { return evaluate_stack({}, own_parameters, 0); }).find("device_count = 0") != std::string::npos);
}

}  // namespace test_footprint_parameter_sharing
