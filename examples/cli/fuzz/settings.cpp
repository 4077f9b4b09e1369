// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/kernel_rates.hpp"

#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/presets.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

// The readers behind `check`, from memory: argument lines, YAML, JSON or TOML become a valid setting, rates or a calibration, or one
// sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  std::string const text(reinterpret_cast<char const*>(data + 1), size - 1);
  constexpr char const* names[] = {"run.sh", "a.yaml", "ds.json", "train.toml"};
  setting_request asked{.model = ballast::transformer_preset(data[0] % 8 < 4 ? "llama-3.1-8b" : "qwen3-30b-a3b"), .gpus = 64};
  if (data[0] % 32 < 16) {  // a model and a file that the setting names
    asked.vocabulary = 32000;
    asked.find_model = [model = *asked.model](std::string const&) { return std::optional(known_model{model}); };
    asked.find_file = [&](std::string const&) { return std::optional(text); };
  }
  try {
    if (data[0] >= 192) {
      auto const rates = ballast::kernels_named("h100-te-bf16");
      (void)(data[0] >= 224 ? read_kernel_rates(text, "r.toml", rates) : calibrated(rates, read_step_calibration(text, "c.toml")));
      return 0;
    }
    auto of_kind = data[0] % 16 < 8 ? asked : setting_request{};
    if (data[0] % 64 >= 32 && size > 1) of_kind.framework = framework_formats()[data[1] % framework_formats().size()]->word;
    auto const of = read_framework_setting(text, names[data[0] % 4], of_kind);
    require_valid(of.setting, of.model);
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
