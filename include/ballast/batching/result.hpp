// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// @file
/// @brief The result of every planner of steps.

namespace ballast::inline v0_2 {

namespace detail {

/// The packs in some places of a plan of steps, as a forward range of their samples that skips empty places.
template <index_type Index>
class taken_places {
 public:
  class iterator {
   public:
    using value_type = std::span<Index const>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // the reference is a value

    iterator() = default;
    iterator(Index const* at, Index const* end, groups<Index> const& packs) noexcept : at_(at), end_(end), packs_(&packs) { skip(); }

    value_type operator*() const noexcept { return (*packs_)[*at_]; }
    iterator& operator++() noexcept {
      ++at_;
      skip();
      return *this;
    }
    iterator operator++(int) noexcept {
      auto old = *this;
      return ++*this, old;
    }
    friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }

   private:
    void skip() noexcept {
      while (at_ != end_ && *at_ == (std::numeric_limits<Index>::max)()) ++at_;
    }
    Index const* at_ = nullptr;
    Index const* end_ = nullptr;
    groups<Index> const* packs_ = nullptr;
  };

  taken_places(std::span<Index const> places, groups<Index> const& packs) noexcept : places_(places), packs_(packs) {}
  [[nodiscard]] iterator begin() const noexcept { return {places_.data(), end_of_places(), packs_}; }
  [[nodiscard]] iterator end() const noexcept { return {end_of_places(), end_of_places(), packs_}; }
  [[nodiscard]] bool empty() const noexcept { return begin() == end(); }

 private:
  [[nodiscard]] Index const* end_of_places() const noexcept { return places_.data() + places_.size(); }
  std::span<Index const> places_;
  groups<Index> const& packs_;
};

static_assert(std::forward_iterator<taken_places<std::uint32_t>::iterator>);

}  // namespace detail

/// @brief Two ratios that decide how well random steps can be balanced.
///
/// Each compares the most expensive sample with the mean of one rank's full step. Here f is the cost of a sample, l its length, and a rank
/// has M micro-batches of C tokens in a step.
struct critical_ratios {
  double cost = 0;    ///< max f / (M C sum f / sum l): above 1, no random step with that sample is balanced; up to 0.9, random steps can be
                      ///< balanced at some loss of fill
  double square = 0;  ///< max l^2 / (M C sum l^2 / sum l): up to 1, full random steps can be balanced for every linear + quadratic cost
};

/// @brief A sample that is split over several ranks of one step (context parallelism).
template <index_type Index = std::uint32_t>
struct shared_sample {
  Index sample = 0;              ///< index of the sample; it is in one pack of each of these ranks
  std::uint64_t step = 0;        ///< number of the step
  std::uint64_t first_rank = 0;  ///< the first of these ranks; a multiple of `ranks`
  /// Number of consecutive ranks that share the sample, a power of two; each holds `ceil(length / ranks)` of its tokens.
  std::uint64_t ranks = 1;
  friend constexpr bool operator==(shared_sample const&, shared_sample const&) = default;
};

/// @brief The method by which `plan_steps` made a plan.
enum class step_method : std::uint8_t {
  other,     ///< made by another planner
  random,    ///< random draws, balanced over the ranks
  gathered,  ///< random draws, with samples of high cost gathered in the same steps
  shared,    ///< random draws, with samples of high cost, or longer than the capacity, split over ranks
  rows,      ///< packs of similar cost in each micro-batch, micro-batches of all costs in each step
  pipeline,  ///< random draws, with micro-batches of equal cost, or of similar samples, within a pipeline
  windows,   ///< packs made first, sorted by cost in windows of `batching::window` steps, and dealt
};

/// @brief The name of a method. @param method any enumerator @return a word, such as "gathered"
[[nodiscard]] constexpr std::string_view to_string(step_method method) noexcept {
  constexpr std::string_view names[] = {"other", "random", "gathered", "shared", "rows", "pipeline", "windows"};
  return names[static_cast<std::size_t>(method)];
}

