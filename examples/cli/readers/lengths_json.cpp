// SPDX-License-Identifier: Apache-2.0
#include "nearest.hpp"
#include "readers/json_document.hpp"
#include "readers/json_fields.hpp"
#include "readers/lengths.hpp"
#include "report/progress.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

// JSON: an array of numbers or of objects, or one object a line. Read as a stream of events, so nothing but the lengths is kept.

namespace ballast_cli {

namespace {

std::vector<std::vector<std::size_t>> const only_measure{{0}};

/// Receives nlohmann's events. An entry is a value at nesting depth `entries_at`.
class collector {
 public:
  collector(table& out, wanted_fields const& fields, bool skip_zeros, int entries_at, std::uint64_t number)
      : out_(out), fields_(fields), skip_zeros_(skip_zeros), entries_at_(entries_at), number_(number) {}

  bool null() { return other("null"); }
  bool boolean(bool value) { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return other(std::to_string(value)); }  // only negative ones come here
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(largest_length)) return other(std::to_string(value));
    return whole(static_cast<std::int64_t>(value));
  }
  bool number_float(double, std::string const& text) {
    std::int64_t value = 0;
    return read_whole(text, value) ? whole(value) : other(text);
  }
  bool string(std::string const& text) {
    if (wanted() && text.find_first_not_of("0123456789.+-") != std::string::npos)
      throw bad_input(not_a_value(place(), "\"" + text + "\"", kind()).what() + by_tokenizer());
    return other("\"" + text + "\"");
  }
  bool binary(std::vector<std::uint8_t> const&) { return other("binary data"); }
  bool start_array(std::size_t) {
    if (depth_ < entries_at_) return ++depth_, true;  // the array of all entries
    if (wanted()) {
      counted_ = 0;
      counted_at_ = depth_ + 1;
      counted_field_ = at_;
    } else {
      (void)other("an array");
    }
    ++arrays_;
    ++depth_;
    return true;
  }
  bool end_array() {
    if (depth_-- <= entries_at_) return true;
    --arrays_;
    if (depth_ + 1 == counted_at_) {
      counted_at_ = -1;
      find(counted_field_, counted_);
    }
    return true;
  }
  bool start_object(std::size_t) {
    keys_.open();
    if (depth_ == entries_at_) {
      if (fields_.names.empty()) throw bad_input(place() + ": an object; name the field that holds the length with --field");
      found_.assign(fields_.names.size(), std::nullopt);
      at_ = fields_.names.size();
      twice_ = at_;
      path_.clear();
      met_.clear();
    } else {
      (void)other("an object");
      path_ += '.';
    }
    starts_.push_back(path_.size());
    ++depth_;
    return true;
  }
  bool key(std::string const& name) {
    keys_.add(name);
    if (!fields_.turns && counted_at_ >= 0 && depth_ == counted_at_ + 1 && is_key_of_turn(name)) {
      at_ = counted_field_;
      throw bad_input(place() + ": " + printable(fields_.names[at_]) + " is a conversation; --turns counts its turns" + by_tokenizer());
    }
    path_.resize(starts_.back());
    path_ += name;
    at_ = fields_.names.size();
    if (arrays_ != 0) return true;
    at_ = fields_.number_of(path_);
    met_.push_back(path_);
    return true;
  }
  bool end_object() {
    if (auto const twice = keys_.close()) throw bad_input(place() + ": the key " + printable(*twice) + " occurs twice in one object");
    starts_.pop_back();
    if (--depth_ != entries_at_) return true;
    if (twice_ < fields_.names.size())
      throw bad_input(place() + ": " + printable(fields_.names[twice_]) + " is a key of its own and a field of an object; rename one");
    for (std::size_t k = 0; k < found_.size(); ++k)
      if (!found_[k]) throw bad_input(place() + ": the object has no field " + printable(fields_.names[k]) + hint(fields_.names[k]));
    append_row(out_, skip_zeros_, number_++, fields_.measures, [&](std::size_t key, std::size_t) { return *found_[key]; });
    return true;
  }
  bool parse_error(std::size_t byte, std::string const&, nlohmann::json::exception const&) {
    throw bad_input((entries_at_ == 0 ? out_.place(number_) + ": not a JSON object on one line, fault at byte "
                                      : out_.file() + ": not valid JSON, fault at byte ") +
                    std::to_string(byte));
  }

