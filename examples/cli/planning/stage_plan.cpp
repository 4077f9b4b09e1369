// SPDX-License-Identifier: Apache-2.0
#include "planning/stage_plan.hpp"

#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "readers/file_bytes.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/plan/shortage.hpp>
#include <ballast/staging/joint.hpp>

#include <algorithm>
#include <cstddef>

namespace ballast_cli {

using ballast::layer_kind;

std::vector<layer_kind> kinds_of(std::span<std::string const> names) {
  std::vector<layer_kind> kinds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string lower(names[i]);
    for (auto& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    auto const has = [&](char const* part) { return lower.find(part) != std::string::npos; };
    kinds.push_back(i == 0 && has("embed")                                                            ? layer_kind::embedding
                    : i + 1 == names.size() && i > 0 && (has("head") || has("loss") || has("output")) ? layer_kind::loss
                    : has("mtp")                                                                      ? layer_kind::prediction
                                                                                                      : layer_kind::decoder);
  }
  return kinds;
}

std::vector<layer_kind> kinds_of(layer_table const& table) {
  std::vector<std::string> names;
  for (auto const& layer : table.layers) names.push_back(layer.name);
  return kinds_of(names);
}

void require_layers(layer_table const& table, std::uint64_t stages, std::string const& file) {
  if (stages > table.layers.size())
    throw no_plan(shown_name(file) + ": " + counted(table.layers.size(), "layer") + " cannot fill " + counted(stages, "stage") +
                  ", each of which takes one at least");
}

std::string list_in_words(std::string const& what, std::vector<std::string> const& names) {
  constexpr std::size_t most = 8;
  if (names.empty()) return {};
  auto text = what + counted(names.size(), "layer") + ": ";
  for (std::size_t i = 0; i < (std::min)(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return text + (names.size() > most ? ", ... (--json lists all)\n" : "\n");
}

model_plan plan_memory(layer_table const& table, std::vector<std::uint64_t> const& held, memory_request const& asked,
                       std::span<layer_kind const> kinds) {
  std::vector<ballast::stage_layer> layers, without_offload;
  std::vector<layer_options> ways;
  for (auto const& row : table.layers) {
    ways.push_back(options_of(row, asked.offload, table));
    layers.push_back({row.forward + row.backward, row.parameter_bytes, ways.back().options});
    without_offload.push_back({row.forward + row.backward, row.parameter_bytes, options_of(row, {}, table).options});
  }
  std::vector<std::int64_t> const capacity(held.size(), asked.memory);
  ballast::staging_options const options{
      .stages = held.size(), .capacity = capacity, .in_flight = held, .hidden_percent = asked.offload.overlap};
  model_plan out;
  out.joint = ballast::plan_stages<>(std::span<ballast::stage_layer const>(layers), options);
  if (out.joint.plan.status != ballast::status::feasible)
    throw no_plan(shown_name(asked.file) + ": no cut into " + counted(held.size(), "stage") + " fits " + many_bytes(asked.memory) +
                  " a stage; the least that fits, all recomputed that can be, is " +
                  many_bytes(ballast::shortage_of(layers, held, asked.memory).needed));
  for (std::size_t i = 0; i < ways.size(); ++i)
    if (auto const taken = out.joint.option[i]; taken != 0)
      (taken == ways[i].recompute ? out.recompute : out.offload).push_back(table.layers[i].name);
  out.megatron =
      ballast::nearest_megatron_recompute<std::uint32_t>(without_offload, kinds, out.joint, options, {.selective = {}, .full = 1U});
  return out;
}

}  // namespace ballast_cli
