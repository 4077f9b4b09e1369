// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/layer_times.hpp"
#include "readers/layers.hpp"

#include <ballast/plan/export/setting.hpp>
#include <ballast/staging/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Stages and what they recompute, for all commands that plan them.

namespace ballast_cli {

/// What Megatron-LM would call the layers, by their names: ...vision..., ...patch... and the like in front, embed..., ...mtp..., and a last
/// ...head..., ...loss... or ...output...
[[nodiscard]] std::vector<ballast::layer_kind> kinds_of(std::span<std::string const> names);
[[nodiscard]] std::vector<std::string> names_of(layer_table const& table);
/// The stages as DeepSpeed's class, below its name; nothing for one stage.
[[nodiscard]] std::string deepspeed_in_words(std::vector<std::uint32_t> const& boundaries);
inline constexpr auto towers_in_first_stage = "Megatron-LM runs towers, projector and embedding in the first stage";

/// Throws no_plan, beginning with `title`, where there are fewer layers than stages or their chunks.
void require_layers(std::string const& title, std::size_t layers, std::uint64_t stages, std::uint64_t chunks = 1);

/// "first ... last": the layers from `begin` to `end`, at least one.
[[nodiscard]] std::string span_in_words(std::vector<std::string> const& names, std::size_t begin, std::size_t end);

/// A stage as a line of a table.
struct stage_line {
  std::string layers;
  std::uint32_t number = 0;
  std::string time, memory;
};
/// Stages from 0 on; the last column is there where it has a heading.
[[nodiscard]] std::string stage_table(std::vector<stage_line> const& stages, std::string const& memory_heading);

/// "as fast as this plan", or how much slower Megatron-LM's setting is.
[[nodiscard]] std::string loss_in_words(ballast::megatron_recompute const& nearest);
inline constexpr auto no_megatron_setting = "no recompute setting of Megatron-LM fits the memory on these boundaries";

/// The first of some names as a line; nothing if there are none.
[[nodiscard]] std::string list_in_words(std::string const& what, std::vector<std::string> const& names);
[[nodiscard]] inline std::string recomputed_in_words(std::vector<std::string> const& names) { return list_in_words("Recomputed: ", names); }

struct memory_request {
  std::string file;
  std::int64_t memory = 0;  ///< bytes of a stage
  offload_link offload;
};

/// The joint plan, with what it changes of the layers and the nearest setting of Megatron-LM.
struct stage_plan {
  ballast::joint_stages<> joint;
  std::vector<std::string> recompute, offload;  ///< names of layers
  ballast::megatron_recompute megatron;
};

/// Plans stages that hold the given numbers of micro-batches. Throws no_plan.
[[nodiscard]] stage_plan plan_memory(layer_table const& table, std::vector<std::uint64_t> const& held, memory_request const& asked,
                                     std::span<ballast::layer_kind const> kinds);

}  // namespace ballast_cli
