// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// All input forms become one table of 64-bit integers that remembers where each row came from.

namespace ballast_cli {

/// Which parts of the input are read.
struct selection {
  /// Each measure is the sum of these columns, by number from 1 or by name; empty: the only column of a file (both, of a histogram).
  std::vector<std::vector<std::string>> measures;
  /// Likewise of JSON objects, by name.
  std::vector<std::vector<std::string>> fields;
  bool histogram = false;   ///< the measures are a length and how many samples have it
  bool skip_zeros = false;  ///< rows of length 0 are left out, and counted; otherwise they are bad input
  bool turns = false;       ///< a field that is a conversation counts as its turns; otherwise it is bad input

  /// How many measures are asked for; a histogram has one, and its counts.
  [[nodiscard]] std::size_t asked() const noexcept {
    auto const named = (fields.empty() ? measures : fields).size();
    return histogram || named == 0 ? 1 : named;
  }
};

/// What was read of one FILE: of one file, or of all that match a pattern.
struct source {
  std::string named;                      ///< as it was given
  std::vector<std::string> files;         ///< in the order in which they were read
  std::vector<std::uint64_t> rows;        ///< of each file
  std::uint64_t samples = 0;              ///< of these rows in an epoch
  std::uint64_t passes = 1;               ///< how often all rows are samples, one pass behind the other
  std::vector<std::uint64_t> again = {};  ///< rows that are samples once more behind these passes, ascending
};

/// Files of lengths, which are one data set, and what is read of them.
struct input_arguments {
  std::vector<std::string> files;  ///< or patterns, as in data-*.jsonl
  selection select;
  std::vector<std::string> stand_ins = {};  ///< FILE=LENGTHS: where the lengths of a file are that is not read itself
  std::vector<std::uint64_t> weights = {};  ///< of each of `files`, in millionths; empty: each row is one sample
  std::uint64_t weights_seed = 0;           ///< which rows are samples once more
  std::shared_ptr<std::vector<source>> sources = std::make_shared<std::vector<source>>();  ///< what `read_lengths` read
};

/// Parses "1+2" (one measure, the sum of two columns) or "2,1" (two measures), of --columns or --field. Throws bad_input.
[[nodiscard]] std::vector<std::vector<std::string>> parse_columns(std::string const& option, std::string_view text);

/// What a value of a row is: the only measure of a sample (at least 1), how many samples have it, or one of several measures (of which one
/// is at least 1).
enum class value_kind { length, count, measure };

/// Rows of one or more measures, in the order they were read.
class table {
 public:
  explicit table(std::size_t measures, bool histogram = false) : measures_(measures), histogram_(histogram) {}

  [[nodiscard]] std::size_t measures() const noexcept { return measures_; }
  /// Whether a row is a length and its count.
  [[nodiscard]] bool histogram() const noexcept { return histogram_; }
  [[nodiscard]] value_kind kind(std::size_t measure) const noexcept {
    if (histogram_) return measure == 0 ? value_kind::length : value_kind::count;
    return measures_ == 1 ? value_kind::length : value_kind::measure;
  }
  [[nodiscard]] std::size_t rows() const noexcept { return values_.size() / measures_; }
  /// Row by row; with one measure, the lengths.
  [[nodiscard]] std::vector<std::int64_t> const& values() const noexcept { return values_; }
  /// Where a row was, for messages: "lengths.txt:17" or "lengths.npy: entry 17".
  [[nodiscard]] std::string where(std::size_t row) const;

