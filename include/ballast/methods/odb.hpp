// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/loss/gradient_path.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief ODB, online dynamic batching (Li et al., arXiv 2606.19989): groups of a buffer under a budget of padded tokens, ranks aligned to
/// the same number of groups, and the exact scale of each group's mean loss. `odb::rank_stream` (odb_stream.hpp) is the loop of a rank.

namespace ballast::inline v0_2::odb {

/// @brief Cuts a buffer into groups of samples of similar length. Each group is padded to its longest sample.
///
/// Samples are taken from the longest to the shortest. A group whose longest sample has L tokens takes max(1, floor(budget / L)) of them.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample of the buffer, after preprocessing; may be empty
/// @param budget   most padded tokens (longest length times samples) of a group, positive
/// @return the groups, the one with the longest samples first; the members of a group from the longest to the shortest
/// @post no group exceeds the budget, except that a sample longer than the budget is alone; every other grouping within the budget has at
/// least as many groups. (The group of the longest sample can hold no more samples than it does here, and no other choice of them leaves
/// samples that are as short, compared position by position; the same holds for the samples that are left.)
/// @throws invalid_input if the budget or a length is not positive, or `Index` cannot number the samples
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments; equal lengths keep the order of their indices.
/// @par Source
/// arXiv 2606.19989, grouping on one rank. The released code takes L from the shortest sample of the group before, so its first group is
/// always a single sample.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] groups<Index> group_by_budget(R const& lengths, std::int64_t budget) {
  require(budget > 0, [&] { return "budget = " + std::to_string(budget) + " must be positive"; });
  static_cast<void>(extent_of(lengths));
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  auto const at = read_by_position(lengths);
  groups<Index> out;
  out.members.resize(n);
  std::iota(out.members.begin(), out.members.end(), Index{0});
  std::sort(out.members.begin(), out.members.end(), [&](Index a, Index b) {
    auto const x = at[static_cast<std::size_t>(a)], y = at[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (std::size_t begin = 0; begin < n; begin = static_cast<std::size_t>(out.offsets.back())) {
    auto const longest = static_cast<std::int64_t>(at[static_cast<std::size_t>(out.members[begin])]);
    auto const size = (std::max)(budget / longest, std::int64_t{1});
    out.offsets.push_back(std::cmp_less(size, n - begin) ? begin + static_cast<std::uint64_t>(size) : n);
  }
  return out;
}

/// @brief What a rank tells the others before a round.
struct rank_counts {
  std::uint64_t groups = 0;                                           ///< groups of its buffer; 0 if it has no sample
  std::uint64_t samples = 0;                                          ///< samples in its buffer
  std::uint64_t slots = (std::numeric_limits<std::uint64_t>::max)();  ///< groups that its trainer can take now
  friend constexpr bool operator==(rank_counts const&, rank_counts const&) = default;
};

/// @brief The number of groups that every rank with samples hands out in this round: the same number for all who see the same counts.
///
/// @param ranks  counts of all ranks, in the order of the ranks (an all-gather); ranks without samples do not limit the others
/// @return the least of the largest number of groups, the fewest output slots and the fewest samples of a rank; 0 if no rank has samples or
/// one that does has no slot
/// @throws invalid_input if a rank has more groups than samples, or samples and no group
/// @par Complexity
/// O(ranks).
/// @par Determinism
/// A pure function of the counts.
[[nodiscard]] constexpr std::uint64_t group_target(std::span<rank_counts const> ranks) {
  std::uint64_t most = 0, room = (std::numeric_limits<std::uint64_t>::max)();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto const& one = ranks[r];
    require(one.groups <= one.samples && (one.groups == 0) == (one.samples == 0),
            [&] { return entry("ranks", r, one.groups) + " groups do not fit " + std::to_string(one.samples) + " samples"; });
    if (one.samples == 0) continue;
    most = (std::max)(most, one.groups);
    room = (std::min)(room, (std::min)(one.slots, one.samples));
  }
  return (std::min)(most, room);
}

/// @brief Which groups a rank hands out when it has more than the others can take.
enum class keeping : std::uint8_t {
  most_samples,  ///< those with most samples, as published: long samples may wait until the end of the epoch
  oldest,        ///< those whose first sample to arrive is oldest: a sample waits for at most as many rounds as samples were before it
};

/// @brief The groups of a rank in one round.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct aligned_groups {
  ballast::groups<Index> groups;  ///< as many as the target, those with the longest samples first
  std::vector<Index> recycled;    ///< samples that return to the buffer, ascending
  friend bool operator==(aligned_groups const&, aligned_groups const&) = default;
};

/// @brief Brings the groups of one rank to the number that all ranks hand out.
///
/// With too few groups, the longest sample of the first group that has two becomes a group of its own, until there are enough. With too
/// many, the samples of those that are not kept are recycled.
///
/// @tparam Index  type of the sample indices
/// @param buffer  groups of a rank, as `group_by_budget` returns them
/// @param target  number of groups that all ranks hand out, at most the number of samples
/// @param keep    which groups are kept if there are more
/// @return exactly `target` groups, and what is recycled
/// @throws invalid_input if `target` exceeds the number of samples
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments; of groups with equally many samples, the first are kept.
/// @par Source
/// arXiv 2606.19989, and the released code (online-dynamic-batching, commit 55d9597).
template <index_type Index>
[[nodiscard]] aligned_groups<Index> align_groups(groups<Index> const& buffer, std::uint64_t target, keeping keep = keeping::most_samples) {
  require(target <= buffer.members.size(), [&] {
    return "target = " + std::to_string(target) + " exceeds the " + std::to_string(buffer.members.size()) + " samples of the rank";
  });
  aligned_groups<Index> out;
  if (buffer.size() <= target) {
    auto missing = target - buffer.size();
    for (auto group : buffer) {
      for (; missing > 0 && group.size() > 1; --missing, group = group.subspan(1)) out.groups.push_back(group.first(1));
      out.groups.push_back(group);
    }
    return out;
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> order;  // the least key is kept first
  for (std::size_t g = 0; g < buffer.size(); ++g) {
    auto const group = buffer[g];
    std::uint64_t oldest = group.front();
    for (auto const i : group) oldest = (std::min)(oldest, static_cast<std::uint64_t>(i));
    order.emplace_back(keep == keeping::oldest ? oldest : buffer.members.size() - group.size(), g);
  }
  std::sort(order.begin(), order.end());
  std::vector<char> kept(buffer.size(), 0);
  for (std::size_t k = 0; k < target; ++k) kept[order[k].second] = 1;
  for (std::size_t g = 0; g < buffer.size(); ++g) {
    auto const group = buffer[g];
    if (kept[g] != 0)
      out.groups.push_back(group);
    else
      out.recycled.insert(out.recycled.end(), group.begin(), group.end());
  }
  std::sort(out.recycled.begin(), out.recycled.end());
  return out;
}

/// @brief An exact factor for the mean loss of a group.
struct mean_scale {
  std::uint64_t numerator = 0;    ///< below 2^53
  std::uint64_t denominator = 1;  ///< positive, below 2^53
  /// @brief The quotient, rounded once.
  [[nodiscard]] constexpr double value() const noexcept { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  friend constexpr bool operator==(mean_scale const&, mean_scale const&) = default;
};

/// @brief Scales the mean loss of each group of a step such that gradients are those of the mean over all that was counted in the step.
///
/// A trainer that sums token losses uses `loss_weights` (loss/weights.hpp) instead. This function is for trainers whose model returns the
/// mean over a group: group g with u_g of U units is multiplied by u_g / U times what the framework divides gradients by.
///
/// @param units  what the mean of each group is over: labels that are counted, tokens or samples; all groups of all ranks (and all
///               accumulation steps) of one optimiser step; 0 for a rank that is idle
/// @param path   what the framework does to gradients; its number of ranks includes idle ones
/// @return a factor for each group, in the order of `units`; all 0 if nothing was counted
/// @post the factors add up to `path.averaged_over()`, exactly
/// @throws invalid_input if a number is negative, the total times `path.averaged_over()` reaches 2^53, or `path.divides_by_tokens` is set
/// @par Complexity
/// O(groups).
/// @par Determinism
/// Exact.
/// @par Source
/// arXiv 2606.19989, exact loss scaling: local tokens / tokens of the step x ranks.
template <class = when_called>
[[nodiscard]] std::vector<mean_scale> mean_scales(std::span<std::int64_t const> units, gradient_path const& path) {
  require(!path.divides_by_tokens, [] { return std::string("divides_by_tokens: such a framework needs the sum over a group, no mean"); });
  auto const factor = path.averaged_over();
  std::int64_t total = 0;
  for (std::size_t g = 0; g < units.size(); ++g) add_checked(total, units[g], "units", g);
  require(static_cast<std::uint64_t>(total) < (std::uint64_t{1} << 53) / factor, [&] {
    return "units add up to " + std::to_string(total) + "; times the " + std::to_string(factor) + " of the gradient path this reaches 2^53";
  });
  std::vector<mean_scale> out(units.size());
  if (total > 0)
    for (std::size_t g = 0; g < units.size(); ++g)
      out[g] = {factor * static_cast<std::uint64_t>(units[g]), static_cast<std::uint64_t>(total)};
  return out;
}

/// @brief Rules of groups within a budget; the index of a verdict is a group or, for the last two, a sample.
enum class group_fault : std::uint8_t {
  none,            ///< all rules hold
  empty_group,     ///< a group has no member
  unknown_sample,  ///< a group has a member that is no sample (found)
  over_budget,     ///< a group of several samples has more padded tokens (found) than the budget (expected)
  repeated,        ///< a sample is in more than one place
  missing,         ///< a sample is in no group, and not recycled
};

/// @brief Checks the groups of one rank in one round against their definition.
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param round    groups and recycled samples, of any planner
/// @param lengths  tokens of each sample of the buffer
/// @param budget   most padded tokens of a group
/// @return the first broken rule
/// @par Complexity
/// O(n).
template <index_type Index, length_range R>
[[nodiscard]] verdict<group_fault, std::int64_t> check_groups(aligned_groups<Index> const& round, R const& lengths, std::int64_t budget) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  std::vector<std::uint32_t> places(n, 0);
  for (std::size_t g = 0; g < round.groups.size(); ++g) {
    auto const group = round.groups[g];
    if (group.empty()) return {group_fault::empty_group, g};
    std::int64_t longest = 0;
    for (auto const i : group) {
      if (!std::cmp_less(i, n)) return {group_fault::unknown_sample, g, static_cast<std::int64_t>(i)};
      longest = (std::max)(longest, static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]));
      ++places[static_cast<std::size_t>(i)];
    }
    auto const count = static_cast<std::int64_t>(group.size());
    if (count > 1 && longest > budget / count) return {group_fault::over_budget, g, longest * count, budget};
  }
  for (auto const i : round.recycled) {
    if (!std::cmp_less(i, n)) return {group_fault::unknown_sample, round.groups.size(), static_cast<std::int64_t>(i)};
    ++places[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = 0; i < n; ++i)
    if (places[i] != 1) return {places[i] == 0 ? group_fault::missing : group_fault::repeated, i, places[i], 1};
  return {};
}

}  // namespace ballast::inline v0_2::odb
