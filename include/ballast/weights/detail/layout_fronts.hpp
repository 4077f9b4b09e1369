// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/weights/detail/layout_prices.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A pair of time and bytes that some layouts have, and where these are found.
struct layout_point {
  std::int64_t time = 0, bytes = 0;
  std::uint32_t left = 0, right = 0, middle = 0;  ///< of a product: points of both factors, and the layout between them
};
/// Points of which none is better than another in both: ascending bytes, descending time.
using layout_front = std::vector<layout_point>;
/// For each layout of the input and of the output (`token_layouts`), the points of a block or of several.
using layout_matrix = std::array<layout_front, 9>;

/// Drops points that are not better than another in anything.
inline void keep_best(layout_front& f) {
  std::sort(f.begin(), f.end(), [](layout_point const& a, layout_point const& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    if (a.time != b.time) return a.time < b.time;
    if (a.middle != b.middle) return a.middle < b.middle;
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  std::size_t n = 0;
  for (auto const& p : f)
    if (n == 0 || p.time < f[n - 1].time) f[n++] = p;
  f.resize(n);
}

/// Indices of the corners of the lower convex hull of a front, ascending.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> hull_of(layout_front const& f) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < f.size(); ++i) {
    while (out.size() >= 2) {
      auto const &p = f[out[out.size() - 2]], &q = f[out.back()], &s = f[i];
      if (compare_products(p.time - q.time, s.bytes - q.bytes, q.time - s.time, q.bytes - p.bytes) > 0) break;
      out.pop_back();
    }
    out.push_back(i);
  }
  return out;
}

/// An edge of a hull and a place on it: `less` and `more` are its ends, `part / whole` of the bytes between them are free.
struct hull_place {
  layout_point less{}, more{};
  /// Bytes of a front at the same exchange of bytes for time: between its points that are best at it.
  [[nodiscard]] std::int64_t bytes_in(layout_front const& f, std::vector<std::uint32_t> const& hull, std::int64_t memory) const {
    auto const slope_time = static_cast<std::uint64_t>(less.time - more.time),
               slope_bytes = static_cast<std::uint64_t>(more.bytes - less.bytes);
    wide best{(std::numeric_limits<std::uint64_t>::max)(), 0};
    std::int64_t low = 0, high = 0;
    for (auto const h : hull) {
      auto const price =
          multiply(static_cast<std::uint64_t>(f[h].time), slope_bytes) + multiply(static_cast<std::uint64_t>(f[h].bytes), slope_time);
      if (price < best) {
        best = price;
        low = f[h].bytes;
      }
      if (price == best) high = f[h].bytes;
    }
    return low + static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(high - low),
                                                              static_cast<std::uint64_t>(memory - less.bytes), slope_bytes));
  }
};

/// Products of matrices of fronts: blocks that follow each other.
template <class = when_called>
class layout_products {
 public:
  /// A matrix, and what it is made of.
  struct node {
    layout_matrix points{};
    std::uint32_t left = none, right = none;  ///< none: a block
    std::uint32_t block = 0;
    std::uint64_t count = 1;  ///< of blocks
  };
  static constexpr std::uint64_t many = 32;  ///< blocks of which an eighth of the points is enough: one more or less hardly matters
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  /// Keeps the corners of hulls alone.
  layout_products() = default;
  /// Keeps corners of hulls and, of the other points within the memory, `most` around a place on the hull of the whole.
  layout_products(hull_place const& around, std::int64_t memory, std::uint32_t most) : around_(around), memory_(memory), most_(most) {}

  [[nodiscard]] std::uint32_t add(std::uint32_t block, layout_matrix const& points) {
    nodes_.push_back({.points = points, .block = block});
    for (auto& f : nodes_.back().points) {
      for (std::uint32_t i = 0; i < f.size(); ++i) f[i].left = i;  // where it is in `points`
      thin(f, most_);
    }
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  [[nodiscard]] std::uint32_t multiply_nodes(std::uint32_t a, std::uint32_t b) {
    node made{.left = a, .right = b, .count = nodes_[a].count + nodes_[b].count};
    auto const most = made.count > many ? (most_ + 7) / 8 : most_;
    for (std::uint32_t i = 0; i < 3; ++i)
      for (std::uint32_t j = 0; j < 3; ++j) {
        auto& f = made.points[3 * i + j];
        for (std::uint32_t k = 0; k < 3; ++k) join(nodes_[a].points[3 * i + k], nodes_[b].points[3 * k + j], k, f);
        keep_best(f);
        thin(f, most);
      }
    nodes_.push_back(std::move(made));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  /// `count` times the same, by squares.
  [[nodiscard]] std::uint32_t power(std::uint32_t base, std::uint32_t count) {
    auto out = none;
    for (auto square = base;; square = multiply_nodes(square, square)) {
      if (count % 2 == 1) out = out == none ? square : multiply_nodes(out, square);
      count /= 2;
      if (count == 0) return out;
    }
  }
  [[nodiscard]] node const& operator[](std::uint32_t n) const { return nodes_[n]; }
  [[nodiscard]] bool exact() const { return exact_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// The blocks of a point in order: calls `found` with the block, the entry of its matrix and the index of its point there.
  template <class Found>
  void expand(std::uint32_t at, std::uint32_t entry, std::uint32_t point, Found const& found) const {
    auto const& n = nodes_[at];
    auto const& p = n.points[entry][point];
    if (n.left == none) return found(n.block, entry, p.left);
    expand(n.left, 3 * (entry / 3) + p.middle, p.left, found);
    expand(n.right, 3 * p.middle + entry % 3, p.right, found);
  }

 private:
  void join(layout_front const& a, layout_front const& b, std::uint32_t middle, layout_front& out) {
    operations_ += a.size() * b.size();
    for (std::uint32_t x = 0; x < a.size(); ++x)
      for (std::uint32_t y = 0; y < b.size(); ++y)
        out.push_back({layout_sum(a[x].time, b[y].time), layout_sum(a[x].bytes, b[y].bytes), x, y, middle});
  }
  void thin(layout_front& f, std::uint32_t most) {
    auto const hull = hull_of<>(f);
    std::vector<bool> keep(f.size(), false);
    for (auto const h : hull) keep[h] = true;
    if (most > 0) {
      std::size_t within = 0;
      while (within < f.size() && f[within].bytes <= memory_) ++within;
      auto const target = around_.bytes_in(f, hull, memory_);
      auto low = static_cast<std::size_t>(std::lower_bound(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(within), target,
                                                           [](layout_point const& p, std::int64_t bytes) { return p.bytes < bytes; }) -
                                          f.begin());
      auto high = low;
      while (high - low < most && (low > 0 || high < within)) {  // as many to both sides, as far as there are any
        if (low > 0) --low;
        if (high < within) ++high;
      }
      for (auto i = low; i < high; ++i) keep[i] = true;
      exact_ = exact_ && std::count(keep.begin(), keep.begin() + static_cast<std::ptrdiff_t>(within), false) == 0;
    }
    std::size_t n = 0;
    for (std::size_t i = 0; i < f.size(); ++i)
      if (keep[i]) f[n++] = f[i];
    f.resize(n);
  }

  std::vector<node> nodes_;
  hull_place around_{};
  std::int64_t memory_ = 0;
  std::uint32_t most_ = 0;
  bool exact_ = true;
  std::uint64_t operations_ = 0;
};

}  // namespace ballast::inline v0_2::detail
