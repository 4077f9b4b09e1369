// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"
#include "readers/setting_table.hpp"

#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

// What importers share of frameworks that train by PyTorch's FSDP or hand keys to Megatron-Core, and that have several models.

namespace ballast_cli {

/// The table with references as `${a.b}`, `${oc.select:a.b,otherwise}` and `${mul:x,y}` replaced by what they mean, where that is in it.
[[nodiscard]] setting_table without_references(setting_table const& in);

/// `upper`, and the keys of `lower` that it does not have, nor a section of their name.
[[nodiscard]] setting_table merged(setting_table const& upper, setting_table const& lower);

/// A degree from 1 to 2^16, or 1 if the key is missing or below 1, which means that the framework finds it. Throws bad_input.
[[nodiscard]] std::int64_t degree_of(setting_table& table, std::string const& key);

/// Adds a key unless it is there.
void add_word(setting_table& table, std::string key, std::string word);

/// Keys below `sections` without them, the first section that has one first, under the names of Megatron-LM's flags. Marks them as known.
[[nodiscard]] setting_table megatron_keys_below(setting_table& in, std::initializer_list<std::string_view> sections);

/// Reads keys of Megatron-LM for a framework that is built on it, whose name is `framework`.
[[nodiscard]] imported_setting read_by_megatron(setting_table keys, setting_request const& asked, std::string const& framework);

/// Sets what PyTorch's FSDP trains with, and how a model of Hugging Face is computed: float32 states, sharded over all ranks.
void set_fsdp(imported_setting& out);

/// A model that is only computed forward in 16 bits, over `gpus` devices that are as many of one group as degrees.
struct forward_model {
  std::int64_t gpus = 1, tensor = 1, stages = 1;
  std::int64_t expert = 1, expert_tensor = 0;  ///< as in `model_setting`; experts are on every rank if `expert` is 1
  std::int64_t replicas = 1;                   ///< groups of data-parallel ranks that share the parameters each for themselves
  bool sharded = false;                        ///< whether data-parallel ranks share the parameters
  bool resident = true;                        ///< whether its parameters stay on the devices while the first model trains
};
/// Throws bad_input, naming the file, unless the degrees divide the devices.
[[nodiscard]] imported_role forward_role(setting_table const& table, std::string const& role, ballast::transformer const& model,
                                         forward_model const& by);

/// Devices of a node where a setting is written: the most that divide `gpus`, up to 8.
[[nodiscard]] std::int64_t greatest_node(std::int64_t gpus);

}  // namespace ballast_cli
