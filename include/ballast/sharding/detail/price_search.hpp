// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

// Searches prices that prove a time T too short. Seen over the density of a sample, its rank-time per token, the price of a token on ranks
// with k passes is a line. The budget fixes one point of each line, and all these points are on one line, that of the bound by area alone.
// So the search turns the lines about their points: those up to a pivot to one slope, the others to another, at last one by one.

namespace ballast::inline v0_2::detail {

class price_search {
 public:
  static constexpr std::int64_t whole = 1024;  // unit of the two slopes

  price_search(degree_times const& times, std::size_t most_classes, std::int64_t evaluations)
      : t_(&times),
        most_classes_(most_classes),
        left_(evaluations),
        tokens_(std::accumulate(times.length.begin(), times.length.end(), std::int64_t{0})) {}

  /// Whether prices are found that prove that no plan is done by `time`; `proof()` returns them.
  bool proves(std::int64_t time) {
    if (!prepare(time)) {  // a sample takes longer
      proof_ = {time, {0}, {0}};
      return true;
    }
    if (classes_ == 0) return false;
    best_ = {};
    enough_ = multiply(t_->options.ranks, static_cast<std::uint64_t>(price_certificate::budget));
    auto const found = search();
    if (found) proof_ = {time, best_token_, best_time_};
    return found;
  }

  [[nodiscard]] price_certificate const& proof() const noexcept { return proof_; }
  /// Whether evaluations are left.
  [[nodiscard]] bool more() const noexcept { return left_ > 0; }

 private:
  struct slopes {
    std::size_t pivot = 0;  // classes before it have slope `low / whole` of the area bound's
    std::int64_t low = whole, high = 0;
  };

  /// Least rank-times at the time, by ascending density, and their sums. Returns whether every sample fits alone.
  bool prepare(std::int64_t time) {
    auto const& o = t_->options;
    auto const n = t_->length.size();
    std::vector<std::int64_t> area(n);
    std::int64_t largest = 1;
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t least = -1;
      for (std::size_t l = 0; l < t_->levels; ++l)
        if (t_->length[i] <= t_->room(l) && t_->at(i, l) <= time - o.cost_per_pass && (least < 0 || t_->area(i, l) < least))
          least = t_->area(i, l);
      if (least < 0) return false;
      area[i] = least;
      largest = (std::max)(largest, least);
    }
    auto const shift = 62 - std::bit_width(static_cast<std::uint64_t>(largest));
    std::vector<std::int64_t> density(n);
    for (std::size_t i = 0; i < n; ++i) density[i] = (area[i] << shift) / t_->length[i];
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::reverse(order_.begin(), order_.end());  // shorter samples are usually less dense
    auto const less = [&](std::size_t a, std::size_t b) { return density[a] != density[b] ? density[a] < density[b] : a > b; };
    if (!std::is_sorted(order_.begin(), order_.end(), less)) std::sort(order_.begin(), order_.end(), less);
    length_.resize(n);
    area_.resize(n);
    lengths_.assign(n + 1, 0);
    areas_.assign(n + 1, 0);
    for (std::size_t p = 0; p < n; ++p) {
      length_[p] = t_->length[order_[p]];
      area_[p] = area[order_[p]];
      lengths_[p + 1] = lengths_[p] + length_[p];
      areas_[p + 1] = areas_[p] + area_[p];
    }
    // Limits of the classes.
    auto const room = priced_capacity(o);
    auto const useful = static_cast<std::size_t>(divide_up(tokens_, room));
    auto const possible = o.cost_per_pass == 0 ? useful : static_cast<std::size_t>(time / o.cost_per_pass);
    classes_ = (std::min)({most_classes_, useful, possible});
    room_.resize(classes_);
    limits_.clear();
    auto const add = [&](std::size_t passes) {
      limits_.push_back({passes >= useful ? tokens_ : static_cast<std::int64_t>(passes) * room,
                         time - static_cast<std::int64_t>(passes) * o.cost_per_pass});
    };
    for (std::size_t c = 0; c < classes_; ++c) {
      add(c + 1);
      room_[c] = limits_.back().time;
    }
    if (auto const most = (std::min)(useful, possible); most > classes_) {
      add(most - 1);
      add(most);
    }
    token_.resize(classes_);
    time_.resize(classes_);
    by_slope_.resize(classes_);
    length_of_plan_ = time;
    return true;
  }

  /// The largest price of time in a class, and the price of a token that is left beside a price of time.
  [[nodiscard]] std::int64_t most_slope(std::size_t c) const { return price_certificate::budget / (std::max)(room_[c], std::int64_t{1}); }
  [[nodiscard]] std::int64_t token_price(std::size_t c, std::int64_t slope) const {
    auto const price = [&](limit const& l) { return (price_certificate::budget - slope * l.time) / l.tokens; };
    auto least = price(limits_[c]);
    if (c + 1 == classes_)
      for (auto k = classes_; k < limits_.size(); ++k) least = (std::min)(least, price(limits_[k]));
    return least;
  }

