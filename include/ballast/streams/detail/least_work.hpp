// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/least_of.hpp>

#include <algorithm>
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
  least_of<> open(micro_batches);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const* const sizes = samples.sizes_of(order[i]).data();
    auto m = open.first();
    while (!open.empty() && !fits(&least[i * measures], m)) {
      open.set(m, open.none);
      m = open.first();
    }
    if (open.empty()) break;
    if (!fits(sizes, m)) {
      auto best = open.none;
      for (std::size_t other = 0; other < micro_batches; ++other)
        if (open[other] < best && fits(sizes, other)) {
          best = open[other];
          m = static_cast<std::uint32_t>(other);
        }
      if (best == open.none) continue;
    }
    out.micro_batch[i] = m;
    out.work[m] += samples.work[order[i]];
    for (std::size_t k = 0; k < measures; ++k) room[m * measures + k] -= sizes[k];
    open.set(m, out.work[m]);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
