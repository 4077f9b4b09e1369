// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"

#include "nearest.hpp"
#include "readers/file_bytes.hpp"
#include "readers/npy.hpp"
#include "readers/sources.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace ballast_cli {

namespace {

template <class Visit>
void for_each_part(std::string_view text, char separator, Visit const& visit) {
  for (std::size_t at = 0; at <= text.size();) {
    auto const stop = (std::min)(text.find(separator, at), text.size());
    visit(text.substr(at, stop - at));
    at = stop + 1;
  }
}

/// Throws for a file whose form only the Python package reads, or that holds no lengths.
void refuse_other_forms(std::string_view bytes, std::string const& shown) {
  constexpr std::size_t tar_magic = 257;
  auto const what = bytes.starts_with("PAR1")                                                ? "a Parquet file"
                    : bytes.starts_with("ARROW1")                                            ? "an Arrow file"
                    : bytes.starts_with("FEA1")                                              ? "a Feather file"
                    : bytes.starts_with("\xff\xff\xff\xff")                                  ? "an Arrow stream"
                    : bytes.starts_with("\x28\xb5\x2f\xfd")                                  ? "compressed by zstd"
                    : bytes.substr((std::min)(tar_magic, bytes.size())).starts_with("ustar") ? "a tar file, perhaps a shard of WebDataset"
                                                                                             : "";
  if (*what != '\0')
    throw bad_input(shown + ": is " + what +
                    ", which python -m ballast reads; write that in place of ballast, with --field NAME for a column");
  if (bytes.starts_with("TNTIDX")) throw bad_input(shown + ": is an index of fairseq's old form; tokenize the data again for Megatron");
  if (shown.ends_with(".bin") && bytes.find('\0') != std::string_view::npos)
    throw bad_input(shown + ": holds tokens and not their lengths; those are in the .idx file beside it");
}

}  // namespace

std::vector<std::vector<std::string>> parse_columns(std::string const& option, std::string_view text) {
  std::vector<std::vector<std::string>> measures;
  for_each_part(text, ',', [&](std::string_view sum) {
    auto& columns = measures.emplace_back();
    for_each_part(sum, '+', [&](std::string_view column) {
      if (column.empty())
        throw bad_input(option + " " + printable(text) + ": a " +
                        (option == "--field" ? "field is missing; fields are names, as in tokens, prompt+answer or images,text"
                                             : "column is missing; columns are numbers from 1 or names, as in 1+2 or tokens"));
      columns.emplace_back(column);
    });
  });
  return measures;
}

void table::begin_file(std::string const& name, counted_by by) {
  files_.push_back({name, by});
  next_number_ = 0;  // rows are counted from 1, so the first one is marked
}

void table::skip_row() {
  if (skipped_samples_ == 0) first_skipped_ = place(next_number_ - 1);
  skipped_samples_ += histogram_ ? static_cast<std::uint64_t>(values_.back()) : 1;
  values_.resize(values_.size() - measures_);
  skipped_.push_back(rows() + skipped_.size());
  next_number_ = 0;  // the next row is marked
}

std::string table::place(source const& f, std::uint64_t number) {
  return f.name + (f.by == counted_by::line ? ":" : ": entry ") + std::to_string(number);
}

std::string table::place(std::uint64_t number) const { return place(files_.back(), number); }

void table::take_rows(std::vector<std::size_t> rows) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size() * measures_);
  for (auto const row : rows)
    for (std::size_t m = 0; m < measures_; ++m) values.push_back(values_[row * measures_ + m]);
  values_ = std::move(values);
  taken_ = std::move(rows);
}

std::string table::where(std::size_t row) const {
  if (!taken_.empty()) row = taken_[row];
  auto const after = std::upper_bound(marks_.begin(), marks_.end(), row, [](std::size_t r, mark const& m) { return r < m.first_row; });
  auto const& m = *(after - 1);
  return place(files_[m.file], m.number + (row - m.first_row));
}

