// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/sort.hpp>
#include <ballast/packing/vector/detail/class_slices.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Fills one pack at a time, such that its total of each measure stays in proportion to what all remaining samples need.

namespace ballast::inline v0_2::detail {

/// The rule by which a pass chooses samples.
struct completion_rule {
  bool largest_first;  // true: the first sample of a pack has the largest relative measure; false: the largest value of the measure with
                       // most distinct values
  std::int64_t proportion;   // weight of the distance from the proportion against the size of a sample
  std::int64_t good_enough;  // room, summed over all measures, up to which a pack is accepted without further trials
};
inline constexpr std::array<completion_rule, 3> completion_rules{
    {{false, 4, full_share / 32}, {true, 0, full_share / 256}, {true, 1, full_share / 256}}};
inline constexpr std::uint64_t completion_looks = std::uint64_t{1} << 22;  // searches in slices, over all passes; one pass is always made

template <class = when_called>
class pack_filler {
 public:
  /// After `most_looks` searches in slices, packs are accepted without further trials.
  pack_filler(measure_classes const& classes, std::span<std::int64_t const> capacity, std::vector<std::int64_t> const& sizes,
              class_slices slices, completion_rule rule, std::uint64_t most_looks)
      : classes_(classes),
        capacity_(capacity),
        sizes_(sizes),
        slices_(std::move(slices)),
        rule_(rule),
        most_looks_(most_looks),
        k_(classes.measures),
        left_(classes.counts),
        place_(classes.size(), 0),
        total_(k_),
        target_(k_),
        seeds_(classes.size()) {
    std::vector<std::pair<std::int64_t, std::int64_t>> key(classes.size());
    for (std::size_t c = 0; c < classes.size(); ++c) {
      auto const s = size(static_cast<std::uint32_t>(c));
      key[c] = {rule.largest_first ? *std::max_element(s.begin(), s.end()) : s[slices_.inner()], sum(s)};
    }
    for (std::size_t m = 0; m < k_; ++m) total_[m] = classes.total(m);
    std::iota(seeds_.begin(), seeds_.end(), 0U);
    sort_by(seeds_, [&](auto a, auto b) { return key[a] != key[b] ? key[a] > key[b] : a > b; });
  }

  [[nodiscard]] pack_patterns fill_all() {
    pack_patterns out;
    draft start, best;
    for (std::size_t s = 0; s < seeds_.size();) {
      if (left_[seeds_[s]] == 0) {
        ++s;
        continue;
      }
      aim();
      pack_.items.clear();
      pack_.room.assign(capacity_.begin(), capacity_.end());
      pack_.wish = target_;
      put(seeds_[s]);
      start = pack_;
      fill();
      if (auto lack = shortfall(); lack > rule_.good_enough && looks_ < most_looks_) {
        best = pack_;
        return_to(start);
        offered_.clear();
        each_offer([&](offer o) { offered_.push_back(o); });
        std::sort(offered_.begin(), offered_.end());
        for (std::size_t o = 1; o < (std::min)(offered_.size(), std::size_t{8}); ++o) {  // the first offer is the one that `fill` took
          put(offered_[o].item);
          fill();
          if (auto const other = shortfall(); other < lack) {
            lack = other;
            best = pack_;
          }
          return_to(start);
        }
        std::swap(pack_.items, best.items);
        for (auto const& i : best.items) place_[i.item_class] = 0;
      }
      commit(out);
    }
    return out;
  }
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  struct draft {
    std::vector<pattern_item> items;
    std::vector<std::int64_t> room;  // exact room
    std::vector<std::int64_t> wish;  // relative: target minus load, negative above the target
  };
  using offer = keyed_item<std::uint32_t>;  // a class, and its score

  [[nodiscard]] std::span<std::int64_t const> size(std::uint32_t c) const { return std::span(sizes_).subspan(c * k_, k_); }
  [[nodiscard]] static std::int64_t sum(std::span<std::int64_t const> s) { return std::accumulate(s.begin(), s.end(), std::int64_t{0}); }

  /// Sets the target of a pack: the full capacity in the measure that needs most packs, and the other measures in proportion.
  void aim() {
    std::int64_t most = 0;
    for (std::size_t m = 0; m < k_; ++m) most = (std::max)(most, total_[m] / capacity_[m]);
    auto const packs_shift = spare_bits(most, 40);
    most = 0;
    for (std::size_t m = 0; m < k_; ++m) {  // how many packs the remaining samples would fill, as fractions
      target_[m] = (total_[m] / capacity_[m] >> packs_shift) * full_share + share_of(total_[m] % capacity_[m], capacity_[m]);
      most = (std::max)(most, target_[m]);
    }
    auto const shift = spare_bits(most, 40);
    for (auto& t : target_) t = most == 0 ? 0 : (t >> shift) * full_share / (most >> shift);
  }

