// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
