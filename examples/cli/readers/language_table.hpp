// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <span>
#include <string_view>

// Families of language models as rows of a table, where columns say all that a family has.

namespace ballast_cli {

/// A switch of a family: the field that has it, and what it is without the field. A switch without a field is always what it is.
struct family_switch {
  char const* field = nullptr;
  bool usual = false;
};

/// Experts of a family: defaults of its class. Fields are found under the names that any family gives them.
struct family_experts {
  std::int64_t count = 0;       ///< 0: the family has none
  std::int64_t active = 0;      ///< 0: the class has no default
  std::int64_t width = 0;       ///< 0: that of `intermediate_size`, and every layer has experts
  std::int64_t shared = 0;      ///< number of shared experts
  std::int64_t first = 0;       ///< the first layer with experts
  family_switch router_bias{};  ///< whether the router has a bias for each expert
};

/// One class: its defaults, and what it has beside the fields that all have. Sizes of 0 follow from others.
struct language_family {
  std::string_view name;
  std::int64_t layers;  ///< 0: those of a list
  std::int64_t hidden;
  std::int64_t query_heads;  ///< 0: no layer has attention
  std::int64_t kv_heads;     ///< 0: as many as query heads
  std::int64_t head_width;   ///< 0: `hidden / query_heads`
  std::int64_t ffn;          ///< 0: the class has another field for it
  std::int64_t vocabulary;
  void (*add)(ballast::transformer&, config_fields&) = nullptr;  ///< what columns do not say; it comes behind them
  bool tied = false;
};

inline constexpr std::int64_t no_window = -1;   ///< no layer has a window
inline constexpr std::int64_t own_window = -2;  ///< `add` reads masks

/// A family whose columns say most of it.
struct plain_family {
  language_family sizes;  ///< `ffn` 0: four times the hidden width, unless a field says it
  bool gated = true;
  family_switch attention_biases{};  ///< of queries, keys and values, and of the output
  family_switch qkv_bias{}, output_bias{}, ffn_bias{}, head_bias{};
  bool norm_bias = false, norm_weights = true;
  std::int64_t norms = 2;
  family_switch parallel{};
  bool one_norm = false;            ///< whether parallel blocks share a norm
  family_switch head_norms{};       ///< norms of queries and keys, with a weight for each channel of a head
  family_switch all_norms{};        ///< the same, with a weight for each channel of all heads
  std::int64_t window = no_window;  ///< sliding window; 0: none without the field
  std::int64_t full = 0;            ///< with a window: each so many layers, one sees all; 0: none
  bool reads_types = false;         ///< whether the class reads `layer_types`
  family_experts experts{};
};

/// Rows of the table.
[[nodiscard]] std::span<plain_family const> plain_families();
/// Reads what the columns of a row say.
void add_columns(plain_family const& row, ballast::transformer& model, config_fields& in);

}  // namespace ballast_cli