/// @brief A plan of steps: which pack each rank trains on in each micro-batch of each step.
///
/// Every rank has the same number of steps, and the same number of places for micro-batches in each step.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct batching {
  static constexpr Index none = (std::numeric_limits<Index>::max)();  ///< marks an empty place; -1 if read as signed

  groups<Index> packs;       ///< sample indices of each pack; no pack is empty
  std::vector<Index> table;  ///< pack number or `none` of each place, by step, then rank, then micro-batch; each pack occurs at most once
  std::uint64_t ranks = 1;   ///< number of data-parallel ranks
  std::uint64_t micro_batches = 1;  ///< places of one rank in one step
  /// Sum over the steps of the cost of the slowest rank, as `synchronisation` defines it. The lower bound holds for every other
  /// distribution of the same samples over the ranks of the same steps in as many micro-batches each; without a `cost_per_micro_batch`,
  /// also in fewer.
  certificate slowest;
  std::int64_t cost = 0;        ///< total work of all ranks: the costs of all packs in the table, of their micro-batches and of the steps
  std::int64_t tokens = 0;      ///< sum of the tokens of all packs in the table
  critical_ratios critical;     ///< critical ratios of all samples
  std::vector<Index> dropped;   ///< samples in no step, ascending
  std::vector<Index> repeated;  ///< samples that are trained on again, each once for every repetition; ascending
  std::vector<shared_sample<Index>> shared;  ///< samples split over ranks, by step
  std::int64_t token_delay = 0;              ///< sum over all tokens of their delay: the steps by which they come later than drawn
  step_method method = step_method::other;   ///< the method that `plan_steps` chose
  std::uint64_t window = 0;         ///< for `step_method::windows`: steps that are sorted together; 1 = random steps, 0 = all steps
  std::uint64_t longest_delay = 0;  ///< largest delay of a sample, in steps
  bool complete = true;  ///< whether no stop cut the search short; if one did, the plan is valid but may differ from that of other ranks

  /// @brief Number of steps. @return the size of `table` over `ranks * micro_batches`
  [[nodiscard]] std::size_t steps() const noexcept { return table.size() / static_cast<std::size_t>(ranks * micro_batches); }
  /// @brief The places of one step, rank after rank. @param s step, below `steps()` @return `ranks * micro_batches` entries, pack numbers
  /// or `none`
  [[nodiscard]] std::span<Index const> step(std::size_t s) const& noexcept {
    auto const places = static_cast<std::size_t>(ranks * micro_batches);
    return std::span(table).subspan(s * places, places);
  }
  std::span<Index const> step(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The places of one rank in one step. @param s step @param r rank @return `micro_batches` entries, pack numbers or `none`
  [[nodiscard]] std::span<Index const> step(std::size_t s, std::size_t r) const& noexcept {
    return step(s).subspan(r * static_cast<std::size_t>(micro_batches), static_cast<std::size_t>(micro_batches));
  }
  std::span<Index const> step(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The packs of one rank in one step: `for (auto const pack : plan.packs_of(step, rank)) for (auto const sample : pack) ...`
  /// @param s  step, below `steps()`
  /// @param r  rank, below `ranks`
  /// @return a forward range of the rank's micro-batches in order, each a `std::span` of sample indices, without empty places; a view of
  /// this plan
  [[nodiscard]] auto packs_of(std::size_t s, std::size_t r) const& noexcept { return detail::taken_places<Index>(step(s, r), packs); }
  void packs_of(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The packs of all ranks in one step, rank after rank. @param s step, below `steps()` @return a forward range of spans, as above
  [[nodiscard]] auto packs_of(std::size_t s) const& noexcept { return detail::taken_places<Index>(step(s), packs); }
  void packs_of(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The pack of one place. @param s step @param r rank @param m micro-batch @return a pack number or `none`
  [[nodiscard]] Index at(std::size_t s, std::size_t r, std::size_t m) const noexcept { return step(s, r)[m]; }
  /// @brief The ranks without a micro-batch in the last step; in all other steps every rank has one. docs/batching.md says what a trainer
  /// does then.
  /// @return the idle ranks, ascending; empty if every rank has work
  [[nodiscard]] std::vector<std::uint64_t> idle_ranks() const {
    std::vector<std::uint64_t> idle;
    for (std::uint64_t r = 0; r < ranks && !table.empty(); ++r)
      if (packs_of(steps() - 1, static_cast<std::size_t>(r)).empty()) idle.push_back(r);
    return idle;
  }
  /// @brief Time of the plan over the time with perfect balance, for `synchronisation::per_step`. @return 1 if no rank ever waits, else
  /// more
  [[nodiscard]] double slowest_over_mean() const noexcept {
    return cost == 0 ? 1.0 : static_cast<double>(slowest.value) * static_cast<double>(ranks) / static_cast<double>(cost);
  }
  /// @brief Share of the capacity of all places that holds tokens. @param capacity tokens of one place @return from 0 to 1
  [[nodiscard]] double fill(std::int64_t capacity) const noexcept {
    return table.empty() ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(table.size()));
  }
};

/// @brief One global batch as a plan of one step; without a plan it has no steps.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct micro_batching : batching<Index> {
  ballast::status status = ballast::status::feasible;  ///< can only fail if `exactly` demanded a number
  certificate count;  ///< number of micro-batches of a rank (the demanded number if there is no plan), and its lower bound
};

/// @brief Hash of a plan of steps: FNV-1a over its shape, packs and table, and the lists of dropped, repeated and shared samples.
///
/// The hash depends neither on the index type nor on figures that follow from these members. Ranks that planned alone compare it.
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
