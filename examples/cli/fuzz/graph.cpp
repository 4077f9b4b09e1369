// SPDX-License-Identifier: Apache-2.0
#include "readers/graph.hpp"
#include "errors.hpp"

#include <ballast/graph/check.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// The reader behind `order`, from memory: a valid graph, which is written and read back as it is, or one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  std::vector<ballast::dimension> const dimensions{{"batch", 1, 64}, {"length", 16, 4096}};
  try {
    auto const graph = read_symbolic_graph({reinterpret_cast<char const*>(data), size}, "input", dimensions);
    if (graph.size() == 0 || !check_graph(graph).valid()) std::abort();
    if (read_symbolic_graph(graph_json(graph, dimensions), "input", dimensions) != graph) std::abort();
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  try {
    auto const graph = read_graph({reinterpret_cast<char const*>(data), size}, "input");
    if (graph.size() == 0 || !check_graph(graph).valid()) std::abort();
    if (read_graph(graph_json(graph), "input") != graph) std::abort();
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
