// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/balance/batches.cuh>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

// One block sums the loads of one candidate plan; a separate check covers the costs that all candidates share.

namespace ballast::inline v0_2::gpu::detail {

struct balance_cost_at {
  std::int64_t const* costs;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return costs[i] < 0 ? balance_limit : static_cast<std::uint64_t>(costs[i]); }
};
struct balance_add {
  BALLAST_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return balance_sum(a, b); }
};
// Searches the costs for the first bad one only if their sum is bad.
struct balance_check_total {
  std::int64_t const* costs;
  std::uint64_t items;
  std::uint64_t const* total;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t) const {
    if (*total == balance_limit) atomic_min(*bad, balance_too_much(costs, 0, items));
  }
};

struct balance_score {
  static constexpr unsigned most_lanes = 256;
  candidate_plans in;
  std::uint64_t const* total_of_all;
  load_figures* out;
  std::uint64_t* bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t c) const {
    if (*total_of_all == balance_limit) return;
    auto const sets = static_cast<std::uint32_t>(in.sets);
    auto* const load = block.template shared<std::uint64_t>();
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) load[s] = 0;
    });
    block.each([&](unsigned lane) {
      auto const* const set_of = in.set_of + c * in.items;
      for (std::uint64_t i = lane; i < in.items; i += block.lanes()) {
        if (set_of[i] < sets)
          atomic_add_in_block(load[set_of[i]], static_cast<std::uint64_t>(in.costs[i]));
        else if (set_of[i] != no_set)
          atomic_min(bad[1], c * in.items + i);
      }
    });
    auto const total = block.total([&](unsigned lane) {
      std::uint64_t sum = 0;
      for (auto s = lane; s < sets; s += block.lanes()) sum += load[s];
      return sum;
    });
    auto const smallest = block.least([&](unsigned lane) {
      auto found = balance_limit;
      for (auto s = lane; s < sets; s += block.lanes())
        if (load[s] < found) found = load[s];
      return found;
    });
    auto const below = block.least([&](unsigned lane) {  // distance of the largest load from the limit
      auto found = balance_limit;
      for (auto s = lane; s < sets; s += block.lanes())
        if (balance_limit - load[s] < found) found = balance_limit - load[s];
      return found;
    });
    block.each([&](unsigned lane) {
      if (lane == 0)
        out[c] = {static_cast<std::int64_t>(balance_limit - below), static_cast<std::int64_t>(smallest), static_cast<std::int64_t>(total)};
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
