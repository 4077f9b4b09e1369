// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/knapsack.hpp>
#include <ballast/packing/detail/search/stock.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Classes [begin, end) of the stock.
struct class_range {
  std::size_t begin, end;
};

/// A number of samples of a band of classes.
struct band_share {
  std::uint32_t band;
  std::uint32_t copies;
};

/// Draws real packs for a mix of bands: all samples but two at random, and the last two such that the pack has the largest value. A band
/// lies within one slice, so the mix alone determines the leading measures.
template <class Shape>
class pack_drawer {
 public:
  pack_drawer(Shape const& slices, stock& samples) : shape_(slices), stock_(samples), lead_room_(slices.leads()) {}

  /// Sets the bands, and the value of a sample of each position in units of `1 / value_one`.
  void prepare(pooled_vector<class_range> bands, pooled_vector<std::int64_t> value) {
    bands_ = std::move(bands);
    value_ = std::move(value);
    choices_.assign(bands_.size(), 0);
    for (std::size_t g = 0; g < bands_.size(); ++g) {
      std::uint64_t distinct = 0, samples = 0;
      for (auto k = stock_.first_available(bands_[g].begin, bands_[g].end); k != stock::none;
           k = stock_.first_available(k + 1, bands_[g].end)) {
        ++distinct;
        samples += stock_.left(k);
      }
      choices_[g] = distinct * (std::min)(samples, std::uint64_t{1} << 32);
    }
  }

  /// Draws one pack of the mix with a value of at least `least`, takes its samples out of the stock and stores them in `pack()`, each class
  /// once. Returns false, with the stock unchanged, if none of a few tries was good enough.
  [[nodiscard]] bool draw(std::span<band_share const> mix, std::int64_t least, splitmix64& generator) {
    choose_last_two(mix);
    for (int attempt = 0; attempt < tries; ++attempt) {
      pack_.clear();
      room_ = shape_.capacity;
      worth_ = 0;
      if (draw_all_but_two(mix, generator) && place_last_two(generator, attempt + 1 == tries)) {
        fill();
        if constexpr (!Shape::one_slice) top_up();
        if (worth_ >= least) return true;
      }
      for (auto const& [k, copies] : pack_) stock_.put_back(k, copies);
    }
    return false;
  }
  [[nodiscard]] std::span<pattern_item const> pack() const noexcept { return pack_; }
  /// How often the pack can be drawn again from the remaining samples.
  [[nodiscard]] std::uint64_t more() const {
    auto least = ~std::uint64_t{0};
    for (auto const& [k, copies] : pack_) least = (std::min)(least, stock_.left(k) / copies);
    return least;
  }
  [[nodiscard]] std::uint64_t take_work() { return std::exchange(work_, 0); }

 private:
  static constexpr int tries = 6;
  static constexpr int most_pairs = 60;

  // For a range of positions of one slice: the end of those whose size is at most `room`.
  [[nodiscard]] std::size_t end_within(class_range range, std::int64_t room) const {
    if (room < 0) return range.begin;
    return (std::min)(range.end, stock_.classes_within(shape_.on_line(shape_.slice_of(range.begin), room)));
  }

  // Whether the rest of the pack has room for the leading measures of a sample, of two samples, or of a sample that replaces another.
  [[nodiscard]] bool leads_fit(std::size_t k) const {
    for (std::size_t l = 0; l != shape_.leads(); ++l)
      if (shape_.needs_of(k)[l] > lead_room_[l]) return false;
    return true;
  }
  [[nodiscard]] bool leads_fit(std::size_t i, std::size_t j) const {
    for (std::size_t l = 0; l != shape_.leads(); ++l)
      if (shape_.needs_of(i)[l] > lead_room_[l] - shape_.needs_of(j)[l]) return false;
    return true;
  }
  [[nodiscard]] bool leads_fit_for(std::size_t in, std::size_t out) const {
    for (std::size_t l = 0; l != shape_.leads(); ++l)
      if (shape_.needs_of(in)[l] - shape_.needs_of(out)[l] > lead_room_[l]) return false;
    return true;
  }

  // The two bands with most choices come last; `second_` is `nowhere` for a mix of one sample.
  void choose_last_two(std::span<band_share const> mix) {
    first_ = second_ = nowhere;
    for (auto const& [g, copies] : mix)
      for (std::uint32_t copy = 0; copy < (std::min)(copies, 2U); ++copy) {
        if (first_ == nowhere || choices_[g] > choices_[first_]) {
          second_ = first_;
          first_ = g;
        } else if (second_ == nowhere || choices_[g] > choices_[second_]) {
          second_ = g;
        }
      }
  }

  void put(std::size_t k) {
    stock_.take(k, 1);
    room_ -= shape_.size_of(k);
    for (std::size_t l = 0; l != shape_.leads(); ++l) lead_room_[l] -= shape_.needs_of(k)[l];
    worth_ += value_[k];
    for (auto& item : pack_)
      if (item.item_class == k) {
        ++item.copies;
        return;
      }
    pack_.push_back({static_cast<std::uint32_t>(k), 1});
  }

