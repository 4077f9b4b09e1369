// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `degree_cost`: the time of one sample that a group of ranks shares, by its length and the number of ranks.

namespace ballast::inline v0_2 {
namespace detail {

/// Nanoseconds of a sample on each rank that shares it, and whether they are known in 63 bits.
[[nodiscard]] constexpr std::int64_t shared_time(std::int64_t linear, std::int64_t square, std::int64_t exchange, std::int64_t length,
                                                 std::int64_t ranks) noexcept {
  return divide_up(divide_up(length * (linear + square * length), ranks) + exchange * length, std::int64_t{1000});
}
[[nodiscard]] constexpr bool shared_time_fits(std::int64_t linear, std::int64_t square, std::int64_t exchange,
                                              std::int64_t length) noexcept {
  auto const n = checked(length);
  return (n * (checked(linear) + checked(square) * n) + checked(exchange) * n).fits();
}

}  // namespace detail

/// @brief Time of a sample that `ranks` ranks share (context parallelism): `(linear n + square n^2) / ranks + exchange n`.
///
/// Here n is the length in tokens. `exchange` is what one token of the sample costs *each* rank of the group in exchanges, so an
/// all-to-all of a fixed number of bytes per token has entries `bytes / (ranks * bandwidth)`, and an all-gather of keys and values, whose
/// volume per rank does not shrink, has equal entries. Constants are in picoseconds; the result is in nanoseconds, rounded up once.
///
/// @par Source
/// The cost model of FlexSP (arXiv 2412.01523, section 4) and, with other exchanges, of Skrull, ByteScale and WLB-LLM.
struct degree_cost {
  std::int64_t linear = 0;  ///< picoseconds per token, divided by the number of ranks
  std::int64_t square = 0;  ///< picoseconds per squared token, divided by the number of ranks
  /// Picoseconds per token on each rank, for up to 1, 2, 4, ... ranks; the last entry holds for all larger groups. Empty = no exchange.
  std::vector<std::int64_t> exchange{};
  /// The same for groups of 1, 2, 3, ... ranks each, in place of `exchange` for groups that have an entry.
  std::vector<std::int64_t> exchange_by_ranks{};

  /// @brief The time. @param length tokens of the sample @param ranks number of ranks that share it, at least 1; with `fits`
  /// @return nanoseconds
  [[nodiscard]] std::int64_t operator()(std::int64_t length, std::int64_t ranks) const noexcept {
    return detail::shared_time(linear, square, exchange_of(ranks), length, ranks);
  }
  /// @brief Whether the time can be computed in 63 bits and no constant is negative. @param length tokens @param ranks number of ranks
  [[nodiscard]] bool fits(std::int64_t length, std::int64_t ranks) const noexcept {
    return ranks > 0 && detail::shared_time_fits(linear, square, exchange_of(ranks), length);
  }
  /// @brief What a token costs each rank in exchanges. @param ranks at least 1 @return picoseconds
  [[nodiscard]] std::int64_t exchange_of(std::int64_t ranks) const noexcept {
    if (static_cast<std::size_t>(ranks) <= exchange_by_ranks.size()) return exchange_by_ranks[static_cast<std::size_t>(ranks) - 1];
    if (exchange.empty()) return 0;
    auto const level = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
    return exchange[(std::min)(level, exchange.size() - 1)];
  }
  friend bool operator==(degree_cost const&, degree_cost const&) = default;
};

static_assert(degree_cost_model<degree_cost>);

}  // namespace ballast::inline v0_2
