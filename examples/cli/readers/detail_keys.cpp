// SPDX-License-Identifier: Apache-2.0
#include "readers/detail_keys.hpp"

#include "readers/trainer_keys.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace ballast_cli {

namespace {

constexpr std::string_view adapter_scale = "lora_alpha", decay = "weight decay", warm_steps = "warm-up steps",
                           warm_share = "share of warm-up", run_epochs = "epochs", run_steps = "steps of the run",
                           preference_beta = "beta of preferences";

/// Where frameworks have a number. Of several keys of one, the first is read that a file has, and the first written whose section it has.
struct detail_place {
  std::string_view formats;  ///< words of frameworks
  std::string_view what, key;
  bool makes = false;  ///< whether a file without the section gets it
};
constexpr detail_place detail_places[]{{"trl transformers swift llamafactory axolotl litgpt megatron-swift", adapter_scale, "lora_alpha"},
                                       {"torchtune", adapter_scale, "model.lora_alpha"},
                                       {"verl", adapter_scale, "actor_rollout_ref.model.lora.alpha"},
                                       {"verl", adapter_scale, "actor_rollout_ref.model.lora_alpha"},
                                       {"verl", adapter_scale, "model.lora_alpha"},
                                       {"openrlhf", adapter_scale, "ds.lora.alpha"},
                                       {"openrlhf", adapter_scale, "lora_alpha"},
                                       {"nemo-rl", adapter_scale, "policy.megatron_cfg.peft.alpha"},
                                       {"nemo-rl", adapter_scale, "policy.dtensor_cfg.lora_cfg.alpha"},
                                       {"automodel bridge nemo", adapter_scale, "peft.alpha"},
                                       {"trl transformers swift llamafactory axolotl megatron megatron-swift", decay, "weight_decay"},
                                       {"torchtune automodel", decay, "optimizer.weight_decay"},
                                       {"torchtitan bridge", decay, "optimizer.weight_decay", true},
                                       {"litgpt", decay, "optimizer.init_args.weight_decay"},
                                       {"deepspeed", decay, "optimizer.params.weight_decay"},
                                       {"verl", decay, "actor_rollout_ref.actor.optim.weight_decay"},
                                       {"verl", decay, "optim.weight_decay"},
                                       {"openrlhf", decay, "actor.adam.weight_decay"},
                                       {"openrlhf", decay, "adam.weight_decay"},
                                       {"nemo-rl", decay, "policy.megatron_cfg.optimizer.weight_decay"},
                                       {"nemo-rl", decay, "policy.optimizer.kwargs.weight_decay"},
                                       {"nemo", decay, "optim.config.weight_decay", true},
                                       {"nemo", decay, "model.optim.weight_decay"},
                                       {"trl transformers swift llamafactory axolotl", warm_steps, "warmup_steps"},
                                       {"torchtune", warm_steps, "lr_scheduler.num_warmup_steps"},
                                       {"torchtitan", warm_steps, "lr_scheduler.warmup_steps", true},
                                       {"litgpt", warm_steps, "train.lr_warmup_steps"},
                                       {"megatron megatron-swift", warm_steps, "lr_warmup_iters"},
                                       {"bridge", warm_steps, "scheduler.lr_warmup_iters", true},
                                       {"automodel", warm_steps, "lr_scheduler.lr_warmup_steps", true},
                                       {"nemo", warm_steps, "optim.lr_scheduler.warmup_steps"},
                                       {"nemo", warm_steps, "model.optim.sched.warmup_steps"},
                                       {"verl", warm_steps, "actor_rollout_ref.actor.optim.lr_warmup_steps"},
                                       {"verl", warm_steps, "optim.lr_warmup_steps"},
                                       {"trl transformers swift llamafactory axolotl", warm_share, "warmup_ratio"},
                                       {"litgpt", warm_share, "train.lr_warmup_fraction"},
                                       {"megatron megatron-swift", warm_share, "lr_warmup_fraction"},
                                       {"bridge", warm_share, "scheduler.lr_warmup_fraction", true},
                                       {"verl", warm_share, "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio"},
                                       {"verl", warm_share, "optim.lr_warmup_steps_ratio"},
                                       {"openrlhf", warm_share, "actor.lr_warmup_ratio"},
                                       {"openrlhf", warm_share, "lr_warmup_ratio"},
                                       {"trl transformers swift llamafactory megatron-swift", run_epochs, "num_train_epochs"},
                                       {"megatron-swift", run_epochs, "max_epochs"},
                                       {"axolotl", run_epochs, "num_epochs"},
                                       {"torchtune", run_epochs, "epochs"},
                                       {"litgpt", run_epochs, "train.epochs"},
                                       {"verl", run_epochs, "trainer.total_epochs"},
                                       {"openrlhf", run_epochs, "train.max_epochs"},
                                       {"openrlhf", run_epochs, "max_epochs"},
                                       {"automodel", run_epochs, "step_scheduler.num_epochs"},
                                       {"nemo-rl", run_epochs, "grpo.max_num_epochs"},
                                       {"nemo-rl", run_epochs, "sft.max_num_epochs"},
                                       {"trl transformers swift llamafactory axolotl", run_steps, "max_steps"},
                                       {"torchtitan", run_steps, "training.steps"},
                                       {"litgpt", run_steps, "train.max_steps"},
                                       {"megatron megatron-swift", run_steps, "train_iters"},
                                       {"bridge", run_steps, "train.train_iters"},
                                       {"nemo", run_steps, "trainer.max_steps"},
                                       {"automodel", run_steps, "step_scheduler.max_steps"},
                                       {"verl", run_steps, "trainer.total_training_steps"},
                                       {"nemo-rl", run_steps, "grpo.max_num_steps"},
                                       {"nemo-rl", run_steps, "sft.max_num_steps"},
                                       {"trl swift megatron-swift", preference_beta, "beta"},
                                       {"llamafactory", preference_beta, "pref_beta"},
                                       {"axolotl", preference_beta, "rl_beta"},
                                       {"torchtune", preference_beta, "loss.beta"},
                                       {"openrlhf", preference_beta, "model.beta"},
                                       {"openrlhf", preference_beta, "beta"},
                                       {"nemo-rl", preference_beta, "dpo.reference_policy_kl_penalty"}};

[[nodiscard]] bool is_of(detail_place const& place, std::string_view word) {
  auto all = place.formats;
  while (!all.empty()) {
    auto const end = (std::min)(all.find(' '), all.size());
    if (all.substr(0, end) == word) return true;
    all.remove_prefix((std::min)(end + 1, all.size()));
  }
  return false;
}

[[nodiscard]] std::string_view parent_of(std::string_view key) {
  auto const dot = key.rfind('.');
  return dot == key.npos ? std::string_view() : key.substr(0, dot);
}

/// A line behind the first that is `line`, or a section at the end.
[[nodiscard]] bool insert_toml(std::string& text, detail_place const& place, std::string const& value) {
  auto const section = "[" + std::string(parent_of(place.key)) + "]\n",
             line = std::string(place.key.substr(parent_of(place.key).size() + 1)) + " = " + value + "\n";
  auto const at = text.find(section);
  if (at == text.npos && !place.makes) return false;
  if (at == text.npos)
    text += "\n" + section + line;
  else
    text.insert(at + section.size(), line);
  return true;
}

[[nodiscard]] bool insert_flag(std::string& text, detail_place const& place, std::string const& value) {
  auto const parent = std::string(parent_of(place.key));
  if (!parent.empty() && text.find("--" + parent + ".") == text.npos) return false;
  auto name = std::string(place.key);
  if (is_of(place, "megatron") && text.find("--micro-batch-size") != text.npos) std::replace(name.begin(), name.end(), '_', '-');
  text.insert(text.find_last_not_of('\n') + 1, (text.find(" \\\n") == text.npos ? " --" : " \\\n  --") + name + " " + value);
  return true;
}

[[nodiscard]] bool insert_json(std::string& text, detail_place const& place, std::string const& value) {
  std::string_view const section = "\"params\": {";  // of the optimiser
  auto const at = text.find(section);
  if (at == text.npos || parent_of(place.key) != "optimizer.params") return false;
  text.insert(at + section.size(), "\"" + std::string(place.key.substr(parent_of(place.key).size() + 1)) + "\": " + value + ", ");
  return true;
}

[[nodiscard]] bool insert_yaml(std::string& text, detail_place const& place, std::string const& value) {
  auto key = place.key;
  std::size_t begin = 0, end = text.size();
  std::string indent;
  auto const line_end = [&](std::size_t from) { return (std::min)(text.find('\n', from), text.size() - 1) + 1; };
  for (auto dot = key.find('.'); dot != key.npos; dot = key.find('.')) {
    auto const head = indent + std::string(key.substr(0, dot)) + ":\n";
    while (begin < end && text.compare(begin, head.size(), head) != 0) begin = line_end(begin);
    if (begin >= end) {
      if (!place.makes) return false;
      text.insert(begin = end, head);
      end += head.size();
    }
    begin += head.size();
    indent += "  ";
    key.remove_prefix(dot + 1);
    auto last = begin;
    while (last < end && text.compare(last, indent.size(), indent) == 0) last = line_end(last);
    end = last;
  }
  text.insert(indent.empty() ? text.size() : begin, indent + std::string(key) + ": " + value + "\n");
  return true;
}

/// What a file says of bfloat16, and says of float16 in its place.
struct half_place {
  std::string_view format, from, to;
};
constexpr half_place half_places[]{{"trl", "--bf16 true", "--fp16 true"},
                                   {"trl", "--dtype bfloat16", "--dtype float16"},
                                   {"swift", "--torch_dtype bfloat16", "--torch_dtype float16"},
                                   {"llamafactory", "bf16: true", "fp16: true"},
                                   {"axolotl", "bf16: true", "fp16: true"},
                                   {"accelerate", "mixed_precision: bf16", "mixed_precision: fp16"},
                                   {"deepspeed", "\"bf16\": {\"enabled\"", "\"fp16\": {\"enabled\""},
                                   {"litgpt", "precision: bf16-", "precision: 16-"},
                                   {"nemo-rl", "precision: bfloat16", "precision: float16"},
                                   {"openrlhf", "--ds.zero_stage", "--ds.param_dtype fp16 \\\n  --ds.zero_stage"}};

/// Whether a trainer of Transformers runs parts of an epoch.
[[nodiscard]] bool counts_parts(std::string_view word) {
  return word == "trl" || word == "swift" || word == "llamafactory" || word == "axolotl";
}

}  // namespace

