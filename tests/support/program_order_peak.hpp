// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// The most bytes in use while the operators of a graph run in program order.
[[nodiscard]] inline std::int64_t program_order_peak(ballast::graph const& g) {
  auto const uses = ballast::uses_of(g);
  std::vector<std::int64_t> readers(g.tensors.size());  // by memory: reads to come; one more if it is kept
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    readers[uses.memory[t]] += static_cast<std::int64_t>(uses.readers[t].size()) + (g.tensors[t].kept ? 1 : 0);
  std::int64_t held = 0, most = 0;
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    if (uses.maker[t] == ballast::graph_uses::none && readers[t] > 0) held += g.tensors[t].bytes;
  for (std::size_t v = 0; v < g.size(); ++v) {
    for (auto const t : g.outputs[v])
      if (g.tensors[t].shares == ballast::graph_tensor<>::own) held += g.tensors[t].bytes;
    most = std::max(most, held + g.operators[v].workspace);
    auto const free = [&](std::uint32_t root) { held -= readers[root] == 0 ? g.tensors[root].bytes : 0; };
    for (auto const t : g.inputs[v]) {
      --readers[uses.memory[t]];
      free(uses.memory[t]);
    }
    for (auto const t : g.outputs[v])
      if (g.tensors[t].shares == ballast::graph_tensor<>::own) free(t);  // nobody reads it
  }
  return most;
}

}  // namespace ballast_test
