// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer_set.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_cost_layer_set {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("layer_set: every set has the layers that its definition names") {
  STATIC_REQUIRE(layer_set{3, 0, 1023}.contains(1023));
  for (std::int64_t const n : {0, 1, 2, 5, 63, 64, 65, 1023, 1024, 2000}) {
    auto const later = layer_set::from(n), some = layer_set::every(n), others = ~some;
    std::int64_t count = 0;
    for (std::int64_t l = 0; l < layer_set::most; ++l) {
      CAPTURE(n, l);
      REQUIRE(layer_set::all().contains(l));
      REQUIRE_FALSE(layer_set().contains(l));
      REQUIRE(later.contains(l) == (l >= n));
      REQUIRE(some.contains(l) == (n > 0 && (l + 1) % n == 0));
      REQUIRE(others.contains(l) != some.contains(l));
      REQUIRE(some.count(l) == count);
      count += some.contains(l) ? 1 : 0;
    }
    CHECK((some.contains(-1) || others.contains(-1) || others.contains(layer_set::most)) == false);
    CHECK(~others == some);
  }
  CHECK(layer_set::from(0) == layer_set::all());
  CHECK(layer_set::from(-5) == layer_set::every(1));
  CHECK(~layer_set{} == layer_set::all());
  CHECK(layer_set{1, 3} != layer_set::every(2));
  auto listed = layer_set{7, 2};
  listed.add(64);
  CHECK(listed == layer_set{2, 7, 64});
  CHECK(refusal([&] { return listed.add(1024), 0; }) == "layer 1024 is not in 0 ... 1023");
  CHECK(refusal([&] { return layer_set{-1}.count(1); }) == "layer -1 is not in 0 ... 1023");
}

}  // namespace test_cost_layer_set
