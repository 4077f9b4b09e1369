// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief `keyed_item` and `sort_largest_first`: the order in which planners take items, most expensive first; `sort_by` and `order_by` for
/// other orders.

namespace ballast::inline v0_2 {

/// @brief An item with its sorting key. Items are ordered by key, largest first, then by item number, ascending.
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
struct keyed_item {
  std::int64_t key;  ///< the sorting key
  Index item;        ///< number of the item
  friend constexpr bool operator<(keyed_item const& a, keyed_item const& b) noexcept {
    return a.key != b.key ? a.key > b.key : a.item < b.item;
  }
};

namespace detail {

/// Sorts items by a number, the smallest first, and by their present order where numbers are equal: digit by digit, which takes a fraction
/// of the time of comparisons. O(n) for each 11 bits of `largest`, which no number exceeds.
template <class T, class Number>
void sort_by_digits(std::vector<T>& items, std::vector<T>& scratch, std::uint64_t largest, Number const& number) {
  constexpr int most_bits = 11;
  auto const bits = static_cast<int>(std::bit_width(largest)), digits = (bits + most_bits - 1) / most_bits;
  auto const digit = digits == 0 ? 1 : (bits + digits - 1) / digits;  // digits of equal length: fewer counters
  std::array<std::size_t, (1U << most_bits) + 1> counters;
  auto const begin = std::span(counters).first((std::size_t{1} << digit) + 1);
  scratch.resize(items.size());
  for (int shift = 0; shift < 64 && largest >> shift != 0; shift += digit) {
    auto const digit_of = [&](T const& x) { return static_cast<std::size_t>(number(x) >> shift & ((std::uint64_t{1} << digit) - 1)); };
    std::ranges::fill(begin, std::size_t{0});
    for (auto const& x : items) ++begin[digit_of(x) + 1];
    for (std::size_t d = 1; d < begin.size(); ++d) begin[d] += begin[d - 1];
    for (auto const& x : items) scratch[begin[digit_of(x)]++] = x;
    items.swap(scratch);
  }
}

/// The order of numbers by a value of each, largest first, then by number.
template <class Value>
[[nodiscard]] auto falling(Value const& value) {
  return [value](auto a, auto b) {
    auto const x = value(a), y = value(b);
    return x != y ? x > y : a < b;
  };
}

}  // namespace detail

/// @brief Sorts items by key, largest first, and by their present order where keys are equal.
/// @tparam Index   type of the item numbers
/// @param items    the items, by ascending number
/// @param scratch  memory, kept between calls
/// @par Complexity
/// O(n) for each 11 bits of the difference between the largest and the smallest key; O(n log n) for up to 512 items.
template <index_type Index>
void sort_largest_first(std::vector<keyed_item<Index>>& items, std::vector<keyed_item<Index>>& scratch) {
  if (items.size() <= 512) return std::sort(items.begin(), items.end());
  auto const [least, most] = std::minmax_element(items.begin(), items.end(), [](auto const& a, auto const& b) { return a.key < b.key; });
  auto const top = static_cast<std::uint64_t>(most->key);
  detail::sort_by_digits(items, scratch, top - static_cast<std::uint64_t>(least->key),
                         [&](auto const& x) { return top - static_cast<std::uint64_t>(x.key); });
}

namespace detail {

/// Numbers by a value of each, largest first, of equal ones by rank; sorted as far down as was asked for.
template <index_type Index>
class falling_values {
 public:
  /// @param values of each number @param rank of each number, different from each other; both must outlive this
  falling_values(std::vector<std::int64_t> const& values, std::vector<Index> const& rank) : values_(values), rank_(rank) {}
  /// The numbers of larger values.
  [[nodiscard]] std::span<Index const> above(std::int64_t value) {
    if (value < least_) {
      std::vector<Index> found;
      for (std::size_t i = 0; i < values_.size(); ++i)
        if (values_[i] > value && values_[i] <= least_) found.push_back(static_cast<Index>(i));
      least_ = value;
      sort_stable(found, [&](Index i) { return -static_cast<std::int64_t>(rank_[i]); });
      sort_stable(found, [&](Index i) { return values_[i]; });
      sorted_.insert(sorted_.end(), found.begin(), found.end());
    }
    return {sorted_.begin(), std::ranges::partition_point(sorted_, [&](Index i) { return values_[i] > value; })};
  }
  /// Sorts numbers by key, largest first; of equal keys, the order stays.
  template <class Key>
  void sort_stable(std::vector<Index>& numbers, Key const& key) {
    keyed_.clear();
    for (auto const i : numbers) keyed_.push_back({key(i), static_cast<Index>(keyed_.size())});
    sort_largest_first(keyed_, scratch_);
    auto const before = numbers;
    std::ranges::transform(keyed_, numbers.begin(), [&](auto const& k) { return before[k.item]; });
  }

 private:
  std::vector<std::int64_t> const& values_;
  std::vector<Index> const& rank_;
  std::int64_t least_ = (std::numeric_limits<std::int64_t>::max)();
  std::vector<Index> sorted_;
  std::vector<keyed_item<Index>> keyed_, scratch_;
};

/// A strict order of numbers, called through a pointer.
template <index_type Index>
struct number_order {
  void const* of;
  bool (*before)(void const*, Index, Index);
  [[nodiscard]] bool operator()(Index a, Index b) const { return before(of, a, b); }
};
template <index_type Index>
void sort_numbers(std::span<Index> numbers, number_order<Index> order) {
  std::sort(numbers.data(), numbers.data() + numbers.size(), order);
}

}  // namespace detail

/// @brief Sorts numbers by any order. All orders share one instantiation of `std::sort`, since a program that instantiates it for each of
/// them takes seconds longer to compile; each comparison is called through a pointer for that.
/// @tparam Index   type of the numbers
/// @tparam Before  a strict total order of two numbers
/// @param numbers  the numbers, different from each other
/// @param before   whether the first of two numbers comes before the second
/// @par Complexity
/// O(n log n) comparisons.
template <index_type Index, class Before>
void sort_by(std::span<Index> numbers, Before const& before) {
  detail::sort_numbers<Index>(numbers,
                              {&before, [](void const* of, Index a, Index b) -> bool { return (*static_cast<Before const*>(of))(a, b); }});
}
/// @brief Sorts numbers by any order, as above. @param numbers a list @param before the order
template <index_type Index, class Before>
void sort_by(std::vector<Index>& numbers, Before const& before) {
  sort_by(std::span<Index>(numbers), before);
}

/// @brief The numbers below `n` by ascending key, of equal keys by number.
/// @tparam Index  type of the numbers
/// @tparam Key    a callable from a number to its key
/// @param n    how many numbers there are
/// @param key  the key of a number
/// @return the numbers in this order
/// @par Complexity
/// O(n log n) comparisons.
template <index_type Index, class Key>
[[nodiscard]] std::vector<Index> order_by(std::size_t n, Key const& key) {
  std::vector<Index> numbers(n);
  std::iota(numbers.begin(), numbers.end(), Index{0});
  std::sort(numbers.begin(), numbers.end(), [&](Index a, Index b) {
    auto const x = key(a), y = key(b);
    return x != y ? x < y : a < b;
  });
  return numbers;
}

}  // namespace ballast::inline v0_2
