// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

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

}  // namespace ballast_python
