// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/staging/detail/chunk_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

// Lower bounds on the slowest stage with several chunks, by prices. Private.

namespace ballast::inline v0_2::detail {

/// A Lagrangian bound. Weights of the stages and prices of their bytes, one price for each row, turn times and bytes into one cost, and the
/// cheapest cut of the chain is a shortest path. Its cost, less the price of all memory, over the sum of the weights, is a lower bound: the
/// slowest stage is at least the weighted mean, and in a plan that fits no stage holds more than it has. Any weights and prices
/// prove a bound; those that were too low for what the shortest path used are raised step by step.
template <class = when_called>
class chunk_prices {
 public:
  explicit chunk_prices(chunk_table<> const& table)
      : table_(table), min_(static_cast<std::size_t>(table.options().min_layers)), weight_(table.stages()), price_(table.stages()) {
    auto const& layers = table.class_of;
    std::int64_t time = 0, bytes = 0, most = 1;
    for (std::size_t s = 0; s < table.stages(); ++s)
      for (std::size_t r = 0; r < table.rows_of(s); ++r)
        for (std::size_t c = 0; c < table.chunks_of(s).size(); ++c) most = (std::max)(most, table.row(s, r, c));
    std::vector<std::int64_t> working;
    for (auto const k : layers) {
      auto const& layer = table.chain.classes[k];
      std::int64_t own = 0, slow = 0;
      for (auto const& o : layer.options) {
        own = (std::max)(own, o.memory);
        slow = (std::max)(slow, o.time + o.transfer);
      }
      time += layer.time + slow;
      bytes += layer.state + own * most;
      working.push_back(layer.working);
    }
    time_unit_ = time / (std::int64_t{1} << 30) + 1;
    byte_unit_ = bytes / (std::int64_t{1} << 30) + 1;
    std::sort(working.begin(), working.end());
    for (std::size_t s = 0; s < table.stages(); ++s) {
      // A stage of n layers has a working set of at least the n-th smallest.
      auto const n = table.chunks_of(s).size() * min_;
      auto const room = table.options().capacity[s] - (n == 0 ? 0 : working[n - 1]);
      room_.push_back((std::min)(room < 0 ? -1 : room / byte_unit_, std::int64_t{1} << 30));  // all bytes are fewer
      price_[s].resize(table.rows_of(s));
    }
    // A transfer that may hide costs nothing here.
    for (auto const& layer : table.chain.classes) {
      auto& own = classes_.emplace_back();
      own.time = layer.time / time_unit_;
      own.state = layer.state / byte_unit_;
      for (auto const& o : layer.options)
        own.options.push_back(
            {.memory = o.memory / byte_unit_, .time = (o.time + (table.options().hidden_percent == 0 ? o.transfer : 0)) / time_unit_});
    }
  }

  /// Returns a lower bound on every plan that is faster than `limit`, at most `limit`; `visit` gets the cuts of some of the shortest paths.
  template <class Visit>
  [[nodiscard]] std::int64_t raise(std::int64_t limit, int rounds, Visit const& visit) {
    restrict(limit);
    std::fill(weight_.begin(), weight_.end(), std::int64_t{1} << 16);
    for (std::size_t s = 0; s < price_.size(); ++s)
      std::fill(price_[s].begin(), price_[s].end(), (std::int64_t{1} << 14) / static_cast<std::int64_t>(price_[s].size()) + 1);
    std::int64_t best = 0;
    auto kept = std::pair(weight_, price_);
    auto const consider = [&] {
      auto const value = evaluate();
      if (value && *value > best) {
        best = *value;
        kept = {weight_, price_};
      }
      return value.has_value();
    };
    for (std::int64_t slow = 4; slow <= 64; slow *= 2) {
      auto sum = std::pair(weight_, price_);
      auto i = 0;
      for (; i < rounds && best < limit / time_unit_; ++i) {
        if (!consider()) return limit;  // there is no path
        adapt(slow);
        add(sum);
      }
      divide(sum, i + 1);
      std::swap(weight_, sum.first);
      std::swap(price_, sum.second);
      if (!consider()) return limit;
      visit(cuts_);
      std::tie(weight_, price_) = kept;
    }
    return (std::min)(limit, best * time_unit_);
  }
  /// Whether prices prove that no plan fits.
  [[nodiscard]] bool hopeless(int rounds) {
    restrict((std::numeric_limits<std::int64_t>::max)());
    std::fill(weight_.begin(), weight_.end(), std::int64_t{0});
    for (auto& prices : price_) std::fill(prices.begin(), prices.end(), std::int64_t{1} << 16);
    for (std::int64_t slow = 4; slow <= 64; slow *= 2)
      for (int i = 0; i < rounds; ++i) {
        if (auto const value = evaluate(); !value || *value > 0) return true;
        adapt(slow);
      }
    return false;
  }

