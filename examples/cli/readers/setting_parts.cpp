// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_parts.hpp"

#include "errors.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

[[nodiscard]] setting_entry const* entry_of(setting_table const& table, std::string_view key) {
  auto const& all = table.entries();
  auto const at = std::find_if(all.begin(), all.end(), [&](auto const& entry) { return entry.key == key; });
  return at == all.end() ? nullptr : &*at;
}

/// What one reference means; nothing if the table does not say it.
class reference_reader {
 public:
  /// `key` is whose value refers to others: "..x" is a key of the section around its own.
  reference_reader(setting_table const& table, std::string key) : table_(table), key_(std::move(key)) {}

  [[nodiscard]] std::optional<std::vector<std::string>> read(std::string_view word) {
    if (!word.starts_with("${") || !word.ends_with("}") || depth_ > 8) return std::nullopt;
    ++depth_;
    auto out = inner(word.substr(2, word.size() - 3));
    --depth_;
    return out;
  }

 private:
  [[nodiscard]] std::optional<std::vector<std::string>> named(std::string_view key) {
    std::string from;
    if (key.starts_with('.')) {
      from = key_;
      for (; key.starts_with('.'); key.remove_prefix(1)) from.resize(from.find('.') == from.npos ? 0 : from.rfind('.'));
      if (!from.empty()) from += '.';
    }
    auto const* const entry = entry_of(table_, from + std::string(key));
    if (entry == nullptr) return std::nullopt;
    if (entry->words.size() != 1 || !entry->words[0].starts_with("${")) return entry->words;
    auto const own = std::exchange(key_, entry->key);
    auto out = read(entry->words[0]);
    key_ = own;
    return out;
  }
  [[nodiscard]] std::optional<std::vector<std::string>> value(std::string_view word) {
    if (word.starts_with("${")) return read(word);
    return std::vector{std::string(word)};
  }
  [[nodiscard]] std::optional<std::vector<std::string>> inner(std::string_view body) {
    auto const colon = body.find(':');
    if (colon == body.npos) return named(body);
    auto const how = body.substr(0, colon);
    auto const arguments = parted(body.substr(colon + 1));
    if (how == "oc.select" && !arguments.empty()) {
      if (auto found = named(arguments[0])) return found;
      return arguments.size() > 1 ? value(arguments[1]) : std::nullopt;
    }
    if (how != "mul" || arguments.size() != 2) return std::nullopt;
    auto const a = number(arguments[0]), b = number(arguments[1]);
    if (!a || !b) return std::nullopt;
    return std::vector{std::to_string(*a * *b)};
  }
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view word) {
    auto const words = value(word);
    if (!words || words->size() != 1) return std::nullopt;
    auto const& text = (*words)[0];
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    return std::stoll(text);
  }
  /// Arguments between commas, but not those in brackets.
  [[nodiscard]] static std::vector<std::string_view> parted(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t first = 0, open = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] == '{') ++open;
      if (i < text.size() && text[i] == '}' && open > 0) --open;
      if (i < text.size() && (text[i] != ',' || open > 0)) continue;
      auto part = text.substr(first, i - first);
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      out.push_back(part);
      first = i + 1;
    }
    return out;
  }

  setting_table const& table_;
  std::string key_;
  int depth_ = 0;
};

}  // namespace

setting_table without_references(setting_table const& in) {
  setting_table out(in.file());
  for (auto entry : in.entries()) {
    if (entry.words.size() == 1)
      if (auto words = reference_reader(in, entry.key).read(entry.words[0])) entry.words = std::move(*words);
    auto const path = entry.words.size() == 1 && (entry.key.ends_with("path") || entry.key.ends_with("partial_pretrain"));
    if (path && entry.words[0].starts_with("$"))  // the folder is not known here, but the model may be
      entry.words[0].erase(0, entry.words[0].rfind('/') + 1);
    out.add(std::move(entry));
  }
  return out;
}

setting_table merged(setting_table const& upper, setting_table const& lower) {
  setting_table out(upper.file());
  for (auto const& entry : upper.entries()) out.add(entry);
  for (auto const& entry : lower.entries())
    if (entry_of(upper, entry.key) == nullptr && !upper.has_section(entry.key + ".")) out.add(entry);
  return out;
}

std::int64_t degree_of(setting_table& table, std::string const& key) {
  if (auto const* const entry = entry_of(table, key); entry != nullptr && entry->words.size() == 1 && entry->words[0] == "none") {
    table.ignore({key});
    return 1;
  }
  auto const value = table.number_or(key, 1, -1);
  if (value > 1 << 16) table.refuse(key, "is above 2^16");
  return (std::max)(value, std::int64_t{1});
}

void add_word(setting_table& table, std::string key, std::string word) {
  if (entry_of(table, key) == nullptr) table.add({.key = std::move(key), .words = {std::move(word)}, .place = table.file()});
}

