// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/makespan.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/cost/detail/pack_tally.cuh>
#include <ballast/gpu/cost/packed_lengths.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The work tiles of every pack's attention kernel, and with them the bounds on its makespan.

namespace ballast::inline v0_2::gpu {

namespace detail {

struct cost_tile_tally {
  using value_type = tile_work;
  tile_cost cost;
  tile_work* out;
  BALLAST_HD void add(tile_work& value, std::int64_t length) const {
    auto const one = tile_work_of(length, cost);
    value.total = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.total) + static_cast<std::uint64_t>(one.total));  // may wrap
    value.largest = one.largest < value.largest ? value.largest : one.largest;
  }
  BALLAST_HD void join(std::uint64_t pack, tile_work const& value, bool whole) const {
    if (whole) {
      out[pack] = value;
      return;
    }
    atomic_add(reinterpret_cast<std::uint64_t&>(out[pack].total), static_cast<std::uint64_t>(value.total));
    atomic_max(reinterpret_cast<std::uint64_t&>(out[pack].largest), static_cast<std::uint64_t>(value.largest));
  }
};

}  // namespace detail

/// @brief Computes the work tiles of every pack, whose samples one kernel computes; twin of `ballast::tile_work_of`.
///
/// `work[p].at_least(processors)` and `.at_most(processors)` bound the makespan in units of the cost.
///
/// @tparam On     the backend
/// @tparam Len    an integer
/// @tparam Index  type of the members
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param packs    which samples are in which pack
/// @param longest  largest length that may occur, not negative
/// @param cost     units per tile and row, and number of heads
/// @param work     array of one entry for each pack
/// @param first_bad  as for `pack_costs`
/// @return the error, if any; `invalid_value` as for `pack_costs`
/// @par Complexity
/// As `pack_costs`, with 32 bytes written per pack.
/// @par Determinism
/// Sums and maxima of integers, which do not depend on the order.
template <class On, integer Len, index_type Index>
[[nodiscard]] typename On::error_type pack_tile_work(On on, void* temp, std::size_t& bytes, packed_lengths<Len, Index> const& packs,
                                                     std::int64_t longest, tile_cost const& cost, tile_work* work,
                                                     std::uint64_t* first_bad) {
  workspace cut(temp);
  auto const nothing = [] { return typename On::error_type{}; };
  return detail::cost_tally_packs(on, cut, bytes, packs, longest, cost, nothing, detail::cost_tile_tally{cost, work}, work, first_bad);
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param packs which samples are in which pack @param longest largest length that may occur
/// @param cost units per tile and row, and number of heads @param work array of one entry for each pack
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input as `pack_costs`
template <class On, integer Len, index_type Index>
void pack_tile_work(On on, packed_lengths<Len, Index> const& packs, std::int64_t longest, tile_cost const& cost, tile_work* work) {
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "pack_tile_work",
       [&](void* temp, std::size_t& bytes) { return pack_tile_work(on, temp, bytes, packs, longest, cost, work, bad.data()); });
  detail::cost_require_packs(on, bad, packs, longest);
}

}  // namespace ballast::inline v0_2::gpu
