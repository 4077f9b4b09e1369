// SPDX-License-Identifier: Apache-2.0
#include "readers/timings.hpp"
#include "errors.hpp"
#include "planning/model_words.hpp"
#include "readers/expert_loads.hpp"
#include "readers/model_config.hpp"
#include "readers/profile.hpp"
#include "readers/step_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// The readers behind `plan --cost`, `calibrate`, `levels --table`, `experts` and `--model`, from memory: valid rows, a model, or one
// sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  std::string const text(reinterpret_cast<char const*>(data + 1), size - 1);
  try {
    if (data[0] % 6 == 0) {
      for (auto const& row : read_timings(text, "input"))
        if (row.length < 1 || !(row.ms >= 0.0)) std::abort();
    } else if (data[0] % 6 == 1) {
      for (auto const& row : read_profile(text, "input"))
        if (row.setting.capacity < 1 || row.setting.sp < 1 || !(row.ms > 0.0)) std::abort();
    } else if (data[0] % 6 == 2) {
      for (auto const& row : read_micro_batches(text, "input"))
        if (row.lengths.empty() || *std::min_element(row.lengths.begin(), row.lengths.end()) < 1 || !(row.ms > 0.0)) std::abort();
    } else if (data[0] % 6 == 3) {
      auto const layers = read_expert_loads(text, "input");
      for (auto const& layer : layers)
        if (layer.size() != layers.front().size() || *std::min_element(layer.begin(), layer.end()) < 0) std::abort();
    } else if (data[0] % 6 == 4) {
      for (auto const& row : has_step_times(text) ? read_step_times(text, "input") : std::vector<step_time_row>{})
        if (row.setting.empty() || !(row.ms > 0.0) || row.tokens.has_value() != row.squares.has_value()) std::abort();
    } else {
      auto const shape = read_model_config(text, "input");  // whatever is accepted can be counted and said
      if (forward_flops(shape.language).per_token < 0 || in_words(shape, "input").empty()) std::abort();
    }
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
