// SPDX-License-Identifier: Apache-2.0
#include "readers/recipe_words.hpp"

#include "readers/setting_parts.hpp"

#include <algorithm>
#include <utility>

namespace ballast_cli {

namespace {

/// A word of a table, and the key of Megatron-LM that it sets: to what stands behind `=`, or to `value`.
struct recipe_word {
  std::string_view word;
  char const *key, *value = "";
};
constexpr recipe_word recipe_words[]{{"tp", "tensor_model_parallel_size"},
                                     {"pp", "pipeline_model_parallel_size"},
                                     {"vpp", "virtual_pipeline_model_parallel_size"},
                                     {"cp", "context_parallel_size"},
                                     {"ep", "expert_model_parallel_size"},
                                     {"etp", "expert_tensor_parallel_size"},
                                     {"sp", "sequence_parallel", "true"},
                                     {"seq", "seq_length"},
                                     {"mbs", "micro_batch_size"},
                                     {"gbs", "global_batch_size"},
                                     {"layout", "pipeline_model_parallel_layout"},
                                     {"first", "decoder_first_pipeline_num_layers"},
                                     {"last", "decoder_last_pipeline_num_layers"},
                                     {"embedding", "account_for_embedding_in_pipeline_split", "true"},
                                     {"loss", "account_for_loss_in_pipeline_split", "true"},
                                     {"again", "recompute_granularity", "selective"},
                                     {"full", "recompute_granularity", "full"},
                                     {"full", "recompute_method", "uniform"},
                                     {"full", "recompute_num_layers", "1"},
                                     {"te", "cross_entropy_fusion_impl", "te"},
                                     {"unfused", "cross_entropy_loss_fusion", "false"},
                                     {"short", "grad_reduce_in_bf16", "true"},
                                     {"aware", "use_precision_aware_optimizer", "true"},
                                     {"sums", "main_grads_dtype"},
                                     {"moments", "exp_avg_dtype"},
                                     {"moments", "exp_avg_sq_dtype"},
                                     {"masters", "main_params_dtype"},
                                     {"muon", "optimizer", "muon"},
                                     {"dist_muon", "optimizer", "dist_muon"},
                                     {"whole", "use_distributed_optimizer", "false"},
                                     {"fsdp", "use_megatron_fsdp", "true"},
                                     {"fsdp", "data_parallel_sharding_strategy", "optim_grads_params"},
                                     {"flex", "moe_token_dispatcher_type", "flex"},
                                     {"capacity", "moe_expert_capacity_factor"},
                                     {"capacity", "moe_pad_expert_input_to_capacity", "true"},
                                     {"mtp", "mtp_num_layers"},
                                     {"repeated", "mtp_use_repeated_layer", "true"},
                                     {"fp8", "fp8_format", "hybrid"},
                                     {"fp4", "fp4_format", "e2m1"},
                                     {"gather8", "fp8_param_gather", "true"},
                                     {"overlap", "overlap_grad_reduce", "true"},
                                     {"overlap", "overlap_param_gather", "true"},
                                     {"reduce", "overlap_grad_reduce", "true"},
                                     {"tpcomm", "tp_comm_overlap", "true"},
                                     {"epcomm", "overlap_moe_expert_parallel_comm", "true"},
                                     {"graphs", "cuda_graph_impl", "transformer_engine"},
                                     {"flash", "attention_backend", "flash"},
                                     {"local", "transformer_impl", "local"},
                                     {"workspace", "environment.CUBLAS_WORKSPACE_CONFIG", ":4096:8"}};
/// Words whose value is a list.
constexpr std::pair<std::string_view, char const*> recipe_lists[]{{"again", "recompute_modules"}, {"graphs", "cuda_graph_modules"}};
constexpr std::string_view importers_words[]{"lora", "attention", "frozen", "words", "devices", "nodes", "as"};

/// The part of `text` up to `end`, which is taken away with it.
[[nodiscard]] std::string_view cut_off(std::string_view& text, char end) {
  auto const at = text.find(end);
  auto const out = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return out;
}

[[nodiscard]] std::pair<std::string_view, std::string_view> name_and_value(std::string_view word) {
  auto const name = cut_off(word, '=');
  return {name, word};
}

void take_words(std::string_view line, std::vector<std::string_view>& into) {
  while (!line.empty()) into.push_back(cut_off(line, ' '));
}

}  // namespace

bool named_recipe::has(std::string_view word) const {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return name_and_value(w).first == word; });
}

std::optional<std::string_view> named_recipe::value(std::string_view word) const {
  for (auto const w : words)
    if (auto const [key, text] = name_and_value(w); key == word && key.size() != w.size()) return text;
  return std::nullopt;
}

std::optional<named_recipe> recipe_named(std::string_view table, std::string_view name) {
  std::string_view family;
  while (!table.empty()) {
    auto line = cut_off(table, '\n');
    auto const head = cut_off(line, ' ');
    if (head == "=") {
      family = line;
      continue;
    }
    if (head.empty()) continue;
    std::string whole(head), cut(head);
    if (auto const open = cut.find('('), closed = cut.find(')'); open != cut.npos) {
      cut.erase(open, closed + 1 - open);
      whole.erase(closed, 1).erase(open, 1);
    }
    named_recipe out{.name = whole, .model = {}, .words = {}};
    take_words(line, out.words);
    auto found = name == whole || name == cut;
    for (auto const word : out.words) found = found || (word.starts_with("as=") && word.substr(3) == name);
    if (!found) continue;
    out.model = std::string(cut_off(family, ' '));
    take_words(family, out.words);
    return out;
  }
  return std::nullopt;
}

void add_recipe(setting_table& keys, named_recipe const& recipe, std::vector<std::string> const& but) {
  auto const allowed = [&](std::string_view key) { return std::find(but.begin(), but.end(), key) == but.end(); };
  auto const again =
      std::any_of(keys.entries().begin(), keys.entries().end(), [](auto const& e) { return e.key == "recompute_granularity"; }) ||
      !allowed("recompute_granularity");  // otherwise than in the recipe, with all that belongs to it
  for (auto const word : recipe.words) {
    auto const [name, value] = name_and_value(word);
    if (again && (name == "again" || name == "full")) continue;
    auto known = false;
    for (auto const& [of, key, fixed] : recipe_words)
      if (of == name) {
        known = true;
        if (allowed(key)) add_word(keys, key, *fixed != '\0' ? fixed : std::string(value));
      }
    for (auto const& [of, key] : recipe_lists)
      if (of == name && allowed(key) && !keys.has(key)) {
        setting_entry entry{.key = key, .words = {}, .place = keys.file()};
        for (auto rest = value; !rest.empty();) entry.words.emplace_back(cut_off(rest, ','));
        keys.add(std::move(entry));
      }
    known = known || std::find(std::begin(importers_words), std::end(importers_words), name) != std::end(importers_words);
    if (!known && allowed(name)) add_word(keys, std::string(name), std::string(value));  // a key as it is
  }
}

}  // namespace ballast_cli
