// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `measure_exchange`: samples change places between the ranks of a step, until the ranks have nearly the same of each measure.

namespace ballast::inline v0_2 {

/// @brief What a `measure_exchange` balances, and what packs may hold. Each column has one entry for each sample, not negative.
struct exchanged_measures {
  std::vector<std::span<std::int64_t const>> balanced{};  ///< of which all ranks shall have the same
  std::vector<std::span<std::int64_t const>> limited{};   ///< of which a pack holds at most its capacity
  std::vector<std::int64_t> capacity{};                   ///< of each column of `limited`
  std::uint64_t max_samples = 0;                          ///< most samples in a pack; 0 = no limit
  bool cost_is_last = false;                              ///< whether the last column of `balanced` is the cost, which may hardly rise
};

/// @brief Exchanges samples between the packs of a step.
///
/// The rank with most of a measure gives a sample to a rank with little of it, alone or for another sample, if the squares of all loads of
/// both ranks shrink. Capacities hold, and no pack becomes empty.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
class measure_exchange {
 public:
  static constexpr Index none = (std::numeric_limits<Index>::max)();  ///< a place without a pack

  /// @brief Takes the measures of all samples.
  /// @param of     the columns; the memory that they view is read later
  /// @param ranks  ranks of a step, at least 1 and below 2^20
  measure_exchange(exchanged_measures of, std::size_t ranks) : of_(std::move(of)), ranks_(ranks), most_before_(of_.balanced.size()) {
    while (bits_ > 8 && ranks >> (28 - bits_) != 0) --bits_;
  }

  /// @brief Exchanges samples of one step.
  /// @param contents  samples of each pack; those of the step are changed if that makes the step more even
  /// @param packs     `packs[r * each + m]` is the number of the pack of micro-batch m of rank r, or `none`; no pack occurs twice
  /// @post either nothing has changed, or the sum over the measures of the largest load, as a multiple of the mean one, has shrunk, and the
  /// largest cost has not risen or is at most 1 % above the mean
  /// @par Complexity
  /// O(ranks * measures) exchanges, each looking at no more than 40 samples of a rank for each of 40 of 6 others.
  /// @par Determinism
  /// A pure function of its arguments, in integers.
  void operator()(std::vector<std::vector<Index>>& contents, std::span<Index const> packs) {
    take(contents, packs);
    auto const measures = of_.balanced.size();
    if (measures == 0) return;
    for (std::size_t c = 0; c < measures; ++c) most_before_[c] = fullest(c).load[c];
    turn_ = 0;
    for (auto left = 4 * ranks_.size() * measures; left > 0 && improve(); --left) ++turn_;
    std::int64_t before = 0, after = 0;
    for (std::size_t c = 0; c < measures; ++c) before += most_before_[c], after += fullest(c).load[c];
    auto const cost = measures - 1;
    auto const costs_more = of_.cost_is_last && fullest(cost).load[cost] > (std::max)(most_before_[cost], mean() + mean() / 100);
    if (after >= before || costs_more) return;
    for (auto const p : packs)
      if (p != none) contents[static_cast<std::size_t>(p)].clear();
    for (auto const& rank : ranks_)
      for (auto const& s : rank.samples) contents[static_cast<std::size_t>(packs[s.pack])].push_back(s.item);
  }

 private:
  struct placed {
    Index item;
    std::size_t pack;  // of the step
    std::size_t at;    // of its parts
  };
  struct rank_load {
    std::vector<placed> samples;
    std::vector<std::int64_t> load;
  };
  struct exchange {
    std::int64_t gain = 0;
    std::size_t from = 0, to = 0, given = 0, taken = 0;
  };
  static constexpr std::size_t alone = static_cast<std::size_t>(-1), looked_at = 40, partners = 6;

  [[nodiscard]] std::int64_t mean() const noexcept { return std::int64_t{1} << bits_; }
  [[nodiscard]] rank_load const& fullest(std::size_t c) const noexcept {
    return *std::max_element(ranks_.begin(), ranks_.end(), [&](auto const& a, auto const& b) { return a.load[c] < b.load[c]; });
  }

  /// Lists the samples of each rank, with their parts of each measure: the mean rank has 2^bits of each.
  void take(std::vector<std::vector<Index>> const& contents, std::span<Index const> packs) {
    auto const each = packs.size() / ranks_.size(), k = of_.limited.size();
    room_.assign(packs.size() * k, 0);
    count_.assign(packs.size(), 0);
    std::size_t samples = 0;
    for (auto& rank : ranks_) rank.samples.clear();
    for (std::size_t p = 0; p < packs.size(); ++p) {
      if (packs[p] == none) continue;
      for (auto const i : contents[static_cast<std::size_t>(packs[p])]) {
        ranks_[p / each].samples.push_back({i, p, samples++});
        for (std::size_t m = 0; m < k; ++m) room_[p * k + m] -= of_.limited[m][static_cast<std::size_t>(i)];
      }
      count_[p] = contents[static_cast<std::size_t>(packs[p])].size();
      for (std::size_t m = 0; m < k; ++m) room_[p * k + m] += of_.capacity[m];
    }
    part_.resize(samples * of_.balanced.size());
    for (auto& rank : ranks_) rank.load.assign(of_.balanced.size(), 0);
    for (std::size_t c = 0; c < of_.balanced.size(); ++c) {
      std::int64_t total = 0;
      for (auto const& rank : ranks_)
        for (auto const& s : rank.samples) total += of_.balanced[c][static_cast<std::size_t>(s.item)];
      auto const parts = static_cast<std::uint64_t>(ranks_.size()) << bits_;
      for (auto& rank : ranks_)
        for (auto const& s : rank.samples)
          rank.load[c] += part_[s.at * of_.balanced.size() + c] =
              total == 0 ? 0
                         : static_cast<std::int64_t>(
                               multiply_divide_up(static_cast<std::uint64_t>(of_.balanced[c][static_cast<std::size_t>(s.item)]), parts,
                                                  static_cast<std::uint64_t>(total)));
    }
  }

