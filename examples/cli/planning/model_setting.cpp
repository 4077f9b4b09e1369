// SPDX-License-Identifier: Apache-2.0
#include "planning/model_setting.hpp"

#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace ballast_cli {

namespace {

[[nodiscard]] std::string in_words(ballast::trainable const& is) {
  using enum ballast::trained;
  return is.what == all ? "all" : is.what == none ? "none" : "lora:" + std::to_string(is.rank);
}
[[nodiscard]] std::string in_words(ballast::offload moved) { return std::string(offloads[static_cast<std::size_t>(moved)].word); }
[[nodiscard]] std::string in_words(ballast::context_method method) {
  return std::string(context_methods[static_cast<std::size_t>(method)].word);
}

}  // namespace

ballast::model_setting setting_for(ballast::model_setting by, std::uint64_t ranks, ballast::transformer const& model,
                                   std::string const& name) {
  auto const given = [](char const* option, std::int64_t value) { return std::string(option) + " " + std::to_string(value); };
  auto const refuse = [](std::string const& what, std::string const& why) { throw bad_input(what + ": " + why); };
  auto& [tensor, context, data, sequence_parallel, zero] = by.spread;
  if (tensor > 1 << 16) refuse(given("--tp", tensor), "tensor-parallel devices are at most 2^16");
  if (model.query_heads % tensor != 0)
    refuse(given("--tp", tensor), "must divide the " + std::to_string(model.query_heads) + " query heads of " + printable(name));
  if (context > 1 << 20 || tensor * context > 1 << 24)
    refuse(given("--cp", context), "context-parallel devices are at most 2^20, and 2^24 together with those of --tp");
  constexpr auto most = std::uint64_t{1} << 24;
  if (ranks > most / static_cast<std::uint64_t>(context))
    refuse("--ranks " + std::to_string(ranks), "ranks times --cp are at most 2^24, with --stages");
  data = static_cast<std::int64_t>(ranks) * context;
  sequence_parallel = tensor > 1;
  if (by.method == ballast::context_method::ulysses && context > 1) {
    auto const heads = (model.query_heads + tensor - 1) / tensor;
    if (heads % context != 0)
      refuse(given("--cp", context) + " --cp-method ulysses",
             "must divide the " + std::to_string(heads) + " query heads on a device; --cp-method ring takes any number");
  }
  if (by.expert > 1) {
    auto const what = given("--ep", by.expert);
    if (model.experts == 0) refuse(what, printable(name) + " has no experts");
    if (model.experts % by.expert != 0) refuse(what, "must divide the " + std::to_string(model.experts) + " experts of " + printable(name));
    if (tensor * data % by.expert != 0)
      refuse(what, "must divide the " + std::to_string(tensor * data) + " devices of a stage, which are --tp times --cp times --ranks");
  }
  return by;
}

void take_stored(ballast::model_setting& by, std::string const& model) {
  if (by.language.what == ballast::trained::all)
    throw bad_input("--stored: whoever trains all weights has them in 16 bits; it is for --train none or lora:RANK");
  if (by.language.quantised) throw bad_input("--stored: qlora says already how weights are in memory; use lora");
  auto const stored = model_named(model).stored;
  if (!stored) throw bad_input("--stored: " + printable(model) + " has no quantization_config");
  if (!stored->weights)
    throw bad_input("--stored: " + printable(model) + " is quantised by " + printable(stored->method) +
                    ", of which it is not known what a weight takes");
  by.language.stored = *stored->weights;
}

std::string in_words(ballast::model_setting const& by, std::optional<ballast::hidden_share> const& hidden) {
  auto const& spread = by.spread;
  auto text = "It assumes framework " + std::string(by.framework.name) + ", head loss " + to_string(by.loss) + ", optimiser " +
              std::string(by.optimizer.name);
  if (by.moved != ballast::offload::none) text += " with " + in_words(by.moved) + " in host memory";
  if (by.attention != ballast::attention_kernel::fused) text += ", attention with stored scores";
  if (by.kernels.value > 2) text += ", computed in float32";
  if (by.loss.share < 1000) text += ", logits of " + std::to_string((by.loss.share + 5) / 10) + " % of the tokens";
  if (by.fp8_experts) text += ", experts in 8 bits";
  if (by.recompute_modules != ballast::feed_forward_modules)
    text += ", recomputable modules " + (by.recompute_modules.empty() ? "none" : to_string(by.recompute_modules));
  if (by.language.what != ballast::trained::all) text += ", trained " + in_words(by.language);
  if (by.language.stored.bits > 0) text += ", weights as stored in " + in_words(by.language.stored);
  for (auto const& part : frozen_parts)
    if ((by.*part.is).what != ballast::trained::all) text += ", " + std::string(part.word) + " frozen";
  text += ", ZeRO stage " + std::to_string(spread.zero) + " over " + counted(static_cast<std::uint64_t>(spread.data), "device");
  if (spread.tensor > 1) text += ", TP " + std::to_string(spread.tensor);
  if (spread.context > 1) text += ", CP " + std::to_string(spread.context) + " (" + in_words(by.method) + ")";
  if (by.expert > 1) text += ", EP " + std::to_string(by.expert);
  if (by.expert > 1 && by.experts().expert_tensor > 1) text += ", ETP " + std::to_string(by.experts().expert_tensor);
  if (!hidden) return text + ".\n";
  std::string shares;
  for (auto const& kind : exchange_kinds)
    if (auto const share = (*hidden).*kind.share; share > 0)
      shares += (shares.empty() ? "" : ", ") + std::string(kind.word) + " " + std::to_string(share / 10) + " %";
  return text + ". " + (shares.empty() ? "No exchange is hidden by computation" : "Computation hides of exchanges: " + shares) + ".\n";
}

nlohmann::ordered_json to_json(ballast::model_setting const& by, std::optional<ballast::hidden_share> const& hidden) {
  nlohmann::ordered_json json{{"framework", by.framework.name},
                              {"head_loss", to_string(by.loss)},
                              {"optimizer", by.optimizer.name},
                              {"offload", in_words(by.moved)},
                              {"attention", attention_kernels[static_cast<std::size_t>(by.attention)].word},
                              {"fp8_experts", by.fp8_experts},
                              {"recompute_modules", to_string(by.recompute_modules)},
                              {"train", in_words(by.language)},
                              {"tensor", by.spread.tensor},
                              {"context", by.spread.context},
                              {"context_method", in_words(by.method)},
                              {"expert", by.expert},
                              {"expert_tensor", by.experts().expert_tensor},
                              {"data", by.spread.data},
                              {"zero", by.spread.zero},
                              {"overlap", nullptr}};
  if (by.language.stored.bits > 0) json["stored_bits"] = static_cast<double>(by.language.stored.bits) / 1000;
  for (auto const& part : frozen_parts)
    if ((by.*part.is).what != ballast::trained::all) json["freeze"].push_back(part.word);
  if (hidden) json["overlap"] = nlohmann::ordered_json::object();
  if (hidden)
    for (auto const& kind : exchange_kinds) json["overlap"][std::string(kind.word)] = (*hidden).*kind.share / 10;
  return json;
}

}  // namespace ballast_cli
