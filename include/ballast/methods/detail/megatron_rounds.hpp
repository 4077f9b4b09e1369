// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The rounds of Megatron-Core's hybrid context parallelism: which samples run side by side, on groups of how many ranks.

namespace ballast::inline v0_2::megatron_hybrid_cp::detail {

/// How large rounds and buckets get.
struct round_limits {
  std::int64_t ranks, bucket_tolerance, balance_tolerance;  // tolerances in thousandths
};

/// A sample that is to be placed; its work is in units of one part of the widest degree.
struct item {
  std::size_t sample;
  std::int64_t length, degree, work;
};
struct group {
  std::int64_t degree, load = 0;
  std::vector<item> items;
};

/// Forms the rounds of one batch. Ranks of groups are the next free ones, so groups in order of their numbers are neighbours.
class round_builder {
 public:
  round_builder(std::vector<item> items, round_limits const& limits) : left_(std::move(items)), limits_(limits) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  /// The groups of the next round, every rank in one of them.
  std::vector<group> next() {
    groups_.clear();
    free_ = limits_.ranks;
    auto buckets = make_buckets();
    place(buckets);
    std::vector<item> rest;
    for (auto const& [begin, end] : buckets)
      rest.insert(rest.end(), left_.begin() + static_cast<std::ptrdiff_t>(begin), left_.begin() + static_cast<std::ptrdiff_t>(end));
    trim(rest);
    fill();
    left_ = std::move(rest);
    return std::move(groups_);
  }

 private:
  struct bucket {
    std::size_t begin, end;  // of `left_`
  };

  [[nodiscard]] std::vector<bucket> make_buckets() const {
    std::vector<std::int64_t> degrees;
    std::int64_t total = 0;
    for (auto const& s : left_) {
      degrees.push_back(s.degree);
      total += s.work;
    }
    std::sort(degrees.begin(), degrees.end());
    auto const k = static_cast<std::int64_t>(std::unique(degrees.begin(), degrees.end()) - degrees.begin());
    std::vector<bucket> out;
    std::size_t begin = 0;
    std::int64_t held = 0;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      auto const closed = static_cast<std::int64_t>(out.size()), remain = static_cast<std::int64_t>(left_.size() - i);
      auto const above = compare_products(held + left_[i].work, 1000 * k, total, 1000 + limits_.bucket_tolerance) > 0;
      if (i > begin && (above || remain <= k - 2 * closed)) {
        out.push_back({begin, i});
        begin = i;
        held = 0;
      }
      held += left_[i].work;
    }
    out.push_back({begin, left_.size()});
    return out;
  }
  /// The first group of the degree with the least load.
  [[nodiscard]] group* least_loaded(std::int64_t degree) {
    group* best = nullptr;
    for (auto& g : groups_)
      if (g.degree == degree && (best == nullptr || g.load < best->load)) best = &g;
    return best;
  }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> loads() const {  // the least and the largest
    auto least = free_ > 0 ? std::int64_t{0} : groups_[0].load, most = groups_[0].load;
    for (auto const& g : groups_) {
      least = (std::min)(least, g.load);
      most = (std::max)(most, g.load);
    }
    return {least, most};
  }
  [[nodiscard]] bool balanced(std::int64_t least, std::int64_t most) const {
    return compare_products(most - least, 1000, most, limits_.balance_tolerance) <= 0;
  }

  void place(std::vector<bucket>& buckets) {
    auto const first = left_[0].degree;
    for (auto check = false; !buckets.empty();) {
      group* existing = nullptr;
      auto const from = std::find_if(buckets.begin(), buckets.end(), [&](bucket const& b) {
        if (b.begin == b.end) return false;
        existing = least_loaded(left_[b.begin].degree);
        return existing != nullptr || left_[b.begin].degree <= free_;
      });
      if (from == buckets.end()) return;
      auto const& s = left_[from->begin++];
      if (s.degree <= free_) {
        groups_.push_back({s.degree, 0, {}});
        existing = &groups_.back();
        free_ -= s.degree;
      }
      existing->items.push_back(s);
      existing->load += s.work;
      auto const full = std::find_if(buckets.begin(), buckets.end(), [](bucket const& b) { return b.begin < b.end; });
      buckets.erase(buckets.begin(), full);
      check = check || s.degree < first;
      if (!check || buckets.empty()) continue;
      if (auto const [least, most] = loads(); balanced(least, most)) return;
    }
  }
  /// The busiest group gives its last sample back while that brings loads together.
  void trim(std::vector<item>& rest) {
    for (;;) {
      auto const [least, most] = loads();
      if (least == 0 || balanced(least, most)) return;
      auto busiest = std::find_if(groups_.begin(), groups_.end(), [&, all = most](group const& g) { return g.load == all; });
      if (busiest->items.size() < 2) return;
      auto const last = busiest->items.back();
      busiest->load -= last.work;
      if (auto const [low, high] = loads(); high - low >= most - least) {
        busiest->load += last.work;
        return;
      }
      busiest->items.pop_back();
      rest.push_back(last);
    }
  }
  /// The first of the smallest groups gets as many idle ranks as it has, until none is idle.
  void fill() {
    while (free_ > 0) {
      auto const smallest =
          std::min_element(groups_.begin(), groups_.end(), [](group const& a, group const& b) { return a.degree < b.degree; });
      free_ -= smallest->degree;
      smallest->degree *= 2;
    }
  }

  std::vector<item> left_;  // in the order in which they are placed
  round_limits limits_;
  std::vector<group> groups_;
  std::int64_t free_ = 0;  // ranks without a group
};

}  // namespace ballast::inline v0_2::megatron_hybrid_cp::detail
