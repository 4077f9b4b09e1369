// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/staging/detail/offload_problem.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Lower bound on the time of every placement that fits: the makespan is at least the work of the device, of each channel and of the host;
/// the two memories are relaxed by prices. Any prices prove a bound; multiplicative weights find good ones. All in integers.
template <class = when_called>
class offload_bound {
 public:
  offload_bound(offload_problem<> const& problem, std::int64_t reference) : problem_(problem), reference_(reference) {}

  /// The least over all sizes of the buffers: with a size, only choices that need no more, and a device without those bytes.
  [[nodiscard]] std::int64_t operator()() {
    auto const ranges = problem_.buffer_ranges(problem_.classes() > 64 ? 3 : 8);
    auto const entries = ranges.size() * problem_.table.size();
    rounds_ = static_cast<int>((std::clamp)(std::size_t{150'000} / (entries + 1), std::size_t{6}, std::size_t{400}));
    auto least = (std::numeric_limits<std::int64_t>::max)();
    for (auto const& range : ranges) least = (std::min)(least, with_buffers(range.largest, range.room));
    return (std::min)(least, reference_);
  }

 private:
  static constexpr std::size_t times = 7, rows = 9;  // see `scale`; then both memories
  using row = std::array<std::int64_t, rows>;
  static constexpr std::int64_t one = std::int64_t{1} << 30, most_weight = std::int64_t{1} << 20;

  /// The bound if no buffer is larger than `largest` and the device has `room` for the rest.
  [[nodiscard]] std::int64_t with_buffers(std::int64_t largest, std::int64_t room) {
    scale(largest, room);
    best_ = 0;
    best_price_ = {};
    row weights{};
    weights.fill(most_weight);
    auto low = std::int64_t{0}, high = limit_;
    for (int halving = 0; halving < 10 && low < high; ++halving) {
      auto const target = low + (high - low + 1) / 2;
      if (reaches(target, weights)) {
        low = target;
      } else {
        high = target - 1;
      }
      low = (std::max)(low, best_);
    }
    refine();
    auto const proven = multiply_divide_up(static_cast<std::uint64_t>(best_), static_cast<std::uint64_t>(unit_), one);
    return (std::min)(reference_, static_cast<std::int64_t>(proven));
  }

  /// Entries in units of which `one` is about the reference, or the memory. Rounded down, and the memories up, so that bounds hold.
  void scale(std::int64_t largest, std::int64_t room) {
    auto const classes = problem_.classes();
    entries_.clear();
    class_begin_.assign(1, 0);
    row total{};
    std::vector<row> raw;
    for (std::size_t k = 0; k < classes; ++k) {
      row most{};
      for (std::size_t c = 0; c < problem_.choices; ++c) {
        auto const& x = problem_.at(k, c);
        if (x.buffer > largest) continue;
        auto const& t = x.times;
        raw.push_back({t.backward, t.load + t.backward, 2 * t.load + t.give_back, t.store, t.load + t.store, t.update, t.load + t.update,
                       x.device, x.host});
        for (std::size_t i = 0; i < rows; ++i) most[i] = (std::max)(most[i], raw.back()[i]);
      }
      class_begin_.push_back(raw.size());
      for (std::size_t i = 0; i < rows; ++i) total[i] += static_cast<std::int64_t>(problem_.count[k]) * most[i];
    }
    unit_ = (std::max)({reference_, *std::max_element(total.begin(), total.begin() + times) / 64, std::int64_t{1}});
    row units{};
    units.fill(unit_);
    units[times] = (std::max)({room, total[times] / 64, std::int64_t{1}});
    units[times + 1] = (std::max)({problem_.options.host_memory, total[times + 1] / 64, std::int64_t{1}});
    for (auto const& r : raw) {
      entries_.emplace_back();
      for (std::size_t i = 0; i < rows; ++i) entries_.back()[i] = scaled(r[i], units[i]);
    }
    auto const forward = scaled(problem_.forward, unit_), backward = scaled(problem_.backward, unit_);
    auto const last = scaled(problem_.last_backward, unit_);
    offset_ = {forward + backward, backward, 0, forward + last, last, forward + last, last, 0, 0};
    memory_ = {scaled(room, units[times]) + 1, scaled(problem_.options.host_memory, units[times + 1]) + 1};
    limit_ = scaled(reference_, unit_);
  }
  [[nodiscard]] static std::int64_t scaled(std::int64_t value, std::int64_t unit) {
    auto const up = static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(one), static_cast<std::uint64_t>(unit)));
    return (std::max)(up - 1, std::int64_t{0});
  }

  /// Whether prices are found that prove `target`; keeps the best bound that any prices proved.
  [[nodiscard]] bool reaches(std::int64_t target, row& weights) {
    row limit{};
    for (std::size_t i = 0; i < rows; ++i) limit[i] = (std::max)(i < times ? target - offset_[i] : memory_[i - times], std::int64_t{1});
    row sum{};
    for (int round = 0; round < rounds_ && best_ < target; ++round) {
      auto const load = prove(prices(weights, limit));
      for (std::size_t i = 0; i < rows; ++i) {
        auto const ratio = (std::min)(load[i] / (limit[i] / 1024 + 1), std::int64_t{4096});  // in 1/1024
        weights[i] += weights[i] * (ratio - 1024) / (round < rounds_ / 2 ? 4096 : 16384);
        sum[i] += weights[i];
      }
      auto const largest = *std::max_element(weights.begin(), weights.end());
      for (auto& w : weights) w = (std::clamp)(w * most_weight / largest, std::int64_t{64}, most_weight);
      if (round % 8 == 7) static_cast<void>(prove(prices(sum, limit)));  // the mean of the weights converges where they go round
    }
    return best_ >= target;
  }
  /// Raises and lowers the best prices, one or two at a time and by less and less, while that proves more.
  void refine() {
    auto tries = 24 * rounds_;
    for (int shift = 1; shift <= 14 && tries > 0; ++shift)
      for (int again = 0; again < 4 && tries > 0; ++again) {
        auto const before = best_;
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < 2 * rows; ++j, --tries) {
            auto price = best_price_;
            auto const up = (price[i] >> shift) + 1, down = price[j % rows] >> shift;
            price[i] += j % rows == i ? -(price[i] >> shift) : up;
            if (j % rows != i) price[j % rows] += j < rows ? -down : down + 1;
            while (*std::max_element(price.begin(), price.end()) > most_weight)
              for (auto& p : price) p /= 2;
            static_cast<void>(prove(price));
          }
        if (best_ == before) break;
      }
  }
  /// Prices of at most `most_weight`, in the proportion of weight / limit.
  [[nodiscard]] static row prices(row const& weights, row const& limit) {
    row out{};
    std::int64_t largest = 1;
    for (std::size_t i = 0; i < rows; ++i) {
      out[i] = static_cast<std::int64_t>(
          multiply_divide_up(static_cast<std::uint64_t>(weights[i]), std::uint64_t{1} << 30, static_cast<std::uint64_t>(limit[i])));
      largest = (std::max)(largest, out[i]);
    }
    for (auto& p : out)
      p = static_cast<std::int64_t>(
          multiply_divide_up(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(most_weight), static_cast<std::uint64_t>(largest)));
    return out;
  }
  /// The bound that prices prove; returns what the cheapest choices take of each row.
  row prove(row const& price) {
    row load{};
    std::int64_t sum = -price[times] * memory_[0] - price[times + 1] * memory_[1], of_times = 0;
    for (std::size_t i = 0; i < times; ++i) {
      sum += price[i] * offset_[i];
      of_times += price[i];
    }
    for (std::size_t k = 0; k + 1 < class_begin_.size(); ++k) {
      std::int64_t cheapest = -1;
      std::size_t chosen = 0;
      for (auto e = class_begin_[k]; e < class_begin_[k + 1]; ++e) {
        std::int64_t cost = 0;
        for (std::size_t i = 0; i < rows; ++i) cost += price[i] * entries_[e][i];
        if (cheapest >= 0 && cost >= cheapest) continue;
        cheapest = cost;
        chosen = e;
      }
      auto const n = static_cast<std::int64_t>(problem_.count[k]);
      sum += n * cheapest;
      for (std::size_t i = 0; i < rows; ++i) load[i] += n * entries_[chosen][i];
    }
    if (sum > 0 && of_times > 0 && sum / of_times > best_) {
      best_ = sum / of_times;
      best_price_ = price;
    }
    return load;
  }

  offload_problem<> const& problem_;
  std::int64_t reference_, unit_ = 1, limit_ = 0, best_ = 0;
  int rounds_ = 0;
  std::vector<row> entries_;
  std::vector<std::size_t> class_begin_;
  row offset_{}, best_price_{};
  std::array<std::int64_t, 2> memory_{};
};

}  // namespace ballast::inline v0_2::detail
