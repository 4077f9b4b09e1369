// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The keys of a framework's setting with their values, from whatever format, for the importers of frameworks.

namespace ballast_cli {

/// A key with its value: words, because flags of a command line may have several.
struct setting_entry {
  std::string key;  ///< as the framework's Python names it, sections in front: "zero_optimization.stage"
  std::vector<std::string> words;
  std::string place;       ///< "run.sh:12"
  bool used = false;       ///< whether an importer asked for it
  std::size_t passed = 0;  ///< letters of its beginning, if an importer passes over all keys that begin so
  bool idle = false;       ///< whether none of those touches memory or time
};

/// Keys that no importer asked for, by what their names say.
struct passed_keys {
  std::vector<std::string> harmless;  ///< of logs, evaluation, saving, data or the optimiser's numbers
  std::vector<std::string> doubtful;  ///< memory or time may depend on them
  std::vector<std::string> unknown;   ///< neither
};

/// A table of keys. Importers ask for those that they know, and then `finish` tells the rest. All throw bad_input, naming place and key.
class setting_table {
 public:
  explicit setting_table(std::string file) : file_(std::move(file)) {}

  /// Throws if the key is there with another value.
  void add(setting_entry entry);

  [[nodiscard]] std::string const& file() const noexcept { return file_; }
  [[nodiscard]] std::vector<setting_entry> const& entries() const noexcept { return entries_; }
  [[nodiscard]] bool has(std::string_view key) const {
    asked_.emplace_back(key);
    return look_up(key) != nullptr;
  }
  /// Whether a key is there that begins so.
  [[nodiscard]] bool has_section(std::string_view prefix) const;

  /// A whole number in [least, most]; nothing if it is missing or None.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key, std::int64_t least = 1, std::int64_t most = std::int64_t{1} << 40);
  [[nodiscard]] std::int64_t number_or(std::string_view key, std::int64_t otherwise, std::int64_t least = 1) {
    return number(key, least).value_or(otherwise);
  }
  /// The same, but it has to be there.
  [[nodiscard]] std::int64_t required(std::string_view key);
  /// A decimal of 0 or more.
  [[nodiscard]] std::optional<double> decimal_number(std::string_view key);
  /// True for a flag without a value.
  [[nodiscard]] bool flag(std::string_view key, bool otherwise = false);
  /// One word; `otherwise` if it is missing or None.
  [[nodiscard]] std::string word(std::string_view key, std::string const& otherwise = {});
  /// The word as it is, without asking what it is: none if there is none, or several.
  [[nodiscard]] std::string word_or_none(std::string_view key) const;
  /// Whether it is there without a value.
  [[nodiscard]] bool is_flag(std::string_view key) const;
  /// One of `words`, of which the first is the default.
  [[nodiscard]] std::string one_of(std::string_view key, std::initializer_list<std::string_view> words) {
    return one_of_or(key, std::string(*words.begin()), words);
  }
  /// The one of `words` that it is but for capital letters; `otherwise` if it is missing or None.
  [[nodiscard]] std::string one_of_or(std::string_view key, std::string const& otherwise, std::vector<std::string_view> const& words);
  /// A word of a list that is not closed: any, but none that is a slip of one of `words`.
  [[nodiscard]] std::string word_near(std::string_view key, std::string const& otherwise, std::vector<std::string_view> const& words);
  /// Refuses a word of the key's value that is none of `words`.
  void require_word(std::string_view key, std::string_view given, std::vector<std::string_view> const& words) const;
  /// All words; commas and brackets part them too.
  [[nodiscard]] std::vector<std::string> list(std::string_view key);

  [[noreturn]] void refuse(std::string_view key, std::string const& why) const;

  /// Marks keys as known: one without '*'; the family of "a*" up to the next dot; and all that begin so for "a**", or where the beginning
  /// has a word of logs, evaluation or saving, as none of them touches memory or time. Of a section "a.*" or one of a family, `finish`
  /// judges each key.
  void ignore(std::initializer_list<std::string_view> keys);
  /// The keys that nothing has asked for, by their words behind what is known of their beginning. Refuses one that is a slip of a key that
  /// importers ask for, and a table of which nobody knows more than half.
  [[nodiscard]] passed_keys finish(std::string const& framework) const;
  /// Refuses a key that nothing has asked for, with the nearest that was. `what` is whose keys they are.
  void refuse_others(std::string const& what) const;

 private:
  [[nodiscard]] setting_entry const* look_up(std::string_view key) const;
  [[nodiscard]] bool is_slip(setting_entry const& entry, std::string const& known) const;
  [[nodiscard]] std::string_view own_words(setting_entry const& entry) const;
  /// The entry, marked as used; nothing if it is missing or None.
  [[nodiscard]] setting_entry const* take(std::string_view key);
  [[nodiscard]] std::string const& only_word(setting_entry const& entry) const;

  std::string file_;
  std::vector<setting_entry> entries_;
  mutable std::vector<std::string> asked_;  // every key that an importer knows
};

}  // namespace ballast_cli
