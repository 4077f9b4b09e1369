// SPDX-License-Identifier: Apache-2.0
#include "rank_order.hpp"

#include <ballast/batching/measured_steps.hpp>
#include <ballast/packing/rank_distance.hpp>

#include <utility>

namespace ballast_cli {

template <class Index>
std::vector<double> order_for_ranks(ballast::groups<Index>& packs, ballast::sample_measures const& samples,
                                    std::span<std::int64_t const> capacity, std::uint64_t ranks, std::uint64_t seed) {
  ballast::measured_batching_options options;
  options.capacity.assign(capacity.begin(), capacity.end());
  options.ranks = ranks;
  options.left_over = ballast::left_over::shorten;
  options.seed = seed;
  auto const steps = ballast::level_steps(std::move(packs), samples, options);
  packs.clear();
  for (auto const pack : steps.table)
    if (pack != steps.none) packs.push_back(steps.packs[pack]);
  return ballast::rank_distances(packs, samples, ranks);
}

template std::vector<double> order_for_ranks(ballast::groups<std::uint32_t>&, ballast::sample_measures const&,
                                             std::span<std::int64_t const>, std::uint64_t, std::uint64_t);
template std::vector<double> order_for_ranks(ballast::groups<std::uint64_t>&, ballast::sample_measures const&,
                                             std::span<std::int64_t const>, std::uint64_t, std::uint64_t);

}  // namespace ballast_cli
