// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of packings, of this library or any other. It shares no code with the packers.

namespace ballast::inline v0_2 {

namespace detail {

/// What the samples are under the options: the weight of every possible member, and the lists that the result must have.
struct expected_packing {
  std::vector<std::uint64_t> weight;  ///< weight of each member, samples before pieces; above `capacity` if it fits no pack
  std::vector<std::uint64_t> set_aside;
  std::vector<sample_piece> pieces;
  std::uint64_t capacity = 0;
  std::uint64_t tokens = 0;
};

template <length_range R, cost_model Cost>
[[nodiscard]] expected_packing expect(R const& lengths, packing_options const& o, Cost const& cost) {
  require(o.capacity > 0 && o.sample_multiple > 0 && o.pack_multiple > 0 && o.pack_count_multiple > 0,
          [] { return std::string("capacity, sample_multiple, pack_multiple and pack_count_multiple must be positive"); });
  expected_packing e;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  e.capacity = static_cast<std::uint64_t>(o.capacity / o.pack_multiple * o.pack_multiple);
  e.weight.resize(n);
  auto const multiple = static_cast<std::uint64_t>(o.sample_multiple);
  auto const padded = [&](std::int64_t raw) { return (static_cast<std::uint64_t>(raw) + (multiple - 1)) / multiple * multiple; };
  auto const fits = static_cast<std::int64_t>(e.capacity / multiple * multiple);  // tokens of the longest piece
  auto at = std::ranges::begin(lengths);
  for (std::size_t i = 0; i < n; ++i, ++at) {
    auto const length = *at;
    require(std::cmp_greater(length, 0) && std::in_range<std::int64_t>(length),
            [&] { return entry("lengths", i, length) + " must be in 1 ... 2^63 - 1"; });
    auto const tokens = static_cast<std::int64_t>(length);
    auto const units = cost(tokens);
    require(std::cmp_greater(units, 0) && std::in_range<std::int64_t>(units),
            [&] { return sentence(entry("lengths", i, length), " has cost ", units, ", which is not in 1 ... 2^63 - 1"); });
    e.weight[i] = padded(static_cast<std::int64_t>(units));
    e.tokens += static_cast<std::uint64_t>(tokens);
    if (e.weight[i] <= e.capacity) continue;
    if (o.oversize == oversize::set_aside) {
      e.set_aside.push_back(i);
      e.tokens -= static_cast<std::uint64_t>(tokens);
    } else if (o.oversize == oversize::truncate || o.oversize == oversize::split) {
      require(fits > 0, [] { return std::string("sample_multiple exceeds the capacity: no piece fits"); });
      e.weight[i] = static_cast<std::uint64_t>(fits);
      if (o.oversize == oversize::truncate)
        e.tokens -= static_cast<std::uint64_t>(tokens - fits);
      else
        for (auto done = fits; done < tokens; done += e.pieces.back().length)
          e.pieces.push_back({i, done, (std::min)(fits, tokens - done)});
    }
  }
  for (auto const& piece : e.pieces) e.weight.push_back(padded(piece.length));
  return e;
}

}  // namespace detail

/// @brief The rule that a packing breaks.
struct packing_fault : common_fault {
  static constexpr rule member_out_of_range{"members[{index}] = {found} must be below {expected}"};
  static constexpr rule sample_twice{"sample {index} occurs twice, the second time in pack {found}"};
  static constexpr rule sample_missing{"sample {index} is in no pack"};
  static constexpr rule sample_unwanted{"sample {index} of {found} is in a pack, but must be set aside: it exceeds {expected}"};
  static constexpr rule empty_pack{"pack {index} is empty"};
  static constexpr rule overfull_pack{"pack {index} holds {found}, more than its capacity {expected}"};
  static constexpr rule too_many_samples{"pack {index} holds {found} samples, more than {expected}"};
  static constexpr rule wrong_pack_count{"there are {found} packs, not {expected}"};
  static constexpr rule no_multiple{"there are {found} packs, which is not a multiple of {expected}"};
  static constexpr rule wrong_set_aside{
      "set_aside[{index}] is wrong: the list must name, ascending, the {expected} samples that the policy leaves out"};
  static constexpr rule wrong_piece{
      "pieces[{index}] is wrong: the list must hold the {expected} later pieces of split samples, by sample, then offset"};
  static constexpr rule wrong_tokens{"tokens = {found}, but the packs hold {expected}"};
  static constexpr rule packs_without_plan{"the result says that there is no plan, but has {found} packs"};
};

namespace detail {

/// The first rule that packs of `items` items break. `weight(item, measure)` is compared with the capacities, under the policy for items
/// that exceed one.
template <index_type Index, class Weight>
[[nodiscard]] verdict check_members(groups<Index> const& packs, std::size_t items, std::span<std::uint64_t const> capacity,
                                    std::uint64_t max_samples, oversize policy, Weight const& weight) {
  using broken = packing_fault;
  auto const& offsets = packs.offsets;
  auto const& members = packs.members;
  if (auto const v = check_offsets(offsets, members.size()); !v.valid()) return v;
  auto const exceeded = [&](std::size_t i) {  // the first capacity that an item exceeds
    std::size_t m = 0;
    while (m < capacity.size() && weight(i, m) <= capacity[m]) ++m;
    return m;
  };
  std::vector<bool> seen(items);
  std::vector<std::uint64_t> load(capacity.size());
  for (std::size_t g = 0; g < packs.size(); ++g) {
    std::fill(load.begin(), load.end(), 0);
    auto const size = offsets[g + 1] - offsets[g];
    bool alone = false;  // whether the pack is one over-long sample, which the policy allows
    for (auto k = offsets[g]; k < offsets[g + 1]; ++k) {
      auto const member = std::uint64_t{members[static_cast<std::size_t>(k)]};
      if (member >= items) return {broken::member_out_of_range, k, member, items};
      auto const i = static_cast<std::size_t>(member);
      if (seen[i]) return {broken::sample_twice, member, g, 0};
      seen[i] = true;
      auto const over = exceeded(i);
      if (policy == oversize::set_aside && over < capacity.size())
        return {broken::sample_unwanted, member, weight(i, over), capacity[over]};
      alone = policy == oversize::alone && over < capacity.size() && size == 1;
      for (std::size_t m = 0; m < load.size(); ++m)
        load[m] += (std::min)(weight(i, m), (std::numeric_limits<std::uint64_t>::max)() - load[m]);
    }
    if (size == 0) return {broken::empty_pack, g, 0, 1};
    if (max_samples != 0 && size > max_samples) return {broken::too_many_samples, g, size, max_samples};
    for (std::size_t m = 0; m < load.size(); ++m)
      if (load[m] > capacity[m] && !alone) return {broken::overfull_pack, g, load[m], capacity[m]};
  }
  for (std::size_t i = 0; i < items; ++i)
    if (!seen[i] && !(policy == oversize::set_aside && exceeded(i) < capacity.size())) return {broken::sample_missing, i, 0, 1};
  return {};
}

/// Checks packs against the expected weights.
template <index_type Index>
[[nodiscard]] verdict check_groups(groups<Index> const& packs, expected_packing const& e, packing_options const& o) {
  using broken = packing_fault;
  auto const v = check_members(packs, e.weight.size(), std::span(&e.capacity, 1), o.max_samples, o.oversize,
                               [&](std::size_t i, std::size_t) { return e.weight[i]; });
  if (!v.valid()) return v;
  if (o.pack_count != 0 && packs.size() != o.pack_count) return {broken::wrong_pack_count, 0, packs.size(), o.pack_count};
  if (packs.size() % o.pack_count_multiple != 0) return {broken::no_multiple, 0, packs.size(), o.pack_count_multiple};
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
[[nodiscard]] verdict check_packing(groups<Index> const& packs, R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::check_groups(packs, detail::expect(lengths, options, cost), options);
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
[[nodiscard]] verdict check_packing(packing<Index> const& plan, R const& lengths, packing_options const& options, Cost const& cost = {}) {
  using broken = packing_fault;
  auto const e = detail::expect(lengths, options, cost);
  auto const first_difference = [](auto const& found, auto const& expected) {
    return static_cast<std::uint64_t>(std::ranges::mismatch(found, expected, [](auto const& a, auto const& b) { return a == b; }).in1 -
                                      found.begin());
  };
  if (!std::ranges::equal(plan.set_aside, e.set_aside, [](auto a, auto b) { return std::cmp_equal(a, b); }))
    return {broken::wrong_set_aside, first_difference(plan.set_aside, e.set_aside), plan.set_aside.size(), e.set_aside.size()};
  if (plan.pieces != e.pieces) return {broken::wrong_piece, first_difference(plan.pieces, e.pieces), plan.pieces.size(), e.pieces.size()};
  if (plan.status != status::feasible) {
    if (!plan.packs.empty()) return {broken::packs_without_plan, 0, plan.packs.size(), 0};
    return {};
  }
  if (auto const v = detail::check_groups(plan.packs, e, options); !v.valid()) return v;
  if (std::cmp_not_equal(plan.tokens, e.tokens)) return {broken::wrong_tokens, 0, plan.tokens, e.tokens};
  return check_certificate(plan.count, plan.packs.size());
}

}  // namespace ballast::inline v0_2
