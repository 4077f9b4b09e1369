// SPDX-License-Identifier: Apache-2.0
#include "readers/stages.hpp"
#include "errors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// The reader of foreign stages and selections: it reads boundaries, or layers that each have a place, or says one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  try {
    auto const read = read_stages({reinterpret_cast<char const*>(data), size}, "input");
    if (read.boundaries.empty() && !read.staged && !read.chosen) std::abort();
    for (auto const& layer : read.layers)
      if (layer.place.find("input") != 0 || (!read.chosen && layer.choice != layer_choice::keep)) std::abort();
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
