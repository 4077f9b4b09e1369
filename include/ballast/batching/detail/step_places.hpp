// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

// The places of a plan while they are being filled.

namespace ballast::inline v0_2::detail {

/// Whether samples of different packs may share a pack.
enum class mixing : std::uint8_t { never, allowed };

/// A slot is a place. Pipelines have more places than micro-batches: their slots are the places up to the largest number of micro-batches
/// of a rank or, if the numbers may differ, one slot of each rank. Samples shared by ranks stay in their places.
template <index_type Index>
struct step_places {
  step_places(batching<Index>& of, weighed_samples const& samples, batching_options const& options, mixing how)
      : plan(of),
        items(samples),
        o(options),
        mix(how == mixing::allowed),
        ranks(static_cast<std::size_t>(of.ranks)),
        each(static_cast<std::size_t>(of.micro_batches)),
        width(o.synchronisation == synchronisation::pipeline ? each : 1) {}

  static constexpr auto none = static_cast<std::size_t>(-1);
  void read_packs() {
    contents = lists_of(plan.packs);
    bound.assign(items.size(), 0);
    for (auto const& s : plan.shared) bound[s.sample] = 1;
  }
  /// Removes steps and packs that have become empty.
  void write_back() {
    auto const places = ranks * each;
    std::vector<std::uint64_t> now(plan.steps());
    std::size_t kept = 0;
    for (std::size_t s = 0; s < now.size(); ++s) {
      now[s] = kept;
      if (std::ranges::all_of(step(s), [&](Index p) { return p == plan.none; })) continue;
      if (kept != s) std::ranges::copy(step(s), step(kept).begin());
      ++kept;
    }
    plan.table.resize(kept * places);
    for (auto& x : plan.shared) x.step = now[x.step];
    std::vector<Index> number(contents.size(), plan.none);
    plan.packs.clear();
    for (std::size_t p = 0; p < contents.size(); ++p) {
      if (contents[p].empty()) continue;
      number[p] = static_cast<Index>(plan.packs.size());
      plan.packs.push_back(contents[p]);
    }
    for (auto& p : plan.table)
      if (p != plan.none) p = number[p];
  }

