// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/cost/detail/check_costs.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The cost of every sample, by any cost model that device code can call.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class Len, class Cost>
struct cost_sample {
  Cost cost;
  Len const* lengths;
  std::int64_t longest;
  std::int64_t const* most;
  std::int64_t* costs;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const length = static_cast<std::int64_t>(lengths[i]);
    if (*most < 0) return;
    if (length < 0 || length > longest)
      atomic_min(*bad, i);
    else
      costs[i] = static_cast<std::int64_t>(cost(length));
  }
};

}  // namespace detail

/// @brief Weighs every sample: `costs[i] = cost(lengths[i])`, the integers that the host computes.
///
/// @tparam On    the backend
/// @tparam Len   an integer
/// @tparam Cost  a `cost_model` whose operator, and `fits` if it has one, are `BALLAST_HD`: any of cost/ but those that own memory; a
///               `table_cost` with arrays of the backend
/// @param on       the backend
/// @param temp     scratch memory, or null to ask for its size
/// @param bytes    size of `temp`
/// @param lengths  tokens of each sample, 0 … `longest`
/// @param count    samples
/// @param longest  largest length that may occur, not negative
/// @param cost     weighs one length; does not decrease up to `longest`
/// @param costs    one for each sample
/// @param first_bad  one word: the first sample whose length is out of range; `count` if the cost of `longest` is none; all ones if all
/// is well
/// @return the error, if any; `invalid_value` for a negative `longest` or too small a workspace
/// @post without an error and with all ones in `first_bad`, all costs are in [0, 2^63)
/// @par Complexity
/// One pass: a length read and 8 bytes written a sample.
/// @par Determinism
/// Integers, each by one lane.
template <class On, integer Len, cost_model Cost>
[[nodiscard]] typename On::error_type sample_costs(On on, void* temp, std::size_t& bytes, Len const* lengths, std::uint64_t count,
                                                   std::int64_t longest, Cost cost, std::int64_t* costs, std::uint64_t* first_bad) {
  workspace cut(temp);
  auto* const most = cut.take<std::int64_t>(1);
  if (cut.counting()) return bytes = cut.bytes(), typename On::error_type{};
  if (longest < 0 || bytes < cut.bytes()) return On::invalid_value;
  auto const checked = on.for_each(1, detail::cost_check_longest<Cost>{cost, longest, count, first_bad, most});
  if (checked != typename On::error_type{}) return checked;
  return on.for_each(static_cast<std::size_t>(count), detail::cost_sample<Len, Cost>{cost, lengths, longest, most, costs, first_bad});
}

/// @brief The same with scratch memory of the backend; waits.
/// @param on the backend @param lengths tokens of each sample @param count samples @param longest largest length that may occur
/// @param cost weighs one length @param costs one for each sample
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first length out of range, or `longest` if its cost is none
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
