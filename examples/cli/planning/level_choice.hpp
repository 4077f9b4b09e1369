// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/level_planning.hpp"
#include "planning/level_request.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// Levels: chosen for lengths on a cluster, or read from a file.

namespace ballast_cli {

/// Model and GPUs behind a request, and how sentences call them. Throws bad_input.
struct level_setup {
  explicit level_setup(level_request const& request);
  ballast::sequence_parallel_setup cluster;
  std::string model, device;
};

/// Chooses levels up to `longest` tokens. Throws bad_input for a bad profile, no_plan where no setting holds the samples.
[[nodiscard]] level_choice choose(level_rule rule, ballast::histogram const& lengths, std::int64_t longest, std::size_t most_levels,
                                  level_request const& request, level_setup const& on);

/// Levels that `levels --json` printed, or the array alone; what has no times gets modelled ones, else `on` says whose they are. Throws
/// bad_input.
[[nodiscard]] level_choice read_levels(std::string const& file, level_request const& request, level_setup& on);

}  // namespace ballast_cli
