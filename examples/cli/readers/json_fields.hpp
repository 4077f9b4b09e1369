// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Which fields of JSON objects are lengths, and a scan of one object that looks for nothing else.

namespace ballast_cli {

/// The keys that are read, as --field or --columns name them; "meta.tokens" is the key tokens of the object meta.
struct wanted_fields {
  std::string option;
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> measures;  ///< the numbers of the fields that each measure adds
  bool zeros = false;                              ///< whether a field may be 0
  bool turns = false;                              ///< whether the turns of a conversation are counted
  std::size_t deepest = 0;                         ///< dots in the name that has most

  explicit wanted_fields(selection const& select) : option(select.fields.empty() ? "--columns" : "--field"), turns(select.turns) {
    for (auto const& sum : select.fields.empty() ? select.measures : select.fields) {
      measures.emplace_back();
      for (auto const& key : sum) {
        measures.back().push_back(number_of(key));
        if (measures.back().back() == names.size()) names.push_back(key);
        deepest = (std::max)(deepest, static_cast<std::size_t>(std::count(key.begin(), key.end(), '.')));
      }
    }
    zeros = measures.size() > 1 || names.size() > 1;
  }
  /// The number of a key; beyond the last if it is not read.
  [[nodiscard]] std::size_t number_of(std::string_view key) const {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  }
};

/// Whether this key of an entry says that the entries are the turns of a conversation.
[[nodiscard]] inline bool is_key_of_turn(std::string_view key) { return key == "role" || key == "from"; }

/// Reads fields of JSON objects, a line each. It knows the usual case, and leaves all others, each fault too, to a complete parser.
class field_scan {
 public:
  explicit field_scan(wanted_fields const& fields) : fields_(fields) {}
  /// Whether the text is a JSON object in which every wanted field is a whole number or an array, which counts as its size; `found` then
  /// has them. If not, nothing is said of the text.
  [[nodiscard]] bool operator()(std::string_view text, std::vector<std::optional<std::int64_t>>& found);

 private:
  [[nodiscard]] bool object(std::size_t depth, bool matching);
  [[nodiscard]] bool array(std::size_t depth, std::int64_t& size);
  [[nodiscard]] bool value(std::size_t depth);
  [[nodiscard]] bool member(std::size_t depth, bool matching);
  [[nodiscard]] bool wanted_value(std::size_t depth, std::optional<std::int64_t>& to);
  [[nodiscard]] bool string();
  [[nodiscard]] bool number();
  [[nodiscard]] bool word(std::string_view expected);
  [[nodiscard]] bool escape();
  [[nodiscard]] bool beyond_ascii();
  [[nodiscard]] bool digits();
  [[nodiscard]] bool at(char c) const { return p_ != end_ && *p_ == c; }
  [[nodiscard]] bool take(char c) { return at(c) && (++p_, true); }
  void blanks() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r' || *p_ == '\n')) ++p_;
  }

  wanted_fields const& fields_;
  std::vector<std::optional<std::int64_t>>* found_ = nullptr;
  char const* p_ = nullptr;
  char const* end_ = nullptr;
  std::string path_;                    // of the object that is read, with a dot behind it; empty for the outermost
  std::vector<std::string_view> keys_;  // of all open objects
  std::size_t turns_at_ = 0;            // depth of the entries of an array that is counted, or 0
  bool conversation_ = false;           // whether one of them is a turn, which is not counted
};

}  // namespace ballast_cli
