// SPDX-License-Identifier: Apache-2.0
#include "readers/json_document.hpp"
#include "readers/lengths.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

// JSON: an array of numbers or of objects, or one object a line. Read as a stream of events, so nothing but the lengths is kept.

namespace ballast_cli {

namespace {

/// Receives nlohmann's events. An entry is a value at nesting depth `entries_at`.
class collector {
 public:
  collector(table& out, selection const& select, int entries_at, std::uint64_t number)
      : out_(out), field_(select.field), entries_at_(entries_at), number_(number) {}

  bool null() { return other("null"); }
  bool boolean(bool value) { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return other(std::to_string(value)); }  // only negative ones come here
  bool number_unsigned(std::uint64_t value) {
    if (value == 0 || value > static_cast<std::uint64_t>(largest_length)) return other(std::to_string(value));
    if (depth_ == entries_at_) {
      if (!field_.empty()) throw bad_input(place() + ": a number where --field expects objects");
      add(static_cast<std::int64_t>(value));
    } else if (wanted()) {
      found_ = static_cast<std::int64_t>(value);
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
    if (field_.empty()) throw bad_input(place() + ": an object; name the field that holds the length with --field");
    found_.reset();
    at_field_ = false;
    ++depth_;
    return true;
  }
  bool key(std::string const& name) { return keys_.add(name), at_field_ = name == field_, true; }
  bool end_object() {
    if (auto const twice = keys_.close()) throw bad_input(place() + ": the key " + printable(*twice) + " occurs twice in one object");
    if (--depth_ != entries_at_) return true;
    if (!found_) throw bad_input(place() + ": the object has no field " + printable(field_));
    add(*found_);
    return true;
  }
  bool parse_error(std::size_t byte, std::string const&, nlohmann::json::exception const&) {
    throw bad_input((entries_at_ == 0 ? out_.place(number_) + ": not a JSON object on one line, fault at byte "
                                      : out_.file() + ": not valid JSON, fault at byte ") +
                    std::to_string(byte));
  }

 private:
  [[nodiscard]] std::string place() const { return out_.place(number_); }
  [[nodiscard]] bool wanted() const { return depth_ == entries_at_ + 1 && at_field_; }
  void add(std::int64_t length) {
    out_.next_row_at(number_);
    out_.push(length);
    ++number_;
  }
  /// A value that is not a length: a fault where a length is wanted, of no interest elsewhere.
  bool other(std::string const& shown) {
    if (depth_ == entries_at_ || wanted()) throw not_a_value(place(), shown);
    return true;
  }
  bool open(std::string const& shown) {
    (void)other(shown);
    ++depth_;
    return true;
  }

  table& out_;
  std::string const& field_;
  int entries_at_;
  int depth_ = 0;
  std::uint64_t number_;
  bool at_field_ = false;
  std::optional<std::int64_t> found_;
  open_keys keys_;
};

void parse(std::string_view text, collector events) { (void)nlohmann::json::sax_parse(text.begin(), text.end(), &events); }

}  // namespace

void append_json(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  if (select.histogram || !select.measures.empty())
    throw bad_input(name + ": this is JSON, which has no columns" +
                    (select.histogram ? "; a histogram is read from text, CSV or .npy" : "; see --field"));
  auto const array = bytes[bytes.find_first_not_of(" \t\r\n")] == '[';
  out.begin_file(name, array ? table::counted_by::entry : table::counted_by::line);
  if (array) return parse(bytes, collector(out, select, 1, 1));
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    auto const stop = (std::min)(bytes.find('\n', at), bytes.size());
    auto const text = bytes.substr(at, stop - at);
    if (text.find_first_not_of(" \t\r") != std::string_view::npos) parse(text, collector(out, select, 0, line));
    at = stop + 1;
  }
}

}  // namespace ballast_cli
