// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/error.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "nearest.hpp"

// The words by which Python names the enumerators of options, and the entries of tables.

namespace ballast_python {

template <class Value>
struct word {
  std::string_view name;
  Value value;
};

/// Some planners take only the first few of these.
inline constexpr word<ballast::oversize> oversize_words[] = {
    {"reject", ballast::oversize::reject},     {"set_aside", ballast::oversize::set_aside}, {"drop", ballast::oversize::set_aside},
    {"truncate", ballast::oversize::truncate}, {"split", ballast::oversize::split},         {"alone", ballast::oversize::alone}};
inline constexpr word<ballast::left_over> left_over_words[] = {{"split", ballast::left_over::split},
                                                               {"shorten", ballast::left_over::shorten},
                                                               {"repeat", ballast::left_over::repeat},
                                                               {"drop", ballast::left_over::drop}};
inline constexpr word<ballast::synchronisation> synchronisation_words[] = {{"per_step", ballast::synchronisation::per_step},
                                                                           {"per_micro_batch", ballast::synchronisation::per_micro_batch},
                                                                           {"pipeline", ballast::synchronisation::pipeline}};

/// How many policies for longer samples a planner takes: padded rows are not split, and only packs exceed the capacity.
inline constexpr std::size_t of_padded_rows = 4, of_steps = 5;

/// The entry of a table with this word, as the command line finds it; throws invalid_input with a list of the words.
template <class Table>
[[nodiscard]] auto const& entry_named(Table const& table, std::string_view name, char const* option) {
  auto const* const entry = ballast_cli::find_word(name, table);
  ballast::require(entry != nullptr, [&] {
    return std::string(option) + " = \"" + std::string(name) + "\" is not one of " + ballast_cli::one_of(name, table);
  });
  return *entry;
}

/// The enumerator of a word.
/// @param taken  how many of the words are allowed
template <class Value, std::size_t N>
[[nodiscard]] Value value_named(word<Value> const (&words)[N], std::string const& name, char const* option, std::size_t taken = N) {
  return entry_named(std::span(words).first(taken), name, option).value;
}

}  // namespace ballast_python
