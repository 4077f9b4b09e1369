// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "nearest.hpp"
#include "planning/layer_times.hpp"
#include "planning/packers.hpp"
#include "readers/lengths.hpp"

#include <ballast/cost/schedule.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/packing/options.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Options that several commands have, and what their values may be; our own sentences say what is wrong with one.

namespace ballast_cli {

/// Takes a unit off the end of a number: k, M and G are thousands, Ki, Mi and Gi powers of 1024. Returns what it stands for, 1 if there is
/// none that is known. Throws bad_input for K, which people use for both.
[[nodiscard]] std::uint64_t take_unit(std::string const& option, std::string_view& number);

/// A number given to an option, as in 8192, 8k or 8Ki. Throws bad_input with a sentence that says what would be one.
template <class Integer, Integer least = 1>
[[nodiscard]] Integer whole(std::string const& option, std::string const& text) {
  Integer value = 0;
  std::string_view digits = text;
  auto const unit = take_unit(option, digits);
  auto const [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size() || value < least ||
      static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>((std::numeric_limits<Integer>::max)()) / unit)
    throw bad_input(option + " " + printable(text) + ": expected a whole number from " + std::to_string(least) + " to 2^" +
                    std::to_string(std::numeric_limits<Integer>::digits) + "-1");
  return static_cast<Integer>(value * static_cast<Integer>(unit));
}
/// From 1 to 2^63-1, or to 2^31-1 for counts that are looped over; seeds from 0 to 2^64-1.
inline constexpr auto positive = whole<std::int64_t>;
inline constexpr auto small_positive = whole<std::int32_t>;
/// A positive number, with a sentence of its own for auto, which most commands do not take.
[[nodiscard]] std::int64_t capacity_tokens(std::string const& option, std::string const& text);
inline constexpr auto from_0 = whole<std::uint64_t, 0>;

/// What is between commas.
[[nodiscard]] std::vector<std::string> words_of(std::string const& text);

/// Whole numbers from 0 between commas. Throws bad_input.
[[nodiscard]] std::vector<std::uint64_t> whole_numbers(std::string const& option, std::string const& text);

/// Bytes given to an option: a whole number, perhaps with kB, MB, GB or TB, or KiB, MiB, GiB or TiB, or Ki, Mi, Gi or Ti. Throws bad_input.
[[nodiscard]] std::int64_t bytes(std::string const& option, std::string const& text);
/// The same, but not 0.
[[nodiscard]] std::int64_t some_bytes(std::string const& option, std::string const& text);

/// A decimal number given to an option; the library says which are too large or too small. Throws bad_input.
[[nodiscard]] double decimal(std::string const& option, std::string const& text);
/// A share: 0.4, or in percent, 40 or 40%. Throws bad_input where it says neither.
[[nodiscard]] double share(std::string const& option, std::string const& text);
/// From 0 to 10^6. Throws bad_input.
[[nodiscard]] double milliseconds(std::string const& option, std::string const& text);
/// From 0 to 100. Throws bad_input.
[[nodiscard]] std::int64_t percentage(std::string const& option, std::string const& text);
/// A share in thousandths, rounded up. Throws bad_input.
[[nodiscard]] std::uint32_t thousandths(std::string const& option, std::string const& text);

/// What has a name in a table, in letters of any case, with - or _. Throws bad_input, listing the names.
template <class Named, std::size_t extent>
[[nodiscard]] Named const& named(std::string const& option, std::string const& text, std::span<Named, extent> table) {
  if (auto* const entry = find_word(text, table)) return *entry;
  throw bad_input(option + " " + printable(text) + ": expected one of " + one_of(text, table));
}
[[nodiscard]] ballast::oversize oversize_policy(std::string const& option, std::string const& text);
/// Those of a plan, whose places never hold more than the capacity.
[[nodiscard]] ballast::oversize planned_oversize_policy(std::string const& option, std::string const& text);

inline constexpr auto head_loss_help =
    "how the loss is computed: plain (default), fused, chunked:N, native, in-place, 16-bits, returned, copied or parallel";
[[nodiscard]] ballast::head_loss head_loss(std::string const& option, std::string const& text);
[[nodiscard]] ballast::any_schedule schedule(std::string const& option, std::string const& name);

/// An option whose value becomes `parse(name, text)`.
template <class Value, class Parse>
CLI::Option* add_value(CLI::App& command, std::string const& name, Value& value, Parse parse, std::string const& help) {
  return command.add_option_function<std::string>(
      name, [&value, name, parse](std::string const& text) { value = static_cast<Value>(parse(name, text)); }, help);
}

/// --model and --device, whose names may be in small or capital letters. The help of --device lists all devices, then says `more`.
CLI::Option* add_model(CLI::App& command, std::string& model, std::string const& help);
CLI::Option* add_device(CLI::App& command, std::string& device, std::string const& more = {});

inline constexpr auto kernels_help = "TOML of what kernels reach, in place of the rates of --device";
/// --kernels and --calibration, which are returned.
std::array<CLI::Option*, 2> add_rates(CLI::App& command, std::string& kernels, std::string& calibration);

/// FILE and how lengths are read from it.
void add_input(CLI::App& command, input_arguments& input, std::string const& files);

/// Limits of `pack` and `check`, whose samples may have several measures.
struct limit_arguments {
  std::string capacity_text;
  std::vector<std::int64_t> capacity;  ///< one per measure
  ballast::packing_options options;    ///< for one measure
};
void add_limits(CLI::App& command, limit_arguments& limits);
/// One capacity for each measure of the input. Throws bad_input.
void read_capacities(limit_arguments& limits, input_arguments const& input);

/// --offload, which is returned, and --overlap.
CLI::Option* add_offload(CLI::App& command, offload_link& offload);

inline constexpr auto json_help = "print one JSON object";
inline constexpr auto layers_help = "CSV of layers with a header such as name,forward,backward,activation_bytes; - is standard input";
inline constexpr auto share_help = "share of the device's dense peak that all work reaches; by default kernels have rates of their own";

}  // namespace ballast_cli