 private:
  using multipliers = std::pair<std::vector<std::int64_t>, std::vector<std::vector<std::int64_t>>>;
  struct scaled_class {
    std::int64_t time = 0, state = 0;
    std::vector<memory_option> options;
  };
  static constexpr std::int64_t highest = std::int64_t{1} << 26;  // of a weight: no sum reaches 2^62

  [[nodiscard]] std::int64_t highest_price(std::size_t s) const {
    auto const stages = static_cast<std::int64_t>(price_.size()), rows = static_cast<std::int64_t>(price_[s].size());
    return (std::min)(highest, (std::int64_t{1} << 30) / stages) / rows + 1;
  }
  /// Finds, for each virtual stage and end, the first begin with which its stage can be faster than `limit`, and fits, even if its other
  /// chunks were as cheap as they can be.
  void restrict(std::int64_t limit) {
    auto const n = table_.layers();
    std::int64_t cheapest = (std::numeric_limits<std::int64_t>::max)();
    for (auto const& layer : table_.chain.classes) cheapest = (std::min)(cheapest, layer.time);
    first_.assign(table_.virtual_stages(), std::vector<std::size_t>(n + 1));
    for (std::size_t s = 0; s < table_.stages(); ++s) {
      auto const& chunks = table_.chunks_of(s);
      auto const others = n == 0 ? 0 : cheapest * static_cast<std::int64_t>((chunks.size() - 1) * min_);
      for (std::size_t c = 0; c < chunks.size(); ++c) {
        std::size_t begin = 0;
        for (std::size_t e = 1; e <= n; ++e) {
          while (begin < e && (table_.time(begin, e) + others >= limit || !table_.fits_alone(s, c, begin, e))) ++begin;
          first_[chunks[c]][e] = begin;
        }
      }
    }
    auto const q = table_.virtual_stages();
    low_.assign(q + 1, n);
    high_.assign(q + 1, 0);
    for (auto k = q; k-- > 0;) low_[k] = (std::max)(first_[k][low_[k + 1]], k * min_);
    for (std::size_t k = 0; k < q; ++k) {
      auto end = n - (std::min)(n, (q - 1 - k) * min_);
      while (end > 0 && first_[k][end] > high_[k]) --end;
      high_[k + 1] = end;
    }
  }
  void add(multipliers& sum) const {
    for (std::size_t s = 0; s < weight_.size(); ++s) {
      sum.first[s] += weight_[s];
      for (std::size_t r = 0; r < price_[s].size(); ++r) sum.second[s][r] += price_[s][r];
    }
  }
  static void divide(multipliers& sum, std::int64_t by) {
    for (auto& w : sum.first) w /= by;
    for (auto& prices : sum.second)
      for (auto& l : prices) l /= by;
  }
  /// The bound of the current weights and prices in units of time, at least 0 unless all weights are 0; also leaves what the shortest path
  /// uses. Nothing if there is no path.
  [[nodiscard]] std::optional<std::int64_t> evaluate() {
    constexpr auto never = (std::numeric_limits<std::int64_t>::max)() / 2;
    auto const n = table_.layers(), q = table_.virtual_stages();
    for (std::size_t k = 0; k <= q; ++k)
      if (low_[k] > high_[k]) return std::nullopt;
    std::vector<std::int64_t> best(n + 1, never), next(n + 1), prefix(n + 1), each(classes_.size());
    line_.resize(n + 1);
    from_.resize(q * (n + 1));
    std::vector<std::vector<std::uint32_t>> taken(q, std::vector<std::uint32_t>(classes_.size()));
    std::vector<std::size_t> chunk(table_.stages());
    best[0] = 0;
    for (std::size_t k = 0; k < q; ++k) {
      auto const s = table_.stage_of(k), c = chunk[s]++;
      std::int64_t state = 0, byte = 0;
      for (std::size_t r = 0; r < price_[s].size(); ++r) {
        state += price_[s][r];
        byte += price_[s][r] * table_.row(s, r, c);
      }
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        auto least = never;
        for (std::size_t j = 0; j < classes_[i].options.size(); ++j) {
          auto const& o = classes_[i].options[j];
          auto const own = weight_[s] * o.time + byte * o.memory;
          if (own >= least) continue;
          least = own;
          taken[k][i] = static_cast<std::uint32_t>(j);
        }
        each[i] = least + weight_[s] * classes_[i].time + state * classes_[i].state;
      }
      prefix[low_[k]] = 0;
      for (auto e = low_[k]; e < high_[k + 1]; ++e) prefix[e + 1] = prefix[e] + each[table_.class_of[e]];
      std::size_t head = 0, tail = 0;  // begins that may still be the best one, in `line_`
      auto begin = low_[k];
      for (auto e = low_[k + 1]; e <= high_[k + 1]; ++e) {
        for (; begin <= high_[k] && begin + min_ <= e; ++begin) {
          if (best[begin] == never) continue;
          auto const value = best[begin] - prefix[begin];
          while (tail > head && best[line_[tail - 1]] - prefix[line_[tail - 1]] >= value) --tail;
          line_[tail++] = begin;
        }
        while (head < tail && line_[head] < first_[k][e]) ++head;
        next[e] = head == tail ? never : best[line_[head]] - prefix[line_[head]] + prefix[e];
        from_[k * (n + 1) + e] = head == tail ? 0 : line_[head];
      }
      std::swap(best, next);
    }
    if (best[n] == never) return std::nullopt;
    cuts_.assign(q + 1, n);
    for (auto k = q; k-- > 0;) cuts_[k] = from_[k * (n + 1) + cuts_[k + 1]];
    sum_path(taken);
    auto value = best[n];
    std::int64_t weights = 0;
    for (std::size_t s = 0; s < table_.stages(); ++s) {
      weights += weight_[s];
      for (auto const l : price_[s]) value -= l * room_[s];
    }
    return weights == 0 ? value : divide_up((std::max)(value, std::int64_t{0}), weights);
  }
  /// Leaves the time that the chunks of `cuts_` use on each stage, and the bytes by which they exceed its room, with the options taken by
  /// each class of layers in each virtual stage.
  void sum_path(std::vector<std::vector<std::uint32_t>> const& taken) {
    time_used_.assign(table_.stages(), 0);
    over_.clear();
    for (std::size_t s = 0; s < table_.stages(); ++s) over_.emplace_back(price_[s].size(), -room_[s]);
    std::vector<std::size_t> chunk(table_.stages());
    for (std::size_t k = 0; k < taken.size(); ++k) {
      auto const s = table_.stage_of(k), c = chunk[s]++;
      std::int64_t state = 0, bytes = 0;
      for (auto i = cuts_[k]; i < cuts_[k + 1]; ++i) {
        auto const& own = classes_[table_.class_of[i]];
        auto const& o = own.options[taken[k][table_.class_of[i]]];
        time_used_[s] += own.time + o.time;
        state += own.state;
        bytes += o.memory;
      }
      for (std::size_t r = 0; r < over_[s].size(); ++r) over_[s][r] += state + table_.row(s, r, c) * bytes;
    }
  }
  /// Raises the weights of stages that were used more than the weighted mean, and the prices of bytes that were lacking.
  void adapt(std::int64_t slow) {
    std::int64_t weights = 0, sum = 0, most = 1, farthest = 1;
    for (std::size_t s = 0; s < weight_.size(); ++s) {
      weights += weight_[s];
      sum += weight_[s] * (time_used_[s] / 64);
      most = (std::max)(most, time_used_[s]);
      for (auto const over : over_[s]) farthest = (std::max)({farthest, over, -over});
    }
    auto const mean = weights == 0 ? 0 : sum / weights * 64;
    for (std::size_t s = 0; s < weight_.size(); ++s) {
      if (weights > 0) weight_[s] = std::clamp(weight_[s] + weight_[s] * (time_used_[s] - mean) / (slow * most), std::int64_t{1}, highest);
      for (std::size_t r = 0; r < price_[s].size(); ++r) {
        auto const over = over_[s][r], step = price_[s][r] * over / (slow * farthest);
        price_[s][r] = std::clamp(price_[s][r] + (over > 0 ? step + 1 : step), std::int64_t{0}, highest_price(s));
      }
    }
  }

  chunk_table<> const& table_;
  std::size_t min_;
  std::int64_t time_unit_ = 1, byte_unit_ = 1;
  std::vector<std::int64_t> room_, weight_;  // of each stage
  std::vector<std::vector<std::int64_t>> price_;
  std::vector<scaled_class> classes_;
  std::vector<std::vector<std::size_t>> first_;  // for each virtual stage and end, the first begin that may be
  std::vector<std::size_t> low_, high_;          // for each cut, the least and the greatest that a path may have
  std::vector<std::size_t> cuts_, line_, from_;  // cuts of the last shortest path; scratch
  std::vector<std::int64_t> time_used_;          // by it, on each stage
  std::vector<std::vector<std::int64_t>> over_;  // bytes by which it exceeds the room, for each row
};

}  // namespace ballast::inline v0_2::detail
