// SPDX-License-Identifier: Apache-2.0
#include "readers/core_setting.hpp"

#include "errors.hpp"
#include "readers/recipe_models.hpp"
#include "readers/setting_parts.hpp"

#include <ballast/core/math.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace ballast_cli {

namespace {

/// Shapes of Megatron-Core's configuration as Megatron-LM's flags have them.
void translate_shape(setting_table& keys) {
  auto const word = [&](char const* key) {
    for (auto const& entry : keys.entries())
      if (entry.key == key && entry.words.size() == 1) return entry.words[0];
    return std::string();
  };
  auto const is = [&](char const* key, std::initializer_list<std::string_view> values) {
    auto const given = word(key);
    return std::find(values.begin(), values.end(), given) != values.end();
  };
  if (!word("num_query_groups").empty()) add_word(keys, "group_query_attention", "true");
  if (is("share_embeddings_and_output_weights", {"false", "False"})) add_word(keys, "untie_embeddings_and_output_weights", "true");
  if (is("activation", {"swiglu", "fast-swiglu"})) add_word(keys, "swiglu", "true");
  if (is("activation", {"geglu", "fast-geglu", "reglu", "fast-reglu", "quick-geglu"})) add_word(keys, "gated_linear_unit", "true");
  if (is("masked_softmax_fusion", {"false", "False"})) add_word(keys, "no_masked_softmax_fusion", "true");
  if (is("bias_activation_fusion", {"false", "False"}))
    for (auto const* const key : {"no_bias_swiglu_fusion", "no_bias_gelu_fusion"}) add_word(keys, key, "true");
  auto const selective = is("recompute_granularity", {"selective"}), full = is("recompute_granularity", {"full"});
  auto const document = !keys.file().ends_with(".sh");  // which may refer to what other files say; a script's variables are its own
  setting_table out(keys.file());
  for (auto entry : keys.entries()) {
    auto const known = entry.words.size() == 1;
    if (entry.key == "normalization" && known && entry.words[0] == "rmsnorm") entry.words[0] = "RMSNorm";
    if (entry.key == "normalization" && known && entry.words[0].starts_with("layernorm")) entry.words[0] = "LayerNorm";
    if (entry.key == "position_embedding_type" && is("position_embedding_type", {"alibi", "ALiBi", "kerple", "xpos", "sandwich"}))
      entry.words = {"none"};  // without parameters
    auto const refers = known && ((document && entry.words[0].find('$') != std::string::npos) || entry.words[0] == "???");
    auto const unused = (selective && (entry.key == "recompute_method" || entry.key == "recompute_num_layers")) ||
                        (!full && entry.key == "recompute_num_layers" && known && entry.words[0] == "0");
    if (!refers && !unused) out.add(std::move(entry));
  }
  keys = std::move(out);
  if (is("bias", {"false", "False"})) add_word(keys, "add_bias_linear", "false");
  if (auto const length = word("encoder_seq_length"); !length.empty()) add_word(keys, "seq_length", length);
}

/// What a run writes beside what memory and time depend on.
void ignore_core_keys(setting_table& keys) {
  keys.ignore({"_target_",
               "_partial_",
               "_call_",
               "share_embeddings_and_output_weights",
               "gradient_accumulation_fusion",
               "params_dtype",
               "precision",
               "pipeline_dtype",
               "autocast_dtype",
               "perform_initialization",
               "use_te_*",
               "tp_comm_*",
               "bias_activation_fusion",
               "bias_dropout_fusion",
               "bias_dropout_add_fusion",
               "attention_type",
               "do_layer_norm_weight_decay",
               "ffn_dropout",
               "fp32_residual_connection",
               "get_attention_mask_from_fusion",
               "gradient_as_bucket_view",
               "no_seqlen_plus_one_input_tokens",
               "pad_samples_to_global_batch_size",
               "short_seq_prob",
               "splits_string",
               "masked_softmax_fusion",
               "persist_layer_norm",
               "memory_efficient_layer_norm",
               "deallocate_pipeline_outputs",
               "batch_p2p_comm",
               "batch_p2p_sync",
               "variable_seq_lengths",
               "async_tensor_model_parallel_allreduce",
               "encoder_seq_length",
               "activation",
               "bias",
               "headscale",
               "transformer_block_type",
               "openai_gelu",
               "normalize_attention_scores",
               "position_embedding_type",
               "megatron_amp_O2",
               "grad_allreduce_chunk_size_mb",
               "grad_div_ar_fusion",
               "apply_query_key_layer_scaling",
               "pre_process",
               "post_process",
               "resume_from_checkpoint",
               "seq_len_interpolation_factor",
               "share_token_embeddings",
               "mcore_gpt",
               "transformer_engine",
               "ub_tp_comm_overlap",
               "use_flash_attention",
               "nsys_profile",
               "gc_interval",
               "sync_batch_comm",
               "onnx_safe",
               "native_amp_*",
               "hysteresis",
               "freeze_*",
               "moe_token_dispatcher_type",
               "moe_grouped_gemm",
               "vocab_size",
               "num_micro_batches_with_partial_activation_checkpoints",
               "activations_checkpoint_layers_per_pipeline",
               "restore_from_path",
               "answer_only_loss",
               "peft",
               "migrate_*",
               "kv_channels",
               "reduce_amax",
               "use_emha",
               "overlap_p2p_comm",
               "train_iters",
               "generation_config",
               "hf_model_id",
               "scatter_embedding_*",
               "parallel_output",
               "fp16_*",
               "cuda_graph_*",
               "grad_reduce_in_fp32",
               "average_in_collective",
               "bucket_size",
               "data_parallel_sharding_strategy",
               "barrier_with_L1_time",
               "window_attn_skip_freq",
               "defer_embedding_wgrad_compute",
               "wgrad_deferral_limit",
               "softmax_scale"});
}

/// Adapters of a rank on all matrices, or on those of attention alone. Megatron-Core has queries, keys and values in one matrix, so that
/// its adapter there is about as large as the two of queries and values.
void set_adapters(imported_setting& out, std::int64_t rank, bool attention) {
  using enum ballast::adapted_matrices;
  out.setting.model.language = {
      .what = ballast::trained::low_rank, .rank = rank, .matrices = attention ? queries_and_values : every_matrix};
  if (!attention && out.model.experts > 0)
    out.notes.push_back("each expert is judged with adapters of its own, but those of a device share them: the memory is too high");
}

/// Gives the model the words of the recipe's own tokenizer, which is not the model's.
void set_vocabulary(imported_setting& out, setting_table const& in, setting_request const& asked, std::int64_t own) {
  constexpr std::int64_t most = 1 << 24;
  auto const words = asked.vocabulary.value_or(own), multiple = 128 * out.setting.model.spread.tensor, theirs = out.model.vocabulary;
  if (words > most || ballast::divide_up(words, multiple) * multiple > most) throw bad_input(in.file() + ": a vocabulary above 2^24 words");
  out.model.vocabulary = ballast::divide_up(words, multiple) * multiple;
  if (!asked.vocabulary && out.model.vocabulary != theirs)
    out.notes.push_back("the tokenizer of the recipe has " + std::to_string(own) + " words, and the model " + std::to_string(theirs) +
                        ": a tokenizer of the model, or --vocab-size, says otherwise");
}

}  // namespace

