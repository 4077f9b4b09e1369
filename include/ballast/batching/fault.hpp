// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief What can be wrong with a plan of steps, and with that of a global batch.

namespace ballast::inline v0_2 {

/// @brief The rule that a plan of steps breaks.
enum class batching_fault : std::uint8_t {
  none,                 ///< it is a valid plan
  wrong_shape,          ///< the ranks are not those asked for, or the table is no whole number of steps
  bad_offsets,          ///< the offsets of the packs do not rise from 0 to the number of members
  empty_pack,           ///< a pack has no member
  member_out_of_range,  ///< a member of a pack is no sample
  pack_out_of_range,    ///< a place of the table holds no pack's number
  pack_twice,           ///< a pack stands in two places
  wrong_shared,         ///< a shared sample does not stand once on each of its ranks, in one micro-batch
  overfull_pack,        ///< the samples of a pack exceed the capacity
  wrong_list,           ///< `dropped` or `repeated` is not ascending, or names what is no sample
  sample_missing,       ///< a sample stands in no step, or less often than `repeated` says, and is not listed as dropped
  sample_twice,         ///< a sample stands in steps more often than `repeated` says
  empty_place,          ///< a place is empty that samples, or `left_over`, could fill; of a pipeline, a rank without micro-batches
  uneven_step,          ///< a rank of the last step has two micro-batches more than another that has an empty place
  wrong_tokens,         ///< the sum of tokens is not that of the packs in the table
  wrong_cost,           ///< the sum of costs is not that of the packs in the table
  wrong_value,          ///< the certificate's value is not what the table costs
  wrong_bound,          ///< the certificate's lower bound is above its value
};

/// @brief The fault's name. @param fault any of them @return a few words
[[nodiscard]] constexpr char const* to_string(batching_fault fault) noexcept {
  constexpr char const* names[] = {"none",        "wrong shape",  "bad offsets",   "empty pack", "member out of range", "pack out of range",
                                   "pack twice",  "wrong shared", "overfull pack", "wrong list", "sample missing",      "sample twice",
                                   "empty place", "uneven step",  "wrong tokens",  "wrong cost", "wrong value",         "wrong bound"};
  return names[static_cast<std::size_t>(fault)];
}

/// @brief The rule that the plan of a global batch breaks.
enum class micro_batch_fault : std::uint8_t {
  none,           ///< it is a valid plan
  not_a_step,     ///< what `check_batching` found: `found` is its `batching_fault`, `index` its index
  plan_refused,   ///< the result says that there is no plan, and has one; or says so without a demand or a proof
  wrong_number,   ///< not one step, or the number of micro-batches is not what was asked or what `count` says
  wrong_bound,    ///< the lower bound of `count` is above its value; or, where infeasible, is not
  torn_apart,     ///< samples of one `together` key stand in two micro-batches
  mixed_keys,     ///< samples of two `apart` keys share a micro-batch
  uneven_counts,  ///< equal counts were asked for, and two micro-batches differ by more than one sample
  needless_gap,   ///< a place is empty that could hold something, or one rank has two empty places more than another
  expensive_end,  ///< small ends were asked for, and a micro-batch is cheaper than ones on both sides
};

}  // namespace ballast::inline v0_2
