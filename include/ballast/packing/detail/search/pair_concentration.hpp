// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/tuning.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Packs as plain lists of classes, longest first.
using loose_packs = pooled_vector<pooled_vector<std::uint32_t>>;

/// Takes the packs with most room, and some full packs, out of the patterns.
template <class = when_called>
inline void take_loose(pooled_patterns& patterns, loose_packs& loose, histogram const& lengths, std::int64_t capacity,
                       search_tuning const& tuning) {
  pooled_vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    auto room = capacity;
    for (auto const& [c, copies] : patterns[p]) room -= lengths.lengths[c] * copies;
    order.emplace_back(-room, p);
  }
  std::sort(order.begin(), order.end());
  pooled_patterns fixed;
  std::uint64_t with_room = 0, full = 0;
  for (auto const& [room, p] : order) {
    auto& taken = room < 0 ? with_room : full;
    auto const copies = (std::min)(patterns.repeats[p], (room < 0 ? tuning.most_loose : tuning.most_loose_full) - taken);
    taken += copies;
    pooled_vector<std::uint32_t> pack;
    if (copies != 0)
      for (auto const& [c, n] : patterns[p]) pack.insert(pack.end(), n, c);
    loose.insert(loose.end(), static_cast<std::size_t>(copies), pack);
    if (copies != patterns.repeats[p]) fixed.push_back(patterns[p], patterns.repeats[p] - copies);
  }
  patterns = std::move(fixed);
}

/// Puts loose packs back among the patterns; their order is lost.
template <class = when_called>
inline void put_back(pooled_patterns& patterns, loose_packs& loose) {
  for (auto& pack : loose) std::sort(pack.begin(), pack.end(), [](auto a, auto b) { return a > b; });
  std::sort(loose.begin(), loose.end());
  pooled_vector<pattern_item> scratch;
  for (std::size_t i = 0, next = 0; i < loose.size(); i = next) {
    for (next = i; next < loose.size() && loose[next] == loose[i];) ++next;
    push_classes(patterns, loose[i], next - i, scratch);
  }
}

/// Exchanges samples between pairs of packs such that empty room gathers in few packs, until a pack is saved.
template <class = when_called>
class pair_concentration {
 public:
  pair_concentration(histogram const& lengths, std::int64_t capacity, std::uint64_t seed, search_tuning const& tuning = default_tuning)
      : lengths_(lengths.lengths), capacity_(capacity), tuning_(tuning), generator_(seed) {}