  // For readers.
  enum class counted_by : bool { line, entry };
  void begin_file(std::string const& name, counted_by by);
  [[nodiscard]] std::string const& file() const { return files_.back().name; }
  [[nodiscard]] std::string place(std::uint64_t number) const;  ///< in the current file
  /// Says where the next row is in its file; each row after it counts as one further until the next call.
  void next_row_at(std::uint64_t number) {
    if (number != next_number_) marks_.push_back({rows(), files_.size() - 1, number});
    next_number_ = number + 1;
  }
  void push(std::int64_t value) { values_.push_back(value); }
  void reserve_rows(std::size_t more) { values_.reserve(values_.size() + more * measures_); }
  /// Takes the last row back, whose length is 0, and remembers it.
  void skip_row();
  /// Makes a table of some of the rows, in this order.
  void take_rows(std::vector<std::size_t> rows);
  /// Rows that were left out because their length is 0, as they would be numbered from 0 with all others.
  [[nodiscard]] std::vector<std::uint64_t> const& skipped() const noexcept { return skipped_; }
  /// How many samples these rows are: of a histogram, the sum of their counts.
  [[nodiscard]] std::uint64_t skipped_samples() const noexcept { return skipped_samples_; }
  [[nodiscard]] std::string const& first_skipped() const noexcept { return first_skipped_; }  ///< where the first of them was

 private:
  struct source {
    std::string name;
    counted_by by;
  };
  struct mark {
    std::size_t first_row, file;
    std::uint64_t number;
  };
  [[nodiscard]] static std::string place(source const& f, std::uint64_t number);

  std::size_t measures_;
  bool histogram_;
  std::uint64_t next_number_ = 0;
  std::vector<std::int64_t> values_;
  std::vector<source> files_;
  std::vector<mark> marks_;
  std::vector<std::uint64_t> skipped_;
  std::uint64_t skipped_samples_ = 0;
  std::string first_skipped_;
  std::vector<std::size_t> taken_;  // which row that was read each row is; empty: all, in their order
};

/// Columns by position, from names or numbers; `names` is empty where the file has no header. Throws bad_input, naming `file`.
[[nodiscard]] std::vector<std::vector<std::size_t>> resolve_columns(selection const& select, std::size_t columns,
                                                                    std::vector<std::string> const& names, std::string const& file);

inline constexpr std::int64_t largest_length = (std::numeric_limits<std::int64_t>::max)();

/// The exception for a bad value.
[[nodiscard]] bad_input not_a_value(std::string const& place, std::string_view shown, value_kind kind = value_kind::length);

/// Reads a whole number from 0 to 2^63-1, perhaps with zeros behind a point, as in 100.0; false if it is none.
[[nodiscard]] bool read_whole(std::string_view text, std::int64_t& value);

/// The exception for a row of nothing.
[[nodiscard]] bad_input nothing_in(table const& rows, std::string const& place);

/// Adds a row whose measures are sums of columns; `value(column, measure)` is not negative.
template <class Value>
void append_row(table& out, bool skip_zeros, std::uint64_t number, std::vector<std::vector<std::size_t>> const& measures,
                Value const& value) {
  out.next_row_at(number);
  bool nothing = true;
  for (std::size_t m = 0; m < measures.size(); ++m) {
    std::int64_t sum = 0;
    for (auto const column : measures[m]) {
      auto const v = std::int64_t{value(column, m)};
      if (v > largest_length - sum) throw bad_input(out.place(number) + ": the columns add up to 2^63 or more");
      sum += v;
    }
    nothing = nothing && (sum == 0 || out.kind(m) == value_kind::count);
    out.push(sum);
  }
  if (!nothing) return;
  if (!skip_zeros) throw nothing_in(out, out.place(number));
  out.skip_row();
}

/// Reads a file that is in memory, whatever its form, and appends its rows. Throws bad_input, naming `name`.
void append_lengths(table& out, std::string_view bytes, std::string const& name, selection const& select);

/// One reader per form.
void append_text(table& out, std::string_view bytes, std::string const& name, selection const& select);
void append_json(table& out, std::string_view bytes, std::string const& name, selection const& select);
void append_npy(table& out, std::string_view bytes, std::string const& name, selection const& select);
void append_megatron_index(table& out, std::string_view bytes, std::string const& name, selection const& select);

/// Reads several files as one data set, and sets what `input` says of its sources. Says on standard error how many rows of length 0 were
/// left out, if that is asked. Throws bad_input, also where the sum of all lengths is 2^63 or more.
[[nodiscard]] table read_lengths(input_arguments const& input);

}  // namespace ballast_cli
