// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"

#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "readers/sources.hpp"
#include "report/output.hpp"

#include <ballast/cost/device.hpp>

#include <cmath>
#include <string_view>
#include <utility>

namespace ballast_cli {

namespace {

struct size_suffix {
  std::string_view name;  ///< in small letters
  std::int64_t bytes;
};
constexpr size_suffix size_suffixes[] = {
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
    {"kib", std::int64_t{1} << 10},
    {"mib", std::int64_t{1} << 20},
    {"gib", std::int64_t{1} << 30},
    {"tib", std::int64_t{1} << 40},
    {"ki", std::int64_t{1} << 10},
    {"mi", std::int64_t{1} << 20},
    {"gi", std::int64_t{1} << 30},
    {"ti", std::int64_t{1} << 40},
};

[[nodiscard]] std::int64_t bytes_from(std::string const& option, std::string const& text, std::int64_t least) {
  constexpr auto most = std::int64_t{1} << 58;
  auto const letters = (std::min)(text.find_first_not_of("0123456789"), text.size());
  auto const unit = lower_case(std::string_view(text).substr(letters));
  std::int64_t value = 0, scale = unit.empty() ? 1 : 0;
  for (auto const& known : size_suffixes)
    if (known.name == unit) scale = known.bytes;
  if (letters != 0 && unit.size() == 1 && std::string_view("kmgt").find(unit[0]) != std::string_view::npos)
    throw bad_input(option + " " + printable(text) + ": expected a whole number of bytes; " + printable(text) + " may mean " + text +
                    "B, powers of 1000, or " + text + "iB, powers of 1024");
  auto const [stop, error] = std::from_chars(text.data(), text.data() + letters, value);
  if (error != std::errc{} || stop != text.data() + letters || scale == 0 || value < least || value > most / scale)
    throw bad_input(option + " " + printable(text) + ": expected a whole number of bytes from " + std::to_string(least) +
                    " to 2^58, as in 4096, 80GB or 24GiB");
  return value * scale;
}

struct zero_policy {
  std::string_view word;
  bool skip;
};
constexpr zero_policy zero_policies[] = {{"reject", false}, {"skip", true}};

/// `parse(option, part)` of each part between commas.
template <class Parse>
[[nodiscard]] auto parts_of(std::string const& option, std::string const& text, Parse const& parse) {
  std::vector<decltype(parse(option, text))> out;
  for (auto const& word : words_of(text)) out.push_back(parse(option, word));
  return out;
}

}  // namespace

std::uint64_t take_unit(std::string const& option, std::string_view& number) {
  constexpr std::pair<std::string_view, std::uint64_t> units[] = {{"k", 1'000},    {"M", 1'000'000}, {"G", 1'000'000'000},
                                                                  {"Ki", 1 << 10}, {"Mi", 1 << 20},  {"Gi", 1 << 30}};
  auto const letters = number.find_first_not_of("0123456789");
  if (letters == 0 || letters == std::string_view::npos) return 1;
  auto const digits = number.substr(0, letters), unit = number.substr(letters);
  if (unit == "K") {
    auto const n = std::string(digits);
    throw bad_input(option + " " + printable(number) + ": may mean " + n + "k, thousands, or " + n + "Ki, which is " + n + " times 1024");
  }
  for (auto const& [name, value] : units)
    if (name == unit) return number = digits, value;
  return 1;
}

std::vector<std::string> words_of(std::string const& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    words.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return words;
}

std::vector<std::uint64_t> whole_numbers(std::string const& option, std::string const& text) {
  auto const numbers = parts_of(option, text, whole<std::int64_t, 0>);
  return {numbers.begin(), numbers.end()};
}

std::int64_t bytes(std::string const& option, std::string const& text) { return bytes_from(option, text, 0); }
std::int64_t some_bytes(std::string const& option, std::string const& text) { return bytes_from(option, text, 1); }

double decimal(std::string const& option, std::string const& text) {
  double value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size())
    throw bad_input(option + " " + printable(text) + ": expected a number, as in 0.4");
  return value;
}

double share(std::string const& option, std::string const& text) {
  auto const percent = text.ends_with('%');
  auto const value = decimal(option, percent ? text.substr(0, text.find_last_not_of(" %") + 1) : text);
  if (percent || (value >= 2 && value <= 100)) return value / 100;
  if (value > 1 && value < 2)
    throw bad_input(option + " " + printable(text) + ": may be a share above 1, which there is not, or a percentage; write " + text +
                    "% if you mean that");
  if (value > 100) throw bad_input(option + " " + printable(text) + ": expected a share, as in 0.4, or a percentage, as in 40");
  return value;
}

double milliseconds(std::string const& option, std::string const& text) {
  auto const value = decimal(option, text);
  if (!(value >= 0 && value <= 1e6)) throw bad_input(option + " " + printable(text) + ": expected are milliseconds from 0 to 10^6");
  return value;
}

std::int64_t percentage(std::string const& option, std::string const& text) {
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value > 100)
    throw bad_input(option + " " + printable(text) + ": expected a percentage from 0 to 100");
  return value;
}

std::uint32_t thousandths(std::string const& option, std::string const& text) {
  auto const value = share(option, text);
  if (!(value >= 0 && value <= 1)) throw bad_input(option + " " + printable(text) + ": expected a share from 0 to 1, as in 0.97");
  return static_cast<std::uint32_t>(std::ceil(1000 * value - 1e-6));
}

ballast::oversize oversize_policy(std::string const& option, std::string const& text) {
  return named(option, text, std::span(oversize_policies)).policy;
}
ballast::oversize planned_oversize_policy(std::string const& option, std::string const& text) {
  return named(option, text, std::span(oversize_policies).first<4>()).policy;
}