  /// What all samples pay at the current prices: the least line over each density, a concave envelope.
  [[nodiscard]] wide paid() {
    --left_;
    std::iota(by_slope_.begin(), by_slope_.end(), std::size_t{0});
    for (std::size_t c = 1; c < classes_; ++c)  // steepest first, then the lower line
      for (auto j = c; j > 0 && (time_[by_slope_[j]] > time_[by_slope_[j - 1]] ||
                                 (time_[by_slope_[j]] == time_[by_slope_[j - 1]] && token_[by_slope_[j]] < token_[by_slope_[j - 1]]));
           --j)
        std::swap(by_slope_[j], by_slope_[j - 1]);
    hull_.clear();
    auto const n = length_.size();
    for (auto const c : by_slope_) {
      std::size_t from = 0;
      while (!hull_.empty()) {
        auto const [top, begin] = hull_.back();
        auto const more_token = token_[c] - token_[top], less_time = time_[top] - time_[c];
        if (more_token > 0 && less_time == 0) {
          from = n;
          break;
        }
        from = begin;  // the first position where the new line is lower
        for (auto end = n; more_token > 0 && from < end;) {
          auto const middle = from + (end - from) / 2;
          if (compare_products(more_token, length_[middle], less_time, area_[middle]) < 0)
            end = middle;
          else
            from = middle + 1;
        }
        if (from > begin) break;
        hull_.pop_back();
      }
      if (hull_.empty()) from = 0;
      if (from < n) hull_.push_back({c, from});
    }
    wide sum;
    for (std::size_t h = 0; h < hull_.size(); ++h) {
      auto const [c, begin] = hull_[h];
      auto const end = h + 1 < hull_.size() ? hull_[h + 1].begin : n;
      sum = sum + multiply(static_cast<std::uint64_t>(token_[c]), static_cast<std::uint64_t>(lengths_[end] - lengths_[begin])) +
            multiply(static_cast<std::uint64_t>(time_[c]), static_cast<std::uint64_t>(areas_[end] - areas_[begin]));
    }
    return sum;
  }

  /// Keeps the current prices if samples pay more at them. Returns whether they do.
  bool keep() {
    auto const sum = paid();
    if (!(best_ < sum)) return false;
    best_ = sum;
    best_token_ = token_;
    best_time_ = time_;
    return true;
  }
  [[nodiscard]] bool done() const { return enough_ < best_ || left_ <= 0; }

  bool try_slopes(slopes const& s) {
    auto const of_area = price_certificate::budget / (std::max)(length_of_plan_, std::int64_t{1});
    auto const part = [](std::int64_t value, std::int64_t share) { return value / whole * share + value % whole * share / whole; };
    for (std::size_t c = 0; c < classes_; ++c) {
      auto const steepest = most_slope(c);
      time_[c] = (std::min)(steepest,
                            c < s.pivot ? part(of_area, s.low) : of_area + part((std::max)(steepest - of_area, std::int64_t{0}), s.high));
      token_[c] = token_price(c, time_[c]);
    }
    if (!keep()) return false;
    at_ = s;
    return true;
  }

  /// The search at one time: where the last one ended, a grid, its neighbourhood, then single lines.
  bool search() {
    if (at_.pivot > classes_) at_ = {};
    try_slopes(at_);
    around();
    for (std::size_t pivot = 0; pivot <= (std::min)(classes_, std::size_t{8}) && !done(); ++pivot)
      for (std::int64_t low = 0; low <= 5 && !done(); ++low)
        for (std::int64_t high = 0; high <= 4 && !done(); ++high)
          if ((pivot > 0 || low == 0) && (pivot < classes_ || high == 0)) try_slopes({pivot, low * whole / 5, high * whole / 4});
    around();
    single_lines();
    return enough_ < best_;
  }

  void around() {
    for (auto step = whole / 8; step >= 4 && !done();) {
      auto better = false;
      auto const start = at_;
      for (auto const sign : {step, -step}) {
        if (done()) return;
        auto s = start;
        s.low = (std::clamp)(s.low + sign, std::int64_t{0}, whole);
        if (s.low != start.low) better = try_slopes(s) || better;
        s = start;
        s.high = (std::clamp)(s.high + sign, std::int64_t{0}, whole);
        if (s.high != start.high) better = try_slopes(s) || better;
      }
      if (!better) step /= 2;
    }
  }

  void single_lines() {
    for (std::int64_t parts = 16; parts <= 256 && !done(); parts *= 4) {
      auto better = false;
      for (std::size_t c = 0; c < classes_ && !done(); ++c)
        for (auto const sign : {1, -1}) {
          token_ = best_token_;
          time_ = best_time_;
          auto const steepest = most_slope(c);
          time_[c] = (std::clamp)(time_[c] + sign * (steepest / parts), std::int64_t{0}, steepest);
          token_[c] = token_price(c, time_[c]);
          if (time_[c] != best_time_[c]) better = keep() || better;
        }
      if (better) parts /= 4;
    }
  }

  /// What ranks of a class with some number of passes hold at most.
  struct limit {
    std::int64_t tokens, time;
  };
  struct envelope_line {
    std::size_t line, begin;
  };
  degree_times const* t_;
  std::size_t most_classes_, classes_ = 0;
  std::int64_t left_, tokens_, length_of_plan_ = 0;
  std::vector<std::size_t> order_, by_slope_;
  std::vector<std::int64_t> length_, area_, lengths_, areas_;  // by ascending density, and their sums before each position
  std::vector<std::int64_t> room_;                             // most time of a rank in each class
  std::vector<limit> limits_;                                  // one of each class, then those of more passes in the last
  std::vector<std::int64_t> token_, time_, best_token_, best_time_;
  std::vector<envelope_line> hull_;
  wide best_, enough_;
  slopes at_;
  price_certificate proof_;
};

}  // namespace ballast::inline v0_2::detail
