// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/detail/expected_packing.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of packings, of this library or any other. It shares no code with the packers.

namespace ballast::inline v0_2 {

/// @brief The rule that a packing breaks.
enum class packing_fault : std::uint8_t {
  none,                 ///< the packing is valid
  bad_offsets,          ///< the offsets do not rise from 0 to the number of members
  member_out_of_range,  ///< a member is not the index of a sample or piece
  sample_twice,         ///< a sample occurs twice
  sample_missing,       ///< a sample that should be packed is in no pack
  sample_unwanted,      ///< a sample is in a pack though the policy sets it aside
  empty_pack,           ///< a pack has no member
  overfull_pack,        ///< the total of a pack exceeds the capacity
  too_many_samples,     ///< a pack has more members than allowed
  wrong_pack_count,     ///< the number of packs is not the demanded number
  no_multiple,          ///< the number of packs is not a multiple of `pack_count_multiple`
  wrong_set_aside,      ///< `set_aside` does not list exactly the samples that the policy leaves out
  wrong_piece,          ///< `pieces` does not list exactly the later pieces of split samples
  wrong_tokens,         ///< `tokens` is not the sum of the lengths in packs
  wrong_value,          ///< `count.value` is not the number of packs
  wrong_bound,          ///< `count.lower_bound` exceeds `count.value`
  packs_without_plan,   ///< the status says that there is no plan, but there are packs
};

/// @brief The name of a fault. @param fault any enumerator @return a few words, such as "overfull pack"
[[nodiscard]] constexpr char const* to_string(packing_fault fault) noexcept {
  constexpr char const* names[] = {
      "none",        "bad offsets",   "member out of range", "sample twice",     "sample missing",    "sample unwanted",
      "empty pack",  "overfull pack", "too many samples",    "wrong pack count", "no multiple",       "wrong set_aside",
      "wrong piece", "wrong tokens",  "wrong value",         "wrong bound",      "packs without plan"};
  return names[static_cast<std::size_t>(fault)];
}

/// @brief Describes a verdict in a sentence, such as "pack 17 holds 9000, more than its capacity 8192".
/// @param v  a verdict of `check_packing`
/// @return the sentence
[[nodiscard]] inline std::string describe(verdict<packing_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case packing_fault::none: return "the packing is valid";
    case packing_fault::bad_offsets:
      return "offsets[" + index + "] = " + found + ": offsets must rise from 0 to the number of members, " + expected;
    case packing_fault::member_out_of_range: return "members[" + index + "] = " + found + " must be below " + expected;
    case packing_fault::sample_twice: return "sample " + index + " occurs twice, the second time in pack " + found;
    case packing_fault::sample_missing: return "sample " + index + " is in no pack";
    case packing_fault::sample_unwanted:
      return "sample " + index + " of " + found + " is in a pack, but must be set aside: it exceeds " + expected;
    case packing_fault::empty_pack: return "pack " + index + " is empty";
    case packing_fault::overfull_pack: return "pack " + index + " holds " + found + ", more than its capacity " + expected;
    case packing_fault::too_many_samples: return "pack " + index + " holds " + found + " samples, more than " + expected;
    case packing_fault::wrong_pack_count: return "there are " + found + " packs, not " + expected;
    case packing_fault::no_multiple: return "there are " + found + " packs, which is not a multiple of " + expected;
    case packing_fault::wrong_set_aside:
      return "set_aside[" + index + "] is wrong: the list must name, ascending, the " + expected + " samples that the policy leaves out";
    case packing_fault::wrong_piece:
      return "pieces[" + index + "] is wrong: the list must hold the " + expected +
             " later pieces of split samples, by sample, then offset";
    case packing_fault::wrong_tokens: return "tokens = " + found + ", but the packs hold " + expected;
    case packing_fault::wrong_value: return "count.value = " + found + ", but there are " + expected + " packs";
    case packing_fault::wrong_bound: return "count.lower_bound = " + found + " exceeds the " + expected + " packs";
    case packing_fault::packs_without_plan: return "the result says that there is no plan, but has " + found + " packs";
  }
  return {};
}

