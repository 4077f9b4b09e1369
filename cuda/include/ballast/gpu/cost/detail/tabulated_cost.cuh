// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/gpu/core/workspace.cuh>

#include <cstddef>
#include <cstdint>

// A cost that takes many instructions is computed once for each length, if there are fewer lengths than samples: then a sample costs one
// read of a table that stays in the cache, whatever the model.

namespace ballast::inline v0_2::gpu::detail {

// A few multiplications, which take no longer than a read.
template <class Cost>
inline constexpr bool cost_is_short = false;
template <>
inline constexpr bool cost_is_short<token_cost> = true;
template <>
inline constexpr bool cost_is_short<linear_cost> = true;
template <>
inline constexpr bool cost_is_short<quadratic_cost> = true;
template <>
inline constexpr bool cost_is_short<full_pairs> = true;
template <>
inline constexpr bool cost_is_short<causal_pairs> = true;
template <class Mask>
inline constexpr bool cost_is_short<masked_cost<Mask>> = cost_is_short<Mask>;

inline constexpr std::int64_t cost_longest_table = std::int64_t{1} << 20;  // 8 MiB, which the cache of a device holds

struct tabulated_cost {
  std::int64_t const* table;
  BALLAST_HD std::int64_t operator()(std::int64_t length) const { return table[length]; }
};

template <>
inline constexpr bool cost_is_short<tabulated_cost> = true;

template <class Cost>
struct cost_write_table {
  Cost cost;
  std::int64_t longest;
  std::int64_t* table;
  BALLAST_HD void operator()(std::size_t length) const {
    if constexpr (bounded_cost_model<Cost>)
      if (!cost.fits(longest)) return void(table[length] = -1);
    table[length] = static_cast<std::int64_t>(cost(static_cast<std::int64_t>(length)));
  }
};

// Calls work(cost, prepare), where `prepare` queues what the cost needs: nothing, or its table, which is cut from the workspace.
template <class On, class Cost, class Work>
[[nodiscard]] typename On::error_type cost_by_length(On on, workspace& cut, std::int64_t longest, std::uint64_t count, Cost const& cost,
                                                     Work const& work) {
  if constexpr (!cost_is_short<Cost>)
    if (longest >= 0 && longest < cost_longest_table && static_cast<std::uint64_t>(longest) < count) {
      auto const entries = static_cast<std::size_t>(longest) + 1;
      auto* const table = cut.take<std::int64_t>(entries);
      return work(tabulated_cost{table}, [=] { return on.for_each(entries, cost_write_table<Cost>{cost, longest, table}); });
    }
  return work(cost, [] { return typename On::error_type{}; });
}

}  // namespace ballast::inline v0_2::gpu::detail
