// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/options.hpp"
#include "planning/cluster_model.hpp"
#include "planning/schedulers.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <span>

// What `compare` and `schedule` both ask for: batches of samples, the GPUs, and what samples cost on them.

namespace ballast_cli {

struct scheduling_arguments {
  input_arguments input;
  cluster_request cluster;
  std::int64_t capacity = 0;  ///< tokens of a pass; 0: what fits
  std::uint64_t batch = 512;
  std::uint64_t seed = 0;
};

void add_scheduling(CLI::App& command, scheduling_arguments& arguments);

/// Tokens of a full pass: as asked for, or those that a GPU has memory for. Throws no_plan if it has memory for none.
[[nodiscard]] std::int64_t capacity_of(scheduling_arguments const& arguments);
/// The setting for data of at least one sample.
[[nodiscard]] scheduling_setting scheduling_of(scheduling_arguments const& arguments, cluster_model const& model, std::int64_t capacity,
                                               std::span<std::int64_t const> data);

}  // namespace ballast_cli
