// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

// Schedulers side by side: as a table, as JSON and as a page.

namespace ballast_cli {

struct comparison_report {
  std::string title;                                   ///< the files
  std::string model, device;                           ///< in words
  std::string command;                                 ///< the command line
  std::uint64_t samples = 0, tokens = 0, longest = 0;  ///< of the batches that were planned
  std::uint64_t gpus = 0, batch = 0, steps = 0;
  std::int64_t capacity = 0;
  double ms_per_pass = 0;
  std::int64_t tokens_with_memory = 0;  ///< of a pass for which a GPU has memory
  std::vector<std::int64_t> lengths;    ///< of the batches that were planned
  std::vector<judged_scheduler> rows;
};

[[nodiscard]] std::string in_words(comparison_report const& report);
[[nodiscard]] nlohmann::ordered_json to_json(comparison_report const& report);
/// Complete and self-contained.
[[nodiscard]] std::string page_of(comparison_report const& report);

}  // namespace ballast_cli
