// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The samples of the near-optimal search, as its parts see them, for one measure; `vector_slices` is the form for several measures.
/// Distinct samples have positions, ascending in size. Positions form slices: samples of a slice agree in all measures but the size.
struct length_shape {
  static constexpr bool one_slice = true;
  static constexpr std::int64_t least_size = 1;
  static constexpr bool rounded = false;
  static constexpr std::array<std::int64_t, 0> lead_capacity{}, need_capacity{};

  histogram const& lengths;
  std::int64_t capacity;

  [[nodiscard]] std::size_t positions() const noexcept { return lengths.lengths.size(); }
  [[nodiscard]] std::int64_t size_of(std::size_t p) const { return lengths.lengths[p]; }
  [[nodiscard]] std::vector<std::uint64_t> const& counts() const noexcept { return lengths.counts; }
  [[nodiscard]] static constexpr std::size_t slice_of(std::size_t) noexcept { return 0; }
  [[nodiscard]] static constexpr std::size_t slices() noexcept { return 1; }
  [[nodiscard]] std::size_t slice_begin(std::size_t r) const noexcept { return r * positions(); }
  [[nodiscard]] static constexpr std::size_t leads() noexcept { return 0; }
  [[nodiscard]] static constexpr std::span<std::int64_t const> leads_of(std::size_t) noexcept { return {}; }
  [[nodiscard]] static constexpr std::span<std::int64_t const> needs_of(std::size_t) noexcept { return {}; }
  [[nodiscard]] static std::uint64_t most_copies(std::size_t, std::int64_t size, std::int64_t inner_capacity) {
    return static_cast<std::uint64_t>(inner_capacity / size);
  }
  /// One number for each position, over all slices: ascending with the position and, within a slice, with the size.
  [[nodiscard]] histogram const& line() const noexcept { return lengths; }
  [[nodiscard]] std::int64_t line_capacity() const noexcept { return capacity; }
  [[nodiscard]] static constexpr std::int64_t on_line(std::size_t, std::int64_t size) noexcept { return size; }

  /// The resolution of a knapsack over these positions: exact lengths if that is affordable, otherwise as fine as affordable.
  [[nodiscard]] std::int64_t resolution(std::span<std::uint32_t const> of, std::uint64_t = 0) const {
    auto const n = static_cast<std::int64_t>(of.size());
    if (capacity <= 3'000'000 / n) return capacity;
    return (std::min)(capacity, (std::max)(std::int64_t{4096}, 2'048'000 / n));
  }
};

}  // namespace ballast::inline v0_2::detail