setting_table megatron_keys_below(setting_table& in, std::initializer_list<std::string_view> sections) {
  constexpr std::pair<std::string_view, std::string_view> renamed[]{
      {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
      {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
      {"num_moe_experts", "num_experts"},
      {"activations_checkpoint_granularity", "recompute_granularity"},
      {"activations_checkpoint_method", "recompute_method"},
      {"activations_checkpoint_num_layers", "recompute_num_layers"},
      {"fp8_param", "fp8_param_gather"}};
  setting_table out(in.file());
  for (auto const section : sections) {
    for (auto entry : in.entries()) {
      if (!entry.key.starts_with(section)) continue;
      if (entry.key.find('.', section.size()) == std::string::npos) in.ignore({entry.key});
      entry.key.erase(0, section.size());
      for (auto const& [theirs, flag] : renamed)
        if (entry.key == theirs) entry.key = flag;
      auto const none = entry.words.size() == 1 && (entry.words[0] == "null" || entry.words[0] == "None");
      auto const no_format =
          (entry.key == "fp8" || entry.key == "fp4") && entry.words.size() == 1 && (entry.words[0] == "false" || entry.words[0] == "False");
      auto const dots = entry.key.find('.') != std::string::npos;
      if (!none && !dots && !no_format && entry_of(out, entry.key) == nullptr) out.add(std::move(entry));
    }
    auto const all = std::string(section) + "*";
    in.ignore({all});
  }
  return out;
}

imported_setting read_by_megatron(setting_table keys, setting_request const& asked, std::string const& framework) {
  setting_source source{.table = std::move(keys), .overrides = setting_table(""), .format = "yaml"};
  auto out = megatron_format.read(std::move(source), asked);
  out.framework = framework;
  out.task = training_task::unsaid;
  return out;
}

void set_fsdp(imported_setting& out) {
  auto& m = out.setting.model;
  m.framework = ballast::framework_named("eager");
  m.optimizer = ballast::optimizer_named("adam-fp32");
  m.kernels.kept_copies = true;
  m.kernels.stream_pools = true;  // reserved bytes are what a device must have
  m.spread.zero = m.spread.data > 1 ? 3 : 0;
  out.time.rates.family = ballast::kernel_family::eager;
  out.time.attention = ballast::attention_library::flash2;
  out.time.float_reduction = true;
}

namespace {

/// Adam of Transformer Engine: moments in float32 unless the file says otherwise, and perhaps a copy of parameters of whatever format.
void set_fused_adam(setting_table& in, std::string const& arguments, ballast::optimizer& optimizer) {
  auto const bytes = [&](char const* which) -> std::int64_t {
    auto const format = in.word(arguments + which, "float32");
    return format.ends_with("uint8") ? 1 : format.ends_with("float16") || format.ends_with("half") ? 2 : 4;
  };
  auto const moments = bytes("exp_avg_dtype") + bytes("exp_avg_sq_dtype"), copy = bytes("master_weight_dtype");
  auto const remainder = in.flag(arguments + "store_param_remainders") && optimizer.state.parameter == 2;
  auto const copies = in.flag(arguments + "master_weights");
  auto const kept = moments + (!copies ? 0 : remainder ? 2 : copy);
  if (kept == optimizer.state.optimizer) return;
  optimizer.name = copies ? "adam with master weights" : "fused adam";
  optimizer.state.optimizer = kept;
}

}  // namespace

void set_torch_optimizer(setting_table& in, std::string const& key, std::string const& arguments, imported_setting& out) {
  auto const name = in.word(key, "torch.optim.AdamW");
  auto last = name.substr(name.rfind('.') + 1);
  std::transform(last.begin(), last.end(), last.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  auto& optimizer = out.setting.model.optimizer;
  if (last == "fusedadam") {
    set_fused_adam(in, arguments, optimizer);
  } else if (last == "flashadamw" || last == "flashadam") {  // flashoptim 0.1.4: moments of a byte, with 16-bit scales for 32 each
    auto const bits = in.number(arguments + "master_weight_bits", 24, 32).value_or(24);
    optimizer.name = "flash adam";
    optimizer.state.optimizer = 2 + (optimizer.state.parameter == 2 ? (bits - 16) / 8 : 0);
    optimizer.moments = ballast::moment_form::blocks;
    optimizer.block = 64;
  } else if (last.find("cpu") != last.npos) {
    out.notes.push_back(key + " " + printable(name) + " is judged as Adam on the devices: the memory is too high");
  } else {
    auto const momentum = in.decimal_number(arguments + "momentum").value_or(0);
    set_optimizer(last, key, out);
    if (last == "sgd" && momentum > 0) optimizer.state.optimizer += optimizer.state.parameter;
    if (in.flag(arguments + "amsgrad")) optimizer.state.optimizer += optimizer.state.optimizer / 2;
  }
}

imported_role forward_role(setting_table const& table, std::string const& role, ballast::transformer const& model,
                           forward_model const& by) {
  imported_role out{.role = role, .of = {}, .resident = by.resident};
  out.of.framework = role;
  out.of.model = model;
  if (role == "reward") out.of.model.outputs = 1;
  auto& setting = out.of.setting;
  setting.pipeline.stages = static_cast<std::uint64_t>(by.stages);
  auto& m = setting.model;
  m.spread.tensor = by.tensor;
  m.spread.data = ranks_of(table, by.gpus, by.tensor * by.stages, "the degrees of the " + role + " model");
  m.spread.zero = by.sharded && m.spread.data > 1 ? 3 : 0;
  m.kernels.instances = by.replicas;
  if (model.experts > 0) {
    m.expert = by.expert;
    m.expert_tensor = by.expert_tensor;
    m.spread.sequence_parallel = by.tensor > 1 && by.expert > 1;
  }
  m.framework = ballast::framework_named("eager");
  m.language.what = ballast::trained::none;
  require_suits(table, out.of);
  return out;
}

std::int64_t greatest_node(std::int64_t gpus) {
  auto out = (std::min)(gpus, std::int64_t{8});
  while (gpus % out != 0) --out;
  return out;
}

}  // namespace ballast_cli
