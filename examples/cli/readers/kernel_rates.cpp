// SPDX-License-Identifier: Apache-2.0
#include "readers/kernel_rates.hpp"

#include "errors.hpp"
#include "nearest.hpp"
#include "readers/setting_documents.hpp"

#include <ballast/cost/rate_fields.hpp>

#include <cstddef>
#include <cstdint>

namespace ballast_cli {

ballast::kernel_rates read_kernel_rates(std::string_view text, std::string const& name, ballast::kernel_rates const& otherwise) {
  auto table = read_toml_setting(text, name);
  auto out = otherwise;
  if (auto const preset = table.word("preset"); !preset.empty()) {
    try {
      out = ballast::kernels_named(lower_case(preset));
    } catch (ballast::invalid_input const& e) {
      table.refuse("preset", std::string("cannot be taken: ") + e.what());
    }
    out.family = otherwise.family;
    out.fp8 = otherwise.fp8;
  }
  auto const read = [&](std::string const& key, std::int64_t& value, std::int64_t least, std::int64_t most) {
    value = table.number(key, least, most).value_or(value);
  };
  for (auto const& f : ballast::rate_fields) read(std::string(f.name), out.*f.value, f.least(), f.most());
  for (auto const& f : ballast::operator_byte_fields) read("bytes." + std::string(f.name), out.bytes.*f.value, f.least(), f.most());
  for (std::size_t i = 0; i < out.attention.size(); ++i)
    for (auto const& f : ballast::curve_fields) {
      auto const key = "attention." + std::string(ballast::attention_libraries[i]) + "." + std::string(f.name);
      auto& curve = out.attention[i].*f.value;
      read(key + ".flops", curve.flops, 1, ballast::most_attention_flops);
      read(key + ".half_length", curve.half_length, 0, 1'000'000);
    }
  table.refuse_others("kernel rates");
  return out;
}

ballast::step_calibration read_step_calibration(std::string_view text, std::string const& name) {
  auto table = read_toml_setting(text, name);
  auto const time = table.number("time", 100, 10'000), sync = table.number("sync", 0, 1'000'000);
  auto const known = table.flag("sync_known");
  table.refuse_others("a calibration");
  if (!time) throw bad_input(name + ": time is missing: this is not what ballast calibrate --out writes");
  return {.time = *time, .sync = sync.value_or(*time), .sync_known = known};
}

std::string to_toml(ballast::step_calibration const& of) {
  return "# thousandths of the modelled times: of all but the waiting for the tokens of experts, and of that waiting\ntime = " +
         std::to_string(of.time) + "\nsync = " + std::to_string(of.sync) + "\nsync_known = " + (of.sync_known ? "true" : "false") + "\n";
}

}  // namespace ballast_cli
