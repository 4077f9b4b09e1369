// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "costs.hpp"
#include "planners.hpp"
#include "sample_numbers.hpp"

// Plans as Python holds them: with what they were made for, so that they can be checked.

namespace ballast_python {

struct packing_plan {
  ballast::packing<> plan;
  ballast::packing_options options;
  bool padded = false;  ///< whether rows are padded to the longest of their pack
  sample_numbers numbers{};
};

struct step_plan {
  ballast::batching<> plan;
  ballast::batching_options options;
  any_cost cost;
  std::uint32_t share_overhead = 0;
  sample_numbers numbers{};
};

/// Share of the time of all ranks in which a rank waits for a slower one.
[[nodiscard]] inline double idle_of(ballast::batching<> const& plan) { return 1 - 1 / plan.slowest_over_mean(); }

/// What a user wants to know of a plan of steps, in a line.
[[nodiscard]] std::string in_a_line(ballast::batching<> const& plan, std::int64_t capacity, std::size_t set_aside);

}  // namespace ballast_python