  /// Improves the packs until there are at most `enough` packs, or the spent work reaches `end`.
  void run(loose_packs& packs, std::size_t enough, search_budget& budget, std::uint64_t end) {
    room_.resize(packs.size());
    open_.clear();
    place_.assign(packs.size(), nowhere);
    for (std::size_t p = 0; p < packs.size(); ++p) {
      room_[p] = capacity_;
      for (auto const c : packs[p]) room_[p] -= lengths_[c];
      mark(p);
    }
    while (packs.size() > enough && !open_.empty() && packs.size() > 1 && budget.allows(end)) {
      std::uint64_t work = 0;
      for (int round = 0; round < tuning_.pair_rounds && packs.size() > enough && !open_.empty() && packs.size() > 1; ++round)
        work += step(packs);
      budget.spend(work);
    }
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  static constexpr std::size_t most_items = 13;

  // Updates the list of packs with room.
  void mark(std::size_t p) {
    auto const is_open = room_[p] > 0;
    if (is_open == (place_[p] != nowhere)) return;
    if (is_open) {
      place_[p] = open_.size();
      open_.push_back(p);
      return;
    }
    auto const at = std::exchange(place_[p], nowhere);
    if (auto const last = open_.back(); last != p) {
      open_[at] = last;
      place_[last] = at;
    }
    open_.pop_back();
  }

  // Makes one trial and returns its work.
  std::uint64_t step(loose_packs& packs) {
    auto const a = open_[static_cast<std::size_t>(uniform_below(open_.size(), generator_))];
    auto const draw = generator_();
    auto const b = (draw & 1U) != 0 ? open_[static_cast<std::size_t>(uniform_below(open_.size(), generator_))]
                                    : static_cast<std::size_t>(uniform_below(packs.size(), generator_));
    if (a == b) return tuning_.pair_work_least;
    if (room_[a] + room_[b] >= capacity_) {
      merge(packs, a, b);
      return tuning_.pair_work_merge;
    }
    auto const n = packs[a].size() + packs[b].size();
    if (n > most_items) return tuning_.pair_work_least;
    std::copy(packs[b].begin(), packs[b].end(), std::copy(packs[a].begin(), packs[a].end(), items_.begin()));
    auto const total = 2 * capacity_ - room_[a] - room_[b];
    auto const mask = fullest_split(n, total, draw >> 8);
    auto const before = (std::max)(capacity_ - room_[a], capacity_ - room_[b]);
    auto const subset = mask == 0 ? std::int64_t{0} : sums_[mask];
    auto const fuller = (std::max)(subset, total - subset);
    auto const work = tuning_.pair_work_split + (std::uint64_t{1} << (n - 1));
    if (mask == 0 || fuller < before || (fuller == before && (draw >> 1 & 1U) != 0)) return work;
    packs[a].clear();
    packs[b].clear();
    for (std::size_t i = 0; i < n; ++i) packs[(mask >> i & 1U) != 0 ? a : b].push_back(items_[i]);
    room_[a] = capacity_ - subset;
    room_[b] = capacity_ - (total - subset);
    mark(a);
    mark(b);
    return work + tuning_.pair_work_split;
  }

  // The subset of the items without the last, for which the subset and the other items both fit a pack and differ most; 0 if there is none.
  [[nodiscard]] std::size_t fullest_split(std::size_t n, std::int64_t total, std::uint64_t random) {
    std::size_t best = 0;
    std::int64_t fullest = -1;
    sums_[0] = 0;
    auto const low = total - capacity_;
    auto const subsets = std::size_t{1} << (n - 1);
    auto const start = 1 + static_cast<std::size_t>(random & (subsets - 1));
    for (std::size_t i = 0, width = 1; width < subsets; ++i, width *= 2) {
      auto const length = lengths_[items_[i]];
      for (std::size_t m = 0; m < width; ++m) sums_[width + m] = sums_[m] + length;
    }
    auto const look = [&](std::size_t from, std::size_t to) {
      for (auto m = from; m < to; ++m) {
        auto const sum = sums_[m];
        if (sum < low || sum > capacity_) continue;
        auto const fuller = (std::max)(sum, total - sum);
        if (fuller > fullest) {
          fullest = fuller;
          best = m;
        }
      }
    };
    look(start, subsets);  // from a random subset on, the first of equally good subsets: exchanges between equal packs mix them
    look(1, start);
    return best;
  }

  void merge(loose_packs& packs, std::size_t a, std::size_t b) {
    packs[a].insert(packs[a].end(), packs[b].begin(), packs[b].end());
    room_[a] -= capacity_ - room_[b];
    mark(a);
    auto const last = packs.size() - 1;
    room_[b] = 0;
    mark(b);
    if (b != last) {
      packs[b] = std::move(packs[last]);
      room_[b] = std::exchange(room_[last], 0);
      mark(last);
      mark(b);
    }
    packs.pop_back();
    room_.pop_back();
    place_.pop_back();
  }

  std::span<std::int64_t const> lengths_;
  std::int64_t capacity_;
  search_tuning const& tuning_;
  splitmix64 generator_;
  pooled_vector<std::int64_t> room_;
  pooled_vector<std::size_t> open_, place_;  // packs with room, and the position of each pack in that list
  std::array<std::uint32_t, most_items> items_{};
  std::array<std::int64_t, std::size_t{1} << (most_items - 1)> sums_{};
};

}  // namespace ballast::inline v0_2::detail
