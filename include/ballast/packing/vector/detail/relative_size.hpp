// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Measures as shares of their capacity, so that they can be compared. Whether a sample fits is always decided on exact measures.

namespace ballast::inline v0_2::detail {

inline constexpr int full_share_bits = 20;
inline constexpr std::int64_t full_share = std::int64_t{1} << full_share_bits;  // a full pack

/// The right shift after which a value has at most `bits` bits.
[[nodiscard]] constexpr int spare_bits(std::int64_t value, int bits) noexcept {
  return (std::max)(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - bits);
}

/// `value` as a share of `capacity`, rounded down: 0 … `full_share`, or a little above for a huge capacity.
[[nodiscard]] constexpr std::int64_t share_of(std::int64_t value, std::int64_t capacity) noexcept {
  return capacity < std::int64_t{1} << 42 ? value * full_share / capacity : value / (capacity >> full_share_bits);
}

/// The share of each capacity that each class needs: `measures` entries for each class.
[[nodiscard]] inline std::vector<std::int64_t> relative_sizes(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  auto const k = classes.measures;
  std::vector<std::int64_t> sizes(classes.values.size());
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (std::size_t m = 0; m < k; ++m) sizes[c * k + m] = share_of(classes[c][m], capacity[m]);
  return sizes;
}

inline constexpr std::size_t many_classes = std::size_t{1} << 15;  // with more classes, planners search less thoroughly

/// The volume bound of the worst measure: a lower bound on the number of packs.
[[nodiscard]] inline std::int64_t volume_packs(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  std::int64_t packs = 0;
  for (std::size_t m = 0; m < classes.measures; ++m) packs = (std::max)(packs, divide_up(classes.total(m), capacity[m]));
  return packs;
}

/// The demand of all samples for each measure, relative to the capacity: 1024 for the largest demand, the others in proportion.
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> relative_demand(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  std::vector<std::int64_t> packs(classes.measures);
  for (std::size_t m = 0; m < packs.size(); ++m) packs[m] = classes.total(m) / capacity[m];
  auto const most = (std::max)(*std::max_element(packs.begin(), packs.end()), std::int64_t{1});
  auto const shift = spare_bits(most, 40);
  for (auto& p : packs) p = (p >> shift) * 1024 / (most >> shift);
  return packs;
}

/// A weighted sum of relative room: lower for fuller packs. For capacities up to 2^32, more room always gives a higher score.
class room_score {
 public:
  room_score(std::span<std::int64_t const> capacity, std::span<std::int64_t const> weights) {
    for (std::size_t m = 0; m < capacity.size(); ++m) {
      auto const shift = spare_bits(capacity[m], 32);
      auto const full = static_cast<std::uint64_t>(capacity[m]) >> shift;
      parts_.push_back({shift, (std::max)(std::uint64_t{1}, (static_cast<std::uint64_t>(weights[m]) << 38) / full)});
    }
  }
  [[nodiscard]] std::uint64_t operator()(std::span<std::int64_t const> room) const {
    std::uint64_t sum = 0;
    for (std::size_t m = 0; m < parts_.size(); ++m) sum += parts_[m].weight * (static_cast<std::uint64_t>(room[m]) >> parts_[m].shift);
    return sum;
  }

 private:
  struct part {
    int shift;
    std::uint64_t weight;
  };
  std::vector<part> parts_;
};

}  // namespace ballast::inline v0_2::detail
