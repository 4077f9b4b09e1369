// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/gpu/balance/batches.cuh>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/detail/score_plan.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Scores thousands of candidate plans at once by their balance.

namespace ballast::inline v0_2::gpu {

/// @brief Computes the loads of every candidate plan: largest, smallest and total, as `ballast::balance_of_steps` counts them.
///
/// @tparam On  the backend
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param in       the candidates
/// @param out      array of one entry for each candidate
/// @param first_bad  two words: the first item with a negative cost or one that brings the sum to 2^63, and the first entry of `in.set_of`
///                   that is not a set; all ones if there is none
/// @return the error, if any; `invalid_value` if the number of sets is out of range or the workspace is too small
/// @par Complexity
/// One pass with a block for each candidate: 12 bytes read per item and candidate (costs come from the cache), an atomic sum in shared
/// memory, and 24 bytes written per candidate.
/// @par Determinism
/// Sums of integers, which do not depend on the order.
template <class On>
[[nodiscard]] typename On::error_type score(On on, void* temp, std::size_t& bytes, candidate_plans const& in, load_figures* out,
                                            std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  if (in.sets < 1 || in.sets > most_sets) return On::invalid_value;
  workspace cut(temp);
  auto const n = static_cast<std::size_t>(in.items);
  auto* const total = cut.take<std::uint64_t>(1);
  mapped const costs(detail::balance_cost_at{in.costs});
  auto const sum = [&](void* memory, std::size_t& need) {
    return on.reduce(memory, need, costs, total, n, std::uint64_t{0}, detail::balance_add{});
  };
  auto room = cut.finish<On>(bytes, sum);
  if (room.ends) return room.error;
  auto done = on.fill(first_bad, 0xff, 2 * sizeof(std::uint64_t));
  if (done == ok) done = sum(room.memory, room.bytes);
  if (done == ok) done = on.for_each(1, detail::balance_check_total{in.costs, in.items, total, first_bad});
  if (done == ok)
    done = on.blocks(static_cast<std::size_t>(in.candidates), detail::balance_score::most_lanes,
                     static_cast<std::size_t>(in.sets) * sizeof(std::uint64_t), detail::balance_score{in, total, out, first_bad});
  return done;
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param in the candidates @param out array of one entry for each candidate
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first bad cost, or the first entry that is not a set
template <class On>
void score(On on, candidate_plans const& in, load_figures* out) {
  array<std::uint64_t, On> const bad(on, 2);
  call(on, "score", [&](void* temp, std::size_t& bytes) { return score(on, temp, bytes, in, out, bad.data()); });
  detail::balance_require_costs(on, bad, in.costs);
  auto const first = fetch_one(on, bad.data() + 1);
  require(first == none_bad, [&] {
    return sentence(entry("set_of", first, fetch_one(on, in.set_of + first)), " must be below ", in.sets, ", the number of sets");
  });
}

}  // namespace ballast::inline v0_2::gpu
