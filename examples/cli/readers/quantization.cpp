// SPDX-License-Identifier: Apache-2.0
#include "readers/quantization.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>

namespace ballast_cli {

namespace {

constexpr std::int64_t whole_bit = 1000;

/// Bits of a weight and its part of what a group shares, in thousandths.
[[nodiscard]] std::int64_t with_scales(std::int64_t bits, std::int64_t shared, std::int64_t group) {
  return bits * whole_bit + (group > 0 ? shared * whole_bit / group : 0);
}

/// Whether attention is left in 16 bits, so that only experts are stored otherwise.
[[nodiscard]] bool leaves_attention(config_fields& in) {
  for (auto const* key : {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"})
    if (auto const* const list = in.find(key); list != nullptr && list->is_array())
      if (std::any_of(list->begin(), list->end(), [](auto const& word) {
            return word.is_string() && word.template get<std::string>().find("self_attn") != std::string::npos;
          }))
        return true;
  return false;
}

/// A group size of -1 is a scale for each row, which is not counted.
[[nodiscard]] std::int64_t group_size(config_fields& in, std::int64_t usual) {
  auto const* const size = in.find("group_size");
  return size != nullptr && *size == -1 ? 0 : in.number({"group_size"}).value_or(usual);
}

[[nodiscard]] std::optional<std::int64_t> bits_of(config_fields& in, std::string const& method) {
  if (method == "mxfp4") return with_scales(4, 8, 32);
  if (method == "fp8" || method == "fbgemm_fp8") {
    auto const block = in.numbers("weight_block_size").value_or(std::vector<std::int64_t>{});
    return with_scales(8, 32, block.size() == 2 ? block[0] * block[1] : 0);
  }
  if (method == "gptq" || method == "awq") {  // a scale of 16 bits and a zero point for each group
    auto const bits = in.number({"bits", "w_bit"}).value_or(4);
    return with_scales(bits, 16 + bits, group_size(in, 128));
  }
  if (method == "bitsandbytes") {
    if (in.flag("load_in_8bit", false)) return with_scales(8, 0, 0);
    return in.flag("bnb_4bit_use_double_quant", false) ? 4127 : with_scales(4, 32, 64);
  }
  if (method == "modelopt") {
    auto const algorithm = in.text("quant_algo");
    if (algorithm == "NVFP4") return with_scales(4, 8, 16);
    if (algorithm == "FP8") return with_scales(8, 0, 0);
  }
  if (method == "compressed-tensors")
    if (auto groups = in.part("config_groups"))
      if (auto group = groups->part("group_0"))
        if (auto weights = group->part("weights"))
          if (auto const bits = weights->number({"num_bits"})) return with_scales(*bits, 16, group_size(*weights, 0));
  return std::nullopt;
}

}  // namespace

std::optional<stored_format> read_stored_format(config_fields& in) {
  auto fields = in.part("quantization_config");
  if (!fields) return std::nullopt;
  stored_format out{.method = fields->text("quant_method")};
  if (out.method.empty()) out.method = "an unnamed method";
  if (auto const bits = bits_of(*fields, out.method); bits && *bits > 0 && *bits <= 16 * whole_bit)
    out.weights = ballast::stored_weights{.bits = *bits, .experts_only = leaves_attention(*fields)};
  return out;
}

std::string in_words(ballast::stored_weights const& weights) {
  auto text = std::to_string(weights.bits / whole_bit);
  if (auto rest = std::to_string(whole_bit + weights.bits % whole_bit).substr(1); rest != "000") {
    while (rest.back() == '0') rest.pop_back();
    text += "." + rest;
  }
  return text + " bits";
}

}  // namespace ballast_cli
