// SPDX-License-Identifier: Apache-2.0
#include "commands/model_options.hpp"

#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/model_setting.hpp"

#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

namespace {

[[nodiscard]] ballast::hidden_share hidden_exchanges(std::string const& option, std::string const& text) {
  ballast::hidden_share out;
  if (text.find('=') == std::string::npos) {
    auto const of_all = 10 * percentage(option, text);
    for (auto const& kind : exchange_kinds) out.*kind.share = of_all;
    return out;
  }
  for (auto const& part : words_of(text)) {
    auto const sign = (std::min)(part.find('='), part.size());
    auto const& kind = named(option, part.substr(0, sign), std::span(exchange_kinds));
    out.*kind.share = 10 * percentage(option + " " + std::string(kind.word), part.substr((std::min)(sign + 1, part.size())));
  }
  return out;
}

}  // namespace

void freeze(ballast::model_setting& by, std::string const& option, std::string const& text) {
  for (auto const& word : words_of(text)) by.*named(option, word, std::span(frozen_parts)).is = {.what = ballast::trained::none};
}

ballast::trainable trained_part(std::string const& option, std::string const& text) {
  constexpr std::string_view adapters = "lora:";
  auto const quantised = text.starts_with("qlora:");
  if (text == "all") return {};
  if (text == "none") return {.what = ballast::trained::none};
  if (quantised || text.starts_with(adapters)) {
    auto const rank = whole<std::int64_t>(option + " lora:RANK, RANK =", text.substr(adapters.size() + (quantised ? 1 : 0)));
    if (rank > 1 << 16) throw bad_input(option + " " + printable(text) + ": the rank of the adapters is at most 65536");
    return {.what = ballast::trained::low_rank, .rank = rank, .quantised = quantised};
  }
  throw bad_input(option + " " + printable(text) + ": expected all, none, lora:RANK or qlora:RANK, as in lora:8");
}

int zero_stage(std::string const& option, std::string const& text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3')
    throw bad_input(option + " " + printable(text) + ": expected a ZeRO stage from 0 to 3");
  return text[0] - '0';
}

ballast::recompute_setting recomputed(std::string const&, std::string const& text) {
  using enum ballast::recompute_setting::kind;
  auto const word = lower_case(text);
  if (word == "none") return {};
  if (word == "full") return {.what = uniform};
  return {.what = modules, .modules = ballast::module_set_named(word)};
}

model_options add_model_options(CLI::App& command, model_request& asked, std::string& schedules, model_option_rules const& rules) {
  model_options out;
  auto& by = asked.setting;
  auto* const stages =
      add_value(command, "--stages", asked.stages, small_positive, "pipeline stages of a rank: plan the model and time every step too");
  out.stages = stages;
  for (auto* const other : rules.not_with_stages) stages->excludes(other);
  out.others.push_back(
      add_value(command, "--memory", asked.memory, bytes, "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's by default"));
  out.others.push_back(command.add_option(
      "--schedule", schedules,
      "schedule of the pipelines: 1f1b (default), gpipe, interleaved, interleaved:CHUNKS, zb1p, zb2p or zbv; with --gpus "
      "those to choose from, as in 1f1b,zbv"));

  std::vector<CLI::Option*> of_setting;
  auto const add = [&](char const* name, auto& value, auto parse, char const* help) {
    return of_setting.emplace_back(add_value(command, name, value, parse, help));
  };
  out.tensor = add("--tp", by.spread.tensor, small_positive, "tensor-parallel devices of a stage, with sequence parallelism; 1 by default");
  out.context = add("--cp", by.spread.context, small_positive, "context-parallel devices that share a micro-batch; 1 by default");
  add(
      "--cp-method", by.method, [](auto const& option, auto const& text) { return named(option, text, std::span(context_methods)).method; },
      "how they share attention: ring (default) or ulysses");
  out.expert = add("--ep", by.expert, small_positive, "expert-parallel devices, of those of a stage; 1 by default");
  add("--etp", by.expert_tensor, small_positive, "devices that share an expert; as --tp under megatron, 1 else, by default");
  out.zero = add("--zero", by.spread.zero, zero_stage,
                 "ZeRO stage over the ranks and context-parallel devices, 0 to 3; 1 under megatron, whose recipes set "
                 "--use-distributed-optimizer, 0 else, by default");
  add(
      "--optimizer", by.optimizer, [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::optimizers)); },
      "adam (default), adam-bf16-gradients, adam-8bit, adafactor, sgd, sgd-momentum, galore, adam-fp32, adam-bf16 or muon");
  add(
      "--offload", by.moved, [](auto const& option, auto const& text) { return named(option, text, std::span(offloads)).what; },
      "states in host memory: none (default), optimizer, gradients (and optimizer) or parameters (and all others)");
  out.framework = add(
      "--framework", by.framework, [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::frameworks)); },
      "how large activations are: fused (default), megatron, eager, compiled, chunkflow or hbp");
  add("--head-loss", by.loss, head_loss, head_loss_help);
  add(
      "--attention", by.attention,
      [](auto const& option, auto const& text) { return named(option, text, std::span(attention_kernels)).kernel; },
      "how attention is computed: fused (default) or stored-scores");
  add(
      "--recompute-modules", by.recompute_modules,
      [](auto const&, auto const& text) { return ballast::module_set_named(lower_case(text)); },
      "modules that may be recomputed where a layer is not: core_attn, layernorm, mla_up_proj, mlp, moe_act, experts, shared_experts, moe; "
      "mlp,experts,shared_experts by default");
  of_setting.push_back(command.add_flag("--fp8-experts", by.fp8_experts, "routed experts keep their inputs in 8 bits"));
  add("--train", by.language, trained_part, "what is trained of the language model: all (default), none or lora:RANK");
  of_setting.push_back(command.add_flag("--stored", asked.stored, stored_help));
  add("--overlap", asked.hidden, hidden_exchanges,
      "exchanges that the framework hides under computation, with --mfu by percent, as in 80 or tensor=80,gradient=95");

  out.others.insert(out.others.end(), of_setting.begin(), of_setting.end());
  of_setting.push_back(command.add_option_function<std::string>(
      "--freeze", [&by](std::string const& text) { freeze(by, "--freeze", text); },
      "frozen parts of a vision-language model: vision, projector or vision,projector"));
  for (auto* const other : rules.not_with_stages) of_setting.back()->excludes(other);
  of_setting.push_back(out.vision = command.add_option_function<std::string>(
                           "--vision-tp",
                           [&by, &asked](std::string const& text) {
                             asked.any_vision_tensor = text == "auto";
                             by.vision_tensor = text == "auto" ? 0 : small_positive("--vision-tp", text);
                           },
                           "tensor-parallel devices of a vision tower and projector, a divisor of --tp: the others of a group take other "
                           "images; as --tp by default; with --gpus auto: the best one"));
  out.others.push_back(out.vision);

  auto* const layers = command.add_option("--layers", asked.layers,
                                          "CSV of layers, as for partition, in milliseconds of a micro-batch of --capacity tokens");
  out.layers = layers;
  out.others.push_back(layers);
  of_setting.insert(of_setting.end(), rules.of_model.begin(), rules.of_model.end());
  for (auto* const other : of_setting) layers->excludes(other);
  return out;
}

}  // namespace ballast_cli
