// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Throws unless a planner can take the classes: sorted, none above a capacity, and their sums below 2^63.
inline void require_valid(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  auto const k = classes.measures;
  require(k > 0 && capacity.size() == k && classes.values.size() == k * classes.size(), [&] {
    return "classes: " + std::to_string(classes.size()) + " of " + std::to_string(k) + " measures do not go with " +
           std::to_string(classes.values.size()) + " values and " + std::to_string(capacity.size()) + " capacities";
  });
  constexpr auto largest = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> left(k, largest);
  auto samples_left = static_cast<std::uint64_t>(largest);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    auto const count = classes.counts[c];
    auto const row = classes[c];
    auto const name = [&](char const* what) { return std::string("classes.") + what + "[" + std::to_string(c) + "]"; };
    require(count > 0 && count <= samples_left, [&] { return name("counts") + " = " + std::to_string(count) + " is 0 or too large"; });
    samples_left -= count;
    require(std::any_of(row.begin(), row.end(), [](auto v) { return v > 0; }), [&] { return name("values") + " has nothing above 0"; });
    require(c == 0 || std::lexicographical_compare(classes[c - 1].begin(), classes[c - 1].end(), row.begin(), row.end()),
            [&] { return name("values") + " must be above its predecessor"; });
    for (std::size_t m = 0; m < k; ++m) {
      require(row[m] >= 0 && row[m] <= capacity[m], [&] {
        return name("values") + "[" + std::to_string(m) + "] = " + std::to_string(row[m]) + " must be in 0 ... capacity " +
               std::to_string(capacity[m]);
      });
      require(row[m] == 0 || count <= static_cast<std::uint64_t>(left[m] / row[m]),
              [&] { return name("counts") + " = " + std::to_string(count) + " brings a sum to 2^63 or more"; });
      left[m] -= row[m] * static_cast<std::int64_t>(count);
    }
  }
}

}  // namespace ballast::inline v0_2::detail
