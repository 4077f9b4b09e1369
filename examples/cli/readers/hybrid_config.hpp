// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/cost/transformer_shape.hpp>

namespace ballast_cli {

// Families with state-space layers, short convolutions or chosen keys: what they have beside the fields that all have.
void add_mamba(ballast::transformer& model, config_fields& in);
void add_falcon_mamba(ballast::transformer& model, config_fields& in);
void add_mamba2(ballast::transformer& model, config_fields& in);
void add_bamba(ballast::transformer& model, config_fields& in);
void add_falcon_h1(ballast::transformer& model, config_fields& in);
void add_granite_hybrid(ballast::transformer& model, config_fields& in);
void add_nemotron_h(ballast::transformer& model, config_fields& in);
void add_jamba(ballast::transformer& model, config_fields& in);
void add_lfm2(ballast::transformer& model, config_fields& in);
void add_lfm2_moe(ballast::transformer& model, config_fields& in);
/// The indexer of DeepSeek-V3.2, whose latent attention has been read, and its list of layers with experts.
void add_index(ballast::transformer& model, config_fields& in);

/// Gives each layer its blocks by a letter: `*` attention, `G` linear attention, `M` a state space, `h` attention and a state space, `c` a
/// convolution, `-` a dense feed-forward block, `E` experts; at most `layer_set::most` of them.
/// `alone`: a layer has that block alone; if not, a feed-forward block, too.
void set_blocks(ballast::transformer& model, std::string_view letters, bool alone);
/// The same. Throws bad_input, naming `key`, if there are more layers than the library can tell apart.
void set_layers(ballast::transformer& model, config_fields const& in, char const* key, std::string_view letters, bool alone);

}  // namespace ballast_cli
