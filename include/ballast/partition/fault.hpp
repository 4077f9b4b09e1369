// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The faults that the validators of partitions report.

namespace ballast::inline v0_2 {

/// @brief The rule that a partition breaks.
enum class partition_fault : std::uint8_t {
  none,              ///< the partition is valid
  wrong_count,       ///< the number of boundaries is not stages + 1
  bad_boundaries,    ///< the boundaries do not go from 0 to the number of layers without decreasing
  too_few_layers,    ///< a stage has fewer layers than the minimum
  too_few_weighted,  ///< a stage has fewer layers with a cost above 0 than the minimum
  overfull_stage,    ///< the sizes in a stage exceed its capacity, or its cost is `unaffordable`
  wrong_value,       ///< the certificate's value is not the cost of the most expensive stage
  wrong_bound,       ///< the certificate's lower bound is above its value, or not above it although the result is infeasible
  false_bound,       ///< some partition has a bottleneck below the lower bound
  needless_refusal,  ///< the result says that no partition exists, but one does
  plan_refused,      ///< the result says that no partition exists, but has boundaries
};

/// @brief Describes a verdict in a sentence, such as "stage 3 holds 9000, more than its capacity 8192".
/// @param v  a verdict of `check_partition` or `check_virtual_stages`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<partition_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case partition_fault::none: return "the partition is valid";
    case partition_fault::wrong_count: return "there are " + found + " boundaries, not " + expected;
    case partition_fault::bad_boundaries:
      return "boundaries[" + index + "] = " + found + ": boundaries must rise from 0 to the number of layers, " + expected;
    case partition_fault::too_few_layers: return "stage " + index + " has " + found + " layers, fewer than " + expected;
    case partition_fault::too_few_weighted:
      return "stage " + index + " has " + found + " layers with a cost above 0, fewer than " + expected;
    case partition_fault::overfull_stage: return "stage " + index + " holds " + found + ", more than its capacity " + expected;
    case partition_fault::wrong_value: return "bottleneck.value = " + found + ", but the most expensive stage costs " + expected;
    case partition_fault::wrong_bound: return "bottleneck.lower_bound = " + found + " against a value of " + expected;
    case partition_fault::false_bound: return "bottleneck.lower_bound = " + found + ", but some cut costs less";
    case partition_fault::needless_refusal: return "the result says that there is no plan, but there is one";
    case partition_fault::plan_refused: return "the result says that there is no plan, but has " + found + " boundaries";
  }
  return {};
}

}  // namespace ballast::inline v0_2
