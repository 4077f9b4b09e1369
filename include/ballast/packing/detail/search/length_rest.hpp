// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/bulk_best_fit.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/guided_dive.hpp>
#include <ballast/packing/detail/search/length_shape.hpp>
#include <ballast/packing/detail/search/stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Best-fit decreasing of a histogram as patterns: packs are cut into segments at the begin and end of each run.
template <class = when_called>
class best_fit_patterns {
 public:
  /// Packs all of `lengths` and returns the number of packs.
  std::uint64_t plan(histogram const& lengths, std::int64_t capacity,
                     std::uint64_t max_samples = (std::numeric_limits<std::uint64_t>::max)()) {
    samples_ = lengths.samples();
    packs_ = bulk_best_fit(true, lengths, capacity, max_samples, bulk_);
    return packs_;
  }
  [[nodiscard]] std::uint64_t packs() const noexcept { return packs_; }
  [[nodiscard]] bulk_workspace const& runs() const noexcept { return bulk_; }
  /// The work of `plan`.
  [[nodiscard]] std::uint64_t work() const noexcept { return 40 * bulk_.runs.size(); }

  /// The patterns of the last plan of `lengths`; if there are too many, those of most packs.
  [[nodiscard]] pooled_patterns patterns(histogram const& lengths, std::size_t most = (std::numeric_limits<std::size_t>::max)()) {
    pooled_patterns out;
    pooled_vector<std::uint32_t> of(lengths.lengths.size());
    std::iota(of.begin(), of.end(), 0U);
    if (!of.empty()) append(lengths, of, out, most);
    return out;
  }
  /// Appends the patterns of the last plan of `lengths`, or those of most packs if there are too many; class c of `lengths` is written as
  /// of[c].
  void append(histogram const& lengths, pooled_vector<std::uint32_t> const& of, pooled_patterns& out,
              std::size_t most = (std::numeric_limits<std::size_t>::max)()) {
    find_breaks();
    auto const segments = breaks_.size() - 1;
    slot_.assign(segments, 0);
    if (most < segments) {
      pooled_vector<std::pair<std::uint64_t, std::uint32_t>> widest(segments);
      for (std::size_t s = 0; s < segments; ++s) widest[s] = {breaks_[s] - breaks_[s + 1], static_cast<std::uint32_t>(s)};  // modulo 2^64
      std::nth_element(widest.begin(), widest.begin() + static_cast<std::ptrdiff_t>(most), widest.end());
      for (std::size_t i = most; i < segments; ++i) slot_[widest[i].second] = unwanted;
    }
    items_.clear();
    auto c = lengths.lengths.size();
    for_each_part([&](std::int64_t length, std::uint64_t from, std::uint64_t to, std::uint64_t copies) {
      while (c == lengths.lengths.size() || lengths.lengths[c] != length) --c;
      auto s = static_cast<std::size_t>(std::lower_bound(breaks_.begin(), breaks_.end(), from) - breaks_.begin());
      for (; breaks_[s] < to; ++s)
        if (slot_[s] != unwanted) {
          items_.push_back({static_cast<std::uint32_t>(s), {of[c], static_cast<std::uint32_t>(copies)}});
          ++slot_[s];
        }
    });
    std::uint32_t begin = 0;
    for (auto& s : slot_)
      if (s != unwanted) begin += std::exchange(s, begin);
    sorted_.resize(items_.size());
    for (auto const& [s, item] : items_) sorted_[slot_[s]++] = item;
    begin = 0;
    for (std::size_t s = 0; s < segments; ++s) {
      if (slot_[s] == unwanted) continue;
      out.push_back({sorted_.data() + begin, sorted_.data() + slot_[s]}, breaks_[s + 1] - breaks_[s]);
      begin = slot_[s];
    }
  }

 private:
  static constexpr std::uint32_t unwanted = 0xffffffffU;

  // Calls `visit(length, first pack, last pack + 1, copies)` for the packs that get equally many samples of a run.
  template <class Visit>
  void for_each_part(Visit const& visit) const {
    auto const& runs = bulk_.runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      auto const n = (i + 1 < runs.size() ? runs[i + 1].first : samples_) - runs[i].first;
      auto const full = n / runs[i].per_pack, rest = n % runs[i].per_pack;
      if (full != 0) visit(runs[i].length, runs[i].pack, runs[i].pack + full, runs[i].per_pack);
      if (rest != 0) visit(runs[i].length, runs[i].pack + full, runs[i].pack + full + 1, rest);
    }
  }
  void find_breaks() {
    breaks_.assign({0, packs_});
    for_each_part([&](std::int64_t, std::uint64_t from, std::uint64_t to, std::uint64_t) { breaks_.insert(breaks_.end(), {from, to}); });
    std::sort(breaks_.begin(), breaks_.end());
    breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
  }

  bulk_workspace bulk_;
  std::uint64_t samples_ = 0, packs_ = 0;
  pooled_vector<std::uint64_t> breaks_;
  pooled_vector<std::uint32_t> slot_;
  pooled_vector<std::pair<std::uint32_t, pattern_item>> items_;
  pooled_vector<pattern_item> sorted_;
};

/// The remaining samples of a dive over lengths, and their packing by best fit and random filling.
template <class = when_called>
class length_rest {
 public:
  using shape = length_shape;
  static constexpr bool stops_at_bound = false, finishes = false;
  static constexpr std::uint64_t round_work = 0, round_cells = 0;
  static constexpr auto little_work = ~std::uint64_t{0};  // best fit is tried in every round

  explicit length_rest(length_shape const& all) : all_(all) {}

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

 private:
  length_shape const& all_;
  histogram rest_;
  pooled_vector<std::uint32_t> of_;
  std::int64_t tokens_ = 0;
  best_fit_patterns<> best_fit_;
};
using length_dive = guided_dive<length_rest<>>;

}  // namespace ballast::inline v0_2::detail
