// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A tournament tree of ranks by a key that changes: the rank with the least key, and of equal keys the lowest number.
template <class = when_called>
class rank_order {
 public:
  explicit rank_order(std::size_t ranks) : leaves_(std::bit_ceil(ranks)), key_(ranks, 0), winner_(2 * leaves_, none) {
    for (std::size_t r = 0; r < ranks; ++r) winner_[leaves_ + r] = static_cast<std::uint32_t>(r);
    for (auto node = leaves_ - 1; node > 0; --node) play(node);
  }
  void add(std::size_t rank, std::int64_t change) {
    key_[rank] += change;
    for (auto node = (leaves_ + rank) / 2; node > 0; node /= 2) play(node);
  }
  [[nodiscard]] std::uint32_t first() const { return winner_[1]; }
  [[nodiscard]] std::int64_t key(std::size_t rank) const { return key_[rank]; }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  void play(std::size_t node) {
    auto const left = winner_[2 * node], right = winner_[2 * node + 1];
    winner_[node] = right != none && key_[right] < key_[left] ? right : left;
  }
  std::size_t leaves_;
  std::vector<std::int64_t> key_;
  std::vector<std::uint32_t> winner_;  // winner_[1] is the root, winner_[leaves_ + r] is rank r
};

}  // namespace ballast::inline v0_2::detail
