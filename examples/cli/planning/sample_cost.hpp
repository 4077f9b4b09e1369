// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/quantization.hpp"

#include <ballast/batching/coarse_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/sample_time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

// What a sample costs, as the options of `plan` say: a model on a device, or measured times.

namespace ballast_cli {

/// Whose time is modelled, as options say it.
struct model_on_device {
  std::string model = "llama-3.1-8b", device = "h100";
  std::optional<double> mfu;                   ///< share of the device's peak; none: what its kernels reach
  std::string kernels = {}, calibration = {};  ///< files of rates and of what measured steps say of them; empty: none

  [[nodiscard]] double utilisation() const { return mfu.value_or(0.4); }
};

/// A cost of any kind, and what its units are in milliseconds.
struct timed_cost {
  std::function<std::int64_t(std::int64_t)> units;
  std::function<bool(std::int64_t)> in_range;
  double ms_per_unit;
  std::string model, device;        ///< in words
  double stages = 1;                ///< that share a micro-batch
  double ms_per_micro_batch = 0;    ///< what a micro-batch takes on each stage beside its samples, by a fit or by layers
  std::int64_t units_per_tile = 0;  ///< of a sample of image tiles and tokens; with `by_kernels`, of its small units
  std::optional<ballast::coarse_cost> by_kernels = {};

  std::int64_t operator()(std::int64_t length) const { return units(length); }
  /// The cost of a sample of several measures, of which the last are tokens, and the first tiles where a tile costs anything. Negative
  /// where it is out of range.
  std::int64_t operator()(std::span<std::int64_t const> measures) const;
  [[nodiscard]] bool fits(std::int64_t length) const { return in_range(length); }
  /// Costs what a chain of layers does.
  void take(ballast::coarse_cost const& cost);
  /// Takes a unit in which all samples can be planned, if picoseconds are too small.
  void count_for(std::span<std::int64_t const> lengths, ballast::batching_options const& o, std::int64_t tiles = 0);
};
static_assert(ballast::bounded_cost_model<timed_cost>);

/// What --model names.
struct named_model {
  ballast::transformer language;
  std::optional<ballast::vision_language_model> images;  ///< with tower and projector; none: it reads tokens alone
  std::optional<stored_format> stored = {};              ///< how its file stores weights, if they are quantised
  std::string no_images = {};                            ///< a sentence, if it reads images by a tower that is not known
};
/// What was given to --model, with a preset's name as it is written, unless there is a file of the given name.
[[nodiscard]] std::string preset_or_file(std::string const& model);
/// A preset's name or a Hugging Face config.json. Throws bad_input, which names the `option` that it was given to.
[[nodiscard]] named_model model_named(std::string const& model, std::string const& option = "--model ");
/// The part that reads tokens. Throws bad_input.
[[nodiscard]] ballast::transformer model_of(std::string const& model);
/// The name of what is modelled of a model where samples have tokens alone. Throws bad_input.
[[nodiscard]] std::string name_of_language_part(std::string const& model);
/// Throws bad_input, listing the names.
[[nodiscard]] ballast::device const& device_of(std::string const& name);
/// A name under which `device_of` knows a device of these TFLOP/s, bytes, bytes/s of its memory, and bytes/s to others in both directions.
[[nodiscard]] std::string own_device(double tflops, std::int64_t memory, std::int64_t memory_bandwidth, std::int64_t bandwidth);
/// "h100 at 40 % of its dense bfloat16 peak".
[[nodiscard]] std::string device_in_words(std::string const& device, double mfu);
/// The same, or "h100 at the rates of its kernels", and whose they are if it has none of its own. Throws bad_input.
[[nodiscard]] std::string device_in_words(model_on_device const& on);

/// `otherwise`, changed by the files of the options. Throws bad_input.
[[nodiscard]] ballast::kernel_rates kernel_rates_of(model_on_device const& on, ballast::kernel_rates const& otherwise);
/// The same as what times depend on. Throws bad_input.
[[nodiscard]] ballast::time_setting kernels_of(model_on_device const& on, ballast::model_setting const& by = {});

/// The cost of tokens in micro-batches of a capacity. Throws bad_input.
[[nodiscard]] timed_cost modelled_cost(model_on_device const& on, std::int64_t capacity = ballast::sample_time_options{}.capacity,
                                       ballast::model_setting const& by = {});
/// The cost of samples of several measures: of tiles and tokens if the model reads images, else of tokens. Throws bad_input.
[[nodiscard]] timed_cost modelled_cost(model_on_device const& on, std::size_t measures, ballast::model_setting const& by,
                                       std::int64_t capacity);
/// The cost of a chain of layers in words of a model and a device.
[[nodiscard]] timed_cost cost_of_chain(ballast::chain_cost const& chain, std::string model, std::string device);

/// What `ballast calibrate --json` printed, or a table of lengths and milliseconds. Throws bad_input.
[[nodiscard]] timed_cost measured_cost(std::string const& file);

}  // namespace ballast_cli
