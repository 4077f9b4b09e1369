// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief What every planner of steps returns.

namespace ballast::inline v0_2 {

/// @brief The two numbers that decide how well random steps can be balanced.
///
/// With f the cost, l the lengths, M micro-batches of C tokens: how much of one rank's full step the dearest sample takes.
struct critical_ratios {
  double cost = 0;    ///< max f / (M C sum f / sum l): above 1 no random step is balanced; up to 0.9 one is, at some loss of fill
  double square = 0;  ///< max l^2 / (M C sum l^2 / sum l): up to 1, full random steps are balanced for every linear + quadratic cost
};

/// @brief A sample that several ranks of one step work on together (context parallelism).
template <index_type Index = std::uint32_t>
struct shared_sample {
  Index sample = 0;              ///< its index; it stands in a pack of each of its ranks
  std::uint64_t step = 0;        ///< the step
  std::uint64_t first_rank = 0;  ///< a multiple of `ranks`
  std::uint64_t ranks = 1;       ///< how many consecutive ranks share it: a power of two; each holds `ceil(length / ranks)` of its tokens
  friend constexpr bool operator==(shared_sample const&, shared_sample const&) = default;
};

/// @brief How `plan_steps` made a plan.
enum class step_method : std::uint8_t {
  other,     ///< another planner made it
  random,    ///< random draws, dealt to ranks
  gathered,  ///< as before, with samples of high cost gathered with their like
  shared,    ///< as before, with samples of high cost split over ranks
  rows,      ///< rows of like packs, unlike rows in one step
  pipeline,  ///< random draws, like with like inside a replica
  windows,   ///< packs first, sorted by cost in windows of the random order (`batching::window` steps), and dealt
};

/// @brief The method's name. @param method any of them @return a word
[[nodiscard]] constexpr char const* to_string(step_method method) noexcept {
  constexpr char const* names[] = {"other", "random", "gathered", "shared", "rows", "pipeline", "windows"};
  return names[static_cast<std::size_t>(method)];
}

/// @brief Steps of ranks of micro-batches: which pack each rank trains on, and when.
///
/// Every rank has the same number of steps, and in each step the same number of places for micro-batches.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct batching {
  static constexpr Index none = (std::numeric_limits<Index>::max)();  ///< an empty place; -1 when read as signed

  groups<Index> packs;              ///< sample indices; no pack is empty
  std::vector<Index> table;         ///< `steps() * ranks * micro_batches` pack numbers or `none`, in that order, each pack at most once
  std::uint64_t ranks = 1;          ///< as asked
  std::uint64_t micro_batches = 1;  ///< places of one rank in one step
  /// Cost of the run: the sum over steps of what `synchronisation` makes of the slowest rank. The bound sums what no deal of the same
  /// samples to the ranks of the same steps can go below.
  certificate slowest;
  std::int64_t cost = 0;        ///< what all ranks have to do: the costs of all packs in the table, of their micro-batches and steps
  std::int64_t tokens = 0;      ///< sum of their tokens
  critical_ratios critical;     ///< of the samples given
  std::vector<Index> dropped;   ///< samples that stand in no step, ascending
  std::vector<Index> repeated;  ///< samples that stand in a step once more, each as often as it does; ascending
  std::vector<shared_sample<Index>> shared;  ///< samples split over ranks, by step
  std::int64_t token_delay = 0;              ///< sum over tokens of the steps by which they come later than drawn
  step_method method = step_method::other;   ///< how it was made, where `plan_steps` had a choice
  std::uint64_t window = 0;                  ///< of `step_method::windows`: steps that are sorted together; 1 = random steps, 0 = all
  std::uint64_t longest_delay = 0;           ///< most steps by which a sample comes later than drawn

  /// @brief Number of steps. @return the table's size over `ranks * micro_batches`
  [[nodiscard]] std::size_t steps() const noexcept { return table.size() / static_cast<std::size_t>(ranks * micro_batches); }
  /// @brief The places of one step, rank after rank. @param s step, below `steps()` @return `ranks * micro_batches` pack numbers or `none`
  [[nodiscard]] std::span<Index const> step(std::size_t s) const noexcept {
    auto const places = static_cast<std::size_t>(ranks * micro_batches);
    return std::span(table).subspan(s * places, places);
  }
  /// @brief The pack of one place. @param s step @param r rank @param m micro-batch @return a pack number or `none`
  [[nodiscard]] Index at(std::size_t s, std::size_t r, std::size_t m) const noexcept {
    return table[(s * static_cast<std::size_t>(ranks) + r) * static_cast<std::size_t>(micro_batches) + m];
  }
  /// @brief The ranks without a micro-batch in the last step; no other step has one. What a trainer does then: docs/batching.md.
  /// @return ranks, ascending; none where every rank has work
  [[nodiscard]] std::vector<std::uint64_t> idle_ranks() const {
    std::vector<std::uint64_t> idle;
    for (std::uint64_t r = 0; r < ranks && !table.empty(); ++r) {
      auto const mine = step(steps() - 1).subspan(static_cast<std::size_t>(r * micro_batches), static_cast<std::size_t>(micro_batches));
      if (std::all_of(mine.begin(), mine.end(), [](Index p) { return p == none; })) idle.push_back(r);
    }
    return idle;
  }
  /// @brief Run time over that of perfect balance, where ranks wait per step. @return 1 when no rank ever waits, else more
  [[nodiscard]] double slowest_over_mean() const noexcept {
    return cost == 0 ? 1.0 : static_cast<double>(slowest.value) * static_cast<double>(ranks) / static_cast<double>(cost);
  }
  /// @brief Share of the places' capacity that holds tokens. @param capacity tokens of one place
  [[nodiscard]] double fill(std::int64_t capacity) const noexcept {
    return table.empty() ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(table.size()));
  }
};

}  // namespace ballast::inline v0_2
