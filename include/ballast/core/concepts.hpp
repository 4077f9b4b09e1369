// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

/// @file
/// @brief Concepts for the arguments of algorithms: lengths, cost models, indices, executors.

namespace ballast::inline v0_2 {

/// @brief A signed or unsigned integer. `bool` and the character types do not satisfy it; `std::int8_t` and `std::uint8_t` do.
template <class T>
concept integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                  !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// @brief Sample lengths in tokens: a sized random-access range of integers (`std::vector<int>`, `std::span<std::int64_t const>`,
/// a transform view, …). Every length is at least 1; the sum of all fits in 63 bits.
template <class R>
concept length_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R> && integer<std::ranges::range_value_t<R>>;

/// @brief Maps one item (a length, as `std::int64_t`) to an integer cost. The callable must be pure and cheap to copy.
template <class C, class Item = std::int64_t>
concept cost_model = std::copy_constructible<C> && std::regular_invocable<C const&, Item> && integer<std::invoke_result_t<C const&, Item>>;

/// @brief A cost model with a member `fits(item)` that says in advance whether the cost can be represented in 63 bits.
template <class C, class Item = std::int64_t>
concept bounded_cost_model = cost_model<C, Item> && requires(C const& cost, Item item) {
  { cost.fits(item) } -> std::convertible_to<bool>;
};

/// @brief A cost model that tells samples of one length apart: `cost(sample, length)`, where `sample` is an index into the lengths.
template <class C>
concept indexed_cost_model = bounded_cost_model<C> && requires(C const& cost, std::size_t sample, std::int64_t length) {
  { cost(sample, length) } -> integer;
  { cost.fits(sample, length) } -> std::convertible_to<bool>;
};

/// @brief Maps a length and the number of ranks that share the sample to an integer time on each of these ranks. The callable must be pure
/// and cheap to copy.
template <class C>
concept degree_cost_model = std::copy_constructible<C> && std::regular_invocable<C const&, std::int64_t, std::int64_t> &&
                            integer<std::invoke_result_t<C const&, std::int64_t, std::int64_t>>;

/// @brief An index into the samples: `std::uint32_t` unless there are 2^32 of them or more.
template <class T>
concept index_type = std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

/// @brief Executes `body(0) … body(count - 1)`, in any order and on any threads, and returns when all are done.
///
/// `serial` and `threads` (executor.hpp) satisfy it; a trainer passes its own thread pool as `[&](std::size_t n, auto const& body) {…}`.
/// Passes over samples are cut into as many tasks as the executor's member `width()` returns, or run as a single task if it has none.
template <class E>
concept executor = std::invocable<E const&, std::size_t, void (*)(std::size_t)>;

}  // namespace ballast::inline v0_2
