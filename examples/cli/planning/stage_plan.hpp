// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/layer_times.hpp"
#include "readers/layers.hpp"

#include <ballast/plan/exports.hpp>
#include <ballast/staging/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Stages and what they recompute, for all commands that plan them.

namespace ballast_cli {

/// What Megatron-LM would call the layers, by their names: embed..., ...mtp..., and a last ...head..., ...loss... or ...output...
[[nodiscard]] std::vector<ballast::layer_kind> kinds_of(std::span<std::string const> names);
[[nodiscard]] std::vector<ballast::layer_kind> kinds_of(layer_table const& table);

/// Throws no_plan where there are fewer layers than stages.
void require_layers(layer_table const& table, std::uint64_t stages, std::string const& file);

/// The first of some names as a line; nothing if there are none.
[[nodiscard]] std::string list_in_words(std::string const& what, std::vector<std::string> const& names);
[[nodiscard]] inline std::string recomputed_in_words(std::vector<std::string> const& names) { return list_in_words("Recomputed: ", names); }

struct memory_request {
  std::string file;
  std::int64_t memory = 0;  ///< bytes of a stage
  offload_link offload;
};

/// The joint plan, with what it changes of the layers and the nearest setting of Megatron-LM.
struct model_plan {
  ballast::joint_stages<> joint;
  std::vector<std::string> recompute, offload;  ///< names of layers
  ballast::megatron_recompute megatron;
};

/// Plans stages that hold so many micro-batches each. Throws no_plan.
[[nodiscard]] model_plan plan_memory(layer_table const& table, std::vector<std::uint64_t> const& held, memory_request const& asked,
                                     std::span<ballast::layer_kind const> kinds);

}  // namespace ballast_cli
