// SPDX-License-Identifier: Apache-2.0
#include "planning/model_words.hpp"

#include "readers/file_bytes.hpp"
#include "report/output.hpp"

#include <ballast/cost/presets.hpp>

#include <algorithm>
#include <cstdint>

namespace ballast_cli {

std::string masks_in_words(ballast::transformer const& m) {
  auto const linear = m.linear.layers.count(m.layers), convolved = m.conv.layers.count(m.layers);
  std::int64_t full = 0, windowed = 0, space = 0, both = 0;
  for (std::int64_t l = 0; l < m.layers; ++l) {
    auto const scored = m.attention_layers.contains(l) && !m.linear.layers.contains(l);
    auto& of = m.space.layers.contains(l) ? scored ? both : space : m.window > 0 && m.windowed.contains(l) ? windowed : full;
    of += scored || m.space.layers.contains(l) ? 1 : 0;
  }
  std::string text = std::to_string(m.layers) + " layers: ";
  auto first = true;
  auto const add = [&](std::int64_t count, std::string const& what) {
    if (count > 0) text += (first ? "" : ", ") + std::to_string(count) + " " + what;
    first = first && count == 0;
  };
  add(full, "full");
  add(windowed, (m.index.heads > 0 ? "chosen " : m.chunked ? "chunked " : "sliding ") + grouped(static_cast<std::uint64_t>(m.window)));
  add(linear, "linear");
  add(space, "state space");
  add(both, "attention beside a state space");
  add(convolved, "short convolution");
  add(m.layers - full - windowed - linear - space - both - convolved, "feed-forward alone");
  return text;
}

std::string in_words(model_shape const& shape, std::string const& name) {
  auto const& m = shape.language;
  auto const count = [](std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)); };
  auto const all = parameters(m), outside = (m.vocabulary + (shares_head(m) ? 0 : head_rows(m))) * m.hidden;
  auto text = name + ": " + shape.family + " of ";
  if (auto const& images = shape.images)
    text += count(parameters(images->tower) + parameters(images->projector) + all) +
            " parameters: " + (images->of_sound ? "encoder of sound " : "vision tower ") + count(parameters(images->tower)) +
            ", projector " + count(parameters(images->projector)) + ", language model ";
  text += count(all) + (shape.images ? "" : " parameters") + ", " + count(all - outside) + " without embedding and head" +
          (shares_head(m) ? ", which are one matrix" : "");
  if (m.experts > 0) text += "; a token uses " + count(active_parameters(m));
  text += "; " + masks_in_words(m) + ".\n";
  if (!shape.no_images.empty()) text += shape.no_images + "; the language model alone was read.\n";
  for (auto const& note : shape.notes) text += note + "\n";
  return text;
}

std::string config_in_words(std::string const& model) {
  auto const is_preset = [&](auto const& presets) {
    return std::any_of(presets.begin(), presets.end(), [&](auto const& p) { return p.name == model; });
  };
  if (is_preset(ballast::transformer_presets) || is_preset(ballast::vision_language_presets)) return {};
  file_bytes const bytes(model);
  return in_words(read_model_config(bytes.view(), model), shown_name(model));
}

}  // namespace ballast_cli
