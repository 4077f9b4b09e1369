// SPDX-License-Identifier: Apache-2.0
#include "readers/sources.hpp"

#include "readers/file_bytes.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/core/random.hpp>

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace ballast_cli {

namespace {

/// A weight in millionths, or 0 if the text is none.
[[nodiscard]] std::uint64_t weight_from(std::string_view text) {
  constexpr std::size_t decimals = 6;
  constexpr std::uint64_t largest = 1'000'000'000;
  auto const point = (std::min)(text.find('.'), text.size());
  auto const whole = text.substr(0, point);
  auto fraction = std::string(text.substr((std::min)(point + 1, text.size())));
  if (whole.size() + fraction.size() == 0 || whole.size() > 4 || fraction.size() > decimals) return 0;
  fraction.resize(decimals, '0');
  std::uint64_t value = 0;
  for (auto const c : std::string(whole) + fraction) {
    if (c < '0' || c > '9') return 0;
    value = 10 * value + static_cast<std::uint64_t>(c - '0');
  }
  return value > largest ? 0 : value;
}

/// By name, the file that holds the lengths of another.
[[nodiscard]] std::map<std::string, std::string> stand_ins_of(input_arguments const& input) {
  std::map<std::string, std::string> out;
  for (auto const& text : input.stand_ins) {
    auto const equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw bad_input("--stand-in " + printable(text) + ": expected FILE=LENGTHS, as in train.parquet=lengths.npy");
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

/// What is read of a file that stands in for another: the measures that were asked of that one, a column each.
[[nodiscard]] selection of_stand_in(selection const& asked) {
  selection out{.measures = {}, .fields = {}, .histogram = asked.histogram, .skip_zeros = asked.skip_zeros};
  for (std::size_t m = 1; asked.asked() > 1 && m <= asked.asked(); ++m) out.measures.push_back({std::to_string(m)});
  return out;
}

}  // namespace

std::vector<std::string> files_named(std::string const& name) {
  struct stat about{};
  if (name == "-" || name.find_first_of("*?[") == std::string::npos || ::stat(name.c_str(), &about) == 0) return {name};
  ::glob_t found{};
  auto const end = [](::glob_t* g) { ::globfree(g); };
  std::unique_ptr<::glob_t, decltype(end)> const guard(&found, end);
  auto const result = ::glob(name.c_str(), GLOB_NOSORT, nullptr, &found);
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  if (result != 0) throw bad_input(printable(name) + ": no file has this name or matches this pattern");
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint64_t> parse_weights(std::string const& option, std::string const& text) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = 0; at <= text.size();) {
    auto const stop = (std::min)(text.find(',', at), text.size());
    auto const word = std::string_view(text).substr(at, stop - at);
    out.push_back(weight_from(word));
    if (out.back() == 0)
      throw bad_input(option + " " + printable(text) + ": " + printable(word) +
                      " is no weight; weights are above 0 and at most 1000, with up to 6 decimals, as in 7,3 or 0.7,0.3");
    at = stop + 1;
  }
  return out;
}

std::vector<std::size_t> share_out(std::vector<source>& sources, std::vector<std::uint64_t> const& weights, std::uint64_t seed) {
  std::vector<std::uint64_t> rows;
  for (auto const& s : sources) rows.push_back(std::accumulate(s.rows.begin(), s.rows.end(), std::uint64_t{0}));
  auto const samples = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
  auto const all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::pair<std::uint64_t, std::size_t>> remainders;  // negated, so that the largest is first
  auto left = samples;
  for (std::size_t s = 0; s < sources.size(); ++s) {  // below 2^31 samples times 2^30
    sources[s].samples = samples * weights[s] / all;
    remainders.emplace_back(all - samples * weights[s] % all, s);
    left -= sources[s].samples;
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; i < left; ++i) ++sources[remainders[i].second].samples;

  std::vector<std::size_t> taken;
  taken.reserve(static_cast<std::size_t>(samples));
  ballast::splitmix64 draw(seed);
  std::uint64_t first = 0;
  for (std::size_t s = 0; s < sources.size(); first += rows[s], ++s) {
    auto& of = sources[s];
    of.passes = of.samples / rows[s];
    auto wanted = of.samples % rows[s];
    for (std::uint64_t row = 0; wanted != 0; ++row)
      if (ballast::uniform_below(rows[s] - row, draw) < wanted) of.again.push_back(row), --wanted;
    for (std::uint64_t pass = 0; pass < of.passes; ++pass)
      for (std::uint64_t row = 0; row < rows[s]; ++row) taken.push_back(static_cast<std::size_t>(first + row));
    for (auto const row : of.again) taken.push_back(static_cast<std::size_t>(first + row));
  }
  return taken;
}

void read_sources(table& out, input_arguments const& input) {
  constexpr auto most_samples = std::uint64_t{1} << 31;
  if (!input.weights.empty() && input.weights.size() != input.files.size())
    throw bad_input("--weights gives " + counted(input.weights.size(), "weight") + " for " + counted(input.files.size(), "FILE") +
                    "; each needs one, in their order, and a pattern in quotes is one FILE");
  if (!input.weights.empty() && input.select.histogram)
    throw bad_input("--weights draws rows, and those of a --histogram are many samples; leave one of them out");
  auto stand_ins = stand_ins_of(input);
  auto& sources = *input.sources;
  sources.clear();
  for (auto const& named : input.files) {
    auto& of = sources.emplace_back(source{.named = shown_name(named), .files = {}, .rows = {}});
    for (auto const& file : files_named(named)) {
      auto const before = out.rows();
      auto const other = stand_ins.find(file);
      file_bytes const bytes(other == stand_ins.end() ? file : other->second);
      append_lengths(out, bytes.view(), file, other == stand_ins.end() ? input.select : of_stand_in(input.select));
      of.files.push_back(shown_name(file));
      of.rows.push_back(out.rows() - before);
      of.samples += of.rows.back();
    }
  }
  for (auto const& [file, other] : stand_ins)
    if (std::none_of(sources.begin(), sources.end(),
                     [&](source const& s) { return std::ranges::find(s.files, shown_name(file)) != s.files.end(); }))
      throw bad_input("--stand-in " + printable(file) + "=" + printable(other) + ": " + printable(file) + " is not among the files");
  if (input.weights.empty()) return;
  if (out.rows() >= most_samples)
    throw bad_input("--weights: there are " + counted(out.rows(), "sample") + "; up to 2^31-1 are drawn from");
  out.take_rows(share_out(sources, input.weights, input.weights_seed));
}

}  // namespace ballast_cli
