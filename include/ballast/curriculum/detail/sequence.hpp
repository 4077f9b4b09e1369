// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/curriculum/detail/valid_sources.hpp>
#include <ballast/curriculum/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

/// @file
/// @brief Selects the steps that a source gives to an epoch.

namespace ballast::inline v0_2::detail {

// The purpose of a draw; each purpose has its own random numbers.
enum class curriculum_draw : std::uint64_t { pass, thinned, window, phase, mix, buckets };

[[nodiscard]] constexpr std::uint64_t curriculum_seed(std::uint64_t seed, curriculum_draw what,
                                                      std::initializer_list<std::uint64_t> which) noexcept {
  auto mixed = splitmix64(splitmix64(seed)() + static_cast<std::uint64_t>(what))();
  for (auto w : which) mixed = splitmix64(mixed + w)();
  return mixed;
}

template <class = when_called>
inline void shuffle(std::vector<std::uint32_t>& items, std::size_t first, std::uint64_t seed) {
  splitmix64 draw(seed);
  for (auto i = first + 1; i < items.size(); ++i)
    std::swap(items[i], items[first + static_cast<std::size_t>(uniform_below(i - first + 1, draw))]);
}

// How far epochs 0 … epoch - 1 have moved the window of a source that trains a part of its steps.
[[nodiscard]] inline std::uint64_t window_start(curriculum_source const& source, std::uint64_t epoch) {
  auto const listed = (std::min)(epoch, static_cast<std::uint64_t>(source.per_epoch.size()));
  std::uint64_t moved = 0;
  for (std::uint64_t e = 0; e < listed; ++e) moved += steps_in_epoch(source, e) % source.steps;
  return (moved + (epoch - listed) * (steps_in_epoch(source, epoch) % source.steps)) % source.steps;
}

// The steps of source `s` in an epoch: full passes in random order, then the rest. The rest of each epoch is the next window of one fixed
// permutation, taken cyclically. So over any number of epochs, the numbers of times that two steps were trained differ by at most one.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> epoch_sequence(curriculum_source const& source, std::uint64_t s, std::uint64_t epoch,
                                                               std::uint64_t seed) {
  auto const count = steps_in_epoch(source, epoch);
  if (count == 0) return {};
  auto const n = static_cast<std::size_t>(source.steps);
  auto const pass = [&](std::uint64_t p) { return random_permutation(n, curriculum_seed(seed, curriculum_draw::pass, {s, epoch, p})); };
  if (count == n) return pass(0);
  std::vector<std::uint32_t> sequence;
  sequence.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t p = 0; p < count / n; ++p) {
    auto const all = pass(p);
    sequence.insert(sequence.end(), all.begin(), all.end());
  }
  if (auto const rest = static_cast<std::size_t>(count % n); rest > 0) {
    auto const fixed = random_permutation(n, curriculum_seed(seed, curriculum_draw::thinned, {s}));
    auto const start = static_cast<std::size_t>(window_start(source, epoch)), whole = sequence.size();
    for (std::size_t i = 0; i < rest; ++i) sequence.push_back(fixed[(start + i) % n]);
    shuffle(sequence, whole, curriculum_seed(seed, curriculum_draw::window, {s, epoch}));
  }
  return sequence;
}

}  // namespace ballast::inline v0_2::detail
