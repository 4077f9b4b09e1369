// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/cost/detail/check_costs.cuh>
#include <ballast/gpu/cost/detail/tabulated_cost.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The cost of every sample, by any cost model that device code can call.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class Cost>
struct cost_sample {
  Cost cost;
  std::int64_t longest;
  std::int64_t const* most;
  std::uint64_t* bad;
  template <class Len>
  BALLAST_HD void operator()(std::size_t i, Len read, std::int64_t& out) const {
    auto const length = static_cast<std::int64_t>(read);
    out = 0;
    if (*most < 0) return;
    if (length < 0 || length > longest)
      atomic_min(*bad, i);
    else
      out = static_cast<std::int64_t>(cost(length));
  }
};

}  // namespace detail

/// @brief Computes the cost of every sample, `costs[i] = cost(lengths[i])`, with the same integers as on the host.
///
/// @tparam On    the backend
/// @tparam Len   an integer
/// @tparam Cost  a `cost_model` whose operator, and `fits` if it has one, are `BALLAST_HD`: any of cost/ that owns no memory; a
///               `table_cost` needs arrays of the backend
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param lengths  tokens of each sample, 0 … `longest`
/// @param count    number of samples
/// @param longest  largest length that may occur, not negative
/// @param cost     cost of one length; must not decrease up to `longest`
/// @param costs    array of one entry for each sample
/// @param first_bad  one word: the first sample whose length is out of range; `count` if the cost of `longest` is out of range; all ones if
///                   there is none
/// @return the error, if any; `invalid_value` if `longest` is negative or the workspace is too small
/// @post without an error and with all ones in `first_bad`, all costs are in [0, 2^63)
/// @par Complexity
/// One pass: per sample a length is read and 8 bytes are written. If `longest` is below `count` and 2^20, a cost that takes many
/// instructions is computed once for each length, into a table of `longest` + 1 words of the workspace.
/// @par Determinism
/// Each cost is an integer, computed by one lane.
template <class On, integer Len, cost_model Cost>
[[nodiscard]] typename On::error_type sample_costs(On on, void* temp, std::size_t& bytes, Len const* lengths, std::uint64_t count,
                                                   std::int64_t longest, Cost cost, std::int64_t* costs, std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  workspace cut(temp);
  return detail::cost_by_length(on, cut, longest, count, cost, [&]<class Known>(Known known, auto const& prepare) {
    auto* const most = cut.take<std::int64_t>(1);
    if (auto const end = cut.finish<On>(bytes); end.ends) return end.error;
    if (longest < 0) return On::invalid_value;
    auto done = prepare();
    if (done == ok) done = on.for_each(1, detail::cost_check_longest<Known>{known, longest, count, first_bad, most});
    if (done == ok)
      done = map_each<detail::cost_is_short<Known> ? 4 : 1>(on, static_cast<std::size_t>(count), lengths,
                                                            detail::cost_sample<Known>{known, longest, most, first_bad}, costs);
    return done;
  });
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param lengths tokens of each sample @param count number of samples @param longest largest length that may occur
/// @param cost cost of one length @param costs array of one entry for each sample
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first length out of range, or `longest` if its cost is out of range
template <class On, integer Len, cost_model Cost>
void sample_costs(On on, Len const* lengths, std::uint64_t count, std::int64_t longest, Cost cost, std::int64_t* costs) {
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "sample_costs",
       [&](void* temp, std::size_t& bytes) { return sample_costs(on, temp, bytes, lengths, count, longest, cost, costs, bad.data()); });
  auto const first = fetch_one(on, bad.data());
  if (first == none_bad) return;
  detail::cost_require_longest(first, count, longest);
  detail::cost_require_length(first, fetch_one(on, lengths + first), longest);
}

}  // namespace ballast::inline v0_2::gpu
