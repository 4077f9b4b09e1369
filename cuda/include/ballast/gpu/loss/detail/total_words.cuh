// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/weight_words.hpp>
#include <ballast/loss/totals.hpp>

#include <cstddef>
#include <cstdint>

// Totals of counts as words in memory of a backend, with the passes of totals.cuh.

namespace ballast::inline v0_2::gpu::detail {

// Totals of some counts; tokens are capped at 2^63.
struct partial_totals {
  std::uint64_t tokens = 0;
  std::int64_t sequences = 0, whole = 0, fraction = 0;
  std::uint64_t first_bad = none_bad;
};

struct totals_of_count {
  std::int64_t const* counts;
  std::uint64_t power;
  BALLAST_HD partial_totals operator()(std::size_t i) const {
    auto const count = counts[i];
    partial_totals out;
    if (count == 0) return out;
    if (count < 0 || count >= ballast::detail::count_limit) {
      out.first_bad = i;
      return out;
    }
    out.tokens = static_cast<std::uint64_t>(count);
    out.sequences = 1;
    if (power == 0 || power == ballast::detail::whole_exponent) return out;
    auto const term = ballast::detail::complement_power(count, power);
    out.whole = term.whole;
    out.fraction = term.fraction;
    return out;
  }
};

struct add_totals {
  BALLAST_HD partial_totals operator()(partial_totals const& a, partial_totals const& b) const {
    constexpr auto top = std::uint64_t{1} << 63;
    auto const tokens = a.tokens + b.tokens;  // at most 2^64, which wraps to 0 if both are at the cap
    auto const fraction = a.fraction + b.fraction;
    return {(a.tokens | b.tokens | tokens) >> 63 != 0 ? top : tokens, a.sequences + b.sequences,
            a.whole + b.whole + (fraction >> ballast::detail::fraction_bits), fraction & ballast::detail::fraction_mask,
            a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
};

struct write_totals {
  partial_totals const* from;
  std::size_t count;
  std::int64_t* words;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t) const {
    words[0] = static_cast<std::int64_t>(from->tokens);
    words[1] = from->sequences;
    words[2] = static_cast<std::int64_t>(count) - from->sequences;
    words[3] = from->whole;
    words[4] = from->fraction;
    *first_bad = from->first_bad == none_bad && from->tokens >> 63 != 0 ? count : from->first_bad;
  }
};

struct share_totals {
  std::int64_t const* from;
  std::int64_t* to;
  std::int64_t ranks;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t) const {
    for (std::size_t i = 0; i < ballast::detail::total_words; ++i) to[i] = from[i];
    auto const odd = ballast::detail::share_words(to, ranks);
    *first_bad = odd == ballast::detail::total_words ? none_bad : odd;
  }
};

// The words of totals in memory of the device.
static_assert(sizeof(loss_totals) == ballast::detail::total_words * sizeof(std::int64_t));
[[nodiscard]] inline std::int64_t const* words_of(loss_totals const* totals) { return reinterpret_cast<std::int64_t const*>(totals); }
[[nodiscard]] inline std::int64_t* words_of(loss_totals* totals) { return reinterpret_cast<std::int64_t*>(totals); }

// p in units of 2^-62; a value above 2^62 if p is not in [0, 1].
[[nodiscard]] inline std::uint64_t power_or_none(double power) {
  return power >= 0.0 && power <= 1.0 ? ballast::detail::checked_power(power) : ~std::uint64_t{0};
}

}  // namespace ballast::inline v0_2::gpu::detail
