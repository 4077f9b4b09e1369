// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/version.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/stock.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// The subset sums of items up to a limit, as bits, and the item that first reached each sum.
class subset_sums {
 public:
  static constexpr std::uint32_t taken = 0xffffffffU;

  /// Starts again without items.
  void reset(std::size_t most) {
    most_ = most;
    reachable_.assign(most / 64 + 1, 0);
    reachable_[0] = 1;
    reached_by_.resize(64 * reachable_.size());
  }
  /// The work of one `add`.
  [[nodiscard]] std::size_t words() const noexcept { return reachable_.size(); }
  [[nodiscard]] bool reaches(std::size_t sum) const { return (reachable_[sum / 64] >> sum % 64 & 1U) != 0; }
  /// The largest sum.
  [[nodiscard]] std::size_t best() const {
    auto sum = most_;
    while (!reaches(sum)) --sum;
    return sum;
  }
  /// Moves the items of the largest sum to `chosen`, with `taken` in their places; returns the sum. Item i is a sample of class items[i].
  [[nodiscard]] std::int64_t take_best(stock const& samples, pooled_vector<std::uint32_t>& items,
                                       pooled_vector<std::uint32_t>& chosen) const {
    auto const all = best();
    for (auto sum = all; sum != 0;) {  // earlier items than the one that reached a sum reach the sum without it
      auto& item = items[reached_by_[sum]];
      sum -= static_cast<std::size_t>(samples.length(item));
      chosen.push_back(std::exchange(item, taken));
    }
    return static_cast<std::int64_t>(all);
  }

  /// Adds item `i`, which may be used once.
  void add(std::uint32_t i, std::size_t length) {
    auto const jump = length / 64, shift = length % 64;
    for (auto w = reachable_.size(); w-- > jump;) {  // in descending order, so that no sum uses the item twice
      auto moved = reachable_[w - jump] << shift;
      if (shift != 0 && w > jump) moved |= reachable_[w - jump - 1] >> (64 - shift);
      auto fresh = moved & ~reachable_[w];
      reachable_[w] |= fresh;
      for (; fresh != 0; fresh &= fresh - 1) reached_by_[w * 64 + static_cast<std::size_t>(std::countr_zero(fresh))] = i;
    }
  }

 private:
  std::size_t most_ = 0;
  pooled_vector<std::uint64_t> reachable_;
  pooled_vector<std::uint32_t> reached_by_;
};

/// Fills pack after pack: the longest sample first, then samples drawn at random, so that the remaining samples keep their mixture, and the
/// last few by subset sums, so that the pack is full. If packs hold many samples, or many samples are short, hardly any token stays empty.
template <class = when_called>
class random_filler {
 public:
  explicit random_filler(std::int64_t capacity) : capacity_(capacity) {}

  /// Takes all samples out of the stock and appends at most `most` packs; returns whether these, and the work before `end`, were enough.
  bool run(stock& samples, splitmix64& generator, std::uint64_t most, search_budget& budget, std::uint64_t end, pooled_patterns& out) {
    for (std::uint64_t packs = 0; samples.samples() != 0; ++packs) {
      if (packs == most || !budget.allows(end)) return false;
      work_ = 500;
      fill(samples, generator);
      std::sort(chosen_.begin(), chosen_.end(), [](auto a, auto b) { return a > b; });
      push_classes(out, chosen_, 1, pattern_);
      budget.spend(work_);
    }
    return true;
  }

 private:
  static constexpr std::size_t most_drawn = 80;
  static constexpr std::int64_t largest_table = std::int64_t{1} << 16;

  void fill(stock& samples, splitmix64& generator) {
    auto room = capacity_;
    auto const take = [&](std::size_t k) {
      samples.take(k, 1);
      work_ += 120;
      return static_cast<std::uint32_t>(k);
    };
    auto const put = [&](std::size_t k) {
      chosen_.push_back(take(k));
      room -= samples.length(k);
    };
    auto const draw = [&] { return samples.draw(0, samples.classes_within(room), generator); };
    chosen_.clear();
    put(samples.last_available(0, samples.classes()));
    while (samples.samples() != 0 && room > samples.tokens() / static_cast<std::int64_t>(samples.samples()) * 6) {
      auto const k = draw();
      if (k == stock::none) return;
      put(k);
    }
    if (room > 0 && room <= largest_table) {
      sums_.reset(static_cast<std::size_t>(room));
      work_ += 2 * sums_.words();
      drawn_.clear();
      while (drawn_.size() < most_drawn && !sums_.reaches(static_cast<std::size_t>(room))) {
        auto const k = draw();
        if (k == stock::none) break;
        sums_.add(static_cast<std::uint32_t>(drawn_.size()), static_cast<std::size_t>(samples.length(k)));
        drawn_.push_back(take(k));
        work_ += 3 * sums_.words();
      }
      room -= sums_.take_best(samples, drawn_, chosen_);
      for (auto const k : drawn_)
        if (k != subset_sums::taken) samples.put_back(k, 1);
    }
    for (auto k = samples.last_available(0, samples.classes_within(room)); k != stock::none;
         k = samples.last_available(0, samples.classes_within(room)))
      put(k);
  }

  std::int64_t capacity_;
  subset_sums sums_;
  pooled_vector<std::uint32_t> chosen_, drawn_;
  pooled_vector<pattern_item> pattern_;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
