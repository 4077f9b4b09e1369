// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// @file
/// @brief ByteScale's selective offloading (arXiv 2502.21231, equation 3): fewer ranks for a sample whose activations wait in host memory.

namespace ballast::inline v0_2::bytescale {

/// @brief A model and its links: what one layer computes and keeps for a sample of s tokens on one rank.
struct offload_model {
  std::int64_t layers = 0;           ///< l, at least 2
  std::int64_t capacity = 0;         ///< C: tokens that a rank has memory for without offloading, at least 1
  std::int64_t time_square = 0;      ///< a1 of `T(s) = a1 s^2 + b1 s + g`, the time of one layer: picoseconds per squared token
  std::int64_t time_linear = 0;      ///< b1: picoseconds per token
  std::int64_t time_fixed = 0;       ///< g: picoseconds
  std::int64_t bytes_per_token = 0;  ///< a2 of `Act(s) = a2 s + b2`, the activations of one layer, at least 1
  std::int64_t bytes_fixed = 0;      ///< b2: bytes
  std::int64_t device_to_host = 0;   ///< B_d2h: bytes per second of the link of a rank, at least 1
  std::int64_t host_to_device = 0;   ///< B_h2d: bytes per second, at least 1
};

/// @brief Which shares of the activations may be offloaded.
enum class offload_range : std::uint8_t {
  corrected,  ///< any share that hides behind the computation, none included
  published,  ///< also at least `min(1, l Act(C) / ((l - 2) Act(s)))`, as printed
};

/// @brief How much to offload.
struct offload_choice {
  ballast::status status = status::feasible;  ///< `infeasible` if no share is in the range
  std::int64_t ranks = 0;                     ///< D: the fewest ranks for the sample
  std::int64_t millionths = 0;                ///< r: the least share that needs no more ranks, of all layers but the first and the last
};

namespace detail {

inline void require_valid(offload_model const& m, std::int64_t length) {
  auto const at_least = [](char const* name, std::int64_t value, std::int64_t least) {
    require(value >= least,
            [&] { return std::string(name) + " = " + std::to_string(value) + " must be at least " + std::to_string(least); });
  };
  at_least("layers", m.layers, 2);
  at_least("capacity", m.capacity, 1);
  at_least("time_square", m.time_square, 0);
  at_least("time_linear", m.time_linear, 0);
  at_least("time_fixed", m.time_fixed, 0);
  at_least("bytes_per_token", m.bytes_per_token, 1);
  at_least("bytes_fixed", m.bytes_fixed, 0);
  at_least("device_to_host", m.device_to_host, 1);
  at_least("host_to_device", m.host_to_device, 1);
  at_least("length", length, 1);
  auto const activations = [&](std::int64_t s) { return checked(m.bytes_per_token) * checked(s) + checked(m.bytes_fixed); };
  auto const s = checked(length);
  require((checked(1000000) * checked(m.layers) * activations(m.capacity)).fits() && activations(length).fits() &&
              (checked(m.time_square) * s * s + checked(m.time_linear) * s + checked(m.time_fixed)).fits(),
          [&] { return "length = " + std::to_string(length) + " takes a time or activations of 2^63 or more"; });
}

/// D(s) at a share r.
[[nodiscard]] inline std::int64_t ranks_at(offload_model const& m, std::int64_t length, std::int64_t millionths) {
  auto const kept = static_cast<std::uint64_t>(1000000 * m.layers - millionths * (m.layers - 2));
  auto const here = static_cast<std::uint64_t>(m.bytes_per_token * length + m.bytes_fixed);
  auto const rank = static_cast<std::uint64_t>(m.bytes_per_token * m.capacity + m.bytes_fixed);
  return static_cast<std::int64_t>(multiply_divide_up(kept, here, 1000000 * static_cast<std::uint64_t>(m.layers) * rank));
}
/// The least millionths from `low` to `high` that satisfy a property which larger shares keep.
template <class Property>
[[nodiscard]] std::int64_t least_share(std::int64_t low, std::int64_t high, Property const& property) {
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (property(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace detail

/// @brief Ranks that a sample needs if a share r of its activations is offloaded: `ceil((2 + (1 - r)(l - 2)) Act(s) / (l Act(C)))`.
///
/// The first and the last layer are never offloaded: their activations are written last and needed first.
/// @param m           model and links
/// @param length      tokens of the sample, at least 1
/// @param millionths  r, in 0 ... 1,000,000
/// @return D(s), at least 1; with r = 0 and no fixed bytes it is `ceil(s / C)`
/// @throws invalid_input if an argument is out of its range, or numbers exceed 63 bits
[[nodiscard]] inline std::int64_t offload_ranks(offload_model const& m, std::int64_t length, std::int64_t millionths) {
  detail::require_valid(m, length);
  require(millionths >= 0 && millionths <= 1000000,
          [&] { return "millionths = " + std::to_string(millionths) + " must be in 0 ... 1000000"; });
  return detail::ranks_at(m, length, millionths);
}

/// @brief Chooses the share of activations to offload so that a sample needs the fewest ranks.
///
/// The transfer of a layer's share must hide behind the computation of a layer: `T(s) >= r Act(s) / min(B_d2h, B_h2d)`. Both sides shrink
/// alike if several ranks share the sample. More offloading never needs more ranks, so the largest hidden share gives the fewest ranks, and
/// the least share that needs no more of them is returned: `max(0, l (1 - D Act(C) / Act(s)) / (l - 2))`, rounded up.
///
/// **Erratum.** The paper also prints `r >= min(1, l Act(C) / ((l - 2) Act(s)))`: offload at least what one rank holds, or everything. That
/// much saves a rank, but less often does: a sample 5 % longer than C needs one rank instead of two with r near 0.05, and the printed bound
/// demands r near 0.95 or 1. A sample of at most C tokens needs no offloading, and the printed bound demands r = 1, which short samples
/// cannot hide since their computation is short. `offload_range::published` keeps it, for comparison.
///
/// @param m       model and links
/// @param length  tokens of the sample, at least 1
/// @param range   which shares are allowed
/// @return ranks and share; `infeasible` if the printed bound is above what hides
/// @throws invalid_input if an argument is out of its range, or numbers exceed 63 bits
/// @par Complexity
/// 40 comparisons.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// Ge et al., "ByteScale", arXiv 2502.21231, equation 3.
[[nodiscard]] inline offload_choice selective_offload(offload_model const& m, std::int64_t length,
                                                      offload_range range = offload_range::corrected) {
  detail::require_valid(m, length);
  constexpr std::int64_t whole = 1000000;
  auto const here = m.bytes_per_token * length + m.bytes_fixed, rank = m.bytes_per_token * m.capacity + m.bytes_fixed;
  auto const time = m.time_square * length * length + m.time_linear * length + m.time_fixed;
  auto const link = (std::min)(m.device_to_host, m.host_to_device);
  // r Act / B in seconds is r 10^-6 Act / B, and T is in units of 10^-12.
  auto const hides = [&](std::int64_t r) { return compare_products(r * whole, here, time, link) <= 0; };
  auto const most = detail::least_share(1, whole + 1, [&](std::int64_t r) { return !hides(r); }) - 1;
  std::int64_t least = 0;
  if (range == offload_range::published)
    least = detail::least_share(0, whole, [&](std::int64_t r) {  // r (l - 2) Act(s) >= l Act(C)
      return m.layers > 2 && !(multiply(static_cast<std::uint64_t>(r * (m.layers - 2)), static_cast<std::uint64_t>(here)) <
                               multiply(static_cast<std::uint64_t>(whole * m.layers), static_cast<std::uint64_t>(rank)));
    });
  if (least > most) return {.status = status::infeasible};
  auto const ranks = detail::ranks_at(m, length, most);
  return {.ranks = ranks,
          .millionths = detail::least_share(least, most, [&](std::int64_t r) { return detail::ranks_at(m, length, r) == ranks; })};
}

}  // namespace ballast::inline v0_2::bytescale
