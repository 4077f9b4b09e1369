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
/// @brief What every packer of several measures returns.

namespace ballast::inline v0_2 {

/// @brief Which argument proves that no fewer packs can do.
enum class vector_bound : std::uint8_t {
  none,            ///< nothing to pack
  measure,         ///< a bound on one measure alone
  mixture,         ///< a bound on a weighted sum of the measures
  incompatible,    ///< samples of which no two share a pack
  linear_program,  ///< duals of the linear program over all patterns, checked in integers
  sample_count,    ///< more packs were demanded than there are samples, and no pack is empty
};

/// @brief The bound's name as users know it. @param bound any of them @return a word for reports
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

/// @brief Which packer of several measures made a plan.
enum class vector_packer : std::uint8_t {
  iterative_sampling,  ///< iterative sampling and filtering
  completion,          ///< histogram bin completion
  best_fit,            ///< vector best fit
  near_optimal,        ///< column generation
};

/// @brief The packer's name as users know it. @param packer any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(vector_packer packer) noexcept {
  switch (packer) {
    case vector_packer::iterative_sampling: return "isf";
    case vector_packer::completion: return "completion";
    case vector_packer::best_fit: return "vector-best-fit";
    case vector_packer::near_optimal: return "near-optimal";
  }
  return "none";
}

/// @brief Samples of several measures in packs, with the proof of how good the plan is.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct vector_packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; not feasible only where a count was demanded
  groups<Index> packs{};                               ///< sample indices
  certificate count{};                                 ///< packs, and the number below which no plan can go
  vector_bound bound = vector_bound::none;             ///< what proves `count.lower_bound`
  std::size_t measure = 0;                             ///< for `vector_bound::measure` and `incompatible`: which one
  std::vector<std::int64_t> totals{};                  ///< sum of each measure over the samples in packs
  std::vector<Index> set_aside{};                      ///< samples above a capacity that the policy left out, ascending
  vector_packer packer{};                              ///< who made the plan
  bool complete = true;                                ///< false where a stop cut the search short

  /// @brief Share of one measure's capacity that is used, from 0 to 1. @param m measure @param capacity of one pack
  [[nodiscard]] double fill(std::size_t m, std::int64_t capacity) const noexcept {
    return packs.empty() ? 0.0 : static_cast<double>(totals[m]) / (static_cast<double>(capacity) * static_cast<double>(packs.size()));
  }
};

}  // namespace ballast::inline v0_2
