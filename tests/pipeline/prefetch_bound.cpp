// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/pipeline/prefetch_bound.hpp>

#include "prefetch_suite.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>

namespace test_pipeline_prefetch_bound {

using namespace ballast;
using layer_list = ballast_test::prefetch_layers;

TEST_CASE("prefetch_lower_bound: each resource, with what must come before and after it") {
  CHECK(prefetch_lower_bound({}) == 0);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3})) == 20);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .loaded = true, .load = 1})) == 21);  // the first load
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .loaded = true, .load = 9})) == 75);  // the channel, a pass
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 10})) == 8 + 3 + 40);        // from the first pass
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 1, .update = 10})) == 8 + 3 + 1 + 40);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 1, .update = 1, .give_back = 10})) == 8 + 3 + 2 + 40);
}

TEST_CASE("prefetch_lower_bound: reached without a limit on buffers where only one channel is used") {
  for (std::uint64_t seed = 0; seed < 1000; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto layers = ballast_test::random_prefetch_layers(generator);
    for (auto& l : layers) {
      l.update = l.give_back = 0;
      if (seed % 2 == 0) l.store = 0;
    }
    auto const bound = prefetch_lower_bound(layers);
    REQUIRE(simulate_prefetch(layers, 100).makespan == certificate{bound, bound});
  }
}

}  // namespace test_pipeline_prefetch_bound
