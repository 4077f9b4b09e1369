// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/taken_places.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>

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
/// With f the cost, l the lengths, M micro-batches of C tokens: how much of one rank's full step the most expensive sample takes.
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
  /// Cost of the plan: the sum over steps of what `synchronisation` makes of the slowest rank. The bound sums what no deal of the same
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
  [[nodiscard]] std::span<Index const> step(std::size_t s) const& noexcept {
    auto const places = static_cast<std::size_t>(ranks * micro_batches);
    return std::span(table).subspan(s * places, places);
  }
  std::span<Index const> step(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The places of one rank in one step. @param s step @param r rank @return `micro_batches` pack numbers or `none`
  [[nodiscard]] std::span<Index const> step(std::size_t s, std::size_t r) const& noexcept {
    return step(s).subspan(r * static_cast<std::size_t>(micro_batches), static_cast<std::size_t>(micro_batches));
  }
  std::span<Index const> step(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief What a rank trains on in a step: `for (auto const pack : plan.packs_of(step, rank)) for (auto const sample : pack) ...`
  /// @param s  step, below `steps()`
  /// @param r  rank, below `ranks`
  /// @return a forward range of its micro-batches in their order, each a `std::span` of sample indices; empty places are skipped. It refers
  /// to this plan
  [[nodiscard]] auto packs_of(std::size_t s, std::size_t r) const& noexcept { return samples_in(step(s, r)); }
  void packs_of(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief As above, of all ranks, one after the other. @param s step, below `steps()` @return a forward range of spans
  [[nodiscard]] auto packs_of(std::size_t s) const& noexcept { return samples_in(step(s)); }
  void packs_of(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The numbers of these packs, for callers who keep something else by pack. @param s step @param r rank @return a forward range of
  /// them
  [[nodiscard]] auto pack_numbers_of(std::size_t s, std::size_t r) const& noexcept {
    return detail::taken_places<Index, detail::pack_number<Index>>(step(s, r), {});
  }
  void pack_numbers_of(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The pack of one place. @param s step @param r rank @param m micro-batch @return a pack number or `none`
  [[nodiscard]] Index at(std::size_t s, std::size_t r, std::size_t m) const noexcept { return step(s, r)[m]; }
  /// @brief The ranks without a micro-batch in the last step; no other step has one. What a trainer does then: docs/batching.md.
  /// @return ranks, ascending; none where every rank has work
  [[nodiscard]] std::vector<std::uint64_t> idle_ranks() const {
    std::vector<std::uint64_t> idle;
    for (std::uint64_t r = 0; r < ranks && !table.empty(); ++r)
      if (packs_of(steps() - 1, static_cast<std::size_t>(r)).empty()) idle.push_back(r);
    return idle;
  }
  /// @brief Time over that of perfect balance, where ranks wait per step. @return 1 when no rank ever waits, else more
  [[nodiscard]] double slowest_over_mean() const noexcept {
    return cost == 0 ? 1.0 : static_cast<double>(slowest.value) * static_cast<double>(ranks) / static_cast<double>(cost);
  }
  /// @brief Share of the places' capacity that holds tokens. @param capacity tokens of one place
  [[nodiscard]] double fill(std::int64_t capacity) const noexcept {
    return table.empty() ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(table.size()));
  }

 private:
  [[nodiscard]] auto samples_in(std::span<Index const> places) const noexcept {
    return detail::taken_places<Index, detail::pack_members<Index>>(places, {&packs});
  }
};

/// @brief Hash of a plan of steps: FNV-1a over its shape, packs and table, then the lists of samples dropped, repeated and shared.
///
/// The index type does not enter, nor do figures that follow from these.
///
/// @tparam Index  index type of the plan
/// @param plan  any plan of steps
/// @return 64 bits; equal plans have equal hashes
/// @par Complexity
/// O(samples + places).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(batching<Index> const& plan) noexcept {
  fnv1a h;
  h.append(plan.ranks);
  h.append(plan.micro_batches);
  h.append(hash(plan.packs));
  h.append(plan.table.size());
  for (auto p : plan.table) h.append(p == plan.none ? (std::numeric_limits<std::uint64_t>::max)() : std::uint64_t{p});
  for (auto const* list : {&plan.dropped, &plan.repeated}) {
    h.append(list->size());
    for (auto i : *list) h.append(i);
  }
  for (auto const& s : plan.shared)
    for (auto const value : {std::uint64_t{s.sample}, s.step, s.first_rank, s.ranks}) h.append(value);
  return h.value();
}

}  // namespace ballast::inline v0_2
