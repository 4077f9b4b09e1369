// SPDX-License-Identifier: Apache-2.0
#include "planning/rank_order.hpp"

#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/metrics/step_balance.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ballast_cli {

template <class Index>
void order_for_ranks(ballast::groups<Index>& packs, ballast::sample_measures const& samples, std::span<std::int64_t const> capacity,
                     std::uint64_t ranks, std::uint64_t seed) {
  ballast::vector_batching_options const options{.steps = {.capacity = capacity.back(),
                                                           .ranks = ranks,
                                                           .left_over = ballast::left_over::shorten,
                                                           .seed = seed,
                                                           .equal_micro_batches = false},  // the trainer cuts the order; no pack is split
                                                 .others = {capacity.begin(), capacity.end() - 1}};
  auto const steps = ballast::deal_steps(std::move(packs), samples, options);
  packs.clear();
  for (auto const pack : steps.table)
    if (pack != steps.none) packs.push_back(steps.packs[pack]);
}

template <class Index>
double order_by_cost(ballast::groups<Index>& packs, std::vector<std::int64_t> const& costs, std::uint64_t ranks, std::uint64_t seed) {
  auto const loads = [&] {
    std::vector<std::int64_t> out;
    for (auto const pack : packs) {
      out.push_back(0);
      for (auto const i : pack) out.back() += costs[static_cast<std::size_t>(i)];
    }
    return out;
  };
  auto const before = loads();
  std::int64_t const largest[] = {before.empty() ? 1 : *std::max_element(before.begin(), before.end())};
  order_for_ranks(packs, ballast::sample_measures({costs}), largest, ranks, seed);
  auto of_steps = loads();
  of_steps.resize(of_steps.size() - of_steps.size() % static_cast<std::size_t>(ranks));
  return ballast::balance_of_steps(of_steps, static_cast<std::size_t>(ranks)).idle();
}

template void order_for_ranks(ballast::groups<std::uint32_t>&, ballast::sample_measures const&, std::span<std::int64_t const>,
                              std::uint64_t, std::uint64_t);
template void order_for_ranks(ballast::groups<std::uint64_t>&, ballast::sample_measures const&, std::span<std::int64_t const>,
                              std::uint64_t, std::uint64_t);
template double order_by_cost(ballast::groups<std::uint32_t>&, std::vector<std::int64_t> const&, std::uint64_t, std::uint64_t);
template double order_by_cost(ballast::groups<std::uint64_t>&, std::vector<std::int64_t> const&, std::uint64_t, std::uint64_t);

}  // namespace ballast_cli
