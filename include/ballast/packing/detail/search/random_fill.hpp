// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/loose_packs.hpp>
#include <ballast/packing/detail/search/stock.hpp>
#include <ballast/packing/detail/search/subset_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Fills pack after pack: the longest sample first, then samples drawn at random, so that the remaining samples keep their mixture, and the
/// last few by subset sums, so that the pack is full. If packs hold many samples, or many samples are short, hardly any token stays empty.
template <class = when_called>
class random_filler {
 public:
  explicit random_filler(std::int64_t capacity) : capacity_(capacity) {}

  /// Takes all samples out of the stock and appends their packs, in at most `most` packs; returns whether these packs, and the work before
  /// `end`, were enough.
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
      for (auto sum = sums_.best(); sum != 0;) {
        auto& k = drawn_[sums_.last_of(sum)];
        sum -= static_cast<std::size_t>(samples.length(k));
        room -= samples.length(k);
        chosen_.push_back(k);
        k = taken;
      }
      for (auto const k : drawn_)
        if (k != taken) samples.put_back(k, 1);
    }
    for (auto k = samples.last_available(0, samples.classes_within(room)); k != stock::none;
         k = samples.last_available(0, samples.classes_within(room)))
      put(k);
  }

  static constexpr std::uint32_t taken = 0xffffffffU;
  std::int64_t capacity_;
  subset_sums sums_;
  pooled_vector<std::uint32_t> chosen_, drawn_;
  pooled_vector<pattern_item> pattern_;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
