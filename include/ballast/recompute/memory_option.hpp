// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief Options of tensors or layers for planners of memory, classes of items that share their options, and what a selection is asked and
/// answers.

namespace ballast::inline v0_2 {

/// @brief One way to treat an item: keep it, recompute part or all of it, or send it to the host and back.
struct memory_option {
  std::int64_t memory = 0;    ///< bytes held until the backward pass, not negative
  std::int64_t time = 0;      ///< time that it adds (what is computed again), not negative, any unit
  std::int64_t transfer = 0;  ///< time on the link to the host, same unit; part of it may be hidden (`selection_options::hidden_transfer`)

  friend constexpr bool operator==(memory_option const&, memory_option const&) = default;
};

/// @brief Items in classes. All items of a class have the same options, and each item takes exactly one.
///
/// Class k has the options `options[offsets[k]]` … `options[offsets[k + 1] - 1]`. Single items are classes with a count of 1.
struct option_classes {
  std::vector<std::uint64_t> offsets{0};  ///< one entry more than classes, from 0
  std::vector<memory_option> options;     ///< options of all classes, class after class
  std::vector<std::uint64_t> counts;      ///< number of items of each class, at least 1

  /// @brief Number of classes.
  [[nodiscard]] std::size_t size() const noexcept { return counts.size(); }
  /// @brief Options of one class. @param k 0 … size() - 1
  [[nodiscard]] std::span<memory_option const> operator[](std::size_t k) const& noexcept {
    return std::span(options).subspan(static_cast<std::size_t>(offsets[k]), static_cast<std::size_t>(offsets[k + 1] - offsets[k]));
  }
  std::span<memory_option const> operator[](std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Appends a class. @param choices its options, at least one @param count number of its items
  void add(std::span<memory_option const> choices, std::uint64_t count = 1) {
    options.insert(options.end(), choices.begin(), choices.end());
    offsets.push_back(options.size());
    counts.push_back(count);
  }
  friend bool operator==(option_classes const&, option_classes const&) = default;
};

/// @brief Throws unless classes are valid and their sums are at most 2^58.
/// @param items  the classes
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(option_classes const& items) {
  require(items.offsets.size() == items.counts.size() + 1 && items.offsets.front() == 0 && items.offsets.back() == items.options.size(),
          [&] {
            return sentence("option_classes: ", items.offsets.size(), " offsets do not cut ", items.options.size(), " options into ",
                            items.counts.size(), " classes");
          });
  constexpr auto most = std::int64_t{1} << 58;
  std::int64_t memory_left = most, time_left = most;
  for (std::size_t k = 0; k < items.size(); ++k) {
    require(items.offsets[k] < items.offsets[k + 1] && items.offsets[k + 1] <= items.options.size(),
            [&] { return sentence("class ", k, " has no options"); });
    auto const count = items.counts[k];
    require(count > 0 && count <= static_cast<std::uint64_t>(most), [&] { return entry("counts", k, count) + " must be in [1, 2^58]"; });
    std::int64_t memory = 0, time = 0;
    for (auto j = static_cast<std::size_t>(items.offsets[k]); j < items.offsets[k + 1]; ++j) {
      auto const within = [&](char const* field, std::int64_t value) {
        require(value >= 0 && value <= most, [&] { return sentence("options[", j, "].", field, " = ", value, " must be in [0, 2^58]"); });
      };
      within("memory", items.options[j].memory);
      within("time", items.options[j].time);
      within("transfer", items.options[j].transfer);
      memory = (std::max)(memory, items.options[j].memory);
      time = (std::max)(time, items.options[j].time + items.options[j].transfer);
    }
    auto const take = [&](std::int64_t& left, std::int64_t value, char const* what) {
      require(value == 0 || static_cast<std::int64_t>(count) <= left / value,
              [&] { return sentence("class ", k, " brings the sum of ", what, " above 2^58"); });
      left -= static_cast<std::int64_t>(count) * value;
    };
    take(memory_left, memory, "memory");
    take(time_left, time, "time");
  }
}

/// @brief Distinct classes, and which of them each original class became.
struct folded_options {
  option_classes classes;               ///< distinct classes, in order of first appearance
  std::vector<std::uint32_t> class_of;  ///< for each original class, its index in `classes`
};

/// @brief Folds classes with the same options, in the same order, into one.
/// @param items  valid classes, at most 2^31
/// @return the distinct classes, with added counts
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(options) expected, O(options * classes) at worst.
/// @par Determinism
/// The result is in order of first appearance and does not depend on the hash.
template <class = when_called>
[[nodiscard]] inline folded_options fold(option_classes const& items) {
  require_valid(items);
  folded_options out;
  out.class_of.resize(items.size());
  std::size_t slots = 16;
  while (slots < 2 * items.size()) slots *= 2;
  std::vector<std::uint32_t> table(slots, (std::numeric_limits<std::uint32_t>::max)());
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto const choices = items[i];
    std::uint64_t h = 0;
    for (auto const& o : choices)
      for (auto const field : {o.memory, o.time, o.transfer}) {
        h = (h ^ static_cast<std::uint64_t>(field)) * 0x9e3779b97f4a7c15U;
        h ^= h >> 29;
      }
    auto at = static_cast<std::size_t>(h) & (slots - 1);
    while (table[at] != (std::numeric_limits<std::uint32_t>::max)() && !std::ranges::equal(out.classes[table[at]], choices))
      at = (at + 1) & (slots - 1);
    if (table[at] == (std::numeric_limits<std::uint32_t>::max)()) {
      table[at] = static_cast<std::uint32_t>(out.classes.size());
      out.classes.add(choices, 0);
    }
    out.class_of[i] = table[at];
    out.classes.counts[table[at]] += items.counts[i];
  }
  return out;
}

/// @brief Work of `choose_options` where no other is given.
inline constexpr std::uint64_t selection_work = std::uint64_t{100} << 22;

/// @brief Options of a selection. Only `budget` has no default.
struct selection_options {
  std::int64_t budget = 0;           ///< largest memory of all items together, not negative
  std::int64_t hidden_transfer = 0;  ///< link time that computation hides, not negative; only link time above it counts as time
};

/// @brief Which option each item takes.
struct selection {
  ballast::status status = ballast::status::infeasible;  ///< whether `copies` is a plan
  certificate time;           ///< time that the options add, with the transfers that are not hidden, and its lower bound; 0 if infeasible
  std::int64_t memory = 0;    ///< memory of all items; if infeasible, the least of any selection, which exceeds the budget
  std::int64_t transfer = 0;  ///< link time of all items, hidden or not
  std::vector<std::uint64_t> copies;  ///< for each entry of `options`, how many items of its class take it; empty if infeasible
  std::uint64_t operations = 0;       ///< work of the search: 1 for each price tried on an option, 100 for each partial selection tried
  bool complete = true;               ///< false if a requested stop or the clock ended the search
};

}  // namespace ballast::inline v0_2
