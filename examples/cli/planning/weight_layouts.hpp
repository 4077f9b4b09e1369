// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/methods/tap.hpp>

#include <cstdint>
#include <optional>
#include <string>

// Which weights of a model are split over ranks, and how: the fastest layouts beside those of Megatron-LM and of data parallelism.

namespace ballast_cli {

struct weight_request {
  std::string model, device = "h100";
  std::int64_t ranks = 0;
  std::int64_t tokens = 0;             ///< of a pass, on all ranks together
  std::int64_t length = 0;             ///< tokens of a sequence; 0: 4,096, or `tokens` if these are fewer
  std::int64_t passes = 1;             ///< of a step
  std::optional<std::int64_t> memory;  ///< bytes of a device; none: what its datasheet says
  std::optional<double> mfu;           ///< share of the device's peak; none: what its kernels reach
  bool mesh = false;                   ///< whether groups of fewer ranks are tried, too
  std::int64_t group = 0;              ///< ranks of a group, each with tokens of its own; 0: all are one
};

struct weight_plans {
  ballast::tap::sharded_model planned, megatron, data_parallel;
  std::string model, device;  ///< in words
  std::int64_t length = 0;    ///< tokens of a sequence
};

/// Throws bad_input, or no_plan where no layouts fit into the memory.
[[nodiscard]] weight_plans plan_weights(weight_request const& asked);

}  // namespace ballast_cli
