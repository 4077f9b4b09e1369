// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
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
  auto const fits = [&](std::span<std::int64_t const> sizes, std::size_t m) {
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
  using entry = std::pair<std::int64_t, std::uint32_t>;
  std::vector<entry> open;  // a heap of work and micro-batch: of equal work the lower number
  for (std::size_t m = 0; m < micro_batches; ++m) open.emplace_back(0, static_cast<std::uint32_t>(m));
  std::greater<> const later;
  auto const sink = [&](std::size_t at) {  // restores the heap after an entry has grown
    for (auto const moved = open[at];;) {
      auto child = 2 * at + 1;
      if (child + 1 < open.size() && open[child + 1] < open[child]) ++child;
      if (child >= open.size() || !(open[child] < moved)) {
        open[at] = moved;
        return;
      }
      open[at] = open[child];
      at = child;
    }
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const sizes = samples.sizes_of(order[i]);
    while (!open.empty() && !fits(std::span(least).subspan(i * measures, measures), open[0].second)) {
      std::pop_heap(open.begin(), open.end(), later);
      open.pop_back();
    }
    std::size_t at = 0;
    if (!open.empty() && !fits(sizes, open[0].second)) {
      at = open.size();
      for (std::size_t e = 1; e < open.size(); ++e)
        if (fits(sizes, open[e].second) && (at == open.size() || open[e] < open[at])) at = e;
    }
    if (at >= open.size()) continue;
    auto& [work, m] = open[at];
    out.micro_batch[i] = m;
    work += samples.work[order[i]];
    out.work[m] = work;
    for (std::size_t k = 0; k < measures; ++k) room[m * measures + k] -= sizes[k];
    sink(at);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