  [[nodiscard]] std::span<Index> step(std::size_t s) { return std::span(plan.table).subspan(s * ranks * each, ranks * each); }
  [[nodiscard]] std::size_t taken(std::size_t s, std::size_t r) {
    auto const mine = step(s).subspan(r * each, each);
    return each - static_cast<std::size_t>(std::count(mine.begin(), mine.end(), plan.none));
  }
  /// The number of micro-batches that each rank of a step should have.
  [[nodiscard]] std::size_t slots_of_rank(std::size_t s) {
    if (level != 0) return level;
    if (width == 1) return each;
    std::size_t most = 1;
    for (std::size_t r = 0; o.equal_micro_batches && r < ranks; ++r) most = (std::max)(most, taken(s, r));
    return most;
  }
  /// The place in the step of an empty slot of the rank with fewest packs, or none.
  [[nodiscard]] std::size_t empty_slot(std::size_t s) {
    auto best = none, fewest = slots_of_rank(s);
    for (std::size_t r = 0; r < ranks; ++r)
      if (auto const has = taken(s, r); has < fewest) {
        fewest = has;
        best = r;
      }
    return best == none ? none : first_free(s, best);
  }
  [[nodiscard]] std::size_t first_free(std::size_t s, std::size_t r) {
    auto const at = step(s);
    auto place = r * each;
    while (at[place] != plan.none) ++place;
    return place;
  }
  [[nodiscard]] std::int64_t cost_of(Index p) const {
    return p == plan.none ? 0 : o.cost_per_micro_batch + sum_of<Index>(items.cost, contents[p]);
  }
  [[nodiscard]] std::int64_t tokens_of(Index p) const { return sum_of<Index>(items.tokens, contents[p]); }
  [[nodiscard]] std::int64_t load(std::size_t s, std::size_t r) {
    std::int64_t sum = 0;
    for (auto p : step(s).subspan(r * each, each)) sum += cost_of(p);
    return sum;
  }
  [[nodiscard]] bool can_give(Index p) const {
    return p != plan.none && contents[p].size() > 1 &&
           std::any_of(contents[p].begin(), contents[p].end(), [&](Index i) { return bound[i] == 0; });
  }
  [[nodiscard]] bool has_shared(std::size_t s) const {
    return std::any_of(plan.shared.begin(), plan.shared.end(), [&](auto const& x) { return x.step == s; });
  }
  Index new_pack() {
    contents.emplace_back();
    return static_cast<Index>(contents.size() - 1);
  }
  [[nodiscard]] bool costs_more(Index a, Index b) const { return items.cost[a] != items.cost[b] ? items.cost[a] > items.cost[b] : a < b; }
  [[nodiscard]] bool movable(Index p) const {
    return p != plan.none && std::none_of(contents[p].begin(), contents[p].end(), [&](Index i) { return bound[i] != 0; });
  }
  /// Distributes the packs of a step over its ranks again, unless their numbers of packs differ by at most one: each pack, most expensive
  /// first, goes to a rank with fewest packs.
  void spread(std::size_t s) {
    std::vector<std::size_t> has(ranks);
    for (std::size_t r = 0; r < ranks; ++r) has[r] = taken(s, r);
    auto const [few, many] = std::ranges::minmax(has);
    if (many - few < 2 || (width != 1 && few != 0 && level == 0)) return;
    std::vector<keyed_item<Index>> free;
    for (auto& p : step(s))
      if (movable(p)) free.push_back({cost_of(p), std::exchange(p, plan.none)});
    std::sort(free.begin(), free.end());
    std::set<std::tuple<std::size_t, std::int64_t, std::size_t>> fewest;  // packs, load, rank
    for (std::size_t r = 0; r < ranks; ++r) fewest.emplace(taken(s, r), load(s, r), r);
    for (auto const& [cost, p] : free) {
      auto const [packs, sum, r] = *fewest.begin();
      fewest.erase(fewest.begin());
      step(s)[first_free(s, r)] = p;
      fewest.emplace(packs + 1, sum + cost, r);
    }
  }

  batching<Index>& plan;
  weighed_samples const& items;
  batching_options const& o;
  bool mix;  ///< whether samples of different packs may share a pack
  std::size_t ranks, each;
  std::size_t width;      ///< number of places of a slot
  std::size_t level = 0;  ///< if not 0, the number of slots of each rank
  std::vector<std::vector<Index>> contents;
  std::vector<char> bound;    ///< whether each sample is shared by ranks
  std::vector<Index> origin;  ///< for each sample: its pack before packs were split; empty until it is asked for
};

/// The empty slots of a step, in the order in which they are filled: always a slot of the rank with fewest packs.
template <index_type Index>
class open_slots {
 public:
  open_slots(step_places<Index>& of, std::size_t s) : of_(of), step_(s), full_(of.slots_of_rank(s)) {
    for (std::size_t r = 0; r < of.ranks; ++r)
      if (auto const has = of.taken(s, r); has < full_) ranks_.emplace(has, r);
  }
  [[nodiscard]] bool empty() const noexcept { return ranks_.empty(); }
  [[nodiscard]] std::size_t rank() const { return ranks_.begin()->second; }
  [[nodiscard]] bool idle() const { return ranks_.begin()->first == 0; }  ///< whether that rank has no pack
  /// Puts a pack into the next slot, and returns its place.
  std::size_t fill(Index pack) {
    auto const [has, r] = *ranks_.begin();
    ranks_.erase(ranks_.begin());
    if (has + 1 < full_) ranks_.emplace(has + 1, r);
    auto const at = of_.first_free(step_, r);
    of_.step(step_)[at] = pack;
    return at;
  }

 private:
  step_places<Index>& of_;
  std::size_t step_, full_;
  std::set<std::pair<std::size_t, std::size_t>> ranks_;  // packs, rank
};

}  // namespace ballast::inline v0_2::detail
