// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Where the bytes of a training are, and what would save some.

namespace ballast_cli {

/// A change of the setting on the same devices.
struct memory_change {
  std::string what;                   ///< in words: "recompute all layers"
  std::int64_t saved = 0;             ///< bytes of the fullest stage
  std::optional<double> slower = {};  ///< share of the modelled step in addition; negative: it is faster; none: too long to be modelled
};

/// What is trained: with a tower, micro-batches have images.
struct asked_model {
  ballast::transformer language;
  std::optional<ballast::vision_language_model> images = {};  ///< with the tower and projector in front of `language`
  std::optional<std::int64_t> tiles = {};                     ///< of a micro-batch; none: as many as its tokens can be of

  /// A micro-batch of the setting.
  [[nodiscard]] ballast::batch_shape batch_of(ballast::training_setting const& by) const;
  [[nodiscard]] std::int64_t parameters() const;
};

struct memory_answer {
  std::vector<ballast::memory_parts> stages;
  std::vector<memory_change> changes;  ///< those that save, most first
  std::int64_t longest = 0;            ///< tokens of the longest sequence that fits; 0: none does
};

/// Throws ballast::invalid_input where the setting does not suit the model.
[[nodiscard]] memory_answer answer_of(asked_model const& model, ballast::training_setting const& by, ballast::cluster const& on);

}  // namespace ballast_cli
