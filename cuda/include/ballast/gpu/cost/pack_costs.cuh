// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/cost/detail/pack_tally.cuh>
#include <ballast/gpu/cost/detail/tabulated_cost.cuh>
#include <ballast/gpu/cost/packed_lengths.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The cost of every pack: the sum over its samples, by any cost model that device code can call.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class Cost>
struct cost_sum {
  using value_type = std::uint64_t;
  Cost cost;
  std::int64_t* out;
  BALLAST_HD void add(std::uint64_t& value, std::int64_t length) const { value += static_cast<std::uint64_t>(cost(length)); }
  BALLAST_HD void join(std::uint64_t pack, std::uint64_t value, bool whole) const {
    if (whole)
      out[pack] = static_cast<std::int64_t>(value);
    else
      atomic_add(reinterpret_cast<std::uint64_t&>(out[pack]), value);
  }
};

}  // namespace detail

/// @brief Computes the cost of every pack: the sum of `cost(length)` over its samples.
///
/// With `token_cost` it counts the tokens of each pack, with `quadratic_cost{.linear = 0, .quadratic = 1}` it sums squares, with a mask of
/// cost/attention.hpp it counts pairs, and with `attention_tiles` it counts tiles.
///
/// @tparam On     the backend
/// @tparam Len    an integer
/// @tparam Index  type of the members
/// @tparam Cost   as for `sample_costs`
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param packs    which samples are in which pack
/// @param longest  largest length that may occur, not negative
/// @param cost     cost of one length; must not decrease up to `longest`
/// @param costs    array of one entry for each pack
/// @param first_bad  one word: the first member that is not a sample, has a length outside 0 … `longest`, or brings the sum of its pack to
///                   2^63; `packs.placed` if the cost of `longest` is out of range; all ones if there is none
/// @return the error, if any; `invalid_value` if `longest` is negative, there are too few samples, or the workspace is too small
/// @post without an error and with all ones in `first_bad`, all costs are in [0, 2^63)
/// @par Complexity
/// One pass, balanced for any packs: per sample a length (and a member) is read, per pack an offset is read and 16 bytes are written; there
/// is one search among the offsets for every eight samples. Then the offsets are read once more. Costs are tabulated as by `sample_costs`.
/// @par Determinism
/// Sums of integers, which do not depend on the order.
template <class On, integer Len, index_type Index, cost_model Cost>
[[nodiscard]] typename On::error_type pack_costs(On on, void* temp, std::size_t& bytes, packed_lengths<Len, Index> const& packs,
                                                 std::int64_t longest, Cost cost, std::int64_t* costs, std::uint64_t* first_bad) {
  workspace cut(temp);
  return detail::cost_by_length(on, cut, longest, packs.placed, cost, [&]<class Known>(Known known, auto const& prepare) {
    return detail::cost_tally_packs(on, cut, bytes, packs, longest, known, prepare, detail::cost_sum<Known>{known, costs}, costs,
                                    first_bad);
  });
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param packs which samples are in which pack @param longest largest length that may occur
/// @param cost cost of one length @param costs array of one entry for each pack
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first bad member, or `longest` if its cost is out of range
template <class On, integer Len, index_type Index, cost_model Cost>
void pack_costs(On on, packed_lengths<Len, Index> const& packs, std::int64_t longest, Cost cost, std::int64_t* costs) {
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "pack_costs",
       [&](void* temp, std::size_t& bytes) { return pack_costs(on, temp, bytes, packs, longest, cost, costs, bad.data()); });
  detail::cost_require_packs(on, bad, packs, longest);
}

}  // namespace ballast::inline v0_2::gpu
