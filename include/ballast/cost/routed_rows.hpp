// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Rows counted as a router sends them: the load of each expert in each segment of rows, and the rows that a capacity drops.

namespace ballast::inline v0_2 {

namespace detail {
constexpr void require_experts(std::span<std::uint32_t const> expert_of, std::uint32_t experts) {
  require(experts >= 1, [] { return std::string("experts = 0 must be at least 1"); });
  require(expert_of.size() < (std::numeric_limits<std::uint32_t>::max)(),
          [&] { return std::to_string(expert_of.size()) + " rows: fewer than 2^32 - 1 are counted"; });
  for (std::size_t i = 0; i < expert_of.size(); ++i)
    require(expert_of[i] < experts, [&] { return entry("expert_of", i, expert_of[i]) + " must be below " + std::to_string(experts); });
}
}  // namespace detail

/// @brief Counts the rows of each expert in each segment: of each rank that sends them, of each sequence, or of a layer as one segment.
/// @param expert_of  the expert of each row
/// @param offsets    segment s has rows [offsets[s], offsets[s + 1]); they rise from 0 to the number of rows
/// @param experts    number of experts, at least 1
/// @return the rows of expert e in segment s at s * experts + e
/// @throws invalid_input if a row has no expert, or the offsets do not rise from 0 to the number of rows
/// @par Complexity
/// O(rows + segments experts).
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> segment_loads(std::span<std::uint32_t const> expert_of, std::span<std::uint64_t const> offsets,
                                                      std::uint32_t experts) {
  detail::require_experts(expert_of, experts);
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == expert_of.size(),
          [&] { return "offsets must rise from 0 to the number of rows, " + std::to_string(expert_of.size()); });
  std::vector<std::int64_t> out((offsets.size() - 1) * experts);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    require(offsets[s] <= offsets[s + 1] && offsets[s + 1] <= expert_of.size(),
            [&] { return entry("offsets", s + 1, offsets[s + 1]) + " is below its predecessor, or above the number of rows"; });
    for (auto i = static_cast<std::size_t>(offsets[s]); i < offsets[s + 1]; ++i) ++out[s * experts + expert_of[i]];
  }
  return out;
}

/// @brief The slot of a row that is dropped.
inline constexpr std::uint32_t dropped_row = 0xffffffff;

/// @brief Rows at experts of limited capacity.
struct clipped_rows {
  std::vector<std::int64_t> loads;     ///< rows that the router sent to each expert, dropped ones included
  std::vector<std::uint32_t> slot_of;  ///< place of each row among those that its expert keeps, or `dropped_row`

  friend bool operator==(clipped_rows const&, clipped_rows const&) = default;
};

/// @brief Gives each row a slot at its expert, in the order of the rows, until the expert is full.
/// @param expert_of  the expert of each row
/// @param experts    number of experts, at least 1
/// @param capacity   rows that an expert takes (`expert_capacity`)
/// @return loads and slots
/// @post the kept rows of an expert have the slots from 0 to min(load, capacity) - 1
/// @throws invalid_input if a row has no expert
/// @par Complexity
/// O(rows + experts).
template <class = when_called>
[[nodiscard]] clipped_rows clip_rows(std::span<std::uint32_t const> expert_of, std::uint32_t experts, std::uint32_t capacity) {
  detail::require_experts(expert_of, experts);
  clipped_rows out{.loads = std::vector<std::int64_t>(experts), .slot_of = {}};
  out.slot_of.reserve(expert_of.size());
  for (auto const e : expert_of) {
    auto const place = out.loads[e]++;
    out.slot_of.push_back(place < capacity ? static_cast<std::uint32_t>(place) : dropped_row);
  }
  return out;
}

}  // namespace ballast::inline v0_2