namespace detail {

/// Checks packs against the expected weights.
template <index_type Index>
[[nodiscard]] verdict<packing_fault> check_groups(groups<Index> const& packs, expected_packing const& e, std::uint64_t samples,
                                                  packing_options const& o) {
  using enum packing_fault;
  auto const& offsets = packs.offsets;
  auto const& members = packs.members;
  std::uint64_t before = 0;
  for (std::size_t g = 0; g < offsets.size(); before = offsets[g++])
    if ((g == 0 && offsets[g] != 0) || offsets[g] < before || offsets[g] > members.size())
      return {bad_offsets, g, offsets[g], members.size()};
  if (before != members.size()) return {bad_offsets, packs.size(), before, members.size()};

  std::vector<bool> seen(e.weight.size());
  for (std::size_t g = 0; g < packs.size(); ++g) {
    std::uint64_t load = 0;
    bool alone = false;  // whether the pack is one over-long sample, which the policy allows
    for (auto k = offsets[g]; k < offsets[g + 1]; ++k) {
      auto const member = std::uint64_t{members[static_cast<std::size_t>(k)]};
      if (member >= seen.size()) return {member_out_of_range, k, member, seen.size()};
      auto const m = static_cast<std::size_t>(member);
      auto const weight = e.weight[m];
      if (seen[m]) return {sample_twice, member, g, 0};
      if (member < samples && e.absent[m]) return {sample_unwanted, member, weight, e.capacity};
      seen[m] = true;
      load += (std::min)(weight, (std::numeric_limits<std::uint64_t>::max)() - load);
      alone = o.oversize == oversize::alone && weight > e.capacity && offsets[g + 1] - offsets[g] == 1;
    }
    auto const size = offsets[g + 1] - offsets[g];
    if (size == 0) return {empty_pack, g, 0, 1};
    if (o.max_samples != 0 && size > o.max_samples) return {too_many_samples, g, size, o.max_samples};
    if (load > e.capacity && !alone) return {overfull_pack, g, load, e.capacity};
  }
  for (std::size_t m = 0; m < seen.size(); ++m)
    if (!seen[m] && !(m < samples && e.absent[m])) return {sample_missing, m, 0, 1};
  if (o.pack_count != 0 && packs.size() != o.pack_count) return {wrong_pack_count, 0, packs.size(), o.pack_count};
  if (packs.size() % o.pack_count_multiple != 0) return {no_multiple, 0, packs.size(), o.pack_count_multiple};
  return {};
}

}  // namespace detail

/// @brief Checks a packing, given as groups of sample indices, against the definition of a valid packing.
///
/// Every sample must occur exactly once, no pack may be empty, exceed the capacity or exceed `max_samples`, and the number of packs must be
/// what the options demand. Samples longer than the capacity are treated by `options.oversize`: under `set_aside` they occur nowhere, under
/// `truncate` they have their cut length, and under `alone` they are the only member of their pack. Under `split`, the later pieces are
/// members n, n + 1, … for n samples, ordered by sample, then offset.
///
/// @tparam Index  index type of the groups
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    the packing; its offsets and members may have any values
/// @param lengths  the sample lengths, each at least 1
/// @param options  the options that the packing must meet
/// @param cost     weighs one length; tokens by default
/// @return the first broken rule, in this order: offsets, pack after pack, missing samples, number of packs. Its index is a pack, an entry
/// of `offsets`, `members`, `set_aside` or `pieces`, or a sample (n + j for piece j)
/// @throws invalid_input unless every length, cost and option is valid
/// @par Complexity
/// O(samples + members).
template <index_type Index, length_range R, cost_model Cost = token_cost>
[[nodiscard]] verdict<packing_fault> check_packing(groups<Index> const& packs, R const& lengths, packing_options const& options,
                                                   Cost const& cost = {}) {
  return detail::check_groups(packs, detail::expect(lengths, options, cost), static_cast<std::uint64_t>(std::ranges::size(lengths)),
                              options);
}

/// @brief Checks the result of a packer: its packs, and the figures it gives about them.
///
/// A result whose status is not `feasible` must have no packs.
///
/// @tparam Index  index type of the result
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan     the result; it may have any values
/// @param lengths  the sample lengths, each at least 1
/// @param options  the options that the packing must meet
/// @param cost     weighs one length; tokens by default
/// @return the first broken rule, in this order: `set_aside` and `pieces`, the packs (as in the other overload), tokens, certificate
/// @throws invalid_input unless every length, cost and option is valid
/// @par Complexity
/// O(samples + members).
template <index_type Index, length_range R, cost_model Cost = token_cost>
[[nodiscard]] verdict<packing_fault> check_packing(packing<Index> const& plan, R const& lengths, packing_options const& options,
                                                   Cost const& cost = {}) {
  using enum packing_fault;
  auto const e = detail::expect(lengths, options, cost);
  auto const first_difference = [](auto const& found, auto const& expected) {
    return static_cast<std::uint64_t>(std::ranges::mismatch(found, expected, [](auto const& a, auto const& b) { return a == b; }).in1 -
                                      found.begin());
  };
  if (!std::ranges::equal(plan.set_aside, e.set_aside, [](auto a, auto b) { return std::cmp_equal(a, b); }))
    return {wrong_set_aside, first_difference(plan.set_aside, e.set_aside), plan.set_aside.size(), e.set_aside.size()};
  if (plan.pieces != e.pieces) return {wrong_piece, first_difference(plan.pieces, e.pieces), plan.pieces.size(), e.pieces.size()};
  if (plan.status != status::feasible) {
    if (!plan.packs.empty()) return {packs_without_plan, 0, plan.packs.size(), 0};
    return {};
  }
  if (auto const v = detail::check_groups(plan.packs, e, static_cast<std::uint64_t>(std::ranges::size(lengths)), options); !v.valid())
    return v;
  auto const packs = std::uint64_t{plan.packs.size()};
  if (std::cmp_not_equal(plan.tokens, e.tokens)) return {wrong_tokens, 0, static_cast<std::uint64_t>(plan.tokens), e.tokens};
  if (std::cmp_not_equal(plan.count.value, packs)) return {wrong_value, 0, static_cast<std::uint64_t>(plan.count.value), packs};
  if (plan.count.lower_bound > plan.count.value) return {wrong_bound, 0, static_cast<std::uint64_t>(plan.count.lower_bound), packs};
  return {};
}

}  // namespace ballast::inline v0_2
