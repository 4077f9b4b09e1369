// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/kernel_setting.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <string>

namespace test_footprint_kernel_setting {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("offload_set: names of Megatron-Core") {
  for (std::size_t i = 0; i < offload_modules.size(); ++i) {
    CHECK(static_cast<std::size_t>(offload_modules[i].module) == i);
    CHECK(offload_set_named(offload_modules[i].name) == offload_set{offload_modules[i].module});
    CHECK(offload_set{offload_modules[i].module}.contains(offload_modules[i].module));
  }
  CHECK(offload_set_named("").empty());
  CHECK(offload_set_named("moe_act,attn_norm") == offload_set{offload_module::attn_norm, offload_module::moe_act});
  CHECK(!offload_set_named("moe_act,attn_norm").contains(offload_module::core_attn));
  CHECK(refusal([] { return offload_set_named("mlp").bits; }).starts_with("no offload module \"mlp\"; there are attn_norm, "));
  CHECK(refusal([] { return offload_set_named("mlp_norm,").bits; }) == "the list of modules ends with a comma");
}

TEST_CASE("megatron_kernels: what Megatron-LM does unless it is told otherwise") {
  auto quiet = megatron_kernels;
  CHECK(quiet != kernel_setting{});
  quiet.hidden_dropout = quiet.attention_dropout = quiet.dummy_gradients = quiet.loader_mask = false;
  CHECK(quiet == kernel_setting{});
}

}  // namespace test_footprint_kernel_setting
