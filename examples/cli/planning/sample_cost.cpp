// SPDX-License-Identifier: Apache-2.0
#include "planning/sample_cost.hpp"

#include "errors.hpp"
#include "nearest.hpp"
#include "readers/file_bytes.hpp"
#include "readers/json_document.hpp"
#include "readers/kernel_rates.hpp"
#include "readers/model_config.hpp"
#include "readers/preset_names.hpp"
#include "readers/timings.hpp"

#include <ballast/core/checked.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/cost/table.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/footprint/vision_language_cost.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

constexpr double nanoseconds = 1e6;  // of a millisecond: the unit of measured costs

template <class Presets>
[[nodiscard]] auto const* find(Presets const& presets, std::string const& name) {
  auto const at = std::find_if(presets.begin(), presets.end(), [&](auto const& p) { return p.name == name; });
  return at == presets.end() ? nullptr : &*at;
}

/// The names of all models.
[[nodiscard]] std::vector<std::string_view> model_names() {
  std::vector<std::string_view> all;
  all.reserve(ballast::transformer_presets.size() + ballast::vision_language_presets.size());
  for (auto const& p : ballast::transformer_presets) all.push_back(p.name);
  for (auto const& p : ballast::vision_language_presets) all.push_back(p.name);
  return all;
}

/// Devices that options describe, by name, for as long as the program runs.
[[nodiscard]] std::map<std::string, ballast::device>& own_devices() {
  static std::map<std::string, ballast::device> all;
  return all;
}

template <class Cost>
[[nodiscard]] timed_cost erased(Cost cost, double ms_per_unit, std::string model, std::string device) {
  auto in_range = [cost](std::int64_t length) { return cost.fits(length); };
  return {std::move(cost), std::move(in_range), ms_per_unit, std::move(model), std::move(device)};
}

/// What `calibrate` fitted, in milliseconds.
struct fitted_cost {
  double constant = 0, linear = 0, quadratic = 0;
  [[nodiscard]] double operator()(std::int64_t length) const {
    auto const l = static_cast<double>(length);
    return constant + linear * l + quadratic * l * l;
  }
};

[[nodiscard]] timed_cost fitted(std::string_view text, std::string const& name) {
  auto const json = parse_document(text, name);
  auto const coefficient = [&](char const* term, bool needed = true) {
    if (json.is_object())
      if (auto const found = json.find("coefficients"); found != json.end() && found->is_object()) {
        if (!needed && !found->contains(term)) return 0.0;
        if (auto const value = found->find(term); value != found->end() && value->is_number())
          if (auto const number = value->get<double>(); std::isfinite(number) && number >= 0) return number;
      }
    throw bad_input(name + ": this is not what ballast calibrate --json prints: coefficients." + term +
                    " is missing or not a number of 0 or more");
  };
  fitted_cost const cost{coefficient("constant"), coefficient("linear"), coefficient("quadratic")};
  auto out = erased(ballast::scaled(cost, nanoseconds), 1 / nanoseconds, "times fitted by " + name, {});
  out.ms_per_micro_batch = coefficient("micro_batch", false);  // a fit to single samples has none
  return out;
}

[[nodiscard]] timed_cost tabled(std::string_view text, std::string const& name) {
  auto rows = read_timings(text, name);
  std::sort(rows.begin(), rows.end(),
            [](timing_row const& a, timing_row const& b) { return a.length != b.length ? a.length < b.length : a.line < b.line; });
  std::vector<std::int64_t> lengths, costs;
  for (auto const& row : rows) {
    auto const place = name + ":" + std::to_string(row.line) + ": ";
    if (row.length >= std::int64_t{1} << 31 || row.ms > 1e9) throw bad_input(place + "lengths below 2^31 and times up to 10^9 ms are read");
    auto const cost = static_cast<std::int64_t>(row.ms * nanoseconds + 0.5);
    if (!lengths.empty() && lengths.back() == row.length)
      throw bad_input(place + "length " + std::to_string(row.length) + " occurs a second time; ballast calibrate fits such timings");
    if (!costs.empty() && cost < costs.back())
      throw bad_input(place + "length " + std::to_string(row.length) +
                      " takes less time than a shorter one; ballast calibrate fits such timings");
    lengths.push_back(row.length);
    costs.push_back(cost);
  }
  return erased(ballast::cost_table(std::move(lengths), std::move(costs)), 1 / nanoseconds, "times measured in " + name, {});
}

}  // namespace

