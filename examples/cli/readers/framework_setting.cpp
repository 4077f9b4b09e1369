// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include "errors.hpp"
#include "nearest.hpp"
#include "readers/argument_lines.hpp"
#include "readers/detail_keys.hpp"
#include "readers/setting_documents.hpp"

#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

std::int64_t gpus_of(setting_table const& table, setting_request const& asked) {
  if (!asked.gpus) throw bad_input(table.file() + ": the setting does not say the number of devices; --gpus does");
  return *asked.gpus;
}

std::int64_t ranks_of(setting_table const& table, std::int64_t gpus, std::int64_t degrees, std::string const& in_words) {
  if (gpus % degrees != 0)
    throw bad_input(table.file() + ": " + std::to_string(gpus) + " devices are no multiple of " + in_words + ", " +
                    std::to_string(degrees));
  return gpus / degrees;
}

void set_global_batch(setting_table const& table, ballast::training_setting& by, std::int64_t global, std::string_view key) {
  auto const of_all = by.micro_batch * by.ranks();
  if (global % of_all != 0)
    throw bad_input(table.file() + ": " + std::string(key) + " = " + std::to_string(global) + " is no multiple of the " +
                    std::to_string(of_all) + " sequences of a micro-batch on " + std::to_string(by.ranks()) + " data-parallel ranks");
  by.micro_batches = global / of_all;
}

std::string decimal_word(std::string_view word) {
  auto const e = (std::min)(word.find_first_of("eE"), word.size());
  auto mantissa = std::string(word.substr(0, e)), exponent = std::string(word.substr((std::min)(e + 1, word.size())));
  auto const digits = [](std::string const& text, std::string_view among) {
    return !text.empty() && text.find_first_not_of(among) == text.npos && text.find_first_of("0123456789") != text.npos;
  };
  auto const sign = exponent.starts_with('-') || exponent.starts_with('+');
  if (word.size() > 32 || exponent.size() > (sign ? 3 : 2)) return {};  // so that a double has it
  if (!digits(mantissa, "0123456789.") || std::count(mantissa.begin(), mantissa.end(), '.') > 1) return {};
  if (mantissa.starts_with('.')) mantissa.insert(0, "0");
  if (mantissa.ends_with('.')) mantissa += '0';
  if (e == word.size()) return mantissa;
  if (!digits(exponent.substr(sign ? 1 : 0), "0123456789")) return {};
  if (mantissa.find('.') == mantissa.npos) mantissa += ".0";
  return mantissa + "e" + (sign ? "" : "+") + exponent;
}

std::string decimal_word(setting_table& table, std::string_view key, std::string_view otherwise) {
  auto word = decimal_word(table.word_or_none(key));
  table.ignore({key});
  return word.empty() ? std::string(otherwise) : word;
}

void take_learning_rate(setting_table& table, std::initializer_list<std::string_view> keys, imported_setting& out) {
  for (auto const key : keys)
    if (auto word = decimal_word(table, key, ""); !word.empty() && out.details.learning_rate.empty())
      out.details.learning_rate = std::move(word);
}

bool draws_answers(training_task task) { return task == training_task::ppo || task == training_task::grpo || task == training_task::rloo; }

bool packs_samples(imported_setting const& of) {
  using enum training_task;
  return of.details.packing.value_or(of.task == unsaid || of.task == pretraining || of.task == finetuning);
}

void take_answers(setting_table& table, std::string const& section, std::int64_t answer, std::string_view penalty, std::int64_t step,
                  imported_setting& out) {
  auto& d = out.details;
  d.answer = (std::min)(answer, out.setting.sequence - 1);
  d.prompt = out.setting.sequence - d.answer;
  d.answers = table.number(section + "num_generations", 1, 1 << 20).value_or(8);
  d.penalty = decimal_word(table, section + "beta", penalty);
  auto const inner = !section.empty();  // of axolotl
  if (table.flag(section + "use_vllm") && table.word(section + "vllm_mode", inner ? "server" : "colocate") == "colocate")
    d.engine = table.number_or(inner ? "vllm.tensor_parallel_size" : "vllm_tensor_parallel_size", 1);
  auto const steps = table.number(section + "steps_per_generation", 1, 1 << 20);
  d.drawn = table.number(section + "generation_batch_size").value_or(steps ? *steps * step : out.setting.global_batch());
}