std::vector<std::vector<std::size_t>> resolve_columns(selection const& select, std::size_t columns, std::vector<std::string> const& names,
                                                      std::string const& file) {
  auto const count = counted(columns, "column");
  std::string listed;
  for (auto const& name : names) listed += (listed.empty() ? " (" : ", ") + (name.empty() ? "no name" : printable(name));
  if (!listed.empty()) listed += ")";
  if (!select.fields.empty()) throw bad_input(file + ": --field is for JSON objects; this file has " + count + listed + ", see --columns");
  if (select.measures.empty()) {
    if (select.histogram && columns == 2) return {{0}, {1}};
    if (select.histogram)
      throw bad_input(file + ": a histogram has two columns, length and count; this file has " + count + listed + ", see --columns");
    if (columns == 1) return {{0}};
    if (columns == 2 && !names.empty() && names[0].empty()) return {{1}};  // the index that pandas writes in front has no name
    throw bad_input(file + ": has " + count + listed +
                    "; say which one holds the lengths, as in --columns 1, or which to add, as in --columns 1+2");
  }
  std::vector<std::vector<std::size_t>> chosen;
  for (auto const& sum : select.measures) {
    auto& measure = chosen.emplace_back();
    for (auto const& column : sum) {
      auto const named = std::find(names.begin(), names.end(), column);
      std::size_t number = 0;
      if (named != names.end()) {
        number = static_cast<std::size_t>(named - names.begin()) + 1;
      } else {
        auto const [stop, error] = std::from_chars(column.data(), column.data() + column.size(), number);
        if (error != std::errc{} || stop != column.data() + column.size()) number = 0;
      }
      if (number == 0 || number > columns)
        throw bad_input(file + ": there is no column " + printable(column) + " among its " + count + listed + did_you_mean(column, names));
      measure.push_back(number - 1);
    }
  }
  return chosen;
}

bool read_whole(std::string_view text, std::int64_t& value) {
  auto const point = (std::min)(text.find('.'), text.size());
  auto const [stop, error] = std::from_chars(text.data(), text.data() + point, value);
  return error == std::errc{} && stop == text.data() + point && text[0] != '-' &&
         (point == text.size() || text.find_first_not_of('0', point + 1) == std::string_view::npos);
}

bad_input nothing_in(table const& rows, std::string const& place) {
  constexpr auto mend = "; --zero-length skip leaves such rows out";
  if (rows.kind(0) != value_kind::length) return bad_input(place + ": every measure is 0; a sample needs one that is not" + mend);
  return bad_input(std::string(not_a_value(place, "0").what()) + mend);
}

bad_input not_a_value(std::string const& place, std::string_view shown, value_kind kind) {
  constexpr std::string_view why[] = {" is not a length: lengths are whole numbers from 1 to 2^63-1",
                                      " is not a count: counts are whole numbers from 0 to 2^63-1",
                                      " is not a measure: measures are whole numbers from 0 to 2^63-1"};
  return bad_input(place + ": " + printable(shown) + std::string(why[static_cast<std::size_t>(kind)]));
}

void append_lengths(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  auto const shown = shown_name(name);
  auto const rows = out.rows();
  std::string unpacked;
  if (is_gzip(bytes)) bytes = unpacked = gunzip(bytes, shown);
  refuse_other_forms(bytes, shown);
  if (is_npy(bytes)) {
    append_npy(out, bytes, shown, select);
  } else if (bytes.starts_with("MMIDIDX")) {
    append_megatron_index(out, bytes, shown, select);
  } else {
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);  // a byte order mark
    auto const first = bytes.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (bytes[first] == '[' || bytes[first] == '{'))
      append_json(out, bytes, shown, select);
    else
      append_text(out, bytes, shown, select);
  }
  if (out.rows() == rows)
    throw bad_input(shown + (out.skipped().empty() ? ": there are no lengths in it" : ": there are no lengths in it but 0"));
}

table read_lengths(input_arguments const& input) {
  auto const& select = input.select;
  auto const measures = select.asked() + (select.histogram ? 1 : 0);
  if (select.histogram && !select.measures.empty() && select.measures.size() != 2)
    throw bad_input("--columns of a histogram names two columns, as in --columns length,count");
  table out(measures, select.histogram);
  read_sources(out, input);
  auto const& v = out.values();
  for (std::size_t m = 0; m < (select.histogram ? 1 : measures); ++m) {
    auto left = static_cast<std::size_t>(largest_length);
    for (std::size_t row = 0; row < out.rows(); ++row) {
      auto const length = static_cast<std::size_t>(v[row * measures + m]);
      auto const count = select.histogram ? static_cast<std::size_t>(v[row * measures + 1]) : 1;
      if (length != 0 && count > left / length) throw bad_input(out.where(row) + ": the sum of all lengths reaches 2^63 here");
      left -= count * length;
    }
    if (select.histogram && left == static_cast<std::size_t>(largest_length))
      throw bad_input(out.file() + ": there are no samples, every count is 0");
  }
  if (!out.skipped().empty())
    (void)std::fprintf(stderr, "%s: the first of %s of length 0, left out; samples are numbered without %s\n", out.first_skipped().c_str(),
                       counted(out.skipped_samples(), "sample").c_str(), out.skipped_samples() == 1 ? "it" : "them");
  return out;
}

}  // namespace ballast_cli
