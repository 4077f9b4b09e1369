// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>

#include <cstdint>

// Pairs under a mask, written once for integers and for `checked` numbers, which detect overflow. Private.

namespace ballast::inline v0_2::detail {

template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_prefix(std::int64_t n, std::int64_t prefix) noexcept {
  auto const p = n < prefix ? n : prefix;
  return Number(p) * Number(n) + triangle<Number>(n - p);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_window(std::int64_t n, std::int64_t keys) noexcept {
  return n <= keys ? triangle<Number>(n) : triangle<Number>(keys) + Number(n - keys) * Number(keys);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_chunks(std::int64_t n, std::int64_t chunk) noexcept {
  return n < chunk ? triangle<Number>(n) : Number(n / chunk) * triangle<Number>(chunk) + triangle<Number>(n % chunk);
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_blocks(std::int64_t n, std::int64_t block) noexcept {
  auto const rest = Number(n % block);
  return Number(n - n % block) * Number(block) + rest * rest;
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_answers(std::int64_t answer, std::int64_t question, std::int64_t answers) noexcept {
  return triangle<Number>(question) + Number(answers) * (Number(question) * Number(answer) + triangle<Number>(answer));
}
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number count_zigzag(std::int64_t n, std::int64_t chunks) noexcept {
  auto const u = divide_up(n, chunks);
  return Number(u) * (Number(chunks) * Number(u) + Number(1));
}

}  // namespace ballast::inline v0_2::detail