  /// Makes the best exchange of the rank that has most of some measure. Returns whether there is one.
  bool improve() {
    worst_.resize(of_.balanced.size());
    std::iota(worst_.begin(), worst_.end(), std::size_t{0});
    std::sort(worst_.begin(), worst_.end(), [&](std::size_t a, std::size_t b) {
      auto const of_a = fullest(a).load[a], of_b = fullest(b).load[b];
      return of_a != of_b ? of_a > of_b : a < b;
    });
    for (auto const c : worst_) {
      auto const& full = fullest(c);
      if (full.load[c] <= mean() + mean() / 500) return false;
      exchange best{.from = static_cast<std::size_t>(&full - ranks_.data())};
      others_.resize(ranks_.size());
      std::iota(others_.begin(), others_.end(), std::size_t{0});
      auto const end = others_.begin() + static_cast<std::ptrdiff_t>((std::min)(partners, others_.size()));
      std::partial_sort(others_.begin(), end, others_.end(), [&](std::size_t a, std::size_t b) {
        return ranks_[a].load[c] != ranks_[b].load[c] ? ranks_[a].load[c] < ranks_[b].load[c] : a < b;
      });
      for (auto other = others_.begin(); other != end; ++other)
        if (*other != best.from) look_at(best, *other);
      if (best.gain == 0) continue;
      make(best);
      return true;
    }
    return false;
  }

  /// Compares the exchanges of two ranks with the best so far: of all samples, or of some if there are many, others each time.
  void look_at(exchange& best, std::size_t to) const {
    auto const &a = ranks_[best.from], &b = ranks_[to];
    auto const k = of_.balanced.size();
    auto const step = [](rank_load const& rank) { return (rank.samples.size() + looked_at - 1) / looked_at; };
    for (auto i = turn_ % (std::max)(step(a), std::size_t{1}); i < a.samples.size(); i += step(a)) {
      auto const* const given = part_.data() + a.samples[i].at * k;
      auto const consider = [&](std::size_t j) {
        std::int64_t gain = 0;
        for (std::size_t c = 0; c < k; ++c) {
          auto const moved = given[c] - (j == alone ? 0 : part_[b.samples[j].at * k + c]);
          gain += moved * (a.load[c] - b.load[c] - moved);
        }
        if (gain <= best.gain) return;
        if (j != alone ? !fits(a.samples[i], b.samples[j]) : room_for(a.samples[i], to) == alone) return;
        best = {gain, best.from, to, i, j};
      };
      for (auto j = turn_ % (std::max)(step(b), std::size_t{1}); j < b.samples.size(); j += step(b)) consider(j);
      consider(alone);
    }
  }

  [[nodiscard]] bool fits(placed const& a, placed const& b) const noexcept {
    auto const k = of_.limited.size();
    for (std::size_t m = 0; m < k; ++m) {
      auto const moved = of_.limited[m][static_cast<std::size_t>(a.item)] - of_.limited[m][static_cast<std::size_t>(b.item)];
      if (room_[a.pack * k + m] + moved < 0 || room_[b.pack * k + m] - moved < 0) return false;
    }
    return true;
  }
  /// The pack of a rank that has room for a sample, the first one, or none if the sample is the last of its own.
  [[nodiscard]] std::size_t room_for(placed const& a, std::size_t to) const noexcept {
    auto const each = count_.size() / ranks_.size(), k = of_.limited.size();
    for (auto p = to * each; p < (to + 1) * each && count_[a.pack] > 1; ++p) {
      auto fit = count_[p] != 0 && (of_.max_samples == 0 || count_[p] < of_.max_samples);
      for (std::size_t m = 0; m < k && fit; ++m) fit = of_.limited[m][static_cast<std::size_t>(a.item)] <= room_[p * k + m];
      if (fit) return p;
    }
    return alone;
  }

  void make(exchange const& e) {
    auto &a = ranks_[e.from], &b = ranks_[e.to];
    auto const hand_over = [&](rank_load& from, rank_load& to, placed& s, std::size_t pack) {
      auto const k = of_.limited.size();
      for (std::size_t m = 0; m < k; ++m) {
        room_[s.pack * k + m] += of_.limited[m][static_cast<std::size_t>(s.item)];
        room_[pack * k + m] -= of_.limited[m][static_cast<std::size_t>(s.item)];
      }
      --count_[s.pack];
      ++count_[pack];
      for (std::size_t c = 0; c < of_.balanced.size(); ++c) {
        from.load[c] -= part_[s.at * of_.balanced.size() + c];
        to.load[c] += part_[s.at * of_.balanced.size() + c];
      }
      s.pack = pack;
    };
    auto& given = a.samples[e.given];
    if (e.taken == alone) {
      hand_over(a, b, given, room_for(given, e.to));
      b.samples.push_back(given);
      a.samples.erase(a.samples.begin() + static_cast<std::ptrdiff_t>(e.given));
      return;
    }
    auto& taken = b.samples[e.taken];
    auto const mine = given.pack;
    hand_over(a, b, given, taken.pack);
    hand_over(b, a, taken, mine);
    std::swap(given, taken);
  }

  exchanged_measures of_;
  int bits_ = 20;  // the mean rank has 2^bits_ of each measure
  std::size_t turn_ = 0;
  std::vector<rank_load> ranks_;
  std::vector<std::int64_t> most_before_, part_, room_;
  std::vector<std::uint64_t> count_;
  std::vector<std::size_t> worst_, others_;
};

}  // namespace ballast::inline v0_2
