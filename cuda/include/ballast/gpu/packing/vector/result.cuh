// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The result of packers of several measures, in memory of a backend.

namespace ballast::inline v0_2::gpu {

/// @brief Samples of several measures in packs on the device; its members are those of `ballast::vector_packing`, and mean the same.
/// @tparam On     the backend
/// @tparam Index  type of the sample indices
template <class On, index_type Index = std::uint32_t>
struct vector_packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; can only fail if a number of packs was demanded
  groups<On, Index> packs;                             ///< sample indices of each pack
  certificate count{};                                 ///< number of packs, and its lower bound
  vector_bound bound = vector_bound::none;             ///< what proves `count.lower_bound`
  std::size_t measure = 0;                             ///< number of the measure, for `vector_bound::measure` and `incompatible`
  std::vector<std::int64_t> totals{};                  ///< sum of each measure over the samples in packs
  array<Index, On> set_aside;                          ///< samples that exceed a capacity and were left out, ascending
  vector_packer packer{};                              ///< the packer that made the plan
  bool complete = true;                                ///< false if a stop request or the wall clock ended the search early
};

}  // namespace ballast::inline v0_2::gpu
