// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"

#include "errors.hpp"

#include <cmath>
#include <string_view>
#include <utility>

namespace ballast_cli {

namespace {

[[nodiscard]] std::int64_t bytes_from(std::string const& option, std::string const& text, std::int64_t least) {
  constexpr std::array<std::pair<std::string_view, int>, 4> suffixes{{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}}};
  constexpr auto most = std::int64_t{1} << 58;
  std::string_view digits = text;
  int shift = 0;
  for (auto const& [suffix, of_suffix] : suffixes) {
    if (!text.ends_with(suffix)) continue;
    digits.remove_suffix(suffix.size());
    shift = of_suffix;
  }
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size() || value < least || value > most >> shift)
    throw bad_input(option + " " + printable(text) + ": expected a whole number of bytes from " + std::to_string(least) +
                    " to 2^58, as in 4096 or 24Gi");
  return value << shift;
}

/// `parse(option, part)` of each part between commas.
template <class Parse>
[[nodiscard]] auto parts_of(std::string const& option, std::string const& text, Parse const& parse) {
  std::vector<decltype(parse(option, text))> out;
  for (auto const& word : words_of(text)) out.push_back(parse(option, word));
  return out;
}

}  // namespace

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
  auto const value = decimal(option, text);
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
  constexpr std::string_view chunks = "chunked:";
  if (text == "plain") return {};
  if (text == "fused") return {.how = fused};
  if (text.starts_with(chunks))
    return {.how = chunked, .chunks = whole<std::int32_t>(option + " chunked:N, N =", text.substr(chunks.size()))};
  throw bad_input(option + " " + printable(text) + ": expected plain, fused or chunked:N, as in chunked:8");
}

ballast::any_schedule schedule(std::string const& option, std::string const& name) {
  auto const colon = name.find(':');
  if (name.substr(0, colon) != ballast::interleaved_schedule::name || colon == std::string::npos) return ballast::schedule_named(name);
  return ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(small_positive(option, name.substr(colon + 1)))};
}

void add_input(CLI::App& command, input_arguments& input, std::string const& files) {
  command.add_option("FILE", input.files, files)->required();
  add_value(
      command, "--columns", input.select.measures, [](auto const&, auto const& text) { return parse_columns(text); },
      "columns that hold the lengths: 2 or tokens; 1+2 adds two into one length, 2,1 are two measures");
  command.add_option("--field", input.select.field, "field of JSON objects that holds the length");
  command.add_flag("--histogram", input.select.histogram, "the files hold length,count rows");
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
  limits.capacity = parts_of("--capacity", limits.capacity_text, positive);
  limits.options.capacity = limits.capacity.front();
  auto const& select = input.select;
  auto const measures = select.histogram || select.measures.empty() ? std::size_t{1} : select.measures.size();
  if (limits.capacity.size() != measures)
    throw bad_input("--capacity " + printable(limits.capacity_text) + ": expected one capacity for each of " + std::to_string(measures) +
                    " measure" + (measures == 1 ? "" : "s") + "; --columns 2,1 names two, --columns 1+2 adds two columns into one");
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
