// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The rules that a plan of steps, or of one global batch, can break.

namespace ballast::inline v0_2 {

/// @brief The rule that a plan of steps breaks.
enum class batching_fault : std::uint8_t {
  none,                 ///< the plan is valid
  wrong_shape,          ///< the number of ranks is not the demanded one, or the size of the table is not a multiple of one step's places
  bad_offsets,          ///< the offsets of the packs do not rise from 0 to the number of members
  empty_pack,           ///< a pack has no member
  member_out_of_range,  ///< a member of a pack is not the index of a sample
  pack_out_of_range,    ///< an entry of the table is neither a pack number nor `none`
  pack_twice,           ///< a pack occurs in two places
  wrong_shared,         ///< the ranks of a shared sample are no aligned power of two, or it is not once on each in one micro-batch
  overfull_pack,        ///< the total of a pack exceeds the capacity
  wrong_list,           ///< `dropped` or `repeated` is not ascending, or has an entry that is not the index of a sample
  sample_missing,       ///< a sample that is not in `dropped` is in no step, or in fewer places than `repeated` says
  sample_twice,         ///< a sample occurs in more places than `repeated` says
  empty_place,  ///< a place is empty though samples, or the policy `left_over`, could fill it; with pipelines, a rank has no micro-batch
  uneven_step,  ///< in the last step, a rank has two micro-batches more than another rank that has an empty place
  unequal_micro_batches,  ///< with `equal_micro_batches`, ranks have different numbers of micro-batches though samples could make them
                          ///< equal
  wrong_tokens,           ///< `tokens` is not the sum over the packs in the table
  wrong_cost,             ///< `cost` is not the sum over the packs in the table
  wrong_value,            ///< `slowest.value` is not the cost of the table
  wrong_bound,            ///< `slowest.lower_bound` exceeds `slowest.value`
};

/// @brief The name of a fault. @param fault any enumerator @return a few words, such as "overfull pack"
[[nodiscard]] constexpr char const* to_string(batching_fault fault) noexcept {
  constexpr char const* names[] = {
      "none",        "wrong shape",  "bad offsets",           "empty pack",   "member out of range", "pack out of range",
      "pack twice",  "wrong shared", "overfull pack",         "wrong list",   "sample missing",      "sample twice",
      "empty place", "uneven step",  "unequal micro-batches", "wrong tokens", "wrong cost",          "wrong value",
      "wrong bound"};
  return names[static_cast<std::size_t>(fault)];
}

/// @brief The rule that the plan of a global batch breaks.
enum class micro_batch_fault : std::uint8_t {
  none,           ///< the plan is valid
  not_a_step,     ///< `check_batching` found a fault: `found` is that `batching_fault`, `index` its index
  plan_refused,   ///< the status says that there is no plan, but there is one, or no number was demanded
  wrong_number,   ///< there is not exactly one step, or the number of micro-batches is not the demanded number or not `count.value`
  wrong_bound,    ///< `count.lower_bound` exceeds `count.value` though the plan is feasible, or does not though it is infeasible
  torn_apart,     ///< samples with the same `together` key are in two micro-batches
  mixed_keys,     ///< samples with different `apart` keys share a micro-batch
  uneven_counts,  ///< `equal_counts` was set, but two micro-batches differ by more than one sample
  needless_gap,   ///< a place is empty though samples could fill it, or one rank has two empty places more than another
  expensive_end,  ///< `small_ends` was set, but a micro-batch is cheaper than others on both sides of it
};

}  // namespace ballast::inline v0_2