 private:
  [[nodiscard]] std::string place() const { return out_.place(number_); }
  [[nodiscard]] bool wanted() const { return depth_ > entries_at_ && arrays_ == 0 && at_ < fields_.names.size(); }
  [[nodiscard]] value_kind kind() const { return fields_.zeros ? value_kind::measure : value_kind::length; }
  /// How the tokens of the field `at_` are counted.
  [[nodiscard]] std::string by_tokenizer() const {
    return "; python -m ballast, in place of ballast, counts its tokens by --tokenizer tokenizer.json --text-field " +
           printable(fields_.names[at_]);
  }
  bool whole(std::int64_t value) {
    if (depth_ == entries_at_) {
      if (!fields_.names.empty()) throw bad_input(place() + ": a number where " + fields_.option + " expects objects");
      append_row(out_, skip_zeros_, number_++, only_measure, [&](std::size_t, std::size_t) { return value; });
    } else if (wanted()) {
      find(at_, value);
    } else {
      count();
    }
    return true;
  }
  void find(std::size_t field, std::int64_t value) {
    if (found_[field]) twice_ = field;
    found_[field] = value;
  }
  void count() {
    if (depth_ == counted_at_) ++counted_;
  }
  /// A value that is not a length: a fault where a length is wanted, of no interest elsewhere.
  bool other(std::string const& shown) {
    if (depth_ == entries_at_ || wanted()) throw not_a_value(place(), shown, kind());
    count();
    return true;
  }
  /// The field that was perhaps meant: the nearest, or one of that name inside another object.
  [[nodiscard]] std::string hint(std::string const& name) const {
    for (auto const& path : met_)
      if (path.size() > name.size() && path.ends_with(name) && path[path.size() - name.size() - 1] == '.')
        return "; did you mean " + printable(path) + "?";
    auto const near = nearest(name, met_);
    return near.empty() ? "" : "; did you mean " + printable(near) + "?";
  }

  table& out_;
  wanted_fields const& fields_;
  bool skip_zeros_;
  int entries_at_;
  int depth_ = 0, arrays_ = 0;  // arrays: those that are open inside an entry
  std::uint64_t number_;
  std::size_t at_ = 0, twice_ = 0;  // the field whose value comes next; one that was met twice
  int counted_at_ = -1;             // the depth of what is counted
  std::int64_t counted_ = 0;
  std::size_t counted_field_ = 0;  // keys inside of what is counted change at_
  std::string path_;
  std::vector<std::size_t> starts_;  // of the keys of each open object, in the path
  std::vector<std::string> met_;
  std::vector<std::optional<std::int64_t>> found_;
  open_keys keys_;
};

void parse(std::string_view text, collector events) { (void)nlohmann::json::sax_parse(text.begin(), text.end(), &events); }

}  // namespace

void append_json(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  if (select.histogram) throw bad_input(name + ": this is JSON, which has no columns; a histogram is read from text, CSV or .npy");
  if (!select.fields.empty() && !select.measures.empty()) throw bad_input("--field and --columns both say what is read; give one");
  wanted_fields const fields(select);
  auto const array = bytes[bytes.find_first_not_of(" \t\r\n")] == '[';
  out.begin_file(name, array ? table::counted_by::entry : table::counted_by::line);
  if (array) return parse(bytes, collector(out, fields, select.skip_zeros, 1, 1));
  constexpr std::uint64_t often = 1 << 14;
  progress_line progress("reading " + name);
  field_scan scan(fields);
  std::vector<std::optional<std::int64_t>> found;
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    auto const stop = (std::min)(bytes.find('\n', at), bytes.size());
    auto const text = bytes.substr(at, stop - at);
    at = stop + 1;
    if (line % often == 0) progress(at, bytes.size());
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!fields.names.empty() && scan(text, found))
      append_row(out, select.skip_zeros, line, fields.measures, [&](std::size_t key, std::size_t) { return *found[key]; });
    else
      parse(text, collector(out, fields, select.skip_zeros, 0, line));
  }
}

}  // namespace ballast_cli
