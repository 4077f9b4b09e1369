// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Cost models from a profile: a table of lengths and costs, interpolated in integers.

namespace ballast::inline v0_2 {

/// @brief A profiled table as a cost model, over arrays that the caller owns; can be called on host and device.
///
/// Between two entries the cost lies on the straight line through them, rounded down. Up to the first entry it is the cost of that entry (a
/// launch costs something at any length); beyond the last entry the line through the last two continues. The cost never decreases.
/// `cost_table` owns and checks such arrays; on a device, fill this struct with device pointers.
/// @par Complexity
/// O(log count) a call.
struct table_cost {
  std::int64_t const* lengths = nullptr;  ///< lengths in tokens, strictly ascending, in [0, 2^31)
  std::int64_t const* costs = nullptr;    ///< costs in any unit, not negative, never decreasing
  std::size_t count = 0;                  ///< number of entries, at least one

 private:
  template <class Number>
  BALLAST_HD constexpr Number at(std::int64_t length) const noexcept {
    if (count == 1 || length <= lengths[0]) return Number(costs[0]);
    std::size_t low = 0, high = count - 1;  // the cost is on the line from entry low to low + 1; beyond the table, on the last line
    while (high - low > 1) {
      auto const middle = low + (high - low) / 2;
      (lengths[middle] <= length ? low : high) = middle;
    }
    auto const width = lengths[high] - lengths[low], rise = costs[high] - costs[low], on = length - lengths[low];
    auto const rest = rise % width * on / width;  // both factors are below 2^31
    return Number(costs[low]) + Number(rise / width) * Number(on) + Number(rest);
  }

 public:
  /// @brief The cost. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return at<std::int64_t>(length); }
  /// @brief Whether the cost is below 2^63 and the length below 2^31. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return length >= 0 && length < std::int64_t{1} << 31 && count > 0 && at<checked>(length).fits();
  }
  friend constexpr bool operator==(table_cost const&, table_cost const&) = default;
};

/// @brief A profiled table that owns its entries. It is a `bounded_cost_model`; pass `view()` where a cost is copied often.
class cost_table {
 public:
  /// @brief Takes over and checks the entries.
  /// @param lengths  lengths in tokens, at least one, strictly ascending, in [0, 2^31)
  /// @param costs    costs in any unit, one for each length, not negative, never decreasing (smooth a noisy profile first)
  /// @throws invalid_input naming the first entry that breaks a rule
  cost_table(std::vector<std::int64_t> lengths, std::vector<std::int64_t> costs) : lengths_(std::move(lengths)), costs_(std::move(costs)) {
    require(lengths_.size() == costs_.size() && !lengths_.empty(), [&] {
      return "a table of " + std::to_string(lengths_.size()) + " lengths and " + std::to_string(costs_.size()) +
             " costs: as many are needed, and one at least";
    });
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      auto const name = [&](char const* what, std::int64_t value) {
        return std::string(what) + "[" + std::to_string(i) + "] = " + std::to_string(value);
      };
      require(lengths_[i] >= 0 && lengths_[i] < std::int64_t{1} << 31,
              [&] { return name("lengths", lengths_[i]) + " must be in [0, 2^31)"; });
      require(i == 0 || lengths_[i - 1] < lengths_[i], [&] { return name("lengths", lengths_[i]) + " must be above its predecessor"; });
      require(costs_[i] >= (i == 0 ? 0 : costs_[i - 1]),
              [&] { return name("costs", costs_[i]) + (i == 0 ? " must not be negative" : " must not be below its predecessor"); });
    }
  }
  /// @brief The cost model over the arrays of this table, valid as long as the table exists.
  [[nodiscard]] table_cost view() const& noexcept { return {lengths_.data(), costs_.data(), lengths_.size()}; }
  table_cost view() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The cost. @param length tokens, with `fits(length)`
  std::int64_t operator()(std::int64_t length) const noexcept { return view()(length); }
  /// @brief Whether the cost is below 2^63 and the length below 2^31. @param length tokens
  [[nodiscard]] bool fits(std::int64_t length) const noexcept { return view().fits(length); }

 private:
  std::vector<std::int64_t> lengths_, costs_;
};

static_assert(bounded_cost_model<table_cost> && bounded_cost_model<cost_table>);

}  // namespace ballast::inline v0_2
