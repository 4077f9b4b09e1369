// SPDX-License-Identifier: Apache-2.0
#include "readers/megatron_pattern.hpp"

#include "errors.hpp"
#include "readers/hybrid_config.hpp"

#include <ballast/cost/layer_set.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

// NVIDIA/Megatron-LM d98e8a64: hybrid_layer_allocation.py, and the ratios of versions before.

namespace ballast_cli {

namespace {

/// Letters for shares of layers with attention and with feed-forward blocks, spread evenly, beginning and ending with state spaces.
[[nodiscard]] std::string spread_evenly(std::int64_t layers, double attention, double ffn) {
  std::string letters(static_cast<std::size_t>(layers), 'M');
  auto const count = [&](double share) { return std::nearbyint(static_cast<double>(layers) * share); };  // to even, as Python's round
  auto const full = count(attention), dense = count(ffn), rest = static_cast<double>(layers) - full;
  auto const put = [&](char letter, double every) {
    auto left = every;
    for (auto& c : letters) {
      if (c != 'M') continue;
      if (left < 0.5) {
        c = letter;
        left += every;
      } else {
        left -= 1;
      }
    }
  };
  put('*', rest / (full + 1));
  if (dense > 0) put('-', (rest - dense) / dense);
  return letters;
}

[[nodiscard]] std::string ratio_letters(setting_table& in, std::int64_t layers) {
  auto const share = [&](char const* key) {
    auto const value = in.decimal_number(key).value_or(0);
    if (value > 1) in.refuse(key, "is above 1");
    return value;
  };
  auto const attention = share("hybrid_attention_ratio"), ffn = share("hybrid_mlp_ratio");
  if (attention + ffn > 1) in.refuse("hybrid_mlp_ratio", "and hybrid_attention_ratio are above 1 together");
  return spread_evenly(layers, attention, ffn);
}

}  // namespace

std::optional<megatron_pattern> read_megatron_pattern(setting_table& in, imported_setting& out) {
  auto const layers = in.number("num_layers");
  auto const by_ratio = in.has("hybrid_attention_ratio") || in.has("hybrid_mlp_ratio");
  auto const spec = in.list("spec");
  auto const named = std::any_of(spec.begin(), spec.end(), [](std::string const& word) {
    return word.find("mamba") != std::string::npos || word.find("hybrid") != std::string::npos;
  });
  auto const older = in.word("hybrid_override_pattern"), newer = in.word("hybrid_layer_pattern");
  auto const hybrid = in.flag("is_hybrid_model") || named || by_ratio || in.has("mamba_ssm_ngroups");  // the latter in NeMo
  if (!older.empty() && !newer.empty())
    in.refuse("hybrid_override_pattern", "is the older name of hybrid_layer_pattern; Megatron-LM takes one");
  megatron_pattern pattern{.key = older.empty() ? "hybrid_layer_pattern" : "hybrid_override_pattern", .letters = {}};
  auto const& text = older.empty() ? newer : older;
  auto const end = (std::min)(text.find('/'), text.size());
  for (auto const c : std::string_view(text).substr(0, end)) {
    if (c == '+' || c == 'D')
      in.refuse(pattern.key, std::string("has layers of ") + c + ", whose latent attention is not modelled beside state spaces");
    if (std::string_view("MG*-E|").find(c) == std::string_view::npos)
      in.refuse(pattern.key, "has the letter " + printable(std::string(1, c)) + ", which is none of M, G, *, -, E and |");
    if (c != '|') pattern.letters += c;
  }
  auto predictor = in.word("mtp_hybrid_override_pattern");
  if (end < text.size()) {
    pattern.depths = std::count(text.begin(), text.end(), '/');
    predictor = text.substr(end + 1, text.find('/', end + 1) - end - 1);
  }
  if (predictor.size() > 1)
    out.notes.push_back("a layer for multi-token prediction has the blocks " + printable(predictor) +
                        ", and is counted as one like the last layer: time and memory are too low");
  if (!text.empty()) {
    if (pattern.letters.empty()) in.refuse(pattern.key, "has no layer");
    if (layers && std::cmp_not_equal(*layers, pattern.letters.size()))
      out.notes.push_back(pattern.key + " has " + std::to_string(pattern.letters.size()) +
                          " layers, and num_layers = " + std::to_string(*layers) + " is not read; versions before 2026 end there");
    return pattern;
  }
  if (!hybrid) return std::nullopt;
  if (!layers) throw bad_input(in.file() + ": num_layers or hybrid_layer_pattern is missing");
  if (*layers > ballast::layer_set::most) in.refuse("num_layers", "is above " + std::to_string(ballast::layer_set::most));
  pattern.key = by_ratio ? "hybrid_attention_ratio" : "num_layers";
  pattern.letters = ratio_letters(in, *layers);
  return pattern;
}

std::vector<std::int64_t> parts_of_pattern(setting_table& in) {
  auto const newer = in.word("hybrid_layer_pattern"), text = newer.empty() ? in.word("hybrid_override_pattern") : newer;
  std::vector<std::int64_t> parts{0};
  for (auto const c : std::string_view(text).substr(0, text.find('/')))
    if (c == '|')
      parts.push_back(0);
    else
      ++parts.back();
  return parts.size() == 1 ? std::vector<std::int64_t>() : parts;
}

void read_linear_attention(setting_table& in, ballast::transformer& model) {
  auto& linear = model.linear;
  linear.key_heads = in.number_or("linear_num_key_heads", 16);
  linear.key_width = in.number_or("linear_key_head_dim", 128);
  linear.value_heads = in.number_or("linear_num_value_heads", 32);
  linear.value_width = in.number_or("linear_value_head_dim", 128);
  linear.kernel = in.number_or("linear_conv_kernel_dim", 4);
}

void set_megatron_pattern(setting_table& in, megatron_pattern const& pattern, ballast::transformer& model) {
  if (std::cmp_greater(pattern.letters.size(), ballast::layer_set::most))
    in.refuse(pattern.key, "has more than " + std::to_string(ballast::layer_set::most) + " layers");
  auto const has = [&](char letter) { return pattern.letters.find(letter) != std::string::npos; };
  auto& space = model.space;
  space.head_width = in.number_or("mamba_head_dim", 64);
  space.heads = in.number_or("mamba_num_heads", 2 * model.hidden / space.head_width);
  space.state = in.number_or("mamba_state_dim", 128);
  space.groups = in.number_or("mamba_ssm_ngroups", in.number_or("mamba_num_groups", 8));
  space.chunk = 128;
  if (has('G')) read_linear_attention(in, model);
  if (has('E') && model.experts == 0) in.refuse(pattern.key, "has layers with experts (E), and num_experts is missing");
  if (!has('E')) model.experts = model.active_experts = model.expert_ffn = model.shared_ffn = 0;
  if (!has('-')) model.ffn = 0;
  set_blocks(model, pattern.letters, true);
  if (model.experts == 0) model.expert_layers = ballast::layer_set::all();
}

}  // namespace ballast_cli
