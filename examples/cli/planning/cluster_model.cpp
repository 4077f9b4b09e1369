// SPDX-License-Identifier: Apache-2.0
#include "planning/cluster_model.hpp"

#include "errors.hpp"

#include <ballast/cost/communication.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <algorithm>
#include <cmath>

namespace ballast_cli {

namespace {

/// Milliseconds in which a GPU reads all weights three times: forward, and for the gradients of inputs and weights.
[[nodiscard]] double weights_ms(ballast::transformer const& model, ballast::device const& on) {
  return 3 * 2e3 * static_cast<double>(parameters(model)) / static_cast<double>(on.memory_bandwidth);
}

}  // namespace

cluster_model modelled_cluster(cluster_request const& asked, std::int64_t capacity) {
  auto const model = model_of(asked.on.model);
  auto const& device = device_of(asked.on.device);
  auto const mfu = asked.on.utilisation();
  if (!(mfu >= 0.001 && mfu <= 1)) throw bad_input("--mfu " + std::to_string(mfu) + ": expected a share from 0.001 to 1");
  auto const utilisation = static_cast<std::uint32_t>(std::lround(1000 * mfu));
  cluster_model out;
  out.cost = degree_cost_of(model, device, ballast::datasheet_fabric(device),
                            {.utilisation = utilisation,
                             .recomputed_layers = asked.recomputed_layers,
                             .ranks = static_cast<std::int64_t>((std::min)(asked.gpus, std::uint64_t{1} << 20))});
  auto pass_ms = weights_ms(model, device);
  if (!asked.on.mfu) {
    auto const alone =
        ballast::sample_time(model, device, kernels_of(asked.on), {}, {.capacity = capacity, .recomputed_layers = asked.recomputed_layers});
    out.cost.linear = alone.tokens.linear;
    out.cost.square = alone.tokens.quadratic;
    pass_ms = static_cast<double>(alone.per_micro_batch) / 1e9;
  }
  out.cost_per_pass = std::llround(1e6 * asked.micro_batch_ms.value_or(pass_ms));
  out.memory = {.model = model,
                .device = device,
                .devices = static_cast<std::uint32_t>((std::min)(asked.gpus, std::uint64_t{1} << 20)),
                .utilisation = utilisation,
                .framework = asked.framework};
  out.recomputed_layers = asked.recomputed_layers;
  out.model = name_of_language_part(asked.on.model);
  out.device = device_in_words(asked.on);
  return out;
}

}  // namespace ballast_cli
