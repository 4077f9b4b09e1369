// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Where the layers are whose optimiser is on the host: at equal distances, last or first.
enum class offload_spread : std::uint8_t { even, deep, shallow };

/// Of choices by who updates: the device, the host, the host with gradients.
[[nodiscard]] constexpr std::size_t update_kind(std::size_t choice) noexcept {
  auto const what = static_cast<hosted>(choice);
  return hosts_gradients(what) ? 2 : hosts_optimizer(what) ? 1 : 0;
}

/// The kind of which the first `at` of `all` should have most more.
template <std::size_t N>
[[nodiscard]] std::size_t furthest_behind(std::array<std::uint64_t, N> const& count, std::array<std::uint64_t, N> const& left,
                                          std::uint64_t at, std::uint64_t all) noexcept {
  std::size_t best = N;
  std::int64_t most = 0;
  for (std::size_t c = 0; c < N; ++c) {
    if (left[c] == 0) continue;
    auto const behind = static_cast<std::int64_t>(count[c] * at) - static_cast<std::int64_t>((count[c] - left[c]) * all);
    if (best == N || behind > most) {
      best = c;
      most = behind;
    }
  }
  return best;
}

/// Gives every layer its choice: kinds of update in the order of the spread; within a kind, parameters alternate.
/// `group` is that of each layer, `size` counts the layers of a group, and `counts` those of each of its choices.
template <class = when_called>
inline void spread_choices(offload_spread spread, std::span<std::uint32_t const> group, std::span<std::uint64_t const> size,
                           std::vector<std::uint64_t> const& counts, std::vector<hosted>& out) {
  auto left_of = counts;
  std::vector<std::uint64_t> seen(size.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto const k = group[i];
    auto const* const of = counts.data() + k * hosted_choices;
    auto* const left = left_of.data() + k * hosted_choices;
    std::array<std::uint64_t, 3> kind{}, kind_left{};
    for (std::size_t c = 0; c < hosted_choices; ++c) {
      kind[update_kind(c)] += of[c];
      kind_left[update_kind(c)] += left[c];
    }
    std::size_t g = 0;
    if (spread == offload_spread::even) {
      g = furthest_behind(kind, kind_left, ++seen[k], size[k]);
    } else {
      g = spread == offload_spread::deep ? 0 : 2;
      while (kind_left[g] == 0) g = spread == offload_spread::deep ? g + 1 : g - 1;
    }
    std::array<std::uint64_t, hosted_choices> inside{}, inside_left{};
    for (std::size_t c = 0; c < hosted_choices; ++c)
      if (update_kind(c) == g) {
        inside[c] = of[c];
        inside_left[c] = left[c];
      }
    auto const c = furthest_behind(inside, inside_left, kind[g] - kind_left[g] + 1, kind[g]);
    --left[c];
    out[i] = static_cast<hosted>(c);
  }
}

}  // namespace ballast::inline v0_2::detail