bool is_false(setting_table& in, std::string const& key) { return in.has(key) && !in.flag(key, true); }

bool has_core_degrees(setting_table const& table) {
  return table.has("model.tensor_model_parallel_size") || table.has("model.pipeline_model_parallel_size");
}

imported_setting read_core(setting_table keys, setting_request asked, std::string const& name, std::string const& framework) {
  auto images = false;
  if (!asked.model && !name.empty() && asked.find_model)
    if (auto const known = asked.find_model(name)) {
      asked.model = known->language;
      images = known->reads_images;
    }
  if (!asked.model) asked.model = recipe_model(name);
  auto const shaped = keys.has("num_layers") && keys.has("hidden_size");
  if (!asked.model && !shaped)
    throw bad_input(keys.file() + ": the setting does not hold the shape of the model" +
                    (name.empty() ? "" : ", and " + printable(name) + " is none that is known here") + "; --model names it");
  translate_shape(keys);
  ignore_core_keys(keys);
  add_word(keys, "use_distributed_optimizer", "true");
  if (!keys.flag("fp16")) add_word(keys, "bf16", "true");
  for (auto const* const key : {"hidden_dropout", "attention_dropout"}) add_word(keys, key, "0");
  auto out = read_by_megatron(std::move(keys), asked, framework);
  out.reads_images = images;
  out.details.packing.reset();  // the data decides it
  return out;
}