std::int64_t timed_cost::operator()(std::span<std::int64_t const> measures) const {
  if (by_kernels && units_per_tile > 0) return by_kernels->fits(measures) ? (*by_kernels)(measures) : -1;
  if (!fits(measures.back())) return -1;
  auto const cost = ballast::checked(units_per_tile) * ballast::checked(measures.front()) + ballast::checked(units(measures.back()));
  return cost.fits() ? cost.value : -1;
}

void timed_cost::count_for(std::span<std::int64_t const> lengths, ballast::batching_options const& o, std::int64_t tiles) {
  if (!by_kernels) return;
  take(ballast::coarse_cost_of(by_kernels->fine, lengths, o, tiles));
}

void timed_cost::take(ballast::coarse_cost const& cost) {
  by_kernels = cost;
  units = [cost](std::int64_t length) { return cost(length); };
  in_range = [cost](std::int64_t length) { return cost.fits(length); };
  ms_per_unit = cost.ms_per_unit();
  ms_per_micro_batch = static_cast<double>(cost.per_micro_batch()) * ms_per_unit / stages;
  units_per_tile = cost.fine.per_tile;
}

std::string preset_or_file(std::string const& model) {
  std::error_code error;
  return std::filesystem::exists(model, error) ? model : preset_of(model).value_or(model);
}

named_model model_named(std::string const& model, std::string const& option) {
  std::error_code error;
  if (auto const* const preset = find(ballast::transformer_presets, model)) return {.language = preset->model, .images = {}};
  if (auto const* const preset = find(ballast::vision_language_presets, model))
    return {.language = preset->model.language, .images = preset->model};
  if (!std::filesystem::exists(model, error))
    throw bad_input(option + printable(model) + ": there is no such file or preset; ballast models lists the presets" +
                    did_you_mean(model, model_names()));
  file_bytes const bytes(model);
  auto const shape = read_model_config(bytes.view(), model);
  named_model out{.language = shape.language, .images = {}, .stored = shape.stored, .no_images = shape.no_images};
  if (shape.images) out.images = {.vision = shape.images->tower, .projector = shape.images->projector, .language = shape.language};
  return out;
}

ballast::transformer model_of(std::string const& model) { return model_named(model).language; }

std::string name_of_language_part(std::string const& model) { return model + (model_named(model).images ? " (its language model)" : ""); }

std::string own_device(double tflops, std::int64_t memory, std::int64_t memory_bandwidth, std::int64_t bandwidth) {
  constexpr double flops_in_tera = 1e12;
  char name[64];
  (void)std::snprintf(name, sizeof name, "a device of %g TFLOP/s", tflops);
  auto const at = own_devices().emplace(name, ballast::device{}).first;
  at->second = {.name = at->first,
                .bf16_flops = static_cast<std::int64_t>(tflops * flops_in_tera),
                .memory_bytes = memory,
                .memory_bandwidth = memory_bandwidth,
                .link_bandwidth = bandwidth,
                .network_bandwidth = bandwidth / 2,                                                     // one direction of the same link
                .fp8_flops = tflops < 600 ? 0 : static_cast<std::int64_t>(2 * tflops * flops_in_tera),  // as all since the H100
                .multiprocessors = tflops < 600    ? 108
                                   : tflops < 1500 ? 132
                                                   : 148};  // of an A100, an H100, a B200
  return at->first;
}

ballast::device const& device_of(std::string const& name) {
  if (auto const known = own_devices().find(name); known != own_devices().end()) return known->second;
  auto const* const accelerator = find_word(name, ballast::devices);
  if (accelerator == nullptr) throw bad_input("--device " + printable(name) + ": expected one of " + one_of(name, ballast::devices));
  return *accelerator;
}

std::string device_in_words(std::string const& device, double mfu) {
  char share[32];
  (void)std::snprintf(share, sizeof share, "%.4g", 100 * mfu);
  return device + " at " + share + " % of its dense bfloat16 peak";
}

