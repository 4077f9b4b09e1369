// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/weighed_vectors.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Packs the samples of one kind, with the samples of a class in random order, and appends the packs. Returns the packer that made them.
template <index_type Index>
vector_packer pack_kind(std::vector<Index> const& chosen, weighed_vectors const& of, vector_batching_options const& o, std::uint64_t seed,
                        portfolio_options const& by, groups<Index>& packs, certificate& count) {
  std::vector<std::vector<std::int64_t>> columns(of.samples.measures());
  std::vector<std::span<std::int64_t const>> views;
  for (std::size_t m = 0; m < columns.size(); ++m) {
    columns[m].reserve(chosen.size());
    for (auto i : chosen) columns[m].push_back(of.samples.column(m)[i]);
    views.emplace_back(columns[m]);
  }
  auto plan = pack_portfolio<Index>(sample_measures(std::move(views)),
                                    {.capacity = of.capacity, .max_samples = o.max_samples, .oversize = o.oversize, .seed = seed}, by);
  count.value += plan.count.value;
  count.lower_bound += plan.count.lower_bound;
  for (auto& i : plan.packs.members) i = chosen[i];
  if (packs.empty()) {
    packs = std::move(plan.packs);
    return plan.packer;
  }
  for (auto const group : plan.packs) packs.push_back(group);
  return plan.packer;
}

}  // namespace ballast::inline v0_2::detail
