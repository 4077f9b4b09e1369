// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/driver.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

// Best-fit decreasing of a few items, one by one: tables of the bulk form would cost more than the packs. Both make the same packs.

namespace ballast::inline v0_2::detail {

inline constexpr std::size_t most_few = 1024, no_pack = 0xffff;  // `most_few` are packed in memory on the stack
/// Whether so many items are packed one by one: also more of them where they could all differ, so that little is done in bulk.
[[nodiscard]] constexpr bool are_few(std::size_t count, std::int64_t heaviest) {
  return count <= most_few || (count <= 16 * most_few && std::cmp_greater(heaviest, count));
}
[[nodiscard]] constexpr int bit_width(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))); }

/// Arrays of so many items.
struct few_arrays {
  few_arrays(std::size_t n, std::int64_t* of_64, std::uint16_t* of_16)
      : weight(of_64), room(of_64 + n), order(of_16), other(of_16 + n), pack_of(of_16 + 2 * n), size(of_16 + 3 * n), next(of_16 + 4 * n) {}
  static constexpr std::size_t wide = 2, narrow = 5;  ///< entries of both for each item
  std::int64_t *weight, *room;
  std::uint16_t *order, *other, *pack_of, *size, *next;
};

/// Sorts the first `n` of `order`, which are ascending numbers of items, by weight, descending, then number.
inline void sort_few(few_arrays const& a, std::size_t n, std::int64_t heaviest) {
  auto const& [weight, sorted, order, other, pack_of, size, next] = a;
  if (n <= 32) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const item = order[i];
      auto const w = weight[item];
      auto k = i;
      for (; k > 0 && sorted[k - 1] < w; --k) sorted[k] = sorted[k - 1], order[k] = order[k - 1];
      sorted[k] = w;
      order[k] = item;
    }
    return;
  }
  constexpr int most_digit = 9;
  auto const bits = bit_width(heaviest - 1), passes = divide_up(bits, (std::min)(bit_width(static_cast<std::int64_t>(n)) + 2, most_digit));
  auto const digit = passes == 0 ? 0 : divide_up(bits, passes);
  std::uint16_t begin[(1 << most_digit) + 1];
  for (int shift = 0; shift < bits; shift += digit) {
    auto const digit_of = [&](std::uint16_t i) {
      return static_cast<std::uint64_t>(heaviest - a.weight[i]) >> shift & ((std::uint64_t{1} << digit) - 1);
    };
    std::fill_n(begin, (1 << digit) + 1, std::uint16_t{0});
    for (std::size_t k = 0; k < n; ++k) ++begin[digit_of(order[k]) + 1];
    std::partial_sum(begin, begin + (1 << digit), begin);
    for (std::size_t k = 0; k < n; ++k) other[begin[digit_of(order[k])]++] = order[k];
    std::copy_n(other, n, order);
  }
}

/// The open packs of a few items, in buckets of similar rooms; those of a bucket in a circle by room, then number.
class few_rooms {
 public:
  few_rooms(std::int64_t capacity, few_arrays const& arrays)
      : room(arrays.room), shift_((std::max)(0, bit_width(capacity - 1) - 12)), next_(arrays.next) {}
  /// Takes the fullest pack with room for `w` out and returns its number; `no_pack` if there is none.
  [[nodiscard]] std::size_t take(std::int64_t w) {
    auto b = bucket_from(static_cast<std::uint64_t>(w) >> shift_);
    if (b < buckets && room[last_[b]] < w) b = bucket_from(b + 1);
    if (b >= buckets) return no_pack;
    std::size_t before = last_[b], pack = next_[before];
    std::size_t passed = 0;
    for (; room[pack] < w; ++passed) pack = next_[before = pack];
    steps_ += passed;
    if (before == pack) {
      if ((words_[b / 64] &= ~(std::uint64_t{1} << b % 64)) == 0) some_ &= ~(std::uint64_t{1} << b / 64);
    } else {
      next_[before] = next_[pack];
      if (last_[b] == pack) last_[b] = static_cast<std::uint16_t>(before);
    }
    return pack;
  }
  /// Puts a pack in, if it is open, whose room is set and below the capacity.
  void put(std::size_t pack, bool open) {
    if (!open) return;
    auto const number = static_cast<std::uint16_t>(pack);
    auto const b = static_cast<std::size_t>(static_cast<std::uint64_t>(room[pack]) >> shift_);
    auto& word = words_[b / 64];
    auto const bit = std::uint64_t{1} << b % 64;
    if ((word & bit) == 0) {
      word |= bit;
      some_ |= std::uint64_t{1} << b / 64;
      last_[b] = next_[pack] = number;
      return;
    }
    auto const behind = [&](std::size_t other) { return room[other] != room[pack] ? room[other] < room[pack] : other < pack; };
    std::size_t before = last_[b];
    std::size_t passed = 0;
    if (behind(before))
      last_[b] = number;
    else
      for (; behind(next_[before]); ++passed) before = next_[before];
    steps_ += passed;
    next_[pack] = std::exchange(next_[before], number);
  }

