// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/model_plan.hpp"
#include "planning/sample_cost.hpp"

#include <ballast/batching/options.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

// The capacity that `plan --capacity auto` takes: the largest that fits by the memory model.

namespace ballast_cli {

struct chosen_capacity {
  std::int64_t tokens = 0, unit = 1;  ///< a multiple of the unit
  ballast::transformer model;
  ballast::training_setting by;  ///< with the memory of a device
  bool hopper = true;
  std::uint64_t stage = 0;     ///< the one that holds most with a unit more
  ballast::memory_parts next;  ///< what it holds then; zeros if the search ended at its largest capacity
  std::uint64_t longer = 0;    ///< samples that are longer
};

/// Micro-batches, ranks, stages and what is recomputed are those of the request and the shape; `multiple` is what samples are rounded up
/// to. Throws no_plan, saying how many bytes are missing, if no capacity fits.
[[nodiscard]] chosen_capacity choose_capacity(model_request const& asked, model_on_device const& on, ballast::batching_options const& shape,
                                              std::int64_t multiple);
/// Counts samples that are longer. Throws no_plan, saying how many bytes the longest one lacks, if there are any and the policy takes none.
void count_longer(chosen_capacity& of, ballast::histogram const& samples, ballast::oversize policy, std::string const& title);

[[nodiscard]] std::string in_words(chosen_capacity const& of, std::uint64_t samples);
[[nodiscard]] nlohmann::ordered_json to_json(chosen_capacity const& of);

}  // namespace ballast_cli
