// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief `longest_sequence`: the most tokens of a sequence, or of a pack, that fit on the devices of a training.

namespace ballast::inline v0_2 {

/// @brief What each stage of a training holds for any pack of at most a number of tokens.
///
/// A pack has one sample or several. Where scores are stored they are those of the whole row, as a kernel that stores them does not know
/// where samples end; where attention is fused the number of samples decides only what `kernel_setting::flash` copies, which is counted.
///
/// @param model   the shape
/// @param by      the setting; its sequence and micro-batch are not read
/// @param tokens  of the pack, 1 ... 2^30
/// @param hopper  as for `memory_of`
/// @return as `memory_of`
/// @post no stage holds more for a pack of samples of at most as many tokens in all (`shapes_of`)
/// @throws invalid_input as `memory_of`, or if `tokens` is out of range
/// @par Complexity
/// That of `memory_of`.
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> memory_of_pack(transformer const& model, training_setting by, std::int64_t tokens,
                                                              bool hopper = true) {
  detail::require_within("tokens", tokens, 1, std::int64_t{1} << 30);
  by.sequence = 1;
  by.micro_batch = 2;  // more than one sample
  return memory_of(model, by, {.tokens = tokens, .squares = tokens * tokens, .tiles = 0}, hopper);
}

/// @brief What `longest_sequence` looks for.
struct sequence_search {
  std::int64_t unit = 1;  ///< tokens of which the sequence is a multiple, 1 ... 2^30
  bool packed = false;    ///< a micro-batch is a pack of that many tokens (`memory_of_pack`), not `micro_batch` sequences
  bool hopper = true;     ///< as for `memory_of`
};

/// @brief The longest sequence that fits, and what keeps a longer one from it.
struct sequence_limit {
  std::int64_t tokens = 0;  ///< of the sequence or pack; 0: not even one unit fits
  std::uint64_t stage = 0;  ///< the stage that holds most if it is one unit longer
  memory_parts next{};      ///< what that stage holds then; zeros if its bytes reach 2^63, or the search ended at its largest micro-batch
};

/// @brief The longest sequence with which no stage of a training holds more than the memory of a device.
///
/// @param model   the shape
/// @param by      the setting, with the memory of a device in `pipeline.memory`; its sequence is not read
/// @param search  what to look for
/// @return the largest multiple of the unit that fits, in micro-batches of at most 2^30 tokens
/// @post `tokens` fits, and one unit more does not, or is a micro-batch of more than 2^30 tokens
/// @throws invalid_input as `memory_of`, or if `unit` is out of range
/// @par Complexity
/// 32 times that of `memory_of`.
/// @par Determinism
/// A pure function of its arguments, in integers.
template <class = when_called>
[[nodiscard]] inline sequence_limit longest_sequence(transformer const& model, training_setting by, sequence_search const& search = {}) {
  constexpr auto most = std::int64_t{1} << 30;
  detail::require_within("unit", search.unit, 1, most);
  auto const unit = search.unit;
  by.sequence = 1;
  require_valid(by, model);  // what is wrong with the setting throws here; below, bytes that reach 2^63 do
  auto const sequences = search.packed ? std::int64_t{1} : by.micro_batch;
  sequence_limit out;
  auto const fits = [&](std::int64_t units) {
    auto const tokens = units * unit;
    try {
      auto const batch = sequences * tokens;
      auto const stages = search.packed ? memory_of_pack(model, by, tokens, search.hopper)
                                        : memory_of(model, by, {.tokens = batch, .squares = batch * tokens, .tiles = 0}, search.hopper);
      auto const& most_held = largest_of(stages);
      if (most_held.peak() <= by.pipeline.memory) return true;
      out.stage = static_cast<std::uint64_t>(&most_held - stages.data());
      out.next = most_held;
    } catch (invalid_input const&) {
      out.next = {};
    }
    return false;
  };
  std::int64_t fitting = 0, failing = most / sequences / unit + 1;
  while (failing - fitting > 1) {
    auto const middle = fitting + (failing - fitting) / 2;
    (fits(middle) ? fitting : failing) = middle;
  }
  out.tokens = fitting * unit;
  return out;
}

}  // namespace ballast::inline v0_2
