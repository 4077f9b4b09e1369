// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/memory/replay_allocator.hpp>
#include <ballast/methods/roam.hpp>

#include "../../tests/support/branching_graphs.hpp"

#include "figures.hpp"

#include <numeric>

namespace figures {

// The training step of 12 layers of GPT2-XL, 512 tokens: memory in MiB while each operator runs, in program order and as planned, and what
// PyTorch's allocator reserves for both. The layout of a small U-Net's step: for each buffer, its steps, address and size in KiB.
void memory(writer& show) {
  using namespace ballast;
  auto model = transformer_preset("gpt2-xl");
  model.layers = 12;
  auto const g = training_graph(model, std::int64_t{1}, std::int64_t{512});
  std::vector<std::uint32_t> program(g.size());
  std::iota(program.begin(), program.end(), 0U);
  auto const planned = roam::plan_memory(g);
  numbers reserved;
  for (auto const& [name, order] : {std::pair{"program", program}, std::pair{"planned", planned.order}}) {
    numbers mib;
    for (auto const bytes : evaluate_order(g, order).running) mib.push_back(bytes >> 20);
    show("memory.live." + std::string(name), mib);
    reserved.push_back(replay_allocator(buffers_of(g, order).buffers).peak_reserved >> 20);
  }
  show("memory.reserved", reserved);

  auto const small = ballast_test::unet_step(4, 16);
  auto const laid = roam::plan_memory(small);
  std::vector<numbers> rows;
  for (std::size_t b = 0; b < laid.offsets.size(); ++b) {
    auto const& buffer = laid.buffers.buffers[b];
    rows.push_back({buffer.lower, buffer.upper, laid.offsets[b] >> 10, buffer.size >> 10});
  }
  show("memory.layout", rows);
  show("memory.layout.height", numbers{laid.height.value >> 10, laid.height.lower_bound >> 10});
}

}  // namespace figures