ballast::kernel_rates kernel_rates_of(model_on_device const& on, ballast::kernel_rates const& otherwise) {
  auto rates = otherwise;
  if (!on.kernels.empty()) rates = read_kernel_rates(file_bytes(on.kernels).view(), shown_name(on.kernels), rates);
  if (on.calibration.empty()) return rates;
  return ballast::calibrated(rates, read_step_calibration(file_bytes(on.calibration).view(), shown_name(on.calibration)));
}

ballast::time_setting kernels_of(model_on_device const& on, ballast::model_setting const& by) {
  auto out = ballast::times_of({.device = device_of(on.device), .mfu = {}, .time = {}, .links = {}, .hidden = {}}, by);
  out.rates = kernel_rates_of(on, out.rates);
  return out;
}

std::string device_in_words(model_on_device const& on) {
  if (on.mfu) return device_in_words(on.device, *on.mfu);
  auto const nearest = kernels_of(on).rates.nearest;
  return on.device + " at the rates of its kernels" + (on.kernels.empty() ? "" : " in " + shown_name(on.kernels)) +
         (on.calibration.empty() ? "" : ", calibrated by " + shown_name(on.calibration)) +
         (nearest.empty() ? "" : ", which are taken from " + std::string(nearest));
}

timed_cost cost_of_chain(ballast::chain_cost const& chain, std::string model, std::string device) {
  timed_cost out{.units = {}, .in_range = {}, .ms_per_unit = 0, .model = std::move(model), .device = std::move(device)};
  out.take(ballast::coarse_cost{.fine = chain});
  return out;
}

timed_cost modelled_cost(model_on_device const& on, std::int64_t capacity, ballast::model_setting const& by) {
  auto const model = model_of(on.model);
  if (!on.mfu)
    return cost_of_chain(ballast::sample_time(model, device_of(on.device), kernels_of(on, by), by, {.capacity = capacity}),
                         name_of_language_part(on.model), device_in_words(on));
  auto const cost = ballast::sample_cost(model);
  return erased(cost, ballast::ms_per_unit(cost, {.device = device_of(on.device), .mfu = on.mfu, .time = {}, .links = {}, .hidden = {}}),
                name_of_language_part(on.model), device_in_words(on));
}

timed_cost modelled_cost(model_on_device const& on, std::size_t measures, ballast::model_setting const& by, std::int64_t capacity) {
  auto const known = model_named(on.model);
  auto const frozen = by.vision.what != ballast::trained::all || by.projector.what != ballast::trained::all;
  auto const* const option = frozen ? "--freeze: " : by.vision_tensor > 0 ? "--vision-tp: " : nullptr;  // of a tower
  if (measures > 1 && !known.no_images.empty()) throw bad_input(known.no_images);
  if (option && !known.images) throw bad_input(option + printable(on.model) + " has no vision tower or projector");
  if (option && measures == 1)
    throw bad_input(std::string(option) +
                    "these samples have no images; two measures are tiles and tokens, as in --columns 2,1 --capacity 9,4096");
  if (!known.images || measures == 1) return modelled_cost(on, capacity, by);
  if (measures != 2)
    throw bad_input("--model " + printable(on.model) + ": reads images, so samples have two measures, tiles and tokens, not " +
                    std::to_string(measures));
  if (!on.mfu)
    return cost_of_chain(ballast::sample_time(*known.images, device_of(on.device), kernels_of(on, by), by, {.capacity = capacity}),
                         on.model, device_in_words(on));
  auto const cost = ballast::sample_cost(*known.images, by);
  auto const ms = ballast::modelled_ms(static_cast<double>(cost.language.flops_per_unit), device_of(on.device), *on.mfu);
  auto out = erased(cost.language, ms, on.model, device_in_words(on));
  out.units_per_tile = cost.per_tile;
  return out;
}

timed_cost measured_cost(std::string const& file) {
  file_bytes const bytes(file);
  auto const name = shown_name(file);
  std::string unpacked;
  auto text = bytes.view();
  if (is_gzip(text)) text = unpacked = gunzip(text, name);
  auto const first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? fitted(text, name) : tabled(text, name);
}

}  // namespace ballast_cli
