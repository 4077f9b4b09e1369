// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/graph/dimension_basis.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast_test {

/// A random program of tensors whose operators relate dimensions: reshape, dot, broadcast and concatenation. Every tensor has dimensions of
/// its own, as a compiler's shape inference would number them, and an example of concrete values.
class shape_program {
 public:
  std::vector<ballast::dimension> dimensions;
  std::vector<ballast::dimension_equality> equalities;
  std::vector<std::vector<std::size_t>> tensors;  ///< dimensions of each tensor
  std::vector<std::int64_t> example;              ///< values of all dimensions that satisfy the equalities

  /// Whether a reshape may join and split at once, as in S0 S1 = S2 S3, which no substitution solves.
  shape_program(std::uint64_t seed, int operators, bool regroup) : draw_(seed) {
    for (int i = 0; i < 3; ++i) input({number(8), number(8), number(8)});
    for (int i = 0; i < operators; ++i) {
      auto const kinds = regroup ? 5U : 4U;
      switch (ballast::uniform_below(kinds, draw_)) {
        case 0: join(any()); break;
        case 1: split(any()); break;
        case 2: dot(any()); break;
        case 3: concatenate(any(), any()); break;
        default: regrouped(any());
      }
    }
  }
  /// The number of elements of a tensor.
  [[nodiscard]] ballast::symbolic elements(std::size_t t) const {
    ballast::symbolic out = 1;
    for (auto const d : tensors[t]) out = out * ballast::symbolic::of(d);
    return out;
  }

 private:
  using shape = std::vector<std::int64_t>;
  std::int64_t number(std::uint64_t largest) { return 1 + static_cast<std::int64_t>(ballast::uniform_below(largest, draw_)); }
  std::size_t any() { return static_cast<std::size_t>(ballast::uniform_below(tensors.size(), draw_)); }
  std::vector<std::size_t> const& input(shape const& sizes) {
    tensors.emplace_back();
    for (auto const s : sizes) {
      tensors.back().push_back(dimensions.size());
      dimensions.push_back({"S" + std::to_string(dimensions.size()), 1, std::int64_t{1} << 20});
      example.push_back(s);
    }
    return tensors.back();
  }
  void equal(ballast::symbolic left, ballast::symbolic right) { equalities.push_back({std::move(left), std::move(right)}); }
  static ballast::symbolic of(std::size_t d) { return ballast::symbolic::of(d); }
  /// [a, b, c...] -> [a b, c...]
  void join(std::size_t t) {
    auto const from = tensors[t];
    if (from.size() < 2 || example[from[0]] * example[from[1]] > 4096) return;
    shape sizes{example[from[0]] * example[from[1]]};
    for (std::size_t d = 2; d < from.size(); ++d) sizes.push_back(example[from[d]]);
    auto const to = input(sizes);
    equal(of(to[0]), of(from[0]) * of(from[1]));
    for (std::size_t d = 2; d < from.size(); ++d) equal(of(to[d - 1]), of(from[d]));
  }
  /// [..., a] -> [..., a / k, k] with a constant k, as the heads of attention
  void split(std::size_t t) {
    auto const from = tensors[t];
    auto const last = example[from.back()];
    auto const heads = last % 4 == 0 ? 4 : last % 3 == 0 ? 3 : last % 2 == 0 ? 2 : 1;
    shape sizes;
    for (auto const d : from) sizes.push_back(example[d]);
    sizes.back() /= heads;
    auto const to = input(sizes);
    for (std::size_t d = 0; d + 1 < from.size(); ++d) equal(of(to[d]), of(from[d]));
    equal(of(from.back()), heads * of(to.back()));
  }
  /// [..., k] x [k, n] -> [..., n], with a broadcast bias [n]
  void dot(std::size_t t) {
    auto const from = tensors[t];
    auto const n = number(8);
    auto const by = input({example[from.back()], n});
    equal(of(from.back()), of(by[0]));
    auto const bias = input({n});
    shape sizes;
    for (auto const d : from) sizes.push_back(example[d]);
    sizes.back() = n;
    auto const to = input(sizes);
    for (std::size_t d = 0; d + 1 < from.size(); ++d) equal(of(to[d]), of(from[d]));
    equal(of(to.back()), of(by[1]));
    equal(of(bias[0]), of(to.back()));
  }
  /// [a, ...] and [b, ...] -> [a + b, ...]
  void concatenate(std::size_t s, std::size_t t) {
    auto const a = tensors[s], b = tensors[t];
    if (a.size() != b.size() || example[a[0]] + example[b[0]] > 4096) return;
    shape sizes{example[a[0]] + example[b[0]]};
    for (std::size_t d = 1; d < a.size(); ++d) {
      if (example[a[d]] != example[b[d]]) return;
      sizes.push_back(example[a[d]]);
    }
    auto const to = input(sizes);
    equal(of(to[0]), of(a[0]) + of(b[0]));
    for (std::size_t d = 1; d < a.size(); ++d) {
      equal(of(a[d]), of(b[d]));
      equal(of(to[d]), of(a[d]));
    }
  }
  /// [a, b, ...] -> [c, d, ...] with a b = c d
  void regrouped(std::size_t t) {
    auto const from = tensors[t];
    if (from.size() < 2) return;
    shape sizes;
    for (auto const d : from) sizes.push_back(example[d]);
    for (std::int64_t f = 5; f > 1; --f)
      if (sizes[0] % f == 0) {
        sizes[0] /= f;
        sizes[1] *= f;
        break;
      }
    auto const to = input(sizes);
    equal(of(from[0]) * of(from[1]), of(to[0]) * of(to[1]));
    for (std::size_t d = 2; d < from.size(); ++d) equal(of(to[d]), of(from[d]));
  }

  ballast::splitmix64 draw_;
};

}  // namespace ballast_test
