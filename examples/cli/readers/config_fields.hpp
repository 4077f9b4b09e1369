// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

/// The fields of one object of a Hugging Face `config.json`. It knows which fields were asked for, and which of them the file does not
/// have.
class config_fields {
 public:
  using names = std::initializer_list<char const*>;  ///< names that files give one field

  /// Both must outlive this.
  config_fields(nlohmann::json const& object, std::string const& file) : object_(object), file_(file) {}

  /// Whether the file has a field that is not null.
  [[nodiscard]] bool has(char const* key);
  /// A field as it stands; null without it.
  [[nodiscard]] nlohmann::json const* find(char const* key);
  /// The fields of an object inside this one, if the file has it. They are not searched for structural fields.
  [[nodiscard]] std::optional<config_fields> part(char const* key);
  /// A number up to 2^30, if the file has it. A list with an entry for each layer is a number if all are equal.
  [[nodiscard]] std::optional<std::int64_t> number(names keys);
  /// A number; without the field `otherwise`, the default of the class, which is noted. Null is `null`, or the default.
  [[nodiscard]] std::int64_t number(names keys, std::int64_t otherwise, std::optional<std::int64_t> null = std::nullopt);
  /// A number that need not be whole; absent or null is the default.
  [[nodiscard]] double real(char const* key, double otherwise);
  /// Whether a field is a word, such as "auto".
  [[nodiscard]] bool says(char const* key, std::string_view word);
  /// Null is the default.
  [[nodiscard]] bool flag(char const* key, bool otherwise);
  /// Empty if there is no such field.
  [[nodiscard]] std::string text(char const* key);
  /// A list of numbers or of words; none without the field.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers(char const* key);
  [[nodiscard]] std::optional<std::vector<std::string>> words(char const* key);
  /// Number of entries of an object; none without the field.
  [[nodiscard]] std::optional<std::int64_t> members(char const* key);
  /// Says that a field has no bearing on the shape.
  void pass_over(names keys);

  /// "head_dim = 128" for each default that was used.
  [[nodiscard]] std::vector<std::string> const& defaults() const { return defaults_; }
  /// Throws bad_input, naming the file and the field.
  [[noreturn]] void refuse(char const* key, std::string const& why) const;
  /// Throws bad_input if the file has a field on which the shape of some model depends, but which was not asked for.
  void refuse_others(std::string_view family) const;

 private:
  [[nodiscard]] std::int64_t whole(char const* key, nlohmann::json const& value) const;

  nlohmann::json const& object_;
  std::string const& file_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_;
};

}  // namespace ballast_cli
