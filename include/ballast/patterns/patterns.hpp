// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `pack_patterns`: packs as counts of samples by class. Planners that work on classes return it.

namespace ballast::inline v0_2 {

/// @brief Several samples of one class in a pack.
struct pattern_item {
  std::uint32_t item_class = 0;  ///< index of the class in a `histogram` or in `measure_classes`
  std::uint32_t copies = 0;      ///< number of samples of the class, at least 1
  friend constexpr bool operator==(pattern_item const&, pattern_item const&) = default;
};

/// @brief A packing of classes: pattern p means `repeats[p]` equal packs, each with `items[offsets[p]] … items[offsets[p + 1] - 1]`.
///
/// A class occurs at most once in a pattern.
///
/// @tparam Allocator  allocator of the arrays; results use `pack_patterns`
template <template <class> class Allocator>
struct basic_pack_patterns {
  std::vector<std::uint64_t, Allocator<std::uint64_t>> offsets{0};  ///< size() + 1 entries, from 0 to items.size(), never decreasing
  std::vector<pattern_item, Allocator<pattern_item>> items;         ///< items of the patterns, pattern after pattern
  std::vector<std::uint64_t, Allocator<std::uint64_t>> repeats;     ///< number of packs of each pattern, at least 1

  /// @brief Number of patterns.
  [[nodiscard]] std::size_t size() const noexcept { return repeats.size(); }
  /// @brief Number of packs.
  [[nodiscard]] std::uint64_t packs() const noexcept { return std::accumulate(repeats.begin(), repeats.end(), std::uint64_t{0}); }
  /// @brief The items of pattern `p < size()`. @param p number of the pattern @return a view into `items`
  [[nodiscard]] std::span<pattern_item const> operator[](std::size_t p) const& noexcept {
    return {items.data() + offsets[p], static_cast<std::size_t>(offsets[p + 1] - offsets[p])};
  }
  std::span<pattern_item const> operator[](std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Appends a pattern. @param pattern its items, each class once; not a view into this object @param count number of packs, at
  /// least 1
  void push_back(std::span<pattern_item const> pattern, std::uint64_t count) {
    items.insert(items.end(), pattern.begin(), pattern.end());
    offsets.push_back(items.size());
    repeats.push_back(count);
  }
  /// @brief Appends all patterns of another plan of the same classes. @param other the other plan; not this object
  template <template <class> class Other>
  void append(basic_pack_patterns<Other> const& other) {
    for (std::size_t p = 0; p < other.size(); ++p) push_back(other[p], other.repeats[p]);
  }
  /// @brief Removes every pattern and keeps the memory.
  void clear() {
    offsets.assign(1, 0);
    items.clear();
    repeats.clear();
  }
  friend bool operator==(basic_pack_patterns const&, basic_pack_patterns const&) = default;
};
/// @brief Patterns in ordinary memory, as planners return them.
using pack_patterns = basic_pack_patterns<std::allocator>;

namespace detail {

/// Adds samples of a class to a pattern; those of one class come one after the other.
template <class Pattern>
void add_copies(Pattern& pattern, std::uint32_t item_class, std::uint32_t copies = 1) {
  if (!pattern.empty() && pattern.back().item_class == item_class)
    pattern.back().copies += copies;
  else
    pattern.push_back({item_class, copies});
}
/// Appends a sorted list of classes as a pattern.
template <template <class> class Allocator, class Classes, class Pattern>
void push_classes(basic_pack_patterns<Allocator>& patterns, Classes const& classes, std::uint64_t repeats, Pattern& scratch) {
  scratch.clear();
  for (auto const c : classes) add_copies(scratch, c);
  patterns.push_back(scratch, repeats);
}

/// Appends the packs of the patterns. The samples of class c are taken from order[next[c]] on, in that order.
template <template <class> class Allocator, index_type Index>
void expand(basic_pack_patterns<Allocator> const& patterns, std::vector<std::uint64_t> next, Index const* order, groups<Index>& packs) {
  for (std::size_t p = 0; p < patterns.size(); ++p)
    for (std::uint64_t copy = 0; copy < patterns.repeats[p]; ++copy) {
      for (auto const& [c, copies] : patterns[p]) {
        auto const* const from = order + std::exchange(next[c], next[c] + copies);
        packs.members.insert(packs.members.end(), from, from + copies);
      }
      packs.offsets.push_back(packs.members.size());
    }
}

}  // namespace detail
}  // namespace ballast::inline v0_2
