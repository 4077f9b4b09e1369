// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/memory/detail/layout_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The pieces that are in use together with each piece, by size.
template <class = when_called>
class piece_neighbours {
 public:
  explicit piece_neighbours(layout_problem<> const& problem) {
    auto const& pieces = problem.pieces;
    auto const n = static_cast<std::uint32_t>(pieces.size());
    begin_.assign(n + std::size_t{1}, 0);
    each_pair(problem, [&](std::uint32_t i, std::uint32_t j) { ++begin_[i + 1], ++begin_[j + 1]; });
    for (std::uint32_t i = 0; i < n; ++i) begin_[i + 1] += begin_[i];
    auto fill = begin_;
    all_.resize(begin_[n]);
    each_pair(problem, [&](std::uint32_t i, std::uint32_t j) { all_[fill[i]++] = j, all_[fill[j]++] = i; });
    auto const at = [&](std::uint32_t i) { return all_.begin() + static_cast<std::ptrdiff_t>(begin_[i]); };
    for (std::uint32_t i = 0; i < n; ++i)
      std::sort(at(i), at(i + 1),
                [&](auto a, auto b) { return pieces[a].size != pieces[b].size ? pieces[a].size < pieces[b].size : a < b; });
  }
  [[nodiscard]] std::span<std::uint32_t const> of(std::uint32_t i) const { return {all_.data() + begin_[i], begin_[i + 1] - begin_[i]}; }

 private:
  template <class Pair>
  static void each_pair(layout_problem<> const& problem, Pair const& pair) {
    auto const& pieces = problem.pieces;  // by first section: those that begin later and share one with i follow it
    for (std::uint32_t i = 0; i < pieces.size(); ++i)
      for (auto j = i + 1; j < pieces.size() && pieces[j].first < pieces[i].last; ++j) pair(i, j);
  }

  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> all_;
};

}  // namespace ballast::inline v0_2::detail
