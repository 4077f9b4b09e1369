// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// @file
/// @brief `stage_cost`: the concept of callables that give the cost of a stage.

namespace ballast::inline v0_2 {

/// @brief The cost of a stage that is not possible: it does not fit in memory, or cannot run on its device.
inline constexpr std::int64_t unaffordable = (std::numeric_limits<std::int64_t>::max)();

/// @brief A callable `cost(begin, end, stage)` that gives the cost of layers `begin` … `end - 1` on `stage`, from 0 to `unaffordable`.
///
/// The cost must not decrease if the range grows at either end; otherwise the caller is free: a table, a knapsack, infinity. It is called
/// for ranges of at least one layer; a stage without layers costs nothing. Layers, cuts and stages are numbered from 0.
template <class C>
concept stage_cost = std::regular_invocable<C const&, std::uint64_t, std::uint64_t, std::uint64_t> &&
                     integer<std::invoke_result_t<C const&, std::uint64_t, std::uint64_t, std::uint64_t>>;

}  // namespace ballast::inline v0_2
