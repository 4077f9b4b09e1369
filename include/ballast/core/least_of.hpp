// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `least_of`: which of some numbers that change is the smallest. For writers of planners.

namespace ballast::inline v0_2 {

/// @brief Finds the smallest of some numbers below 2^62 in size, of equal ones the first, while they change: a tournament.
template <class = when_called>
class least_of {
 public:
  static constexpr std::int64_t none = std::int64_t{1} << 62;  ///< the value of what takes no part

  /// @brief Has no numbers until `start`.
  least_of() = default;
  /// @brief All numbers are 0. @param count how many there are
  explicit least_of(std::size_t count) { start(count); }
  /// @brief All numbers are 0, as at first. @param count how many there are
  void start(std::size_t count) {
    leaves_ = std::bit_ceil(count);
    nodes_.resize(2 * leaves_);
    for (std::size_t m = 0; m < leaves_; ++m) nodes_[leaves_ + m] = {m < count ? 0 : none, static_cast<std::uint32_t>(m)};
    for (auto at = leaves_; at-- > 1;) nodes_[at] = nodes_[2 * at];
  }
  /// @brief Which number is the smallest.
  [[nodiscard]] std::uint32_t first() const { return nodes_[1].which; }
  /// @brief Whether no number takes part.
  [[nodiscard]] bool empty() const { return nodes_[1].value == none; }
  /// @brief A number. @param m which one
  [[nodiscard]] std::int64_t operator[](std::size_t m) const { return nodes_[leaves_ + m].value; }
  /// @brief Changes a number, in O(log n).
  /// @param m       which one
  /// @param value   at most `none`
  /// @param sooner  nothing, or whether the first of two whose numbers are equal counts as the smaller one; then the same in every call
  template <class... Sooner>
  void set(std::size_t m, std::int64_t value, Sooner const&... sooner) {
    auto at = leaves_ + m;
    node winner{value, static_cast<std::uint32_t>(m)};
    nodes_[at] = winner;
    for (; at > 1; nodes_[at /= 2] = winner) {
      auto const& other = nodes_[at ^ 1];
      auto const right = static_cast<std::int64_t>(at & 1);
      // Without a jump, which would be predicted wrongly half of the time. Of equal values the left one wins. The next value waits for one
      // comparison alone.
      auto lost = (other.value - right - winner.value) >> 63;
      if (sizeof...(sooner) != 0 && other.value == winner.value && other.value != none) [[unlikely]]
        lost = right != 0 ? (sooner(winner.which, other.which) || ...) - 1 : -std::int64_t{(sooner(other.which, winner.which) || ...)};
      winner.which ^= (winner.which ^ other.which) & static_cast<std::uint32_t>(lost);
      winner.value = (std::min)(winner.value, other.value);
    }
  }
  /// @brief Adds to a number. @param m which one @param change what is added
  void add(std::size_t m, std::int64_t change) { set(m, (*this)[m] + change); }

 private:
  struct node {
    std::int64_t value = none;
    std::uint32_t which = 0;
  };
  std::size_t leaves_ = 0;
  std::vector<node> nodes_;  // nodes_[1] is the smallest of all, nodes_[leaves_ + m] is number m
};

namespace detail {

/// As `least_of`, where a number and its place share a word: an operation compares and moves half as much.
template <class = when_called>
class least_word {
 public:
  static constexpr std::int64_t none = least_of<>::none;

  /// The numbers must stay below this for so many of them.
  [[nodiscard]] static std::int64_t limit(std::size_t count) noexcept { return none >> std::bit_width(count); }
  void start(std::size_t count) {
    bits_ = static_cast<int>(std::bit_width(count));
    leaves_ = std::bit_ceil(count);
    nodes_.assign(2 * leaves_, absent);
    for (std::size_t m = 0; m < count; ++m) nodes_[leaves_ + m] = m;
    for (auto at = leaves_; at-- > 1;) nodes_[at] = nodes_[2 * at];
  }
  [[nodiscard]] std::uint32_t first() const { return static_cast<std::uint32_t>(nodes_[1] & ((std::uint64_t{1} << bits_) - 1)); }
  [[nodiscard]] bool empty() const { return nodes_[1] == absent; }
  void set(std::size_t m, std::int64_t value) {
    auto at = leaves_ + m;
    auto least = value == none ? absent : static_cast<std::uint64_t>(value) << bits_ | m;
    for (nodes_[at] = least; at > 1; nodes_[at /= 2] = least) least = (std::min)(least, nodes_[at ^ 1]);
  }

 private:
  static constexpr auto absent = ~std::uint64_t{0};
  int bits_ = 0;
  std::size_t leaves_ = 0;
  std::vector<std::uint64_t> nodes_;  // as in `least_of`
};

}  // namespace detail

}  // namespace ballast::inline v0_2
