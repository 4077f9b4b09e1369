// SPDX-License-Identifier: Apache-2.0
#include "commands/scheduling.hpp"
#include "errors.hpp"

#include <ballast/footprint/model_degree_cost.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace ballast_cli {

void add_scheduling(CLI::App& command, scheduling_arguments& arguments) {
  add_input(command, arguments.input, "lengths, as for pack");
  add_value(command, "--gpus", arguments.cluster.gpus, small_positive, "GPUs that train a batch together")->required();
  add_value(command, "--capacity", arguments.capacity, capacity_tokens,
            "tokens that a GPU holds in one pass; by default what its modelled memory holds");
  add_value(command, "--batch", arguments.batch, small_positive, "samples of a global batch; 512 by default");
  add_model(command, arguments.cluster.on.model, "preset or Hugging Face config.json; llama-3.1-8b by default");
  add_device(command, arguments.cluster.on.device);
  add_value(command, "--mfu", arguments.cluster.on.mfu, share, share_help);
  add_value(
      command, "--framework", arguments.cluster.framework,
      [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::frameworks)); },
      "how large activations are: fused (default), megatron, eager, compiled, chunkflow or hbp");
  add_value(command, "--recomputed-layers", arguments.cluster.recomputed_layers, whole<std::uint32_t, 0>,
            "layers that run their forward pass again; 0 by default");
  add_value(command, "--micro-batch-overhead-ms", arguments.cluster.micro_batch_ms, milliseconds,
            "milliseconds of a pass besides its samples; by default what its kernels take or, with --mfu, the time to read the weights "
            "three times");
  add_value(command, "--seed", arguments.seed, from_0, "seed of methods that draw");
}

std::int64_t capacity_of(scheduling_arguments const& arguments) {
  if (arguments.capacity != 0) return arguments.capacity;
  auto const model = modelled_cluster(arguments.cluster, 1);
  auto const fit = tokens_that_fit(model.memory, model.recomputed_layers);
  if (fit == 0)
    throw no_plan("a GPU has memory for no token beside the states of " + model.model +
                  "; more --gpus or a smaller --model make room, and --capacity plans without it");
  return fit;
}

scheduling_setting scheduling_of(scheduling_arguments const& arguments, cluster_model const& model, std::int64_t capacity,
                                 std::span<std::int64_t const> data) {
  constexpr auto most = std::uint64_t{1} << 20;
  if (arguments.cluster.gpus >= most)
    throw bad_input("--gpus " + std::to_string(arguments.cluster.gpus) + ": expected at most " + std::to_string(most - 1));
  scheduling_setting out;
  out.options.capacity = capacity;
  out.options.ranks = arguments.cluster.gpus;
  out.options.cost_per_pass = model.cost_per_pass;
  out.cost = model.cost;
  out.model = model.memory.model;
  out.longest = *std::max_element(data.begin(), data.end());
  out.seed = arguments.seed;
  out.data = data;
  out.batch = arguments.batch;
  out.planned = data.size();
  return out;
}

}  // namespace ballast_cli
