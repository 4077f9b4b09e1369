// SPDX-License-Identifier: Apache-2.0
#include "planning/memory_question.hpp"

#include <ballast/core/error.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/longest_sequence.hpp>

#include <algorithm>

namespace ballast_cli {

namespace {

using ballast::training_setting;

struct changed_setting {
  std::string what;
  training_setting by;
};

/// Settings on the same devices that may need less.
[[nodiscard]] std::vector<changed_setting> changes_of(ballast::transformer const& model, training_setting const& by, bool images) {
  using enum ballast::recompute_setting::kind;
  std::vector<changed_setting> out;
  auto const change = [&](std::string what, auto const& apply) {
    auto other = by;
    apply(other);
    if (!(other == by)) out.push_back({std::move(what), std::move(other)});
  };
  auto const recompute = [&](char const* name) {
    if (by.recompute.what == none)
      change(std::string("recompute ") + name,
             [&](auto& s) { s.recompute = {.what = modules, .modules = ballast::module_set_named(name)}; });
  };
  change("recompute all layers", [](auto& s) { s.recompute = {.what = uniform}; });
  if (model.experts > 0) recompute("moe_act");
  recompute("layernorm");
  if (by.model.attention == ballast::attention_kernel::stored_scores) {
    recompute("core_attn");
    change("fused attention", [](auto& s) { s.model.attention = ballast::attention_kernel::fused; });
  }
  if (model.experts == 0 || model.expert_layers != ballast::layer_set::all()) recompute("mlp");
  auto const megatron = by.model.framework.count == ballast::tensor_count::megatron;
  if (megatron)
    change("a loss in place (--cross-entropy-fusion-impl te)", [](auto& s) { s.model.loss = {.how = ballast::head_loss::kind::in_place}; });
  else
    change("a fused loss (linear cross entropy, Liger)", [](auto& s) { s.model.loss = {.how = ballast::head_loss::kind::fused}; });
  if (by.model.spread.data > 1 && by.model.spread.zero < 3)
    change("ZeRO stage " + std::to_string(by.model.spread.zero + 1), [](auto& s) { ++s.model.spread.zero; });
  if (images && by.model.spread.tensor > 1 && by.model.vision_tensor == 0)
    change("a tower of TP 1, whose devices share out the images", [](auto& s) { s.model.vision_tensor = 1; });
  if (by.micro_batch % 2 == 0)
    change("micro-batches of half the sequences", [](auto& s) {
      s.micro_batch /= 2;
      s.micro_batches *= 2;
    });
  if (by.model.optimizer == ballast::optimizer_named("adam"))
    change("8-bit moments", [](auto& s) { s.model.optimizer = ballast::optimizer_named("adam-8bit"); });
  return out;
}

[[nodiscard]] std::vector<ballast::memory_parts> stages_of(asked_model const& model, training_setting const& by, bool hopper) {
  return model.images ? ballast::memory_of(*model.images, by, model.batch_of(by), hopper) : ballast::memory_of(model.language, by, hopper);
}

[[nodiscard]] std::int64_t peak_of(asked_model const& model, training_setting const& by, bool hopper) {
  return ballast::largest_of(stages_of(model, by, hopper)).peak();
}

/// Tokens of the longest sequence that fits; with a tower, of those that hold the tiles.
[[nodiscard]] std::int64_t longest_of(asked_model const& model, training_setting by, bool hopper) {
  if (!model.images) return ballast::longest_sequence(model.language, by, {.hopper = hopper}).tokens;
  auto const fits = [&](std::int64_t tokens) {
    by.sequence = tokens;
    try {
      return peak_of(model, by, hopper) <= by.pipeline.memory;
    } catch (ballast::invalid_input const&) {  // its bytes reach 2^63
      return false;
    }
  };
  std::int64_t fitting = 0, failing = (std::int64_t{1} << 30) / by.micro_batch + 1;
  while (failing - fitting > 1) {
    auto const middle = fitting + (failing - fitting) / 2;
    (fits(middle) ? fitting : failing) = middle;
  }
  return fitting;
}

}  // namespace

ballast::batch_shape asked_model::batch_of(training_setting const& by) const {
  auto const tokens = by.micro_batch * by.sequence;
  auto const most = images ? tokens / images->projector.tokens : 0;
  return {.tokens = tokens, .squares = tokens * by.sequence, .tiles = tiles.value_or(most)};
}
std::int64_t asked_model::parameters() const { return images ? ballast::parameters(*images) : ballast::parameters(language); }

memory_answer answer_of(asked_model const& model, training_setting const& by, ballast::cluster const& on) {
  require_valid(by, model.language);
  auto const hopper = is_hopper(on.device);
  memory_answer out{.stages = stages_of(model, by, hopper), .changes = {}, .longest = longest_of(model, by, hopper)};
  auto const peak = ballast::largest_of(out.stages).peak();
  auto const time_of = [&](training_setting const& s) -> std::optional<double> {
    if (model.images) return std::nullopt;  // the time of a tower depends on what each sample has
    try {
      return ballast::judge_setting(model.language, s, on).step_ms();
    } catch (ballast::invalid_input const&) {  // a sequence may be too long to be timed, but not to be counted
      return std::nullopt;
    }
  };
  auto const time = time_of(by);
  for (auto const& [what, other] : changes_of(model.language, by, model.images.has_value())) {
    try {
      auto const saved = peak - peak_of(model, other, hopper);
      if (saved <= 0) continue;
      auto const changed = time_of(other);
      out.changes.push_back({what, saved, time && changed ? std::optional(*changed / *time - 1) : std::nullopt});
    } catch (ballast::invalid_input const&) {  // a change that this model or these degrees do not allow
    }
  }
  std::sort(out.changes.begin(), out.changes.end(),
            [](auto const& a, auto const& b) { return a.saved != b.saved ? a.saved > b.saved : a.what < b.what; });
  return out;
}

}  // namespace ballast_cli
