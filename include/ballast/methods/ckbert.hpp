// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>

#include <array>
#include <cstdint>
#include <string_view>

/// @file
/// @brief The encoders of CKBERT: shapes, parameters and the head that predicts masked tokens.
///
/// CKBERT plans nothing: it is a family of encoders, trained to predict masked tokens and to tell related concepts from others. What a
/// planner needs of it is what a sample costs (here), samples of two measures (tokens and negatives: `plan_steps`), packs in place of
/// padding, and losses that count masked tokens (`label_counts`). docs/ckbert.md puts these together.

namespace ballast::inline v0_2::ckbert {

namespace detail {
/// A shape of BERT: 512 learned positions and two kinds of segments, norms with biases.
[[nodiscard]] constexpr transformer bert(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocabulary) {
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .ffn = 4 * hidden,
          .gated = false,
          .vocabulary = vocabulary,
          .tied = true,
          .positions = 514,
          .causal = false,
          .qkv_bias = true,
          .output_bias = true,
          .ffn_bias = true,
          .norm_bias = true};
}
}  // namespace detail

/// @brief The shapes of BERT: learned positions, two kinds of segments, norms with biases. `positions` has the 512 positions and the two
/// segments; `final_norm` stands for the norm behind the embedding. The head is not part of them: see `mlm_head_parameters`.
///
/// bert-base and bert-large have the shapes of the published configurations of CKBERT's base and large models. The published 110M and 345M
/// do not follow from these, so they have no name of their own here. ckbert-huge does agree: with its own decoder, it has the 1.3B
/// published.
/// @par Source
/// Zhang et al., "CKBERT", arXiv 2210.05287; the configurations of alibaba-pai/pai-ckbert-{base,large,huge}-zh on Hugging Face.
inline constexpr std::array encoders{preset<transformer>{"bert-base", detail::bert(12, 768, 12, 21'130)},
                                     preset<transformer>{"bert-large", detail::bert(24, 1024, 16, 21'130)},
                                     preset<transformer>{"ckbert-huge", detail::bert(24, 2048, 8, 21'248)}};

/// @brief Finds an encoder by name.
/// @param name  "bert-base", "bert-large" or "ckbert-huge"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such encoder
[[nodiscard]] constexpr transformer const& encoder(std::string_view name) { return find_named(encoders, name, "encoder").model; }

/// @brief Parameters of the head that predicts masked tokens: a matrix as wide as the model with its bias, a norm, the decoder's bias, and
/// the decoder unless it is the embedding.
/// @param model        the encoder
/// @param own_decoder  whether the decoder is a matrix of its own
/// @return the number of parameters
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t mlm_head_parameters(transformer const& model, bool own_decoder) {
  require_valid(model);
  auto const h = model.hidden, v = model.vocabulary;
  return h * h + h + 2 * h + v + (own_decoder ? h * v : 0);
}

}  // namespace ballast::inline v0_2::ckbert
