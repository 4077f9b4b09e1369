// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/layout/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <utility>

// Token offsets of packs: the checks of every function that writes or reads them.

namespace ballast::inline v0_2::detail {

/// `length` rounded up to a multiple; stays below 2^64.
[[nodiscard]] BALLAST_HD constexpr std::uint64_t padded(std::int64_t length, std::int64_t multiple) noexcept {
  return round_up(static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(multiple));
}

/// Throws unless members are samples, their lengths are positive, and `T` can address the tokens. Returns the number of tokens, padding
/// included. The message names the number of the pack if it is not negative.
template <token_offset T, pack_range P, length_range R>
std::uint64_t require_addressable(P const& pack, R const& lengths, std::int64_t multiple, std::int64_t number = -1) {
  auto const name = [&] { return number < 0 ? std::string("the pack") : sentence("pack ", number); };
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
  constexpr auto top = std::uint64_t{1} << 63;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  std::uint64_t total = 0;  // stops at `top`
  for (auto const member : pack) {
    require(std::cmp_greater_equal(member, 0) && std::cmp_less(member, n),
            [&] { return sentence("cu_seqlens: ", name(), " holds member ", member, ", but there are ", n, " lengths"); });
    auto const length = length_at[static_cast<std::size_t>(member)];
    require(std::cmp_greater(length, 0) && std::in_range<std::int64_t>(length),
            [&] { return entry("lengths", static_cast<std::uint64_t>(member), length) + " must be positive and below 2^63"; });
    auto const tokens = padded(static_cast<std::int64_t>(length), multiple);
    total = tokens < top - total ? total + tokens : top;
  }
  require(total <= most, [&] {
    return sentence("cu_seqlens: ", name(), " holds ", (total == top ? "2^63 or more" : std::to_string(total)), " tokens, more than a ",
                    8 * sizeof(T), "-bit cu_seqlens can address", (sizeof(T) < 8 ? "; use std::int64_t" : ""));
  });
  return total;
}

/// Writes the `size + 1` entries of a pack that has been checked.
template <token_offset T, pack_range P, length_range R>
void write_cu_seqlens(P const& pack, R const& lengths, std::int64_t multiple, T* out) {
  auto const length_at = read_by_position(lengths);
  T at = 0;
  *out++ = at;
  for (auto const member : pack) {
    at += static_cast<T>(padded(static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]), multiple));
    *out++ = at;
  }
}

inline void require_multiple(std::int64_t multiple) {
  require(multiple > 0, [&] { return sentence("multiple = ", multiple, " must be positive"); });
}
inline void require_room(std::size_t have, std::size_t need, char const* what) {
  require(have == need, [&] { return sentence(what, ": out has ", have, " elements, ", need, " are written"); });
}

/// Throws unless the range starts at 0 and never decreases, and `T` can number its tokens.
template <token_offset T, cu_seqlens_range C>
[[nodiscard]] auto checked_cu_seqlens(C const& range, char const* name) {
  auto const cu = std::span<std::ranges::range_value_t<C const> const>(range);
  require(!cu.empty() && cu[0] == 0, [&] { return std::string(name) + " must start with 0"; });
  for (std::size_t i = 1; i < cu.size(); ++i)
    require(cu[i - 1] <= cu[i], [&] { return sentence(entry(name, i, cu[i]), " is below its predecessor ", cu[i - 1]); });
  require(std::in_range<T>(cu.back()),
          [&] { return sentence(name, " addresses ", cu.back(), " tokens, more than ", 8 * sizeof(T), " bits can; use std::int64_t"); });
  return cu;
}

/// Throws unless a row can hold the sequences.
template <token_offset T>
void require_row(std::span<T const> cu, std::size_t row, char const* name) {
  require(std::cmp_greater_equal(row, cu.back()),
          [&] { return sentence(name, ": a row of ", row, " tokens is too short for sequences of ", cu.back()); });
}

}  // namespace ballast::inline v0_2::detail
