// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/driver.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

// Best-fit decreasing of a few items, one by one, in memory on the stack. For so few, the histogram and the tables of the bulk form cost
// more than the packs. Both make the same packs.

namespace ballast::inline v0_2::detail {

inline constexpr std::size_t most_few = 1024;
[[nodiscard]] constexpr int bit_width(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))); }

/// Writes the numbers of items that are not 0 to `order`, by weight, descending, then number, and returns how many there are.
inline std::size_t sort_few(std::int64_t const* weight, std::size_t count, std::int64_t heaviest, std::uint16_t* order) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) {
    order[n] = static_cast<std::uint16_t>(i);
    n += weight[i] != 0 ? 1 : 0;
  }
  if (n <= 32) {
    std::sort(order, order + n, [&](auto a, auto b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });
    return n;
  }
  constexpr int most_digit = 9;
  auto const bits = bit_width(heaviest - 1), passes = divide_up(bits, most_digit);
  auto const digit = passes == 0 ? 0 : divide_up(bits, passes);
  std::uint16_t begin[(1 << most_digit) + 1], other[most_few];
  for (int shift = 0; shift < bits; shift += digit) {
    auto const digit_of = [&](std::uint16_t i) {
      return static_cast<std::uint64_t>(heaviest - weight[i]) >> shift & ((std::uint64_t{1} << digit) - 1);
    };
    std::fill_n(begin, (1 << digit) + 1, std::uint16_t{0});
    for (std::size_t k = 0; k < n; ++k) ++begin[digit_of(order[k]) + 1];
    std::partial_sum(begin, begin + (1 << digit), begin);
    for (std::size_t k = 0; k < n; ++k) other[begin[digit_of(order[k])]++] = order[k];
    std::copy_n(other, n, order);
  }
  return n;
}

/// The open packs of a few items, in buckets of similar rooms; those of a bucket in a circle by room, then number.
class few_rooms {
 public:
  explicit few_rooms(std::int64_t capacity) : shift_((std::max)(0, bit_width(capacity - 1) - 12)) {}
  /// Takes the fullest pack with room for `w` out and returns its number; `most_few` if there is none.
  [[nodiscard]] std::size_t take(std::int64_t w) {
    auto b = bucket_from(static_cast<std::uint64_t>(w) >> shift_);
    if (b < buckets && room[last_[b]] < w) b = bucket_from(b + 1);
    if (b >= buckets) return most_few;
    std::size_t before = last_[b], pack = next_[before];
    while (room[pack] < w) pack = next_[before = pack];
    if (before == pack) {
      if ((words_[b / 64] &= ~(std::uint64_t{1} << b % 64)) == 0) some_ &= ~(std::uint64_t{1} << b / 64);
    } else {
      next_[before] = next_[pack];
      if (last_[b] == pack) last_[b] = static_cast<std::uint16_t>(before);
    }
    return pack;
  }
  /// Puts a pack in whose room is set and below the capacity.
  void put(std::size_t pack) {
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
    if (behind(before))
      last_[b] = number;
    else
      while (behind(next_[before])) before = next_[before];
    next_[pack] = std::exchange(next_[before], number);
  }

  std::int64_t room[most_few];

 private:
  static constexpr std::size_t buckets = 64 * 64;
  /// The first bucket from `b` on that has a pack, or `buckets`.
  [[nodiscard]] std::size_t bucket_from(std::uint64_t b) const {
    if (b >= buckets) return buckets;
    auto word = b / 64;
    if (auto const rest = words_[word] >> b % 64; rest != 0) return b + static_cast<std::size_t>(std::countr_zero(rest));
    auto const more = some_ >> word >> 1;
    if (more == 0) return buckets;
    word += 1 + static_cast<std::size_t>(std::countr_zero(more));
    return word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
  }
  int shift_;
  std::uint64_t some_ = 0, words_[64] = {};  ///< which words are not 0, and which buckets have a pack
  std::uint16_t last_[buckets], next_[most_few];
};

/// Packs at most `most_few` items by best-fit decreasing. Folds their weights only if no simpler bound proves the number of packs.
template <class Weights, index_type Index>
[[nodiscard]] packs_needed pack_few(packing_items<Weights> const& items, groups<Index>& out) {
  std::int64_t weight[most_few], heaviest = 0, total = 0;
  for (std::size_t i = 0; i < items.count; ++i) {
    weight[i] = static_cast<std::int64_t>(items.weight[i]);
    heaviest = (std::max)(heaviest, weight[i]);
    total += weight[i];
  }
  out.clear();
  if (heaviest == 0) return {};
  std::uint16_t order[most_few], pack_of[most_few], size[most_few];
  auto const n = sort_few(weight, items.count, heaviest, order);
  auto const shortest = weight[order[n - 1]];
  few_rooms rooms(items.capacity);
  std::size_t packs = 0;
  for (std::size_t k = 0; k < n; ++k) {
    auto const w = weight[order[k]];
    auto pack = rooms.take(w);
    if (pack == most_few) {
      pack = packs++;
      rooms.room[pack] = items.capacity;
      size[pack] = 0;
    }
    pack_of[k] = static_cast<std::uint16_t>(pack);
    ++size[pack];
    rooms.room[pack] -= w;
    if (rooms.room[pack] >= shortest && size[pack] < items.max_samples) rooms.put(pack);
  }
  out.offsets.resize(packs + 1);
  for (std::size_t p = 0; p < packs; ++p) {
    out.offsets[p + 1] = out.offsets[p] + size[p];
    size[p] = static_cast<std::uint16_t>(out.offsets[p]);  // from here on: where its next member goes
  }
  out.members.resize(n);
  for (std::size_t k = 0; k < n; ++k) out.members[size[pack_of[k]]++] = static_cast<Index>(order[k]);

  auto const found = static_cast<std::int64_t>(packs);
  packs_needed const volume{divide_up(total, items.capacity), packing_bound::volume};
  if (volume.packs >= found) return volume;
  items.classes.clear();
  for (auto k = n; k-- > 0;) items.classes.append(weight[order[k]], 1);
  return packing_lower_bound(items.classes, items.capacity, items.max_samples, found);
}

}  // namespace ballast::inline v0_2::detail
