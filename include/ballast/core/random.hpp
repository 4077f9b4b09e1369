// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Random numbers that are the same on every platform. The distributions of `<random>` are not, so ballast has its own.

namespace ballast::inline v0_2 {

/// @brief The splitmix64 generator: 64 bits of state, period 2^64; satisfies `std::uniform_random_bit_generator`.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class splitmix64 {
 public:
  using result_type = std::uint64_t;  ///< type of a draw
  /// @brief Starts the sequence of `seed`. @param seed any value
  BALLAST_HD constexpr explicit splitmix64(std::uint64_t seed) noexcept : state_(seed) {}
  /// @brief The next 64 random bits.
  BALLAST_HD constexpr result_type operator()() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  static constexpr result_type(min)() noexcept { return 0; }                ///< smallest draw
  static constexpr result_type(max)() noexcept { return ~result_type{0}; }  ///< largest draw

 private:
  std::uint64_t state_;
};

/// @brief A uniform integer in [0, bound), unbiased.
///
/// @tparam Generator  a callable that returns 64 random bits
/// @param bound     number of outcomes, at least 1
/// @param generator advanced by one draw, rarely more
/// @return the draw
/// @par Complexity
/// One draw and one remainder; a second draw with probability below `bound` / 2^64.
template <class Generator>
[[nodiscard]] constexpr std::uint64_t uniform_below(std::uint64_t bound, Generator& generator) {
  for (;;) {
    auto const draw = std::uint64_t{generator()};
    if (draw >= bound || draw >= (std::uint64_t{0} - bound) % bound) return draw % bound;  // the latter is 2^64 mod bound
  }
}

/// @brief A uniformly random permutation of 0 … count - 1 (Fisher-Yates), the same on every platform.
///
/// @tparam Index  type of the entries
/// @param count  number of entries; fits in `Index`
/// @param seed   any value
/// @return the permutation
/// @par Complexity
/// O(count).
template <index_type Index = std::uint32_t>
[[nodiscard]] std::vector<Index> random_permutation(std::size_t count, std::uint64_t seed) {
  std::vector<Index> order(count);
  splitmix64 generator(seed);
  for (std::size_t i = 0; i < count; ++i) {
    auto const j = static_cast<std::size_t>(uniform_below(i + 1, generator));
    order[i] = order[j];
    order[j] = static_cast<Index>(i);
  }
  return order;
}

namespace detail {

/// A uniform integer in [0, bound), unbiased, by multiplication (Lemire, arXiv 1805.10941), where `uniform_below` divides twice. The two
/// functions draw different numbers.
[[nodiscard]] inline std::uint64_t scaled_below(std::uint64_t bound, splitmix64& random) {
  auto product = multiply(random(), bound);
  if (product.low < bound) [[unlikely]]
    for (auto const reject_below = (std::uint64_t{0} - bound) % bound; product.low < reject_below;) product = multiply(random(), bound);
  return product.high;
}

/// Puts the items into a uniformly random order (Fisher-Yates).
template <class T>
void shuffle(std::span<T> items, splitmix64& random) {
  for (auto left = items.size(); left > 1; --left) std::swap(items[left - 1], items[static_cast<std::size_t>(scaled_below(left, random))]);
}

}  // namespace detail

}  // namespace ballast::inline v0_2
