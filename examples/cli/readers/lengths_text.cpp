// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"
#include "report/output.hpp"
#include "report/progress.hpp"

#include <algorithm>
#include <array>
#include <utility>

// Text: one length a line, or columns between blanks, commas, semicolons or tabs (CSV with quotes and a header line).

namespace ballast_cli {

namespace {

/// What stands between the fields of a file: a comma, a semicolon, a tab, or 0 for any blanks, as its first line says. A line without a
/// separator that has tabs is of blanks where one of its words is a number next to another one, and where a tab is only at its ends.
[[nodiscard]] char separator_of(std::string_view line) {
  auto quoted = false, comma = false, semicolon = false;
  for (auto const c : line) {
    if (c == '"') quoted = !quoted;
    comma = comma || (c == ',' && !quoted);
    semicolon = semicolon || (c == ';' && !quoted);
  }
  if (comma) return ',';
  if (semicolon) return ';';
  constexpr std::string_view ends = " \t\r", digits = "0123456789";
  auto const first = line.find_first_not_of(ends);
  if (first == std::string_view::npos) return 0;
  auto const last = line.find_last_not_of(ends) + 1;
  auto const nameless = line.starts_with('\t') && digits.find(line[first]) == std::string_view::npos;  // an index in front
  auto text = line.substr(first, last - first);
  if (text.find('\t') == std::string_view::npos && !nameless) return 0;
  for (std::size_t at = text.find_first_not_of(digits); at != std::string_view::npos; at = text.find_first_not_of(digits)) {
    if (at != 0 && text[at] == ' ')  // a number, and after blanks another one
      if (auto const next = text.find_first_not_of(' ', at); digits.find(text[next]) != std::string_view::npos) return 0;
    auto const field = text.find('\t', at);
    if (field == std::string_view::npos) break;
    text.remove_prefix(field + 1);
  }
  return '\t';
}

/// Splits records; a quoted field may hold separators and line ends.
class records {
 public:
  records(std::string_view bytes, table const& out) : at_(bytes.data()), end_(bytes.data() + bytes.size()), out_(out) {
    auto const start = (std::min)(bytes.find_first_not_of(" \t\r\n"), bytes.size());
    auto const line = start == 0 ? 0 : bytes.rfind('\n', start - 1) + 1;  // npos + 1 is 0
    separator_ = separator_of(bytes.substr(line, bytes.find('\n', start) - line));
    if (separator_ == '\t') blanks_ = " \r";
  }

  [[nodiscard]] bool done() const noexcept { return at_ == end_; }
  [[nodiscard]] bool separated() const noexcept { return separator_ != 0; }  ///< by more than blanks
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }        ///< of the next record
  [[nodiscard]] char const* at() const noexcept { return at_; }              ///< where it begins

  /// Reads a line that is nothing but a small positive number, the usual case; 0 and no step otherwise.
  [[nodiscard]] std::int64_t plain_number() noexcept {
    constexpr std::ptrdiff_t safe_digits = 18;
    auto const* p = at_;
    auto const* const stop = end_ - p > safe_digits ? p + safe_digits : end_;
    std::int64_t value = 0;
    for (; p != stop && *p >= '0' && *p <= '9'; ++p) value = value * 10 + (*p - '0');
    if (value == 0 || (p != end_ && *p != '\n')) return 0;
    at_ = p == end_ ? p : p + 1;
    ++line_;
    return value;
  }

  /// Reads one record; no field for a blank line.
  void next(std::vector<std::string_view>& fields) {
    fields.clear();
    skip_blanks();
    while (at_ != end_ && *at_ != '\n') {
      fields.push_back(field());
      skip_blanks();
      if (separator_ == 0 || at_ == end_ || *at_ != separator_) continue;
      ++at_;
      skip_blanks();
      if (at_ == end_ || *at_ == '\n') fields.emplace_back();  // a comma announces another field
    }
    if (at_ != end_) ++at_;
    ++line_;
  }

