// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief The result of every packer of several measures.

namespace ballast::inline v0_2 {

/// @brief The argument that proves a lower bound on the number of packs.
enum class vector_bound : std::uint8_t {
  none,            ///< nothing to pack
  measure,         ///< a bound on one measure alone
  mixture,         ///< a bound on a weighted sum of the measures
  incompatible,    ///< a set of samples of which no two fit into one pack
  linear_program,  ///< dual values of the linear program over all patterns, checked in integers
  sample_count,    ///< more packs were demanded than there are samples, though no pack may be empty
};

/// @brief The name of a bound. @param bound any enumerator @return a word for reports, such as "mixture"
[[nodiscard]] constexpr std::string_view to_string(vector_bound bound) noexcept {
  switch (bound) {
    case vector_bound::none: return "none";
    case vector_bound::measure: return "measure";
    case vector_bound::mixture: return "mixture";
    case vector_bound::incompatible: return "incompatible";
    case vector_bound::linear_program: return "linear-program";
    case vector_bound::sample_count: return "sample-count";
  }
  return "none";
}

/// @brief A packer of several measures.
enum class vector_packer : std::uint8_t {
  iterative_sampling,  ///< iterative sampling and filtering (`iterative_sampling`)
  completion,          ///< histogram bin completion (`bin_completion`)
  best_fit,            ///< best-fit decreasing (`vector_best_fit`)
  near_optimal,        ///< column generation (`near_optimal`)
};

/// @brief The name of a packer. @param packer any enumerator @return a word for reports, such as "vector-best-fit"
[[nodiscard]] constexpr std::string_view to_string(vector_packer packer) noexcept {
  switch (packer) {
    case vector_packer::iterative_sampling: return "isf";
    case vector_packer::completion: return "completion";
    case vector_packer::best_fit: return "vector-best-fit";
    case vector_packer::near_optimal: return "near-optimal";
  }
  return "none";
}

/// @brief Samples of several measures in packs, with the number of packs beside a proven lower bound.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct vector_packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; can only fail if a number of packs was demanded
  groups<Index> packs{};                               ///< sample indices of each pack
  certificate count{};                                 ///< number of packs, and its lower bound
  vector_bound bound = vector_bound::none;             ///< what proves `count.lower_bound`
  std::size_t measure = 0;                             ///< number of the measure, for `vector_bound::measure` and `incompatible`
  std::vector<std::int64_t> totals{};                  ///< sum of each measure over the samples in packs
  std::vector<Index> set_aside{};                      ///< samples that exceed a capacity and were left out, ascending
  vector_packer packer{};                              ///< the packer that made the plan
  bool complete = true;                                ///< false if a stop request or the wall clock ended the search early

  /// @brief Share of one measure's capacity that is used, from 0 to 1. @param m number of the measure @param capacity its capacity
  [[nodiscard]] double fill(std::size_t m, std::int64_t capacity) const noexcept {
    return packs.empty() ? 0.0 : static_cast<double>(totals[m]) / (static_cast<double>(capacity) * static_cast<double>(packs.size()));
  }
};

}  // namespace ballast::inline v0_2
