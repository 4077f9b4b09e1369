// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"

#include <ballast/cost/degree_cost.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <cstdint>
#include <optional>
#include <string>

// What a sample costs that several GPUs share, as the options of `compare` and `schedule` say.

namespace ballast_cli {

/// A model on a cluster, as options say it.
struct cluster_request {
  model_on_device on;
  std::uint64_t gpus = 0;
  ballast::framework framework = ballast::framework_named("fused");
  std::uint32_t recomputed_layers = 0;
  std::optional<double> micro_batch_ms;  ///< of a pass beside its samples; none: what kernels take, or to read the weights three times
};

struct cluster_model {
  ballast::degree_cost cost;                ///< keys and values are gathered, nothing is hidden
  std::int64_t cost_per_pass = 0;           ///< nanoseconds
  ballast::sequence_parallel_setup memory;  ///< of a GPU, whose states are sharded over all
  std::uint32_t recomputed_layers = 0;
  std::string model, device;  ///< in words
};

/// `capacity` are the tokens of a full pass. Throws bad_input.
[[nodiscard]] cluster_model modelled_cluster(cluster_request const& asked, std::int64_t capacity);

}  // namespace ballast_cli
