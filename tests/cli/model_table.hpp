// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// The configurations of models that tests read, for the table of docs/check.md.

namespace ballast_test {

/// A configuration whose parameters a test compares.
struct listed_model {
  std::string name, fields;
  bool exact = true;  ///< whether the published count has all digits
};

[[nodiscard]] std::vector<listed_model> models_of_zoo();
[[nodiscard]] std::vector<listed_model> models_of_families();
[[nodiscard]] std::vector<listed_model> models_of_sound();

}  // namespace ballast_test
