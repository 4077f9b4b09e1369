// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/total_words.cuh>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The denominators of a step, computed on the device as five integers, which can be all-reduced in place.

namespace ballast::inline v0_2::gpu {

/// @brief Computes the totals of some sequences; twin of `ballast::loss_totals_of`.
///
/// The totals of all ranks are the sum of their words: all-reduce the five signed 64-bit integers in place before reading them.
///
/// @tparam On  the backend
/// @param on          the backend
/// @param temp        scratch memory, or null to get its size
/// @param bytes       size of `temp` in bytes; set if `temp` is null
/// @param counts      counted labels of each sequence; of the complete sequence if several ranks share it
/// @param sequences   number of sequences
/// @param normaliser  the normaliser; the totals also serve other normalisers of the same power
/// @param totals      one element for the result
/// @param first_bad   one word: the first count outside [0, 2^40); `sequences` if their sum reaches 2^63; `~0` if there is none. `totals`
///                    is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if the power is not in [0, 1] or `bytes` is too small
/// @par Complexity
/// O(sequences), each count read once.
/// @par Determinism
/// Sums of integers: the same words as the host twin.
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
  auto room = cut.finish<On>(bytes, reduce);
  if (room.ends) return room.error;
  if (auto const error = reduce(room.memory, room.bytes); error != error_type{}) return error;
  return on.for_each(1, detail::write_totals{sum, sequences, detail::words_of(totals), first_bad});
}

/// @brief Returns the totals, as the overload with `temp` writes them; allocates and waits.
/// @param on the backend @param counts counted labels of each sequence @param sequences number of sequences
/// @param normaliser the normaliser; the totals also serve other normalisers of the same power
/// @return totals, to be all-reduced; on the host
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On>
[[nodiscard]] loss_totals loss_totals_of(On on, std::int64_t const* counts, std::size_t sequences, loss_normaliser const& normaliser) {
  static_cast<void>(ballast::detail::checked_power(normaliser.power));
  array<loss_totals, On> const totals(on, 1);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "loss_totals_of", [&](void* temp, std::size_t& bytes) {
    return loss_totals_of(on, temp, bytes, counts, sequences, normaliser, totals.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) == none_bad) return fetch_one(on, totals.data());
  return ballast::loss_totals_of(fetch(on, counts, sequences), normaliser);
}

/// @brief Divides totals by the number of ranks that each counted the same sequences; twin of `loss_totals::shared_by`.
///
/// @tparam On  the backend
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param totals     totals, all-reduced also over context-parallel ranks, each of which has all labels
/// @param ranks      number of ranks that counted each sequence, in [1, 2^19]
/// @param out        one element for the result; may be `totals`
/// @param first_bad  one word: the first word of the totals that is not a multiple of `ranks`, `~0` if there is none
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