  [[nodiscard]] bool draw_all_but_two(std::span<band_share const> mix, splitmix64& generator) {
    lead_room_.assign(shape_.need_capacity.begin(), shape_.need_capacity.end());
    for (auto const& [g, copies] : mix) {
      auto const later = (g == first_ ? 1U : 0U) + (g == second_ ? 1U : 0U);
      for (auto copy = later; copy < copies; ++copy) {
        auto const k = stock_.draw(bands_[g].begin, bands_[g].end, generator);
        work_ += 40;
        if (k == stock::none || shape_.size_of(k) > room_ || (shape_.rounded && !leads_fit(k))) return false;
        put(k);
      }
    }
    return true;
  }

  [[nodiscard]] bool place_last_two(splitmix64& generator, bool thorough) {
    auto const a = bands_[first_];
    if (second_ == nowhere) {
      auto const k = stock_.draw(a.begin, end_within(a, room_), generator);
      if (k == stock::none || (shape_.rounded && !leads_fit(k))) return false;
      put(k);
      return true;
    }
    auto const b = bands_[second_];
    auto const start = a.begin + static_cast<std::size_t>(uniform_below(a.end - a.begin, generator));
    std::size_t best_first = stock::none, best_second = stock::none;
    std::int64_t best = -1;
    int pairs = 0;
    auto const enough = value_one - value_one / 30'000 - worth_;
    auto const walk = [&](std::size_t from, std::size_t to) {  // returns whether the search is over
      for (auto i = stock_.first_available(from, to); i != stock::none; i = stock_.first_available(i + 1, to)) {
        auto const room = room_ - shape_.size_of(i);
        if (room < Shape::least_size) return false;  // all that follow are longer
        ++pairs;
        auto j = stock_.last_available(b.begin, end_within(b, room));
        if (j == i && stock_.left(i) < 2) j = stock_.last_available(b.begin, j);
        if (j == stock::none) continue;
        if (value_[i] + value_[j] > best && (!shape_.rounded || leads_fit(i, j))) {
          best = value_[i] + value_[j];
          best_first = i;
          best_second = j;
          if (best >= enough) return true;
        }
        if (!thorough && pairs >= most_pairs) return true;
      }
      return false;
    };
    if (!walk(start, a.end)) (void)walk(a.begin, start);
    work_ += static_cast<std::uint64_t>(8 * pairs);
    if (best < 0) return false;
    put(best_first);
    put(best_second);
    return true;
  }

  // Adds samples that still fit, largest value first.
  void fill() {
    for (;;) {
      auto best = stock::none;
      for (std::size_t r = 0; r < shape_.slices(); ++r) {
        class_range const slice{shape_.slice_begin(r), shape_.slice_begin(r + 1)};
        if (!shape_.rounded && !leads_fit(slice.begin)) continue;
        auto const k = stock_.last_available(slice.begin, end_within(slice, room_));
        work_ += 30;
        if (k != stock::none && (!shape_.rounded || leads_fit(k)) && (best == stock::none || value_[k] > value_[best])) best = k;
      }
      if (best == stock::none) return;
      put(best);
    }
  }

  // Replaces samples by larger samples of their slice if that raises the value of the pack.
  void top_up() {
    for (int change = 0; change < 2 && room_ > 0; ++change) {
      std::int64_t best = 0;
      std::size_t out = 0, in = 0;
      for (std::size_t i = 0; i < pack_.size(); ++i) {
        auto const k = std::size_t{pack_[i].item_class};
        auto const r = shape_.slice_of(k);
        class_range const slice{shape_.slice_begin(r), shape_.slice_begin(r + 1)};
        auto const j = stock_.last_available(slice.begin, end_within(slice, shape_.size_of(k) + room_));
        if (j == stock::none || value_[j] - value_[k] <= best || (shape_.rounded && !leads_fit_for(j, k))) continue;
        best = value_[j] - value_[k];
        out = i;
        in = j;
      }
      work_ += 15 * pack_.size();
      if (best == 0) return;
      auto const k = std::size_t{pack_[out].item_class};
      stock_.put_back(k, 1);
      room_ += shape_.size_of(k);
      worth_ -= value_[k];
      for (std::size_t l = 0; l != shape_.leads(); ++l) lead_room_[l] += shape_.needs_of(k)[l];
      if (--pack_[out].copies == 0) pack_.erase(pack_.begin() + static_cast<std::ptrdiff_t>(out));
      put(in);
    }
  }

  static constexpr std::size_t nowhere = ~std::size_t{0};
  Shape const& shape_;
  stock& stock_;
  pooled_vector<class_range> bands_;
  pooled_vector<std::int64_t> value_;     // value of each position
  pooled_vector<std::uint64_t> choices_;  // by band: distinct sizes times samples
  std::size_t first_ = nowhere, second_ = nowhere;
  pooled_vector<pattern_item> pack_;
  pooled_vector<std::int64_t> lead_room_;
  std::int64_t room_ = 0;
  std::int64_t worth_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
