// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/weight_words.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The denominators of a step, reduced on the device: five integers that an all-reduce adds up where they lie.

namespace ballast::inline v0_2::gpu {

namespace detail {

// Totals of some counts; tokens stop at 2^63.
struct partial_totals {
  std::uint64_t tokens = 0;
  std::int64_t sequences = 0, whole = 0, fraction = 0;
  std::uint64_t first_bad = ~std::uint64_t{0};
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
    auto const tokens = a.tokens + b.tokens;  // at most 2^64: 0 if both are at the top
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
    *first_bad = from->first_bad == ~std::uint64_t{0} && from->tokens >> 63 != 0 ? count : from->first_bad;
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
    *first_bad = odd == ballast::detail::total_words ? ~std::uint64_t{0} : odd;
  }
};

// The words of totals in memory of the device.
static_assert(sizeof(loss_totals) == ballast::detail::total_words * sizeof(std::int64_t));
[[nodiscard]] inline std::int64_t const* words_of(loss_totals const* totals) { return reinterpret_cast<std::int64_t const*>(totals); }
[[nodiscard]] inline std::int64_t* words_of(loss_totals* totals) { return reinterpret_cast<std::int64_t*>(totals); }

// p in units of 2^-62, or above 2^62 for one that is not in [0, 1].
[[nodiscard]] inline std::uint64_t power_or_none(double power) {
  return power >= 0.0 && power <= 1.0 ? ballast::detail::checked_power(power) : ~std::uint64_t{0};
}

}  // namespace detail

/// @brief Adds up the counts of some sequences; twin of `ballast::loss_totals_of`.
///
/// The totals of all ranks are the sum of their words: all-reduce them where they lie, as five signed 64-bit integers, before they are
/// read.
///
/// @tparam On  the backend
/// @param on          where it runs
/// @param temp        scratch memory, or null to ask for `bytes`
/// @param bytes       of scratch memory
/// @param counts      counted labels of each sequence, of the whole sequence where ranks share it
/// @param sequences   how many
/// @param normaliser  the totals serve normalisers of the same power
/// @param totals      one element
/// @param first_bad   one word: the first count outside [0, 2^40); `sequences` where their sum reaches 2^63; `~0` if all is good. Nothing
/// is
///                    promised of `totals` unless it is `~0`
/// @return the error, if any; `invalid_value` if the power is not in [0, 1] or `bytes` is too few
/// @par Complexity
/// O(sequences), each count read once.
/// @par Determinism
/// Sums of integers: the words of the host twin.
template <class On>
[[nodiscard]] typename On::error_type loss_totals_of(On on, void* temp, std::size_t& bytes, std::int64_t const* counts,
                                                     std::size_t sequences, loss_normaliser const& normaliser, loss_totals* totals,
                                                     std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  auto const power = detail::power_or_none(normaliser.power);
  if (power > ballast::detail::whole_exponent) return On::invalid_value;
  workspace cut(temp);
  auto* const sum = cut.take<detail::partial_totals>(1);
  auto const reduce = [&](void* room, std::size_t& need) {
    return on.reduce(room, need, mapped(detail::totals_of_count{counts, power}), sum, sequences, detail::partial_totals{},
                     detail::add_totals{});
  };
  std::size_t need = 0;
  if (auto const error = reduce(nullptr, need); error != error_type{}) return error;
  auto* const room = cut.take<std::byte>(need);
  if (cut.counting()) return bytes = cut.bytes(), error_type{};
  if (bytes < cut.bytes()) return On::invalid_value;
  if (auto const error = reduce(room, need); error != error_type{}) return error;
  return on.for_each(1, detail::write_totals{sum, sequences, detail::words_of(totals), first_bad});
}

/// @brief The totals by value. See the form above; allocates and waits.
/// @param on where it runs @param counts counted labels of each sequence @param sequences how many
/// @param normaliser the totals serve normalisers of the same power
/// @return totals to be all-reduced, on the host
/// @throws invalid_input with the sentence of the host twin
/// @throws gpu_error if the backend reports an error
template <class On>
[[nodiscard]] loss_totals loss_totals_of(On on, std::int64_t const* counts, std::size_t sequences, loss_normaliser const& normaliser) {
  static_cast<void>(ballast::detail::checked_power(normaliser.power));
  array<loss_totals, On> const totals(on, 1);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "loss_totals_of", [&](void* temp, std::size_t& bytes) {
    return loss_totals_of(on, temp, bytes, counts, sequences, normaliser, totals.data(), bad.data());
  });
  loss_totals out;
  std::uint64_t first_bad = 0;
  check(on.download(&first_bad, bad.data(), 1), "download");
  check(on.download(&out, totals.data(), 1), "download");
  if (first_bad == ~std::uint64_t{0}) return out;
  std::vector<std::int64_t> values(sequences);
  check(on.download(values.data(), counts, sequences), "download");
  return ballast::loss_totals_of(values, normaliser);
}

/// @brief Writes the totals of the sequences themselves, where several ranks each counted the same ones; twin of `loss_totals::shared_by`.
///
/// @tparam On  the backend
/// @param on         where it runs
/// @param temp       scratch memory, or null to ask for `bytes`
/// @param bytes      of scratch memory
/// @param totals     all-reduced over context-parallel ranks too, each of which knows the whole labels
/// @param ranks      how many counted each sequence, in [1, 2^19]
/// @param out        one element; may be `totals`
/// @param first_bad  one word: the first word of the totals that is no multiple of `ranks`, `~0` if there is none
/// @return the error, if any; `invalid_value` if `ranks` is out of range
/// @par Complexity
/// O(1).
template <class On>
[[nodiscard]] typename On::error_type shared_by(On on, void* temp, std::size_t& bytes, loss_totals const* totals, std::int64_t ranks,
                                                loss_totals* out, std::uint64_t* first_bad) {
  if (ranks <= 0 || ranks > (std::int64_t{1} << 19)) return On::invalid_value;
  if (temp == nullptr) return bytes = 1, typename On::error_type{};
  return on.for_each(1, detail::share_totals{detail::words_of(totals), detail::words_of(out), ranks, first_bad});
}

}  // namespace ballast::inline v0_2::gpu
