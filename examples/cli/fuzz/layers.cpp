// SPDX-License-Identifier: Apache-2.0
#include "readers/layers.hpp"
#include "errors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// The reader behind `partition`, `recompute` and `simulate`, from memory: layers within their limits, or one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  try {
    auto const table = read_layers({reinterpret_cast<char const*>(data), size}, "input");
    if (table.layers.empty() || table.units_per_1 < 1) std::abort();
    std::int64_t time = 0;
    for (auto const& l : table.layers) {
      for (auto const value : {l.forward - l.forward_per_batch, l.backward - l.backward_per_batch, l.forward_per_batch,
                               l.backward_per_batch, l.parameter_bytes, l.activation_bytes, l.checkpoint_bytes, l.boundary_bytes})
        if (value < 0) std::abort();
      time += 2 * l.forward + l.backward;
      if (l.name.empty() || time > std::int64_t{1} << 58) std::abort();
    }
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