void require_suits(setting_table const& table, imported_setting const& out) {
  if (out.setting.micro_batches > 1 << 20) throw bad_input(table.file() + ": more than 2^20 micro-batches of a rank in a step");
  if (out.setting.gpus() > std::int64_t{1} << 24) throw bad_input(table.file() + ": more than 2^24 devices");
  if (out.setting.model.expert > 1 && out.model.experts == 0)  // before what else does not suit
    throw bad_input(table.file() + ": expert = " + std::to_string(out.setting.model.expert) +
                    " needs a model with experts; --model names it");
  try {
    require_valid(out.setting, out.model);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(table.file() + ": " + e.what());
  }
}

void take_model(setting_table& table, setting_request const& asked, std::initializer_list<std::string_view> keys, imported_setting& out) {
  std::string key, name;
  for (auto const candidate : keys)
    if (auto given = table.word(candidate); !given.empty() && name.empty()) {
      key = candidate;
      name = std::move(given);
    }
  if (asked.model) {
    out.model = *asked.model;
    return;
  }
  auto const known = !name.empty() && asked.find_model ? asked.find_model(name) : std::nullopt;
  if (!known)
    throw bad_input(table.file() + ": the setting does not hold the shape of the model" +
                    (name.empty() ? "" : ", and " + key + " = " + printable(name) + " is none that is known here") + "; --model names it");
  out.model = known->language;
  out.reads_images = known->reads_images;
}

bool setting_source::calls(std::string_view command) const {
  return std::any_of(commands.begin(), commands.end(), [&](std::string const& word) {
    return word == command || (word.size() > command.size() && word.ends_with(command) && word[word.size() - command.size() - 1] == '/');
  });
}

bool setting_source::has_any(std::span<std::string_view const> keys) const {
  return std::any_of(keys.begin(), keys.end(), [&](auto key) { return table.has_section(key); });
}

std::span<framework_format const* const> framework_formats() {
  static constexpr framework_format const* all[]{
      &megatron_format,     &megatron_swift_format, &swift_format, &deepspeed_format,    &torchtitan_format,
      &llamafactory_format, &axolotl_format,        &trl_format,   &transformers_format, &accelerate_format,
      &torchtune_format,    &litgpt_format,         &verl_format,  &openrlhf_format,     &nemo_rl_format,
      &automodel_format,    &bridge_format,         &nemo_format};
  return all;
}

training_task task_named(std::string_view word) {
  using enum training_task;
  constexpr std::pair<std::string_view, training_task> known[]{
      {"", unsaid},   {"pt", pretraining}, {"sft", finetuning}, {"dpo", dpo},   {"ipo", dpo},          {"dpo_norm_loss", dpo},
      {"orpo", orpo}, {"simpo", simpo},    {"cpo", cpo},        {"kto", kto},   {"rm", reward},        {"reward", reward},
      {"ppo", ppo},   {"grpo", grpo},      {"gdpo", grpo},      {"rloo", rloo}, {"gkd", distillation}, {"distillation", distillation}};
  auto const* const at = std::find_if(std::begin(known), std::end(known), [&](auto const& k) { return k.first == word; });
  return at == std::end(known) ? other : at->second;
}

std::string_view in_words(training_task task) {
  constexpr std::string_view names[]{"training that its program names",
                                     "training of another kind",
                                     "pretraining",
                                     "supervised finetuning",
                                     "training by DPO",
                                     "training by ORPO",
                                     "training by SimPO",
                                     "training by CPO",
                                     "training by KTO",
                                     "training of a reward model",
                                     "training by PPO",
                                     "training by GRPO",
                                     "training by RLOO",
                                     "distillation"};
  return names[static_cast<std::size_t>(task)];
}

