// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/gpu/layout/detail/zigzag_rows.cuh>
#include <ballast/layout/zigzag.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Zigzag sharding on the device: which tokens of a packed row each context-parallel rank holds, as indices.

namespace ballast::inline v0_2::gpu {

/// @brief Writes the tokens of the packed row that one rank holds, in the order of the rank's own row; twin of `ballast::zigzag_indices`.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam T       `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param cu         cumulative lengths of one pack, padded to multiples of `2 * rule.ranks`
/// @param sequences  number of sequences of the pack; `cu` has one entry more
/// @param rule       the context-parallel degree
/// @param rank       0 … ranks - 1
/// @param count      tokens of the rank: those of the row divided by the ranks
/// @param out        array of `count` elements
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, ends a sequence that does not
///                   divide into chunks, or at the end is not `count * ranks` or exceeds the largest `T`; `~0` if there is none. `out` is
///                   unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if the ranks are not in [1, 2^31) or the rank is not one of them
/// @par Complexity
/// O(count); writes `sizeof(T)` bytes a token and reads `cu`.
/// @par Determinism
/// Each element is written once.
template <class On, token_offset Offset, token_offset T>
[[nodiscard]] typename On::error_type zigzag_indices(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t sequences,
                                                     zigzag rule, std::int64_t rank, std::size_t count, T* out, std::uint64_t* first_bad) {
  return detail::zigzag_rows<T, false>(on, temp, bytes, cu, sequences, rule, rank, count, out, first_bad);
}

/// @brief Writes the inverse permutation: where each token of the packed row is after the rows of all ranks are gathered in order; twin of
/// `ballast::zigzag_inverse`.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam T       `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param cu         cumulative lengths of one pack, padded to multiples of `2 * rule.ranks`
/// @param sequences  number of sequences of the pack; `cu` has one entry more
/// @param rule       the context-parallel degree
/// @param row        tokens of the row
/// @param out        array of `row` elements
/// @param first_bad  as for `zigzag_indices`, but the end must be `row`
/// @return the error, if any; `invalid_value` if the ranks are not in [1, 2^31) or do not divide the row
/// @par Complexity
/// O(row); writes `sizeof(T)` bytes a token, a chunk at a time, and reads `cu`.
/// @par Determinism
/// Each element is written once.
template <class On, token_offset Offset, token_offset T>
[[nodiscard]] typename On::error_type zigzag_inverse(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t sequences,
                                                     zigzag rule, std::size_t row, T* out, std::uint64_t* first_bad) {
  if (rule.ranks <= 0 || row % static_cast<std::size_t>(rule.ranks) != 0) return On::invalid_value;
  return detail::zigzag_rows<T, true>(on, temp, bytes, cu, sequences, rule, 0, row / static_cast<std::size_t>(rule.ranks), out, first_bad);
}

/// @brief Returns the tokens that one rank holds, as the overload with `temp` writes them; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param cu cumulative lengths of one pack @param sequences number of sequences @param rule the context-parallel
/// degree
/// @param rank 0 … ranks - 1 @param count tokens of the rank
/// @return `count` tokens of the packed row, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, token_offset Offset>
[[nodiscard]] array<T, On> zigzag_indices(On on, Offset const* cu, std::size_t sequences, zigzag rule, std::int64_t rank,
                                          std::size_t count) {
  auto const refuse = [&](std::vector<Offset> const& bad) {
    std::vector<T> held(count);
    ballast::zigzag_indices(bad, rule, rank, std::span<T>(held));
  };
  if (rule.ranks <= 0 || rule.ranks >= std::int64_t{1} << 31 || rank < 0 || rank >= rule.ranks) refuse(fetch(on, cu, sequences + 1));
  array<T, On> out(on, count);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "zigzag_indices", [&](void* temp, std::size_t& bytes) {
    return zigzag_indices(on, temp, bytes, cu, sequences, rule, rank, count, out.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad) refuse(fetch(on, cu, sequences + 1));
  return out;
}

/// @brief Returns the inverse permutation, as the overload with `temp` writes it; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param cu cumulative lengths of one pack @param sequences number of sequences @param rule the context-parallel
/// degree
/// @param row tokens of the row
/// @return for each token of the packed row, its place; on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, token_offset Offset>
[[nodiscard]] array<T, On> zigzag_inverse(On on, Offset const* cu, std::size_t sequences, zigzag rule, std::size_t row) {
  auto const refuse = [&](std::vector<Offset> const& bad) {
    std::vector<T> back(row);
    ballast::zigzag_inverse(bad, rule, std::span<T>(back));
  };
  if (rule.ranks <= 0 || rule.ranks >= std::int64_t{1} << 31 || row % static_cast<std::size_t>(rule.ranks) != 0)
    refuse(fetch(on, cu, sequences + 1));
  array<T, On> out(on, row);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "zigzag_inverse",
       [&](void* temp, std::size_t& bytes) { return zigzag_inverse(on, temp, bytes, cu, sequences, rule, row, out.data(), bad.data()); });
  if (fetch_one(on, bad.data()) != none_bad) refuse(fetch(on, cu, sequences + 1));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
