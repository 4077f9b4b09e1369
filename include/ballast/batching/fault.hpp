// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>

/// @file
/// @brief The rules that a plan of steps can break.

namespace ballast::inline v0_2 {

/// @brief The rule that a plan of steps breaks.
struct batching_fault : common_fault {
  static constexpr rule wrong_shape{"the plan has not the demanded number of ranks, or its table is no whole number of steps"};
  static constexpr rule empty_pack{"pack {index} is empty"};
  static constexpr rule member_out_of_range{"members[{index}] = {found} must be below {expected}"};
  static constexpr rule pack_out_of_range{"table[{index}] is neither a pack nor none"};
  static constexpr rule pack_twice{"the pack of table[{index}] is in another place too"};
  static constexpr rule wrong_shared{"shared[{index}] is not on an aligned power of two ranks, or not once on each in one micro-batch"};
  static constexpr rule overfull_pack{"pack {index} holds {found} tokens, more than the capacity {expected}"};
  static constexpr rule wrong_list{"entry {index} of dropped or repeated is not the index of a sample, or not ascending"};
  static constexpr rule sample_missing{"sample {index} is in fewer places than dropped and repeated say"};
  static constexpr rule sample_twice{"sample {index} is in more places than dropped and repeated say"};
  static constexpr rule empty_place{"place {index} is empty, though samples or the policy left_over could fill it"};
  static constexpr rule uneven_step{"place {index} is empty, and another rank of the last step has two micro-batches more"};
  static constexpr rule unequal_micro_batches{"place {index}: the ranks of its step have unequal numbers of micro-batches without need"};
  static constexpr rule wrong_tokens{"tokens = {found}, but the packs in the table hold {expected}"};
  static constexpr rule wrong_cost{"cost is not the sum over the packs in the table"};
};

}  // namespace ballast::inline v0_2