std::string framework_names() {
  std::string out;
  for (auto const* const format : framework_formats()) out += (out.empty() ? "" : ", ") + std::string(format->name);
  return out;
}

framework_format const& framework_named(std::string const& option, std::string const& word) {
  std::vector<std::string> words;
  for (auto const* const format : framework_formats()) {
    if (word == format->word || word == format->name) return *format;
    words.emplace_back(format->word);
  }
  std::string all;
  for (auto const& known : words) all += (all.empty() ? "" : ", ") + known;
  throw bad_input(option + " " + printable(word) + ": expected one of " + all + did_you_mean(word, words));
}

imported_setting read_framework_setting(std::string_view text, std::string const& name, setting_request const& asked) {
  auto const ends = [&](std::string_view ending) { return name.ends_with(ending); };
  auto more = asked;
  std::vector<std::string> unread;
  auto const read = [&]() -> setting_source {
    if (ends(".toml")) return {.table = read_toml_setting(text, name), .overrides = setting_table(name), .format = "toml"};
    if (ends(".json")) return {.table = read_json_setting(text, name), .overrides = setting_table(name), .format = "json"};
    if (ends(".yaml") || ends(".yml")) return {.table = read_yaml_setting(text, name), .overrides = setting_table(name), .format = "yaml"};
    auto lines = read_argument_lines(text, name);
    auto const says = lines.overrides.has("trainer.n_gpus_per_node") && lines.overrides.has_section("actor_rollout_ref.");  // verl
    if (!more.gpus && !says) more.gpus = lines.gpus;
    unread = std::move(lines.unread);
    more.find_file = [documents = std::move(lines.documents), elsewhere = asked.find_file](std::string const& file) {
      auto const at = documents.find(file);  // that the script writes
      return at != documents.end() ? std::optional(at->second) : elsewhere ? elsewhere(file) : std::nullopt;
    };
    if (lines.flags.entries().empty())  // a command that is given its setting in a file
      for (auto const& word : lines.commands)
        if (word.ends_with(".yaml") || word.ends_with(".yml"))
          if (auto const document = more.find_file(word)) {
            std::erase_if(unread, [&](auto const& line) { return line.ends_with("the setting in " + printable(word)); });
            return {.table = read_yaml_setting(*document, word),
                    .overrides = std::move(lines.overrides),
                    .commands = std::move(lines.commands),
                    .format = "yaml"};
          }
    return {
        .table = std::move(lines.flags), .overrides = std::move(lines.overrides), .commands = std::move(lines.commands), .format = "flags"};
  };
  auto source = read();
  framework_format const* best = nullptr;
  if (!asked.framework.empty()) {
    best = &framework_named("--framework", asked.framework);
  } else {
    int most = 0;
    for (auto const* const format : framework_formats())
      if (auto const likeness = format->likeness(source); likeness > most) {
        most = likeness;
        best = format;
      }
  }
  if (best == nullptr)
    throw bad_input(name + ": no key of a framework is in it" +
                    (unread.empty() ? "" : ", and what is in " + unread.front() + " is not known") + "; read are settings of " +
                    framework_names());
  auto numbers = numbers_in(*best, source);
  auto const float16 = trains_in_float16(source);
  auto out = best->read(std::move(source), more);
  out.details.numbers = std::move(numbers);
  keep_numbers_of_task(out);
  if (float16) out.details.core["fp16"] = "true";
  for (auto& line : unread) {  // but for what the reader looked for, and says itself
    auto const file = line.substr(line.rfind(' ') + 1);
    auto const said =
        std::any_of(out.unread.begin(), out.unread.end(), [&](auto const& u) { return u.find(" " + file + ", a file") != u.npos; });
    if (said) line.clear();
  }
  std::erase(unread, std::string());
  out.unread.insert(out.unread.begin(), unread.begin(), unread.end());
  return out;
}

}  // namespace ballast_cli
