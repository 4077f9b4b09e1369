// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace ballast::inline v0_2::detail {

/// The time of sample `i` on `ranks` ranks, checked to be in [0, 2^62).
template <degree_cost_model Cost>
[[nodiscard]] std::int64_t sample_time(Cost const& cost, std::size_t i, std::int64_t length, std::uint64_t ranks) {
  auto const d = static_cast<std::int64_t>(ranks);
  auto const name = [&] { return entry("lengths", i, length) + " on " + std::to_string(d) + " ranks"; };
  if constexpr (requires { static_cast<bool>(cost.fits(length, d)); })
    require(cost.fits(length, d), [&] { return name() + " has a time that is negative or too large for 63 bits"; });
  auto const time = cost(length, d);
  require(std::cmp_greater_equal(time, 0) && std::cmp_less(time, std::int64_t{1} << 62),
          [&] { return name() + " takes " + std::to_string(time) + ", outside [0, 2^62)"; });
  return static_cast<std::int64_t>(time);
}

[[nodiscard]] inline std::string sum_too_large(std::size_t i, std::int64_t length) {
  return entry("lengths", i, length) + " brings the sum of times to 2^62 or more";
}
/// Adds a time to a sum, which must stay below 2^62.
inline void add_time(std::int64_t& sum, std::int64_t time, std::size_t i, std::int64_t length) {
  require(time < (std::int64_t{1} << 62) - sum, [&] { return sum_too_large(i, length); });
  sum += time;
}

}  // namespace ballast::inline v0_2::detail