std::optional<bool> adapts_attention(setting_table& in, std::string const& key) {
  auto const modules = in.has(key) ? in.list(key) : std::vector<std::string>{};
  if (modules.empty()) return std::nullopt;
  return std::none_of(modules.begin(), modules.end(), [](auto const& name) {
    return name.find("fc") != name.npos || name.find("mlp") != name.npos || name.find("all") != name.npos || name == "*_proj";
  });
}

setting_table with_plain_formats(setting_table const& in) {
  constexpr std::string_view target = "._target_";
  constexpr std::pair<std::string_view, char const*> formats[]{
      {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.half", "fp16"}, {"torch.uint8", "fp8"}};
  setting_table out(in.file());
  for (auto entry : in.entries()) {
    auto key = std::string_view(entry.key);
    if (key.ends_with("._call_")) continue;
    if (key.ends_with(target)) key.remove_suffix(target.size());
    if (key.ends_with("_dtype") && entry.words.size() == 1)
      for (auto const& [theirs, flag] : formats)
        if (entry.words[0] == theirs) {
          entry.words[0] = flag;
          entry.key = std::string(key);
          break;
        }
    out.add(std::move(entry));
  }
  return out;
}

std::vector<std::string> emptied(setting_table const& in) {
  std::vector<std::string> out;
  for (auto const& entry : in.entries()) {
    if (entry.words.size() != 1 || (entry.words[0] != "null" && entry.words[0] != "None")) continue;
    auto key = entry.key.substr(entry.key.rfind('.') + 1);
    if (key == "num_layers_in_first_pipeline_stage") key = "decoder_first_pipeline_num_layers";
    if (key == "num_layers_in_last_pipeline_stage") key = "decoder_last_pipeline_num_layers";
    out.push_back(std::move(key));
  }
  return out;
}

void add_core_recipe(setting_table& keys, named_recipe const& recipe, std::vector<std::string> but, std::vector<std::string>& notes) {
  auto const other = [&](char const* key, std::string_view word) {
    for (auto const& entry : keys.entries())
      if (entry.key == key) return entry.words != std::vector<std::string>{std::string(recipe.value(word).value_or("1"))};
    return false;
  };
  if (recipe.has("layout") && !keys.has("pipeline_model_parallel_layout") &&
      (other("pipeline_model_parallel_size", "pp") || other("virtual_pipeline_model_parallel_size", "vpp"))) {
    but.emplace_back("pipeline_model_parallel_layout");
    notes.push_back("the layout of the recipe is for PP " + std::string(recipe.value("pp").value_or("1")) +
                    ": layers are split evenly over other stages");
  }
  add_recipe(keys, recipe, but);
  for (auto const* const key : {"cross_entropy_loss_fusion", "moe_grouped_gemm"}) add_word(keys, key, "true");
  add_word(keys, "moe_token_dispatcher_type", "alltoall");
  add_word(keys, "micro_batch_size", "1");
}

void set_parts(imported_setting& out, setting_table const& in, setting_request const& asked, recipe_parts const& parts) {
  if (parts.words) set_vocabulary(out, in, asked, *parts.words);
  if (parts.rank > 1 << 16) throw bad_input(in.file() + ": adapters of rank " + std::to_string(parts.rank) + ", which is above 2^16");
  if (parts.rank > 0) set_adapters(out, parts.rank, parts.attention);
  if (parts.frozen) out.setting.model.language.what = ballast::trained::none;
}

std::int64_t recipe_number(named_recipe const& recipe, std::string_view word, std::int64_t otherwise) {
  auto const text = recipe.value(word);
  return text ? std::stoll(std::string(*text)) : otherwise;
}

}  // namespace ballast_cli