  /// Puts samples of the class into the pack, a thirty-second of all that fit at a time, so that a pack of a million samples takes few
  /// steps.
  void put(std::uint32_t c) {
    auto const sample = classes_[c];
    auto const used = place_[c] == 0 ? 0U : pack_.items[place_[c] - 1].copies;
    auto count = (std::min)(left_[c], std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()}) - used;
    for (std::size_t m = 0; m < k_; ++m)
      if (sample[m] > 0) count = (std::min)(count, static_cast<std::uint64_t>((std::max)(pack_.room[m] / sample[m] / 32, std::int64_t{1})));
    for (std::size_t m = 0; m < k_; ++m) {
      pack_.room[m] -= sample[m] * static_cast<std::int64_t>(count);
      pack_.wish[m] -= size(c)[m] * static_cast<std::int64_t>(count);
    }
    if (place_[c] == 0) {
      pack_.items.push_back({c, 0});
      place_[c] = static_cast<std::uint32_t>(pack_.items.size());
    }
    auto& item = pack_.items[place_[c] - 1];
    item.copies += static_cast<std::uint32_t>(count);
    if (item.copies == (std::min)(left_[c], std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()})) slices_.hide(c);
  }

  void return_to(draft const& start) {
    for (auto const& i : pack_.items) place_[i.item_class] = 0;
    pack_ = start;
    auto const& [seed, copies] = pack_.items[0];
    place_[seed] = 1;
    slices_.restore();
    if (copies == left_[seed]) slices_.hide(seed);
  }

  /// What the pack lacks to its target, without credit for measures above the target.
  [[nodiscard]] std::int64_t shortfall() const {
    std::int64_t lack = 0;
    for (auto w : pack_.wish) lack += (std::max)(w, std::int64_t{0});
    return lack;
  }

  void fill() {
    for (;;) {
      offer best{0, class_slices::nothing};
      each_offer([&](offer o) {
        if (best.item == class_slices::nothing || o < best) best = o;
      });
      if (best.item == class_slices::nothing) return;
      put(best.item);
    }
  }

  /// Offers, for each slice, the two classes next to the size that would leave the wishes in proportion.
  template <class Use>
  void each_offer(Use const& use) {
    auto const in = slices_.inner();
    auto const room = share_of(pack_.room[in], capacity_[in]);
    looks_ += slices_.size();
    for (std::size_t r = 0; r < slices_.size(); ++r) {
      auto const like = size(slices_.some_class(r));
      std::int64_t rest = 0, outer = 0;  // remaining wishes of the other measures, in units of the inner target
      for (std::size_t m = 0; m < k_; ++m)
        if (m != in && target_[m] > 0) {
          rest += (pack_.wish[m] - like[m]) * target_[in] / target_[m];
          ++outer;
        }
      auto const ideal = outer == 0 ? pack_.wish[in] : pack_.wish[in] - rest / outer;
      auto const consider = [&](std::uint32_t slot) {
        auto const s = size(slices_.at(slot));
        auto const away = s[in] > ideal ? s[in] - ideal : ideal - s[in];
        use(offer{sum(s) - rule_.proportion * away, slices_.at(slot)});
      };
      auto const from = (std::min)(ideal, room);
      auto slot = slices_.at_most(r, from);
      for (int step = 0; step < 4 && slot != class_slices::nothing && !fits(slot); ++step) slot = slices_.below(r, slot);
      if (slot != class_slices::nothing && fits(slot)) consider(slot);
      slot = slices_.above(r, from);
      if (slot != class_slices::nothing && fits(slot)) consider(slot);
    }
  }
  [[nodiscard]] bool fits(std::uint32_t slot) const {
    auto const sample = classes_[slices_.at(slot)];
    for (std::size_t m = 0; m < k_; ++m)
      if (sample[m] > pack_.room[m]) return false;
    return true;
  }

  /// Makes copies of the pack as often as the counts allow.
  void commit(pack_patterns& out) {
    slices_.restore();
    auto packs = (std::numeric_limits<std::uint64_t>::max)();
    for (auto const& [c, copies] : pack_.items) packs = (std::min)(packs, left_[c] / copies);
    for (auto const& [c, copies] : pack_.items) {
      place_[c] = 0;
      left_[c] -= packs * copies;
      for (std::size_t m = 0; m < k_; ++m) total_[m] -= classes_[c][m] * static_cast<std::int64_t>(packs * copies);
      if (left_[c] == 0) slices_.erase(c);
    }
    out.push_back(pack_.items, packs);
  }

  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_;
  std::vector<std::int64_t> const& sizes_;
  class_slices slices_;
  completion_rule rule_;
  std::uint64_t most_looks_, looks_ = 0;
  std::size_t k_;
  std::vector<std::uint64_t> left_;   // remaining samples of each class
  std::vector<std::uint32_t> place_;  // position of each class in the pack, from 1; 0 if it is not in the pack
  std::vector<std::int64_t> total_;   // total of each measure over the remaining samples
  std::vector<std::int64_t> target_;  // relative target of a pack
  std::vector<std::uint32_t> seeds_;
  std::vector<offer> offered_;
  draft pack_;  // the pack that is being filled
};

}  // namespace ballast::inline v0_2::detail
