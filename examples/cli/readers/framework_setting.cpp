// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include "errors.hpp"
#include "readers/argument_lines.hpp"
#include "readers/setting_documents.hpp"

#include <ballast/core/error.hpp>

#include <algorithm>
#include <utility>

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

void require_suits(setting_table const& table, imported_setting const& out) {
  if (out.setting.micro_batches > 1 << 20) throw bad_input(table.file() + ": more than 2^20 micro-batches of a rank in a step");
  if (out.setting.gpus() > std::int64_t{1} << 24) throw bad_input(table.file() + ": more than 2^24 devices");
  try {
    require_valid(out.setting, out.model);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(table.file() + ": " + e.what());
  }
}

imported_setting read_framework_setting(std::string_view text, std::string const& name, setting_request const& asked) {
  auto const ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".toml")) return read_torchtitan_setting(read_toml_setting(text, name), asked);
  if (ends(".json")) {
    auto table = read_json_setting(text, name);
    auto const sections = table.has_section("parallelism.") || table.has_section("training.");
    return sections ? read_torchtitan_setting(std::move(table), asked) : read_deepspeed_setting(std::move(table), asked);
  }
  auto const of_swift = [](setting_table const& table) {
    for (auto const* const key : {"max_length", "packing", "tuner_type", "train_type", "freeze_vit", "padding_free"})
      if (table.has(key)) return true;
    return false;
  };
  auto const of_hugging_face = [](setting_table const& table) {
    return table.has("per_device_train_batch_size") || table.has("deepspeed") || table.has("gradient_accumulation_steps");
  };
  if (ends(".yaml") || ends(".yml")) {
    auto table = read_yaml_setting(text, name);
    if (of_hugging_face(table)) return read_swift_setting(std::move(table), asked);
    auto const swift = of_swift(table);
    return read_megatron_setting(std::move(table), asked, swift);
  }
  auto lines = read_argument_lines(text, name);
  auto more = asked;
  if (!more.gpus) more.gpus = lines.gpus;
  auto const names = [&](char const* word) {
    return std::find(lines.commands.begin(), lines.commands.end(), word) != lines.commands.end();
  };
  if ((names("swift") || of_hugging_face(lines.flags)) && !names("megatron")) return read_swift_setting(std::move(lines.flags), more);
  auto const swift = names("megatron") || of_swift(lines.flags);
  return read_megatron_setting(std::move(lines.flags), more, swift);
}

}  // namespace ballast_cli
