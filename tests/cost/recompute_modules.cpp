// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/recompute_modules.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_cost_recompute_modules {

using namespace ballast;
using ballast_test::refusal;
using enum recompute_module;

TEST_CASE("recompute_modules: each module has its own name and is found by it") {
  for (auto const& m : recompute_modules) {
    CHECK(to_string(m.module) == m.name);
    CHECK(recompute_module_named(m.name) == m.module);
  }
  STATIC_REQUIRE(to_string(mla_up_projection) == "mla_up_proj");
  CHECK(refusal([] { return recompute_module_named("attn"); }) ==
        "no recompute module \"attn\"; there are core_attn, layernorm, mla_up_proj, mlp, moe_act, experts, shared_experts, moe");
}

TEST_CASE("recompute_modules: sets contain what was put in, and their text gives the same set again") {
  for (unsigned bits = 0; bits < 1U << recompute_modules.size(); ++bits) {
    module_set set;
    for (auto const& m : recompute_modules)
      if ((bits >> static_cast<unsigned>(m.module) & 1U) != 0) set = set.with(m.module).with(m.module);
    CHECK(set.bits == bits);
    CHECK(set.empty() == (bits == 0));
    CHECK(module_set_named(to_string(set)) == set);
    for (auto const& m : recompute_modules) {
      CHECK(set.without({m.module}).with(m.module) == set.with(m.module));
      CHECK(!set.without({m.module}).contains(m.module));
    }
  }
  STATIC_REQUIRE(module_set{core_attention, mlp} == module_set_named("mlp,core_attn"));
  CHECK(to_string({mlp, core_attention}) == "core_attn,mlp");
  CHECK(to_string(module_set{}).empty());
  CHECK(refusal([] { return module_set_named("mlp,").bits; }) == "the list of modules ends with a comma");
  CHECK(refusal([] { return module_set_named(",mlp").bits; }).starts_with("no recompute module \"\"; there are "));
}

}  // namespace test_cost_recompute_modules
