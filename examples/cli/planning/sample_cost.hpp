// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <functional>
#include <string>

// What a sample costs, as the options of `plan` say: a model on a device, or measured times.

namespace ballast_cli {

/// A cost whose kind is chosen at run time.
struct run_cost {
  std::function<std::int64_t(std::int64_t)> units;
  std::function<bool(std::int64_t)> in_range;
  double ms_per_unit;
  std::string model, device;      ///< in words
  double ms_per_micro_batch = 0;  ///< what a fit found that a micro-batch takes beside its samples

  std::int64_t operator()(std::int64_t length) const { return units(length); }
  [[nodiscard]] bool fits(std::int64_t length) const { return in_range(length); }
};
static_assert(ballast::bounded_cost_model<run_cost>);

/// A preset's name or a Hugging Face config.json. Throws bad_input.
[[nodiscard]] ballast::transformer model_of(std::string const& model);
/// Throws bad_input, listing the names.
[[nodiscard]] ballast::device const& device_of(std::string const& name);
/// "h100 at 40 % of its dense bfloat16 peak".
[[nodiscard]] std::string device_in_words(std::string const& device, double mfu);

/// A model on a device, both as the options name them. Throws bad_input.
[[nodiscard]] run_cost modelled_cost(std::string const& model, std::string const& device, double mfu);

/// What `ballast calibrate --json` printed, or a table of lengths and milliseconds. Throws bad_input.
[[nodiscard]] run_cost measured_cost(std::string const& file);

}  // namespace ballast_cli
