// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include "prefetch_suite.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>

namespace test_pipeline_prefetch_layer {

using namespace ballast;
using layer_list = ballast_test::prefetch_layers;

TEST_CASE("prefetch_layer: no layers, and misuse names the entry") {
  using ballast_test::refusal;
  CHECK(simulate_prefetch({}, 3, true) == prefetch_timeline{});
  auto const said = [](layer_list const& layers, std::uint64_t buffers) {
    return refusal([&] { return simulate_prefetch(layers, buffers); });
  };
  CHECK(said({}, 0).find("buffers = 0") != std::string::npos);
  CHECK(said({{}, {.forward = -1}}, 1).find("layers[1].forward = -1") != std::string::npos);
  CHECK(said({{.load = 2}}, 1).find("layers[0].load = 2 of a layer that is not loaded") != std::string::npos);
  CHECK(said({{.loaded = true, .load = std::int64_t{1} << 58}}, 1).find("2^58") != std::string::npos);
}

}  // namespace test_pipeline_prefetch_layer
