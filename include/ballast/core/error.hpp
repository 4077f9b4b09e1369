// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// @brief Misuse throws `invalid_input` before any work. A problem without a solution is not an error: it is a `status` (status.hpp).

namespace ballast::inline v0_2 {

/// @brief Thrown for an argument that breaks a precondition. The message names the argument, the index and the value.
class invalid_input : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// @brief Throws `invalid_input` unless `ok`; the message is built only when it is needed.
///
/// @tparam Message  a callable without parameters that returns something convertible to `std::string`
/// @param ok       the precondition
/// @param message  builds the message
/// @throws invalid_input when `ok` is false
template <class Message>
constexpr void require(bool ok, Message&& message) {
  if (!ok) [[unlikely]]
    throw invalid_input(std::forward<Message>(message)());
}

namespace detail {

/// Appends a text to a sentence. Behind the number 1, a first word that counts things takes the singular: "1 sample", not "1 samples".
inline void append_words(std::string& sentence, std::string_view text) {
  constexpr std::string_view things =
      " bins blocks bytes chunks costs counts devices dimensions duals entries experts groups items labels layers lengths levels "
      "measures micro-batches members numbers operators options packs passes pieces ranks rows samples stages steps times tokens units "
      "values weights ";
  if (text.starts_with(' ') && (sentence == "1" || sentence.ends_with(" 1"))) {
    auto const word = text.substr(0, text.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", 1));
    auto const is_product = word == " times" && !text.starts_with(" times for ");
    if (!is_product && word.size() > 1 && things.find(std::string(word) + ' ') != things.npos) {
      auto const dropped = std::size_t{word.ends_with("ies") ? 3U : word.ends_with("ches") || word.ends_with("sses") ? 2U : 1U};
      if (sentence.ends_with("there are 1")) sentence.replace(sentence.size() - 5, 3, "is");
      (sentence += word.substr(0, word.size() - dropped)) += dropped == 3 ? "y" : "";
      text.remove_prefix(word.size());
    }
  }
  sentence += text;
}

/// A text or an integer, as a part of a sentence.
class sentence_part {
 public:
  sentence_part(char const* text) : text_(text) {}
  sentence_part(std::string_view text) : text_(text) {}
  sentence_part(std::string const& text) : text_(text) {}
  sentence_part(std::signed_integral auto value)
      : number_(value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value)), sign_(value < 0 ? 2 : 1) {}
  sentence_part(std::unsigned_integral auto value) : number_(value), sign_(1) {}
  void append_to(std::string& sentence) const {
    if (sign_ == 2) sentence += '-';
    if (sign_ == 0)
      append_words(sentence, text_);
    else
      sentence += std::to_string(number_);
  }

 private:
  std::string_view text_{};
  std::uint64_t number_ = 0;
  int sign_ = 0;  // 0: a text, 1: a number, 2: a negative number
};
[[nodiscard]] inline std::string join(std::span<sentence_part const> parts) {
  std::string sentence;
  for (auto const& part : parts) part.append_to(sentence);
  return sentence;
}

}  // namespace detail

/// @brief Joins texts and integers to the sentence of an error. Cheaper to compile than a sum of strings. Writes "1 sample", "2 samples".
/// @tparam Parts  strings, views of them, and integers
/// @param parts  the parts, in order
/// @return for example "capacity = 0 must be positive"
template <class... Parts>
[[nodiscard]] std::string sentence(Parts const&... parts) {
  detail::sentence_part const list[] = {parts...};
  return detail::join(list);
}

/// @brief Formats one entry of an argument for an error message.
/// @tparam Value  a number
/// @param name   the argument, such as "lengths"
/// @param index  index of the entry
/// @param value  value of the entry
/// @return for example "lengths[17] = 9000"
template <class Value>
[[nodiscard]] std::string entry(char const* name, std::uint64_t index, Value value) {
  if constexpr (std::floating_point<Value>) {
    return sentence(name, "[", index, "] = ", std::to_string(value));
  } else {
    return sentence(name, "[", index, "] = ", value);
  }
}

/// @brief Throws if there are more items than an index type can number.
/// @tparam Index  the type of the indices
/// @param count  number of items
/// @param what   what the items are, for the message, such as "samples"
/// @throws invalid_input when `count` exceeds the largest index
template <index_type Index>
constexpr void require_index(std::uint64_t count, char const* what) {
  require(count <= (std::numeric_limits<Index>::max)(),
          [&] { return sentence(count, " ", what, " need a 64-bit index: call with <std::uint64_t>"); });
}

/// @brief Finds an entry of a table by name.
/// @tparam Table  a range of entries with a member `name`, not empty
/// @param table  the table; the result refers to it
/// @param name   the name, as it is written in the table
/// @param what   what the entries are, for the message, such as "device"
/// @return the entry
/// @throws invalid_input, with a list of the names, if the name is unknown: "no device "h10"; there are a100, h100"
/// @par Complexity
/// O(entries).
template <class Table>
[[nodiscard]] constexpr auto const& find_named(Table const& table, std::string_view name, std::string_view what) {
  for (auto const& t : table)
    if (t.name == name) return t;
  throw invalid_input([&] {
    auto sentence = "no " + std::string(what) + " \"" + std::string(name) + "\"; there are ";
    for (auto const& t : table) sentence += (&t == &table.front() ? "" : ", ") + std::string(t.name);
    return sentence;
  }());
}

}  // namespace ballast::inline v0_2
