// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/search/guided_dive.hpp>
#include <ballast/packing/detail/search/length_shape.hpp>
#include <ballast/packing/detail/search/loose_packs.hpp>
#include <ballast/packing/detail/search/pooled_patterns.hpp>
#include <ballast/packing/detail/search/run_patterns.hpp>
#include <ballast/packing/detail/search/stock.hpp>
#include <ballast/packing/detail/search/subset_sums.hpp>
#include <ballast/packing/detail/search/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Packs the remaining samples pack after pack: the longest sample first, then those samples, tried in random order, that fill the rest
/// best.
template <class = when_called>
class subset_sum_filler {
 public:
  explicit subset_sum_filler(std::int64_t capacity) : capacity_(capacity) {}

  /// Takes all samples out of the stock and appends their packs, each as a separate pattern, in at most `most` packs; returns whether these
  /// were enough.
  bool run(stock& samples, splitmix64& generator, std::uint64_t most, pooled_patterns& out) {
    items_.clear();
    for (auto k = samples.classes(); k-- > 0;)
      items_.insert(items_.end(), static_cast<std::size_t>(samples.left(k)), static_cast<std::uint32_t>(k));
    for (std::uint64_t packs = 0; !items_.empty(); ++packs) {
      if (packs == most) return false;
      auto const longest = std::min_element(items_.begin(), items_.end(), [](auto a, auto b) { return a > b; });
      auto room = capacity_ - samples.length(*longest);
      chosen_.assign(1, *longest);
      items_.erase(longest);
      for (auto i = items_.size(); i > 1; --i) std::swap(items_[i - 1], items_[static_cast<std::size_t>(uniform_below(i, generator))]);
      choose(samples, room);
      std::sort(chosen_.begin(), chosen_.end(), [](auto a, auto b) { return a > b; });
      for (auto const k : chosen_) samples.take(k, 1);
      push_classes(out, chosen_, 1, pattern_);
    }
    return true;
  }
  [[nodiscard]] std::uint64_t take_work() {
    auto const work = work_;
    work_ = 0;
    return work;
  }

 private:
  static constexpr std::int64_t largest_table = std::int64_t{1} << 18;
  static constexpr std::size_t most_items = 80;

  // Moves the items that fill `room` best, among the first few of items_, to chosen_, then any items that still fit.
  void choose(stock const& samples, std::int64_t room) {
    auto const width = (std::min)(items_.size(), most_items);
    if (room > 0 && room <= largest_table) {
      auto const top = static_cast<std::size_t>(room);
      sums_.reset(top);
      std::size_t used = 0;
      for (; used < width && !sums_.reaches(top); ++used)
        sums_.add(static_cast<std::uint32_t>(used), static_cast<std::size_t>(samples.length(items_[used])));
      work_ += used * sums_.words() + static_cast<std::uint64_t>(room);
      auto sum = sums_.best();
      room -= static_cast<std::int64_t>(sum);
      while (sum != 0) {
        auto const i = sums_.last_of(sum);  // indices descend, so erasing moves no item that is still needed
        sum -= static_cast<std::size_t>(samples.length(items_[i]));
        chosen_.push_back(items_[i]);
        items_[i] = taken;
      }
    }
    for (auto& k : items_)
      if (k != taken && samples.length(k) <= room) {
        room -= samples.length(k);
        chosen_.push_back(k);
        k = taken;
      }
    std::erase(items_, taken);
  }

  static constexpr std::uint32_t taken = 0xffffffffU;
  std::int64_t capacity_;
  pooled_vector<std::uint32_t> items_, chosen_;
  pooled_vector<pattern_item> pattern_;
  subset_sums sums_;
  std::uint64_t work_ = 0;
};

/// The remaining samples of a dive over lengths, and their packing by best fit and random filling.
template <class = when_called>
class length_rest {
 public:
  using shape = length_shape;
  static constexpr bool stops_at_bound = false;
  static constexpr std::uint64_t round_work = 0, round_cells = 0;
  static constexpr auto little_work = ~std::uint64_t{0};  // best fit is tried in every round

  length_rest(length_shape const& all, search_tuning const& tuning) : all_(all), tuning_(tuning), filler_(all.capacity) {}

  [[nodiscard]] length_shape const& samples() const noexcept { return all_; }
  void collect(stock const& left) {
    rest_.clear();
    left.remaining(rest_, of_);
    tokens_ = left.tokens();
  }
  /// The remaining positions, ascending.
  [[nodiscard]] pooled_vector<std::uint32_t> const& positions() const noexcept { return of_; }
  [[nodiscard]] std::int64_t volume() const noexcept { return tokens_; }
  /// The volume in full packs.
  [[nodiscard]] std::int64_t packs() const noexcept { return tokens_ / all_.capacity; }

  /// Packs all remaining samples by best fit and returns the number of packs.
  [[nodiscard]] std::uint64_t plan() { return best_fit_.plan(rest_, all_.capacity); }
  [[nodiscard]] std::uint64_t work() const noexcept { return best_fit_.work() + 4 * all_.positions(); }
  /// Appends that plan, as patterns of positions.
  void append(pooled_patterns& out) {
    if (!of_.empty()) best_fit_.append(rest_, of_, out);
  }
  /// Appends patterns of that plan for the next linear program.
  void append_columns(pooled_patterns& out) { best_fit_.append(rest_, of_, out, 1500); }

  /// Packs the remaining samples by the best of a few random fillings, if that takes at most `most` packs.
  [[nodiscard]] bool finish(stock& left, splitmix64& generator, std::uint64_t most, pooled_patterns& best, search_budget& budget) {
    if (!tuning_.subset_sum_packs || packs() >= tuning_.last_packs) return false;
    auto const begin = left.counts();
    auto found = false;
    for (int attempt = 0; attempt < tuning_.last_attempts && budget.allows(); ++attempt) {
      pooled_patterns filled;
      if ((!found || most != 0) && filler_.run(left, generator, found ? most - 1 : most, filled)) {
        found = true;
        most = filled.packs();
        best = std::move(filled);
      }
      budget.spend(filler_.take_work());
      left.reset(begin);
    }
    return found;
  }

 private:
  length_shape const& all_;
  search_tuning const& tuning_;
  histogram rest_;
  pooled_vector<std::uint32_t> of_;
  std::int64_t tokens_ = 0;
  best_fit_patterns<> best_fit_;
  subset_sum_filler<> filler_;
};
using length_dive = guided_dive<length_rest<>>;

}  // namespace ballast::inline v0_2::detail