 private:
  void skip_blanks() noexcept {
    while (at_ != end_ && blanks_.find(*at_) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] std::string_view field() {
    auto const* const first = at_;
    if (*first != '"') {
      while (at_ != end_ && *at_ != '\n' && (separator_ != 0 ? *at_ != separator_ : blanks_.find(*at_) == std::string_view::npos)) ++at_;
      auto const text = std::string_view(first, static_cast<std::size_t>(at_ - first));
      return text.substr(0, text.find_last_not_of(blanks_) + 1);
    }
    auto const opened = line_;
    for (++at_;; ++at_) {
      if (at_ == end_) throw bad_input(out_.place(opened) + ": a quote is opened and never closed");
      if (*at_ == '\n') ++line_;
      if (*at_ != '"') continue;
      if (end_ - at_ < 2 || at_[1] != '"') break;
      ++at_;  // two quotes stand for one
    }
    auto const text = std::string_view(first + 1, static_cast<std::size_t>(at_ - first - 1));
    ++at_;
    skip_blanks();
    if (at_ != end_ && *at_ != '\n' && separator_ != 0 && *at_ != separator_)
      throw bad_input(out_.place(line_) + ": text follows a closing quote");
    return text;
  }

  char const* at_;
  char const* end_;
  table const& out_;
  std::uint64_t line_ = 1;
  char separator_;
  std::string_view blanks_ = " \t\r";
};

/// A header is a first line of words: no field begins like a number or is one in disguise. The first may be empty, as pandas leaves that of
/// its index.
[[nodiscard]] bool is_header(std::vector<std::string_view> const& fields) {
  constexpr std::array<std::string_view, 7> not_names{"nan", "inf", "infinity", "na", "null", "none", "infinite"};
  auto const named = fields.begin() + (fields.size() > 1 && fields[0].empty() ? 1 : 0);
  return std::all_of(named, fields.end(), [&](std::string_view f) {
    if (f.empty() || std::string_view("0123456789+-.").find(f.front()) != std::string_view::npos) return false;
    if (std::any_of(f.begin(), f.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return false;
    std::string lower(f);
    for (auto& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return std::find(not_names.begin(), not_names.end(), lower) == not_names.end();
  });
}

/// Refuses a first line without a header in which a field between separators ends in a word that is a number, as in `utt 512,80`: blanks
/// part columns of such files, and so do commas, and a number of a column would be counted either way. Quotes say that it is one field.
void refuse_two_separators(std::vector<std::string_view> const& fields, std::string_view bytes, std::string const& place) {
  for (auto const f : fields) {
    auto const blank = f.find_last_of(" \t");
    std::int64_t number = 0;
    if (blank == std::string_view::npos || !read_whole(f.substr(blank + 1), number)) continue;
    if (auto const quoted = f.data() != bytes.data() && f.data()[-1] == '"'; !quoted)
      throw bad_input(
          place + ": " + printable(f) +
          " may be one column or several, as both blanks and other separators are in the line; quote it, or part all columns alike");
  }
}

/// A name that two columns have says neither.
void refuse_equal_names(std::vector<std::string_view> const& names, std::string const& place) {
  std::vector<std::pair<std::string_view, std::size_t>> sorted;
  for (std::size_t i = 0; i < names.size(); ++i) sorted.emplace_back(names[i], i + 1);
  std::sort(sorted.begin(), sorted.end());
  auto const at = std::adjacent_find(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.first == b.first; });
  if (at != sorted.end())
    throw bad_input(place + ": columns " + std::to_string(at->second) + " and " + std::to_string(at[1].second) + " are both called " +
                    printable(at->first));
}

}  // namespace

void append_text(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  out.begin_file(name, table::counted_by::line);
  constexpr std::uint64_t often = 1 << 16;
  progress_line progress("reading " + name);
  out.reserve_rows(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1);
  records in(bytes, out);
  std::vector<std::string_view> fields;
  std::vector<std::vector<std::size_t>> measures;
  std::size_t columns = 0;
  auto only_lengths = false;
  while (!in.done()) {
    auto const line = in.line();
    if (line % often == 0) progress(static_cast<std::size_t>(in.at() - bytes.data()), bytes.size());
    if (only_lengths) {
      if (auto const length = in.plain_number(); length != 0) {
        out.next_row_at(line);
        out.push(length);
        continue;
      }
    }
    in.next(fields);
    if (fields.empty()) continue;
    if (columns == 0) {
      columns = fields.size();
      auto const header = is_header(fields);
      if (header) refuse_equal_names(fields, out.place(line));
      measures = resolve_columns(select, columns,
                                 header ? std::vector<std::string>(fields.begin(), fields.end()) : std::vector<std::string>{}, name);
      only_lengths = columns == 1 && measures == std::vector<std::vector<std::size_t>>{{0}};
      if (header) continue;
      if (in.separated()) refuse_two_separators(fields, bytes, out.place(line));
    }
    if (fields.size() != columns)
      throw bad_input(out.place(line) + ": " + counted(fields.size(), "column") + " where the lines before have " +
                      std::to_string(columns));
    append_row(out, select.skip_zeros, line, measures, [&](std::size_t column, std::size_t measure) {
      auto const f = fields[column];
      std::int64_t value = 0;
      if (!read_whole(f, value)) throw not_a_value(out.place(line), f, out.kind(measure));
      return value;
    });
  }
}

}  // namespace ballast_cli
