// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/least_of.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

// Places the samples of a step of a stream, then exchanges some of them.

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

/// Lowers the largest work of a placed step: its micro-batch gives a sample to one of the four with the least work, or swaps one.
class step_swapper {
 public:
  /// @param order  samples, most work first @param step  where each entry of the order is; micro-batches within the capacity
  step_swapper(measured_work const& samples, std::span<std::uint32_t const> order, std::span<std::int64_t const> capacity,
               least_work_step& step)
      : samples_(samples), order_(order), capacity_(capacity), step_(step) {}

  /// Exchanges until none helps, or the largest work is within a 16384th of the mean or that of one sample, at most 32 times.
  void run() {
    auto const mean = std::accumulate(step_.work.begin(), step_.work.end(), std::int64_t{0}) / std::ssize(step_.work);
    std::int64_t alone = 0;
    for (std::size_t j = 0; j < order_.size() && alone == 0; ++j)
      if (step_.micro_batch[j] != step_.nowhere) alone = samples_.work[order_[j]];
    for (int rounds = 32; rounds > 0; --rounds) {
      auto const from = static_cast<std::size_t>(std::max_element(step_.work.begin(), step_.work.end()) - step_.work.begin());
      best_ = {step_.work[from], 0, 0, 0};
      if (best_.work <= (std::max)(mean + mean / 16384, alone)) return;
      if (held_.empty()) list();
      for (auto const to : least_four(from)) try_all(from, to);
      if (best_.work >= step_.work[from]) return;
      perform(from);
    }
  }

 private:
  /// The sample `give` of the micro-batch with the most work for the sample `take` of `to`, or for none if that is one past the last.
  struct exchange {
    std::int64_t work;  // the larger of both afterwards
    std::size_t to, give, take;
  };

  /// Lists what each micro-batch holds.
  void list() {
    held_.resize(step_.work.size());
    for (std::size_t m = 0; m < held_.size(); ++m) room_.insert(room_.end(), capacity_.begin(), capacity_.end());
    for (auto& held : held_) held.reserve(2 * order_.size() / held_.size());
    for (std::uint32_t j = 0; j < order_.size(); ++j) {
      auto const m = step_.micro_batch[j];
      if (m == step_.nowhere) continue;
      held_[m].push_back(j);
      take_room(j, m, 1);
    }
  }
  [[nodiscard]] std::int64_t work_of(std::uint32_t j) const { return samples_.work[order_[j]]; }

  /// The four micro-batches with the least work, or fewer, without `from`.
  [[nodiscard]] std::span<std::size_t const> least_four(std::size_t from) {
    least_.clear();
    for (std::size_t m = 0; m < held_.size(); ++m) {
      if (m == from || (least_.size() == 4 && step_.work[m] >= step_.work[least_.back()])) continue;
      if (least_.size() == 4) least_.pop_back();
      auto const less = [&](std::size_t a, std::size_t b) { return step_.work[a] < step_.work[b]; };
      least_.insert(std::upper_bound(least_.begin(), least_.end(), m, less), m);
    }
    return least_;
  }
  void try_all(std::size_t from, std::size_t to) {
    auto const& theirs = held_[to];
    auto const half = (step_.work[from] - step_.work[to]) / 2;
    std::size_t near = 0;  // both descend, and so does what would balance the two
    for (std::size_t i = 0; i < held_[from].size(); ++i) {
      while (near < theirs.size() && work_of(theirs[near]) > work_of(held_[from][i]) - half) ++near;
      consider(from, {0, to, i, near});
      if (near > 0) consider(from, {0, to, i, near - 1});
    }
  }
  void consider(std::size_t from, exchange e) {
    auto const given = held_[from][e.give];
    auto const swaps = e.take < held_[e.to].size();
    auto const gain = work_of(given) - (swaps ? work_of(held_[e.to][e.take]) : 0);
    e.work = (std::max)(step_.work[from] - gain, step_.work[e.to] + gain);
    if (e.work >= best_.work) return;
    auto const each = samples_.measures;
    for (std::size_t k = 0; k < each; ++k) {
      auto const more = samples_.sizes_of(order_[given])[k] - (swaps ? samples_.sizes_of(order_[held_[e.to][e.take]])[k] : 0);
      if (more > room_[e.to * each + k] || -more > room_[from * each + k]) return;
    }
    best_ = e;
  }
  void perform(std::size_t from) {
    auto const given = leave(from, best_.give);
    if (best_.take < held_[best_.to].size()) move(leave(best_.to, best_.take), best_.to, from);
    move(given, from, best_.to);
  }
  void move(std::uint32_t j, std::size_t from, std::size_t to) {
    step_.work[from] -= work_of(j);
    step_.work[to] += work_of(j);
    step_.micro_batch[j] = static_cast<std::uint32_t>(to);
    enter(j, to, static_cast<std::size_t>(std::lower_bound(held_[to].begin(), held_[to].end(), j) - held_[to].begin()));
  }
  void enter(std::uint32_t j, std::size_t m, std::size_t at) {
    held_[m].insert(held_[m].begin() + static_cast<std::ptrdiff_t>(at), j);
    take_room(j, m, 1);
  }
  void take_room(std::uint32_t j, std::size_t m, std::int64_t times) {
    auto const sizes = samples_.sizes_of(order_[j]);
    for (std::size_t k = 0; k < sizes.size(); ++k) room_[m * sizes.size() + k] -= times * sizes[k];
  }
  std::uint32_t leave(std::size_t m, std::size_t at) {
    auto const j = held_[m][at];
    held_[m].erase(held_[m].begin() + static_cast<std::ptrdiff_t>(at));
    take_room(j, m, -1);
    return j;
  }

  measured_work samples_;
  std::span<std::uint32_t const> order_;
  std::span<std::int64_t const> capacity_;
  least_work_step& step_;
  std::vector<std::vector<std::uint32_t>> held_;  // entries of the order in each micro-batch, ascending
  std::vector<std::int64_t> room_;                // left in each micro-batch, for each measure
  std::vector<std::size_t> least_;
  exchange best_{};
};

}  // namespace ballast::inline v0_2::detail
