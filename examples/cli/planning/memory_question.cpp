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
[[nodiscard]] std::vector<changed_setting> changes_of(ballast::transformer const& model, training_setting const& by) {
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
  if (by.micro_batch % 2 == 0)
    change("micro-batches of half the sequences", [](auto& s) {
      s.micro_batch /= 2;
      s.micro_batches *= 2;
    });
  if (by.model.optimizer == ballast::optimizer_named("adam"))
    change("8-bit moments", [](auto& s) { s.model.optimizer = ballast::optimizer_named("adam-8bit"); });
  return out;
}

[[nodiscard]] std::int64_t peak_of(ballast::transformer const& model, training_setting const& by, bool hopper) {
  return ballast::largest_of(ballast::memory_of(model, by, hopper)).peak();
}

}  // namespace

memory_answer answer_of(ballast::transformer const& model, training_setting const& by, ballast::cluster const& on) {
  require_valid(by, model);
  auto const hopper = is_hopper(on.device);
  memory_answer out{.stages = ballast::memory_of(model, by, hopper),
                    .changes = {},
                    .longest = ballast::longest_sequence(model, by, {.hopper = hopper}).tokens};
  auto const peak = ballast::largest_of(out.stages).peak();
  auto const time_of = [&](training_setting const& s) -> std::optional<double> {
    try {
      return ballast::judge_setting(model, s, on).step_ms();
    } catch (ballast::invalid_input const&) {  // a sequence may be too long to be timed, but not to be counted
      return std::nullopt;
    }
  };
  auto const time = time_of(by);
  for (auto const& [what, other] : changes_of(model, by)) {
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
