// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

/// @file
/// @brief `layer_set`: which layers of a model have a window, experts or linear attention.

namespace ballast::inline v0_2 {

/// @brief A set of layers, by number from 0. It may contain numbers that a model does not have, as in "from layer 3 on".
///
/// Two sets are equal if they have the same numbers up to `most`.
class layer_set {
 public:
  static constexpr std::int64_t most = 1024;  ///< numbers are below this

  /// @brief The empty set.
  constexpr layer_set() noexcept = default;
  /// @brief The set of some layers. @param layers their numbers, in any order @throws invalid_input if one is not in 0 … `most` - 1
  constexpr layer_set(std::initializer_list<std::int64_t> layers) {
    for (auto const l : layers) add(l);
  }

  /// @brief The set of all layers.
  [[nodiscard]] static constexpr layer_set all() noexcept { return ~layer_set(); }
  /// @brief The layers from one on. @param first the first of them; with 0 or less, all layers
  [[nodiscard]] static constexpr layer_set from(std::int64_t first) noexcept {
    layer_set out;
    for (auto l = first < 0 ? 0 : first; l < most; ++l) out.word(l) |= bit(l);
    return out;
  }
  /// @brief Every n-th layer: n - 1, 2 n - 1, … @param n the period; with 0 or less, no layer
  [[nodiscard]] static constexpr layer_set every(std::int64_t n) noexcept {
    layer_set out;
    if (n > 0)
      for (auto l = n - 1; l < most; l += n) out.word(l) |= bit(l);
    return out;
  }

  /// @brief Adds a layer. @param layer its number @throws invalid_input if it is not in 0 … `most` - 1
  constexpr void add(std::int64_t layer) {
    require(layer >= 0 && layer < most, [&] { return "layer " + std::to_string(layer) + " is not in 0 ... " + std::to_string(most - 1); });
    word(layer) |= bit(layer);
  }
  /// @brief Whether a layer is in the set. @param layer any number
  [[nodiscard]] constexpr bool contains(std::int64_t layer) const noexcept {
    return layer >= 0 && layer < most && (words_[static_cast<std::size_t>(layer / 64)] & bit(layer)) != 0;
  }
  /// @brief How many of the first layers are in the set. @param layers number of layers of the model
  [[nodiscard]] constexpr std::int64_t count(std::int64_t layers) const noexcept {
    std::int64_t sum = 0;
    for (std::int64_t l = 0; l < layers && l < most; ++l) sum += contains(l) ? 1 : 0;
    return sum;
  }
  /// @brief The layers that are not in a set. @param set the set
  [[nodiscard]] friend constexpr layer_set operator~(layer_set set) noexcept {
    for (auto& w : set.words_) w = ~w;
    return set;
  }
  friend constexpr bool operator==(layer_set const&, layer_set const&) = default;

 private:
  [[nodiscard]] static constexpr std::uint64_t bit(std::int64_t layer) noexcept { return std::uint64_t{1} << (layer % 64); }
  [[nodiscard]] constexpr std::uint64_t& word(std::int64_t layer) noexcept { return words_[static_cast<std::size_t>(layer / 64)]; }

  std::array<std::uint64_t, most / 64> words_{};
};

}  // namespace ballast::inline v0_2
