// SPDX-License-Identifier: Apache-2.0
#include "planning/stage_plan.hpp"

#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "readers/file_bytes.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/plan/export/deepspeed.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/shortage.hpp>

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
    auto const front = i == 0 || kinds.back() == layer_kind::tower;
    auto const tower = has("vision") || has("visual") || has("patch") || has("projector") || has("tower") || lower.starts_with("vit");
    kinds.push_back(front && tower                                                                    ? layer_kind::tower
                    : front && has("embed")                                                           ? layer_kind::embedding
                    : i + 1 == names.size() && i > 0 && (has("head") || has("loss") || has("output")) ? layer_kind::loss
                    : has("mtp")                                                                      ? layer_kind::prediction
                                                                                                      : layer_kind::decoder);
  }
  if (!kinds.empty() && kinds.back() == layer_kind::tower) kinds.assign(kinds.size(), layer_kind::decoder);  // a model of its own
  return kinds;
}

std::string deepspeed_in_words(std::vector<std::uint32_t> const& boundaries) {
  if (boundaries.size() < 3) return {};
  std::string text = "DeepSpeed:\n  ";
  for (auto const c : ballast::deepspeed_stages(std::span<std::uint32_t const>(boundaries))) text += c == '\n' ? "\n  " : std::string(1, c);
  return text.substr(0, text.size() - 2);
}

std::vector<std::string> names_of(layer_table const& table) {
  std::vector<std::string> names;
  for (auto const& layer : table.layers) names.push_back(layer.name);
  return names;
}

void require_layers(std::string const& title, std::size_t layers, std::uint64_t stages, std::uint64_t chunks) {
  if (stages * chunks > layers)
    throw no_plan(title + ": " + counted(layers, "layer") + " cannot fill " + counted(stages, "stage") +
                  (chunks > 1 ? " of " + counted(chunks, "chunk") : "") + ", each of which takes at least one");
}

std::string span_in_words(std::vector<std::string> const& names, std::size_t begin, std::size_t end) {
  return printable(names[begin]) + (end - begin > 1 ? " ... " + printable(names[end - 1]) : "");
}

std::string stage_table(std::vector<stage_line> const& stages, std::string const& memory_heading) {
  std::size_t width = 6;
  for (auto const& stage : stages) width = (std::max)(width, stage.layers.size());
  auto const last = [&](std::string const& column) { return memory_heading.empty() ? "\n" : "  " + column + "\n"; };
  auto text = "stage  layers" + std::string(width - 6, ' ') + formatted("  %6s  %12s", "number", "time") + last(memory_heading);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    auto const& [layers, number, time, memory] = stages[s];
    text += formatted("%5zu  ", s) + layers + std::string(width - layers.size(), ' ') + formatted("  %6u  %12s", number, time.c_str()) +
            last(memory);
  }
  return text;
}

std::string loss_in_words(ballast::megatron_recompute const& nearest) {
  auto const loss = nearest.bottleneck.gap();
  return loss == 0 ? std::string("as fast as this plan") : percent_up(loss) + " slower than this plan";
}

std::string list_in_words(std::string const& what, std::vector<std::string> const& names) {
  constexpr std::size_t most = 8;
  if (names.empty()) return {};
  auto text = what + counted(names.size(), "layer") + ": ";
  for (std::size_t i = 0; i < (std::min)(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return text + (names.size() > most ? ", ... (--json lists all)\n" : "\n");
}

stage_plan plan_memory(layer_table const& table, std::vector<std::uint64_t> const& held, memory_request const& asked,
                       std::span<layer_kind const> kinds) {
  std::vector<ballast::stage_layer> layers, without_offload;
  std::vector<layer_options> ways;
  for (auto const& row : table.layers) {
    ways.push_back(options_of(row, asked.offload, table));
    auto const time = row.forward + row.backward;
    layers.push_back({.time = time, .state = row.parameter_bytes, .options = ways.back().options});
    without_offload.push_back({.time = time, .state = row.parameter_bytes, .options = options_of(row, {}, table).options});
  }
  std::vector<std::int64_t> const capacity(held.size(), asked.memory);
  ballast::staging_options const options{
      .stages = held.size(), .capacity = capacity, .in_flight = held, .hidden_percent = asked.offload.overlap};
  stage_plan out;
  out.joint = ballast::plan_stages<>(std::span<ballast::stage_layer const>(layers), options);
  if (out.joint.partition.status != ballast::status::feasible)
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
