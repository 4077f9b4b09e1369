// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"

#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/staging/offload.hpp>
#include <ballast/staging/offload_model.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What of a model is in host memory, for `offload`.

namespace ballast_cli {

struct offload_request {
  model_on_device on;
  std::int64_t length = 0, batch = 1;  ///< tokens of a sequence, sequences of a micro-batch
  std::uint64_t ranks = 1;             ///< data-parallel
  ballast::model_setting setting = {.optimizer = ballast::optimizer_named("adam")};
  ballast::recomputation recomputed = ballast::recomputation::none;
  std::optional<std::int64_t> memory, down;  ///< bytes of a device; none: nine tenths of the datasheet's. Bytes/s; none: as `options`
  ballast::offload_options options{
      .host_memory = 0, .rates = {.up = 25'000'000'000, .down = 0, .update = 20'000'000'000}, .work = 2'000'000};
};

/// A way to choose what is in host memory; without a time where it does not fit.
struct judged_offload {
  std::string name;
  std::optional<std::int64_t> ns;
  ballast::offload_memory memory;
};

struct model_offload {
  ballast::offload_model model;
  std::int64_t memory = 0;  ///< bytes of a device
  ballast::offload_options options;
  ballast::offload_plan plan;
  std::int64_t compute_ns = 0;  ///< of the step without offloading, if memory were no matter
  std::vector<judged_offload> others;
};

/// Throws bad_input, and no_plan that names the memory that is too small.
[[nodiscard]] model_offload plan_model_offload(offload_request const& asked);

}  // namespace ballast_cli