  std::int64_t* const room;
  /// Whether packs were passed by in their buckets more than 16 times for each of `n` items.
  [[nodiscard]] bool crowded(std::size_t n) const { return steps_ > 16 * n; }

 private:
  static constexpr std::size_t buckets = 64 * 64;
  /// The first bucket from `b` on that has a pack, or `buckets`.
  [[nodiscard]] std::size_t bucket_from(std::uint64_t b) const {
    if (b >= buckets) return buckets;
    auto const word = static_cast<std::size_t>(b / 64);
    auto const rest = words_[word] >> b % 64 << b % 64, more = some_ >> word >> 1;
    if ((rest | more) == 0) return buckets;
    auto const later = (word + 1 + static_cast<std::size_t>(std::countr_zero(more))) % 64;
    auto const bits = rest != 0 ? rest : words_[later];
    return (rest != 0 ? word : later) * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }
  int shift_;
  std::size_t steps_ = 0;
  std::uint64_t some_ = 0, words_[64] = {};  ///< which words are not 0, and which buckets have a pack
  std::uint16_t last_[buckets], *const next_;
};

/// The open packs where there are few, one after the other.
class scanned_rooms {
 public:
  scanned_rooms(std::int64_t, few_arrays const& arrays) : room(arrays.room) {}
  [[nodiscard]] std::size_t take(std::int64_t w) const {
    if (w > widest_) return no_pack;
    auto best = no_pack;
    auto least = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());  // left over; what has no room wraps around
    for (std::size_t p = 0; p < packs_; ++p) {
      auto const left = static_cast<std::uint64_t>(room[p]) - static_cast<std::uint64_t>(w);
      best = left < least ? p : best;
      least = (std::min)(left, least);
    }
    return best;
  }
  void put(std::size_t pack, bool open) {
    packs_ = (std::max)(packs_, pack + 1);
    if (!open) room[pack] = 0;
    widest_ = (std::max)(widest_, room[pack]);
  }
  std::int64_t* const room;
  [[nodiscard]] static constexpr bool crowded(std::size_t) { return false; }

 private:
  std::size_t packs_ = 0;
  std::int64_t widest_ = 0;  ///< no pack has more room
};

/// Packs items in order, and returns the number of packs; 0 if too many of them have almost the same room.
template <class Rooms>
[[nodiscard]] std::size_t place_few(few_arrays const a, std::size_t n, std::int64_t capacity, std::uint64_t max_samples) {
  auto const shortest = a.weight[a.order[n - 1]];
  Rooms rooms(capacity, a);
  std::size_t packs = 0;
  for (std::size_t k = 0; k < n; ++k) {
    auto const w = a.weight[a.order[k]];
    auto pack = rooms.take(w);
    if (pack == no_pack) {
      pack = packs++;
      a.room[pack] = capacity;
      a.size[pack] = 0;
    }
    a.pack_of[k] = static_cast<std::uint16_t>(pack);
    ++a.size[pack];
    a.room[pack] -= w;
    rooms.put(pack, a.room[pack] >= shortest && a.size[pack] < max_samples);
    if (n > most_few && rooms.crowded(n)) return 0;
  }
  return packs;
}

/// Packs a few items by best-fit decreasing. Folds their weights only if no simpler bound proves the number of packs, or if `out` is left
/// empty because the bulk form is faster.
template <class Weights, index_type Index>
[[nodiscard]] packs_needed pack_few(packing_items<Weights> const& items, few_arrays const& a, groups<Index>& out) {
  std::int64_t heaviest = 0, total = 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < items.count; ++i) {
    auto const w = static_cast<std::int64_t>(items.weight[i]);
    a.weight[i] = w;
    a.order[n] = static_cast<std::uint16_t>(i);
    n += w != 0 ? 1 : 0;
    heaviest = (std::max)(heaviest, w);
    total += w;
  }
  out.clear();
  items.classes.clear();
  if (heaviest == 0) return {};
  sort_few(a, n, heaviest);
  packs_needed const volume{divide_up(total, items.capacity), packing_bound::volume};
  auto const place = volume.packs <= 16 && n / items.max_samples < 16 ? place_few<scanned_rooms> : place_few<few_rooms>;
  auto const packs = place(a, n, items.capacity, items.max_samples);
  if (packs != 0) {
    out.offsets.resize(packs + 1);
    for (std::size_t p = 0; p < packs; ++p) {
      out.offsets[p + 1] = out.offsets[p] + a.size[p];
      a.size[p] = static_cast<std::uint16_t>(out.offsets[p]);  // from here on: where its next member goes
    }
    out.members.resize(n);
    for (std::size_t k = 0; k < n; ++k) out.members[a.size[a.pack_of[k]]++] = static_cast<Index>(a.order[k]);
    if (std::cmp_greater_equal(volume.packs, packs)) return volume;
  }
  items.classes.lengths.reserve(n);
  items.classes.counts.reserve(n);
  for (auto k = n; k-- > 0;) items.classes.append(a.weight[a.order[k]], 1);
  return packing_lower_bound(items.classes, items.capacity, items.max_samples, static_cast<std::int64_t>(packs));
}

}  // namespace ballast::inline v0_2::detail
