// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief What a packer of samples with several measures is asked (vector bin packing).

namespace ballast::inline v0_2 {

/// @brief The request to a packer of several measures. Only `capacity` has no default.
struct vector_packing_options {
  std::vector<std::int64_t> capacity{};   ///< largest total of each measure in one pack: one entry per measure, each at least 1
  std::uint64_t max_samples = 0;          ///< most samples in one pack; 0 = no limit
  std::uint64_t pack_count_multiple = 1;  ///< the number of packs is a multiple of this (ranks * micro-batches)
  /// What happens to a sample that exceeds a capacity: `reject`, `set_aside` or `own`. One of several measures cannot be cut.
  ballast::oversize oversize = ballast::oversize::reject;
  std::uint64_t seed = 0;  ///< of the packers that draw
};

/// @brief Throws unless the options are in range and go with the samples.
/// @param samples  whose measures have these capacities
/// @param options  the request
/// @throws invalid_input if there are not as many capacities as measures, a number is out of range or the policy cuts samples
inline void require_valid(sample_measures const& samples, vector_packing_options const& options) {
  require(options.capacity.size() == samples.measures(), [&] {
    return "capacity has " + std::to_string(options.capacity.size()) + " entries for " + std::to_string(samples.measures()) + " measures";
  });
  for (std::size_t m = 0; m < options.capacity.size(); ++m)
    require(options.capacity[m] > 0,
            [&] { return "capacity[" + std::to_string(m) + "] = " + std::to_string(options.capacity[m]) + " must be positive"; });
  require(options.oversize != oversize::truncate && options.oversize != oversize::split, [] {
    return std::string("oversize: a sample of several measures can be rejected, set aside or packed on its own, but not cut");
  });
  require(options.pack_count_multiple > 0 && options.pack_count_multiple <= std::uint64_t{1} << 62,
          [&] { return "pack_count_multiple = " + std::to_string(options.pack_count_multiple) + " must be in 1 ... 2^62"; });
}

}  // namespace ballast::inline v0_2
