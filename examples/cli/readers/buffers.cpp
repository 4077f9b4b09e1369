// SPDX-License-Identifier: Apache-2.0
#include "readers/buffers.hpp"

#include "errors.hpp"
#include "readers/rows.hpp"
#include "report/output.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>

namespace ballast_cli {

namespace {

enum buffer_column : std::size_t { id_column, lower_column, upper_column, size_column, alignment_column, offset_column, hint_column };
struct buffer_word {
  std::string_view word;
  buffer_column column;
};
constexpr std::array<buffer_word, 12> buffer_words{{{"id", id_column},
                                                    {"buffer", id_column},
                                                    {"buffer_id", id_column},
                                                    {"lower", lower_column},
                                                    {"begin", lower_column},
                                                    {"start", lower_column},
                                                    {"upper", upper_column},
                                                    {"end", upper_column},
                                                    {"size", size_column},
                                                    {"alignment", alignment_column},
                                                    {"offset", offset_column},
                                                    {"hint", hint_column}}};
constexpr std::size_t buffer_columns = hint_column + 1;

/// Where the columns of a file are.
struct buffer_header {
  std::array<std::size_t, buffer_columns> at{};
  std::size_t columns = 0;
  bool inclusive = false;  ///< whether a buffer is in use at its upper time, too

  [[nodiscard]] bool has(buffer_column column) const { return at[column] != columns; }
};

[[nodiscard]] buffer_header header_of(std::vector<std::string> const& fields, std::string const& place) {
  buffer_header out;
  out.columns = fields.size();
  out.at.fill(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto const known = std::find_if(buffer_words.begin(), buffer_words.end(), [&](auto const& w) { return w.word == fields[i]; });
    if (known == buffer_words.end())
      throw bad_input(place + ": " + printable(fields[i]) +
                      " is no column of buffers; these are id, lower, upper (or end, the last time in use) and size, and may be alignment, "
                      "offset (an address that is fixed) and hint (which is not used)");
    auto& place_of = out.at[known->column];
    if (place_of != fields.size())
      throw bad_input(place + ": the columns " + printable(fields[place_of]) + " and " + printable(fields[i]) + " say the same");
    place_of = i;
    out.inclusive = out.inclusive || known->word == "end";
  }
  constexpr std::array<std::pair<buffer_column, std::string_view>, 4> needed{
      {{id_column, "id"}, {lower_column, "lower"}, {upper_column, "upper"}, {size_column, "size"}}};
  for (auto const& [column, word] : needed)
    if (!out.has(column)) throw bad_input(place + ": the column " + std::string(word) + " is missing");
  return out;
}

/// Reads the rows behind a header.
class buffer_rows {
 public:
  buffer_rows(buffer_header const& header, std::string const& name) : header_(header), name_(name) {}

  void add(std::vector<std::string> const& fields, std::size_t line) {
    line_ = line;
    if (fields.size() != header_.columns)
      fail(counted(fields.size(), "column") + " where the header has " + std::to_string(header_.columns));
    auto const& id = fields[header_.at[id_column]];
    if (id.empty()) fail("the buffer has no id");
    if (auto const [before, fresh] = line_of_.emplace(id, line); !fresh)
      fail("buffer " + printable(id) + " is in line " + std::to_string(before->second) + " already");
    auto& b = out_.buffers.emplace_back();
    b.lower = time(fields, lower_column, "lower");
    b.upper = time(fields, upper_column, header_.inclusive ? "end" : "upper");
    if (header_.inclusive ? b.upper < b.lower : b.upper <= b.lower)
      fail("buffer " + printable(id) + " ends at " + std::to_string(b.upper) + ", " +
           (header_.inclusive ? "before it begins" : "where it begins or before") + ", " + std::to_string(b.lower));
    if (header_.inclusive) ++b.upper;
    b.size = amount(fields, size_column, "size", 0, 0);
    b.alignment = amount(fields, alignment_column, "alignment", 1, 1);
    b.fixed = amount(fields, offset_column, "offset", 0, -1);
    if (b.fixed > 0 && b.fixed % b.alignment != 0)
      fail("offset " + std::to_string(b.fixed) + " is not a multiple of the alignment " + std::to_string(b.alignment));
    out_.names.push_back(id);
  }
  [[nodiscard]] buffer_table take() { return std::move(out_); }

 private:
  static constexpr auto most = (std::int64_t{1} << 62) - 1;

  [[noreturn]] void fail(std::string const& why) const { throw bad_input(name_ + ":" + std::to_string(line_) + ": " + why); }

  [[nodiscard]] std::int64_t time(std::vector<std::string> const& fields, buffer_column column, char const* word) const {
    auto const& field = fields[header_.at[column]];
    std::int64_t value = 0;
    if (!read_field(std::string_view(field), value) || value < -most || value > most)
      fail(printable(field) + " is not a time: " + word + " is a whole number between -2^62 and 2^62");
    return value;
  }
  /// A number of bytes; `otherwise` where the file does not say, which is an empty field, too.
  std::int64_t amount(std::vector<std::string> const& fields, buffer_column column, char const* word, std::int64_t least,
                      std::int64_t otherwise) {
    auto value = otherwise;
    if (header_.has(column) && (column == size_column || !fields[header_.at[column]].empty())) {
      auto const& field = fields[header_.at[column]];
      if (!read_field(std::string_view(field), value) || value < least)
        fail(printable(field) + " is not a number of bytes: " + word + " is a whole number from " + std::to_string(least));
    }
    if (value > most - sum_) fail("sizes, alignments and offsets add up to 2^62 or more");
    sum_ += (std::max)(value, std::int64_t{0});
    return value;
  }

  buffer_header const& header_;
  std::string const& name_;
  std::size_t line_ = 0;
  std::int64_t sum_ = 0;
  std::unordered_map<std::string, std::size_t> line_of_;
  buffer_table out_;
};

/// A field that `csv_fields` reads back.
[[nodiscard]] std::string csv_field(std::string const& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (auto const c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

buffer_table read_buffers(std::string_view bytes, std::string const& name) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  buffer_header header;
  buffer_rows rows(header, name);
  for (std::size_t line = 1; !bytes.empty(); ++line) {
    auto const text = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix((std::min)(text.size() + 1, bytes.size()));
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto const place = [&] { return name + ":" + std::to_string(line); };
    auto const fields = csv_fields(text, place);
    if (header.columns == 0)
      header = header_of(fields, place());
    else
      rows.add(fields, line);
  }
  auto out = rows.take();
  if (out.buffers.empty()) throw bad_input(name + ": there are no buffers in it");
  if (out.buffers.size() > (std::numeric_limits<std::int32_t>::max)()) throw bad_input(name + ": there are 2^31 buffers or more in it");
  return out;
}

std::string buffers_csv(buffer_table const& table, std::span<std::int64_t const> offsets) {
  auto const aligned = std::any_of(table.buffers.begin(), table.buffers.end(), [](auto const& b) { return b.alignment != 1; });
  std::string out = aligned ? "id,lower,upper,size,alignment,offset\n" : "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < table.buffers.size(); ++i) {
    auto const& b = table.buffers[i];
    out += csv_field(table.names[i]);
    for (auto const value : {b.lower, b.upper, b.size}) out += "," + std::to_string(value);
    if (aligned) out += "," + std::to_string(b.alignment);
    out += "," + std::to_string(offsets[i]) + "\n";
  }
  return out;
}

}  // namespace ballast_cli
