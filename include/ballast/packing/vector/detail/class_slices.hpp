// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/sort.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

// Classes of several measures in slices: those of a slice agree, exactly or nearly, in all measures but one, the inner measure, and are
// sorted by it. Classes can be erased or hidden one by one; the next class that remains is found in nearly constant time.

namespace ballast::inline v0_2::detail {

class class_slices {
 public:
  static constexpr std::uint32_t nothing = 0xffffffffU;

  /// `sizes` are the relative measures of the classes.
  class_slices(measure_classes const& classes, std::vector<std::int64_t> const& sizes) : slot_(classes.size()), order_(classes.size()) {
    auto const n = classes.size(), k = classes.measures;
    auto const most_slices = n <= many_classes ? std::size_t{64} : std::size_t{16};  // one search takes a step for each slice
    std::vector<std::vector<std::int64_t>> values(k);
    for (std::size_t m = 0; m < k; ++m) {
      for (std::size_t c = 0; c < n; ++c) values[m].push_back(sizes[c * k + m]);
      std::sort(values[m].begin(), values[m].end());
      values[m].erase(std::unique(values[m].begin(), values[m].end()), values[m].end());
    }
    std::vector<int> shift(k, 0);
    std::vector<std::size_t> kinds(k);
    auto const count_kinds = [&](std::size_t m) {
      kinds[m] = 0;
      for (std::size_t j = 0; j < values[m].size(); ++j)
        if (j == 0 || values[m][j] >> shift[m] != values[m][j - 1] >> shift[m]) ++kinds[m];
    };
    for (std::size_t m = 0; m < k; ++m) count_kinds(m);
    auto const finest = [&] { return static_cast<std::size_t>(std::max_element(kinds.begin(), kinds.end()) - kinds.begin()); };
    inner_ = finest();
    kinds[inner_] = 0;
    auto const widen = [&](std::size_t m) {
      ++shift[m];
      count_kinds(m);
    };
    for (std::size_t m = 0; m < k; ++m)
      while (kinds[m] > most_slices) widen(m);
    auto const same_slice = [&](std::uint32_t a, std::uint32_t b) {
      for (std::size_t m = 0; m < k; ++m)
        if (m != inner_ && sizes[a * k + m] >> shift[m] != sizes[b * k + m] >> shift[m]) return false;
      return true;
    };
    for (;;) {  // while there are too many slices, the finest of the other measures is rounded twice as coarsely
      std::iota(order_.begin(), order_.end(), 0U);
      sort_by(order_, [&](std::uint32_t a, std::uint32_t b) {
        for (std::size_t m = 0; m < k; ++m)
          if (auto const x = sizes[a * k + m] >> shift[m], y = sizes[b * k + m] >> shift[m]; m != inner_ && x != y) return x < y;
        auto const x = sizes[a * k + inner_], y = sizes[b * k + inner_];
        return x != y ? x < y : a < b;
      });
      first_.clear();
      for (std::size_t p = 0; p < n && first_.size() <= most_slices; ++p)
        if (p == 0 || !same_slice(order_[p - 1], order_[p])) first_.push_back(static_cast<std::uint32_t>(p));
      if (first_.size() <= most_slices) break;
      widen(finest());
    }
    first_.push_back(static_cast<std::uint32_t>(n));
    inner_size_.resize(n);
    for (std::size_t p = 0; p < n; ++p) {
      slot_[order_[p]] = static_cast<std::uint32_t>(p);
      inner_size_[p] = sizes[order_[p] * k + inner_];
    }
    up_.next.resize(n + 1);  // up: from a slot to the next that remains; down: from one above a slot to one above the previous that remains
    std::iota(up_.next.begin(), up_.next.end(), 0U);
    up_.hop = up_.next;
    down_ = up_;
  }

  /// Number of slices.
  [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
  /// The measure by which a slice is sorted.
  [[nodiscard]] std::size_t inner() const { return inner_; }
  /// Any class of the slice, even if it was erased or hidden.
  [[nodiscard]] std::uint32_t some_class(std::size_t slice) const { return order_[first_[slice]]; }
  /// The class in a slot.
  [[nodiscard]] std::uint32_t at(std::uint32_t slot) const { return order_[slot]; }

  /// The last slot of a slice whose inner size is at most `value`, or `nothing`.
  [[nodiscard]] std::uint32_t at_most(std::size_t slice, std::int64_t value) { return below(slice, bound(slice, value)); }
  /// The first slot of a slice whose inner size is above `value`, or `nothing`.
  [[nodiscard]] std::uint32_t above(std::size_t slice, std::int64_t value) {
    auto const p = up_.find(bound(slice, value));
    return p >= first_[slice + 1] ? nothing : p;
  }
  /// The last remaining slot of a slice before `slot`, or `nothing`.
  [[nodiscard]] std::uint32_t below(std::size_t slice, std::uint32_t slot) {
    auto const p = down_.find(slot);
    return p <= first_[slice] ? nothing : p - 1;
  }

  /// Erases a class.
  void erase(std::uint32_t c) {
    auto const p = slot_[c];
    up_.next[p] = p + 1;
    down_.next[p + 1] = p;
  }
  /// Hides a class until `restore`.
  void hide(std::uint32_t c) {
    auto const p = slot_[c];
    up_.hop[p] = p + 1;
    down_.hop[p + 1] = p;
    hidden_.push_back(p);
  }
  /// Restores all hidden classes.
  void restore() {
    for (auto p : hidden_) {
      up_.hop[p] = p;
      down_.hop[p + 1] = p + 1;
    }
    hidden_.clear();
  }

 private:
  // A union-find structure: `next` skips erased classes, and `hop` skips hidden classes too.
  struct links {
    std::vector<std::uint32_t> next, hop;
    [[nodiscard]] std::uint32_t past_erased(std::uint32_t p) {
      while (next[p] != p) p = next[p] = next[next[p]];
      return p;
    }
    [[nodiscard]] std::uint32_t find(std::uint32_t from) {
      auto p = past_erased(from);
      if (hop[p] == p) return p;
      auto const first = p;
      while (hop[p] != p) p = past_erased(hop[p]);
      for (auto q = first; q != p;) q = past_erased(std::exchange(hop[q], p));
      return p;
    }
  };
  [[nodiscard]] std::uint32_t bound(std::size_t slice, std::int64_t value) const {
    auto const* const from = inner_size_.data();
    return static_cast<std::uint32_t>(std::upper_bound(from + first_[slice], from + first_[slice + 1], value) - from);
  }
  std::size_t inner_ = 0;
  std::vector<std::uint32_t> slot_, order_, first_, hidden_;
  links up_, down_;
  std::vector<std::int64_t> inner_size_;
};

}  // namespace ballast::inline v0_2::detail
