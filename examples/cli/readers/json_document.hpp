// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// JSON in which no object has a key twice: a reader could only guess which of the two values was meant.

namespace ballast_cli {

/// The keys of the objects that are open, as a parser meets them.
class open_keys {
 public:
  void open() { starts_.push_back(used_); }
  void add(std::string const& key);
  /// Ends the innermost object. Returns a key that occurs in it twice, after the keys that lead to the object: "a.b.key".
  [[nodiscard]] std::optional<std::string> close();

 private:
  std::vector<std::string> keys_;  // of all open objects; those behind the first `used_` only lend their memory
  std::vector<std::size_t> starts_;
  std::size_t used_ = 0;
};

/// Parses a document. What is not valid JSON is returned as discarded, for the caller to say what was expected. Throws bad_input, naming
/// `name`, if a key occurs twice in one object, and where values are deeper in each other than those who read them can follow.
[[nodiscard]] nlohmann::json parse_document(std::string_view text, std::string const& name);
/// What is wrong with a text that is not JSON, and in which line, to follow a sentence: ": line 3 ..."; nothing if it is JSON.
[[nodiscard]] std::string json_slip(std::string_view text, std::string const& name);

}  // namespace ballast_cli