ballast::head_loss head_loss(std::string const& option, std::string const& text) {
  using enum ballast::head_loss::kind;
  auto const name = text.substr(0, text.find(':'));
  for (auto const& known : ballast::head_losses) {
    if (name != known.name) continue;
    if (text == known.name && known.how != chunked) return {.how = known.how};
    if (text != known.name && (known.how == chunked || known.how == sixteen_bits || known.how == plain || known.how == parallel))
      return {.how = known.how, .chunks = whole<std::int32_t>(option + " " + name + ":N, N =", text.substr(name.size() + 1))};
  }
  throw bad_input(option + " " + printable(text) +
                  ": expected plain, fused, chunked:N, native, in-place, 16-bits, returned, copied or parallel, as in chunked:8");
}

ballast::any_schedule schedule(std::string const& option, std::string const& name) {
  auto const colon = name.find(':');
  if (lower_case(name.substr(0, colon)) != ballast::interleaved_schedule::name || colon == std::string::npos)
    return ballast::schedule_named(lower_case(name));
  return ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(small_positive(option, name.substr(colon + 1)))};
}

std::int64_t capacity_tokens(std::string const& option, std::string const& text) {
  if (text == "auto")
    throw bad_input(option +
                    " auto: plan takes it, for one measure, one kind of device and degrees that are given; expected a whole number");
  return positive(option, text);
}

CLI::Option* add_model(CLI::App& command, std::string& model, std::string const& help) {
  return command.add_option_function<std::string>("--model", [&model](std::string const& text) { model = preset_or_file(text); }, help);
}

CLI::Option* add_device(CLI::App& command, std::string& device, std::string const& more) {
  std::string names;
  for (auto const& known : ballast::devices)
    names += (names.empty()                        ? ""
              : &known == &ballast::devices.back() ? " or "
                                                   : ", ") +
             std::string(known.name) + (known.name == device ? " (default)" : "");
  return command.add_option_function<std::string>(
      "--device", [&device](std::string const& text) { device = plain_word(text); }, names + more);
}

std::array<CLI::Option*, 2> add_rates(CLI::App& command, std::string& kernels, std::string& calibration) {
  return {command.add_option("--kernels", kernels, kernels_help),
          command.add_option("--calibration", calibration, "what calibrate --out wrote: the rates are changed by it")};
}

void add_input(CLI::App& command, input_arguments& input, std::string const& files) {
  command.add_option("FILE", input.files, files)->required();
  add_value(
      command, "--columns", input.select.measures, [](auto const& option, auto const& text) { return parse_columns(option, text); },
      "columns that hold the lengths: 2 or tokens; 1+2 or prompt+answer adds two into one length, 2,1 or images,text are two measures");
  add_value(
      command, "--field", input.select.fields, [](auto const& option, auto const& text) { return parse_columns(option, text); },
      "field of JSON objects that holds the length, such as tokens, meta.tokens, prompt+answer or images,text; an array counts as its "
      "size");
  command.add_flag("--turns", input.select.turns, "a field that is a conversation counts as its turns, not its tokens");
  command.add_flag("--histogram", input.select.histogram, "the files hold length,count rows");
  auto const zero = [](auto const& option, auto const& text) { return named(option, text, std::span(zero_policies)).skip; };
  add_value(command, "--zero-length", input.select.skip_zeros, zero,
            "rows of length 0: reject (default) or skip, which leaves them out and says so");
  auto* const weights =
      add_value(command, "--weights", input.weights, parse_weights,
                "parts that the FILEs have in the samples of an epoch, in their order, as in 7,3; by default all rows are samples");
  add_value(command, "--weights-seed", input.weights_seed, from_0, "seed by which --weights draws; another one draws other rows")
      ->needs(weights);
  command
      .add_option("--stand-in", input.stand_ins,
                  "FILE=LENGTHS: the lengths of FILE are read in LENGTHS, a column for each measure; python -m ballast uses it")
      ->allow_extra_args(false);
}

void add_limits(CLI::App& command, limit_arguments& limits) {
  auto& o = limits.options;
  command.add_option("--capacity", limits.capacity_text, "tokens a pack holds; 18,6016: one capacity per measure")->required();
  add_value(command, "--max-items", o.max_samples, positive, "largest number of samples in a pack");
  add_value(command, "--multiple", o.sample_multiple, positive, "round each sample up to a multiple of this, as context parallelism needs");
  add_value(command, "--oversize", o.oversize, oversize_policy,
            "samples longer than the capacity: reject, set-aside, truncate, split or alone");
}

void read_capacities(limit_arguments& limits, input_arguments const& input) {
  limits.capacity = parts_of("--capacity", limits.capacity_text, capacity_tokens);
  limits.options.capacity = limits.capacity.front();
  auto const measures = input.select.asked();
  if (limits.capacity.size() != measures)
    throw bad_input("--capacity " + printable(limits.capacity_text) + ": expected one capacity for each of " +
                    counted(measures, "measure") + "; --columns 2,1 names two, --columns 1+2 adds two columns into one");
}

CLI::Option* add_offload(CLI::App& command, offload_link& offload) {
  auto* const link = add_value(command, "--offload", offload.bytes_per_1, some_bytes,
                               "bytes that the link to the host moves in one unit of the file's time");
  add_value(command, "--overlap", offload.overlap, percentage,
            "percent of the compute time under which transfers to the host hide; 0 by default")
      ->needs(link);
  return link;
}

}  // namespace ballast_cli
