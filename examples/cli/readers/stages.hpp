// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Stages of a pipeline, and what their layers recompute, of any program. Only their form is checked here.

namespace ballast_cli {

/// What a layer does with its activations.
enum class layer_choice : std::uint8_t { keep, recompute, offload };

struct named_choice {
  std::string name;  ///< of a layer
  layer_choice choice = layer_choice::keep;
  std::uint64_t stage = 0;  ///< where `stages_of_layers::staged` says that it is known
  std::string place;        ///< "file:3", or "file: recompute[0]", for sentences
};

struct stages_of_layers {
  std::vector<std::uint64_t> boundaries;  ///< empty: none are given
  std::vector<named_choice> layers;       ///< those that are named
  bool staged = false;                    ///< whether `layers` say the stage of each, instead of boundaries
  bool chosen = false;                    ///< whether choices are given
};

/// Reads one of these forms. Throws bad_input, naming `name`.
/// - the boundaries, from 0 to the number of layers, between blanks, commas or ends of lines, in brackets or not;
/// - a JSON object with "boundaries", or with lists of names in "recompute", "offload" and perhaps "keep", or with both, as `partition` and
///   `recompute` print them; other keys are not read;
/// - CSV whose first line names the columns name and stage, or name and choice (keep, recompute or offload), or all three.
[[nodiscard]] stages_of_layers read_stages(std::string_view text, std::string const& name);

/// Whether the first line names columns of layers, as `read_layers` takes them.
[[nodiscard]] bool names_layers(std::string_view bytes);

}  // namespace ballast_cli