std::map<std::string_view, std::string> numbers_in(framework_format const& format, setting_source const& source) {
  std::map<std::string_view, std::string> out;
  for (auto const& place : detail_places) {
    if (!is_of(place, format.word) || out.contains(place.what)) continue;
    auto word = source.overrides.word_or_none(place.key);
    if (word.empty()) word = source.table.word_or_none(place.key);
    auto number = decimal_word(word);
    if (number.ends_with(".0")) number.resize(number.size() - 2);
    auto const warms = place.what == warm_steps || place.what == warm_share;
    if (number.empty() || (warms && std::stod(number) == 0)) continue;
    auto const share = place.what == warm_steps && std::stod(number) < 1;  // as newer versions of Transformers read it
    out.try_emplace(share ? warm_share : place.what, std::move(number));
  }
  if (out.contains(warm_steps)) out.erase(warm_share);  // which steps beat
  return out;
}

void keep_numbers_of_task(imported_setting& out) {
  using enum training_task;
  auto const task = out.task;
  if (task != dpo && task != orpo && task != simpo && task != cpo && task != kto) out.details.numbers.erase(preference_beta);
  if (out.setting.model.language.what != ballast::trained::low_rank) out.details.numbers.erase(adapter_scale);
}

bool trains_in_float16(setting_source const& source) {
  auto const word_of = [&](std::string_view key) {
    auto const word = source.overrides.word_or_none(key);
    return word.empty() ? source.table.word_or_none(key) : word;
  };
  auto const is = [&](std::string_view key, std::initializer_list<std::string_view> words) {
    auto const word = word_of(key);
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  auto const on = [&](std::string_view key) { return source.table.is_flag(key) || is(key, {"true", "True", "1", "yes"}); };
  if (on("bf16") || on("bf16.enabled")) return false;
  if (on("fp16") || on("fp16.enabled")) return true;
  constexpr std::string_view keys[]{"mixed_precision", "precision",      "torch_dtype",     "dtype",
                                    "param_dtype",     "ds.param_dtype", "policy.precision"};
  return std::any_of(std::begin(keys), std::end(keys),
                     [&](auto const key) { return is(key, {"fp16", "float16", "half", "torch.float16", "16-mixed", "16-true"}); });
}

void write_details(framework_format const& format, imported_setting const& of, std::string& text) {
  for (auto const& [what, value] : of.details.numbers) {
    auto const part = what == run_epochs && value.find('.') != value.npos;
    if (part && !counts_parts(format.word)) continue;
    if (what == adapter_scale && of.setting.model.language.what != ballast::trained::low_rank) continue;
    for (auto const& place : detail_places) {
      if (place.what != what || !is_of(place, format.word)) continue;
      auto const first = text.substr(0, text.find_first_of(" \n"));
      auto const done = text.starts_with('{')   ? insert_json(text, place, value)
                        : text.starts_with('[') ? insert_toml(text, place, value)
                        : first.ends_with(':')  ? insert_yaml(text, place, value)
                                                : insert_flag(text, place, value);
      if (done) break;
    }
  }
  if (!of.details.core.contains("fp16") || text.find("pure_bf16") != text.npos) return;
  for (auto const& place : half_places)
    if (auto const at = text.find(place.from); place.format == format.word && at != text.npos)
      text.replace(at, place.from.size(), place.to);
}

}  // namespace ballast_cli
