// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// @file
/// @brief A stage's cost as a callable: what a partitioner may ask of it.

namespace ballast::inline v0_2 {

/// @brief The cost of a stage that cannot be: out of memory, on the wrong device.
inline constexpr std::int64_t unaffordable = (std::numeric_limits<std::int64_t>::max)();

/// @brief Maps layers `begin` … `end - 1` on stage `stage`, called as `cost(begin, end, stage)`, to a cost from 0 to `unaffordable`.
///
/// The cost must not fall when the range grows at either end; what it is made of is the caller's: a table, a knapsack, infinity. It is
/// asked for ranges of at least one layer; a stage without layers costs nothing. Layers, cuts and stages are numbered from 0.
template <class C>
concept stage_cost = std::regular_invocable<C const&, std::uint64_t, std::uint64_t, std::uint64_t> &&
                     integer<std::invoke_result_t<C const&, std::uint64_t, std::uint64_t, std::uint64_t>>;

}  // namespace ballast::inline v0_2
