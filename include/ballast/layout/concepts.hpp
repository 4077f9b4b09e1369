// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <concepts>
#include <cstdint>
#include <ranges>

/// @file
/// @brief Concepts of layout/: token offsets, cumulative lengths, the members of a pack.

namespace ballast::inline v0_2 {

/// @brief Element type of token offsets: `std::int32_t`, which attention kernels use, or `std::int64_t`.
template <class T>
concept token_offset = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// @brief Cumulative lengths in contiguous memory: a vector or span of token offsets.
template <class C>
concept cu_seqlens_range =
    std::ranges::contiguous_range<C const> && std::ranges::sized_range<C const> && token_offset<std::ranges::range_value_t<C const>>;

/// @brief The members of one pack: a range of integers.
template <class P>
concept pack_range = std::ranges::forward_range<P> && std::ranges::sized_range<P> && std::integral<std::ranges::range_value_t<P>>;

}  // namespace ballast::inline v0_2
