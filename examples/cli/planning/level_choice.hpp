// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/level_request.hpp"

#include <ballast/core/certificate.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Levels: chosen for lengths on a cluster, or read from a file.

namespace ballast_cli {

/// Model and GPUs behind a request, and how sentences call them. Throws bad_input.
struct level_setup {
  explicit level_setup(level_request const& request);
  ballast::sequence_parallel_setup cluster;
  std::string model, device;
};

struct level_choice {
  std::vector<ballast::timed_level> levels;
  level_rule rule = level_rule::exact;
  std::size_t candidates = 0;                ///< settings that they were chosen from; 0: they were given
  std::size_t most_levels = 0;               ///< that were allowed; 0: any number
  std::optional<ballast::certificate> time;  ///< device-nanoseconds of full packs and balanced ranks, and the least of any choice
};

/// The histogram of what is trained on, under a policy for samples above `longest`.
[[nodiscard]] ballast::histogram within(ballast::histogram const& lengths, std::int64_t longest, ballast::oversize policy);

/// Chooses levels up to `longest` tokens. Throws bad_input for a bad profile, no_plan where no setting holds the samples.
[[nodiscard]] level_choice choose(level_rule rule, ballast::histogram const& lengths, std::int64_t longest, std::size_t most_levels,
                                  level_request const& request, level_setup const& on);

/// Levels that `levels --json` printed, or the array alone; what has no times gets modelled ones, else `on` says whose they are. Throws
/// bad_input.
[[nodiscard]] level_choice read_levels(std::string const& file, level_request const& request, level_setup& on);

}  // namespace ballast_cli
