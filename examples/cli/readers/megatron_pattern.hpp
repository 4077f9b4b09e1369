// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"
#include "readers/setting_table.hpp"

#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast_cli {

/// The blocks of a hybrid model of Megatron-LM.
struct megatron_pattern {
  std::string key;                       ///< the flag that says them
  std::string letters;                   ///< one for each layer, as `set_blocks` reads them
  std::optional<std::int64_t> depths{};  ///< layers for multi-token prediction, if the pattern says them
};

/// The pattern of `hybrid_layer_pattern`, its older name, or ratios; none if the model has no state spaces. Throws bad_input.
[[nodiscard]] std::optional<megatron_pattern> read_megatron_pattern(setting_table& in, imported_setting& out);
/// Gives a model, whose attention and experts have been read, the blocks of a pattern. Throws bad_input.
void set_megatron_pattern(setting_table& in, megatron_pattern const& pattern, ballast::transformer& model);
/// Heads of linear attention (gated delta rule).
void read_linear_attention(setting_table& in, ballast::transformer& model);
/// The layers of each chunk of a stage, if bars in the pattern part them; none without a bar.
[[nodiscard]] std::vector<std::int64_t> parts_of_pattern(setting_table& in);

}  // namespace ballast_cli
