// SPDX-License-Identifier: Apache-2.0
#include "readers/json_document.hpp"
#include "readers/lengths.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

// JSON: an array of numbers or of objects, or one object a line. Read as a stream of events, so nothing but the lengths is kept.

namespace ballast_cli {

namespace {

/// The keys that are read, as --field or --columns name them.
struct wanted_fields {
  std::string option;
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> measures;  ///< the numbers of the fields that each measure adds
  bool zeros = false;                              ///< whether a field may be 0

  explicit wanted_fields(selection const& select) : option(select.field.empty() ? "--columns" : "--field") {
    auto const sums = select.field.empty() ? select.measures : std::vector(1, std::vector(1, select.field));
    for (auto const& sum : sums) {
      measures.emplace_back();
      for (auto const& key : sum) {
        measures.back().push_back(number_of(key));
        if (measures.back().back() == names.size()) names.push_back(key);
      }
    }
    zeros = measures.size() > 1 || names.size() > 1;
  }
  /// The number of a key; beyond the last if it is not read.
  [[nodiscard]] std::size_t number_of(std::string const& key) const {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  }
};

/// Receives nlohmann's events. An entry is a value at nesting depth `entries_at`.
class collector {
 public:
  collector(table& out, wanted_fields const& fields, int entries_at, std::uint64_t number)
      : out_(out), fields_(fields), entries_at_(entries_at), number_(number) {}

  bool null() { return other("null"); }
  bool boolean(bool value) { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return other(std::to_string(value)); }  // only negative ones come here
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(largest_length) || (value == 0 && !(fields_.zeros && wanted())))
      return other(std::to_string(value));
    if (depth_ == entries_at_) {
      if (!fields_.names.empty()) throw bad_input(place() + ": a number where " + fields_.option + " expects objects");
      out_.next_row_at(number_++);
      out_.push(static_cast<std::int64_t>(value));
    } else if (wanted()) {
      found_[at_] = static_cast<std::int64_t>(value);
    }
    return true;
  }
  bool number_float(double, std::string const& text) { return other(text); }
  bool string(std::string const& text) { return other("\"" + text + "\""); }
  bool binary(std::vector<std::uint8_t> const&) { return other("binary data"); }
  bool start_array(std::size_t) { return open("an array"); }
  bool end_array() { return --depth_, true; }
  bool start_object(std::size_t) {
    keys_.open();
    if (depth_ != entries_at_) return open("an object");
    if (fields_.names.empty()) throw bad_input(place() + ": an object; name the field that holds the length with --field");
    found_.assign(fields_.names.size(), std::nullopt);
    at_ = fields_.names.size();
    ++depth_;
    return true;
  }
  bool key(std::string const& name) {
    keys_.add(name);
    at_ = fields_.number_of(name);
    return true;
  }
  bool end_object() {
    if (auto const twice = keys_.close()) throw bad_input(place() + ": the key " + printable(*twice) + " occurs twice in one object");
    if (--depth_ != entries_at_) return true;
    for (std::size_t k = 0; k < found_.size(); ++k)
      if (!found_[k]) throw bad_input(place() + ": the object has no field " + printable(fields_.names[k]));
    append_row(out_, number_++, fields_.measures, [&](std::size_t key, std::size_t) { return *found_[key]; });
    return true;
  }
  bool parse_error(std::size_t byte, std::string const&, nlohmann::json::exception const&) {
    throw bad_input((entries_at_ == 0 ? out_.place(number_) + ": not a JSON object on one line, fault at byte "
                                      : out_.file() + ": not valid JSON, fault at byte ") +
                    std::to_string(byte));
  }

 private:
  [[nodiscard]] std::string place() const { return out_.place(number_); }
  [[nodiscard]] bool wanted() const { return depth_ == entries_at_ + 1 && at_ < fields_.names.size(); }
  /// A value that is not a length: a fault where a length is wanted, of no interest elsewhere.
  bool other(std::string const& shown) {
    if (depth_ == entries_at_ || wanted()) throw not_a_value(place(), shown, fields_.zeros ? value_kind::measure : value_kind::length);
    return true;
  }
  bool open(std::string const& shown) {
    (void)other(shown);
    ++depth_;
    return true;
  }

  table& out_;
  wanted_fields const& fields_;
  int entries_at_;
  int depth_ = 0;
  std::uint64_t number_;
  std::size_t at_ = 0;  // the field whose value comes next
  std::vector<std::optional<std::int64_t>> found_;
  open_keys keys_;
};

void parse(std::string_view text, collector events) { (void)nlohmann::json::sax_parse(text.begin(), text.end(), &events); }

}  // namespace

void append_json(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  if (select.histogram) throw bad_input(name + ": this is JSON, which has no columns; a histogram is read from text, CSV or .npy");
  if (!select.field.empty() && !select.measures.empty()) throw bad_input("--field and --columns both say what is read; give one");
  wanted_fields const fields(select);
  auto const array = bytes[bytes.find_first_not_of(" \t\r\n")] == '[';
  out.begin_file(name, array ? table::counted_by::entry : table::counted_by::line);
  if (array) return parse(bytes, collector(out, fields, 1, 1));
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    auto const stop = (std::min)(bytes.find('\n', at), bytes.size());
    auto const text = bytes.substr(at, stop - at);
    if (text.find_first_not_of(" \t\r") != std::string_view::npos) parse(text, collector(out, fields, 0, line));
    at = stop + 1;
  }
}

}  // namespace ballast_cli
