// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>

#include <cstdint>

// Checks of costs for the twins of balance: none may be negative, and sums must stay below 2^63.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr std::uint64_t balance_limit = std::uint64_t{1} << 63;

// A sum that is capped at the limit, for any order of the summands; a negative cost counts as the limit.
[[nodiscard]] BALLAST_HD inline std::uint64_t balance_sum(std::uint64_t a, std::uint64_t b) {
  return a >= balance_limit || b >= balance_limit - a ? balance_limit : a + b;
}

// Returns the first item from `begin` on that brings the sum to the limit; `end` if none does.
[[nodiscard]] BALLAST_HD inline std::uint64_t balance_too_much(std::int64_t const* costs, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t sum = 0;
  while (begin < end) {
    sum = balance_sum(sum, static_cast<std::uint64_t>(costs[begin]));
    if (sum == balance_limit) return begin;
    ++begin;
  }
  return end;
}

// Throws for the first bad cost, if there is one, with the message of the host.
template <class On>
void balance_require_costs(On on, array<std::uint64_t, On> const& bad, std::int64_t const* costs) {
  auto const first = fetch_one(on, bad.data());
  require(first == none_bad, [&] {
    auto const cost = fetch_one(on, costs + first);
    return entry("items", first, cost) +
           (cost < 0 ? " has a cost that is negative, not a number or too large for 63 bits" : " brings the sum of costs to 2^63 or more");
  });
}

}  // namespace ballast::inline v0_2::gpu::detail
