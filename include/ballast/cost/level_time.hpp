// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief `level_time`: the time of a level's packs, profiled or modelled, in integers.

namespace ballast::inline v0_2 {

/// @brief Device time of packs: the sum of the times of all devices that share a pack, so that levels of different SP degrees compare.
struct level_time {
  std::int64_t per_pack = 0;    ///< device-picoseconds per pack, independent of its samples; not negative
  std::int64_t per_token = 0;   ///< device-picoseconds per token, not negative
  std::int64_t per_square = 0;  ///< device-picoseconds per squared length of a sample, not negative

  /// @brief The cost of a sample in its pack, in device-picoseconds: a cost model for planners of steps.
  [[nodiscard]] constexpr quadratic_cost of_sample() const noexcept { return {.linear = per_token, .quadratic = per_square}; }

  /// @brief The time of a number of packs.
  /// @param packs    number of packs
  /// @param tokens   tokens in all of them
  /// @param squares  sum of the squared lengths of their samples
  /// @return device-nanoseconds, each of the three parts rounded up
  /// @throws invalid_input if a coefficient is negative or one of the three parts reaches 2^61 nanoseconds
  [[nodiscard]] constexpr std::int64_t operator()(std::uint64_t packs, std::int64_t tokens, std::int64_t squares) const {
    auto const sum =
        part(packs, per_pack) + part(static_cast<std::uint64_t>(tokens), per_token) + part(static_cast<std::uint64_t>(squares), per_square);
    return static_cast<std::int64_t>(sum);
  }
  friend constexpr bool operator==(level_time const&, level_time const&) = default;

 private:
  [[nodiscard]] static constexpr std::uint64_t part(std::uint64_t count, std::int64_t each) {
    auto const product = multiply(count, static_cast<std::uint64_t>(each));
    require(each >= 0 && product.high < 125, [&] {  // below 2^61 nanoseconds: three parts stay below 2^63
      return "a level time of " + std::to_string(count) + " times " + std::to_string(each) +
             " picoseconds is negative, or 2^61 nanoseconds or more";
    });
    return multiply_divide_up(count, static_cast<std::uint64_t>(each), 1000);
  }
};

/// @brief A level and the time of its packs.
struct timed_level {
  level setting;    ///< capacity, SP degree, recomputed layers
  level_time time;  ///< time of its packs: profiled, or from `modelled_level_time`
  friend constexpr bool operator==(timed_level const&, timed_level const&) = default;
};

}  // namespace ballast::inline v0_2
