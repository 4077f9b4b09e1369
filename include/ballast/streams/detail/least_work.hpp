// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Samples in arrays: the work of each, and `measures` sizes of each, one after another.
struct measured_work {
  std::span<std::int64_t const> work, sizes;
  std::size_t measures = 1;
  [[nodiscard]] std::span<std::int64_t const> sizes_of(std::size_t i) const { return sizes.subspan(i * measures, measures); }
};

/// Where each sample went, and the work of each micro-batch.
struct least_work_step {
  static constexpr std::uint32_t nowhere = 0xffffffffU;
  std::vector<std::uint32_t> micro_batch;  // of each entry of the order
  std::vector<std::int64_t> work;
};

/// Finds the smallest of `count` numbers below 2^62, of equal ones the first, while they change: a tournament.
class least_of {
 public:
  static constexpr std::int64_t none = std::int64_t{1} << 62;  // of what is removed

  explicit least_of(std::size_t count) : leaves_(std::bit_ceil(count)), nodes_(2 * leaves_) {
    for (std::size_t m = 0; m < leaves_; ++m) nodes_[leaves_ + m] = {none, static_cast<std::uint32_t>(m)};
    for (std::size_t m = 0; m < count; ++m) nodes_[leaves_ + m].value = 0;
    for (auto at = leaves_; at-- > 1;) nodes_[at] = nodes_[2 * at].value == 0 ? nodes_[2 * at] : nodes_[2 * at + 1];
  }
  [[nodiscard]] std::uint32_t first() const { return nodes_[1].which; }
  [[nodiscard]] bool empty() const { return nodes_[1].value == none; }
  [[nodiscard]] std::int64_t operator[](std::size_t m) const { return nodes_[leaves_ + m].value; }
  void set(std::size_t m, std::int64_t value) {
    auto at = leaves_ + m;
    node winner{value, static_cast<std::uint32_t>(m)};
    nodes_[at] = winner;
    for (; at > 1; nodes_[at /= 2] = winner) {
      auto const& other = nodes_[at ^ 1];
      // Without a jump, which would be predicted wrongly half of the time. Of equal values the left one wins.
      auto const lost = -static_cast<std::int64_t>(other.value < winner.value + static_cast<std::int64_t>(at & 1));
      winner.value ^= (winner.value ^ other.value) & lost;
      winner.which ^= (winner.which ^ other.which) & static_cast<std::uint32_t>(lost);
    }
  }

 private:
  struct node {
    std::int64_t value = none;
    std::uint32_t which = 0;
  };
  std::size_t leaves_;
  std::vector<node> nodes_;
};

/// Puts samples, in the given order, into the micro-batch with the least work of those with room in every measure; of equal ones into the
/// first. A sample that fits nowhere goes nowhere.
inline least_work_step place_by_least_work(measured_work const& samples, std::span<std::uint32_t const> order, std::size_t micro_batches,
                                           std::span<std::int64_t const> capacity) {
  auto const measures = samples.measures;
  least_work_step out{{}, std::vector<std::int64_t>(micro_batches, 0)};
  out.micro_batch.assign(order.size(), out.nowhere);
  std::vector<std::int64_t> room;
  for (std::size_t m = 0; m < micro_batches; ++m) room.insert(room.end(), capacity.begin(), capacity.end());
  auto const fits = [&](std::int64_t const* sizes, std::size_t m) {
    for (std::size_t k = 0; k < measures; ++k)
      if (sizes[k] > room[m * measures + k]) return false;
    return true;
  };
  // The least sizes of the samples from each entry of the order on: a micro-batch without room for them takes nothing more.
  std::vector<std::int64_t> least(order.size() * measures);
  for (auto i = order.size(); i-- > 0;)
    for (std::size_t k = 0; k < measures; ++k) {
      auto const size = samples.sizes_of(order[i])[k];
      least[i * measures + k] = i + 1 == order.size() ? size : (std::min)(size, least[(i + 1) * measures + k]);
    }
  least_of open(micro_batches);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const* const sizes = samples.sizes_of(order[i]).data();
    auto m = open.first();
    while (!open.empty() && !fits(&least[i * measures], m)) {
      open.set(m, least_of::none);
      m = open.first();
    }
    if (open.empty()) break;
    if (!fits(sizes, m)) {
      auto best = least_of::none;
      for (std::size_t other = 0; other < micro_batches; ++other)
        if (open[other] < best && fits(sizes, other)) {
          best = open[other];
          m = static_cast<std::uint32_t>(other);
        }
      if (best == least_of::none) continue;
    }
    out.micro_batch[i] = m;
    out.work[m] += samples.work[order[i]];
    for (std::size_t k = 0; k < measures; ++k) room[m * measures + k] -= sizes[k];
    open.set(m, out.work[m]);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
