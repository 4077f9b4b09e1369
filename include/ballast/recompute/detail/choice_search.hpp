// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/recompute/detail/choice_problem.hpp>
#include <ballast/recompute/detail/greedy_assignment.hpp>
#include <ballast/recompute/detail/partial_selections.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// @file
/// @brief The exact search: extends partial selections step by step, and drops those that are dominated or ruled out by a bound.
///
/// Items start at the choice that the prices favour. A step lets one bundle of equal items deviate. The *regret* of a deviation is what it
/// adds to the Lagrangian bound. A partial selection whose regrets exceed the gap between incumbent and bound is ruled out, so large
/// classes need few steps and lists stay short.

namespace ballast::inline v0_2::detail {

/// One bundle of `copies` items of a class, which take the same alternative.
struct bundle {
  std::size_t k;
  std::int64_t copies;
  std::vector<std::size_t> choices;  // choices[0] is the favoured choice
};

template <class = when_called>
class choice_search {
 public:
  choice_search(choice_problem const& problem, prices const& at, search_limits const& limits)
      : p_(problem), at_(at), budget_(limits), bound_(scaled_bound(problem, at)), best_(greedy_assignment(problem, at)) {
    value_ = p_.total(best_.time, best_.transfer);
    lower_ = (std::min)(value_, at_.rounded_up(bound_));
    if (!budget_.satisfied({value_, lower_})) run(limits.work / 100);
  }
  [[nodiscard]] assignment const& best() const noexcept { return best_; }
  [[nodiscard]] std::int64_t lower_bound() const noexcept { return lower_; }
  [[nodiscard]] std::uint64_t operations() const noexcept { return at_.operations + budget_.spent(); }
  [[nodiscard]] bool complete() const noexcept { return !budget_.interrupted(); }

 private:
  // The largest scaled bound with which a better selection is still possible.
  [[nodiscard]] std::int64_t limit() const noexcept { return (value_ - 1) * (std::int64_t{1} << (at_.shift + 4)); }

  // Holds so many partial selections over all steps.
  void run(std::uint64_t work) {
    make_bundles(work);
    auto cut = (std::numeric_limits<std::int64_t>::max)();  // least scaled bound of partial selections that were cut for lack of width
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> trail;
    std::vector<partial> now{{memory_, time_, transfer_, 0, 0, 0}}, next, merged, shifted;
    std::optional<std::pair<std::size_t, std::uint32_t>> found;
    for (std::size_t s = 0; s < bundles_.size() && budget_.in_time(); ++s) {
      auto const& b = bundles_[s];
      auto const& c = p_.classes[b.k];
      next.clear();
      budget_.spend(100 * now.size() * b.choices.size());
      for (std::uint32_t x = 0; x < b.choices.size(); ++x) {
        auto const &from = c.choices[b.choices[0]], &to = c.choices[b.choices[x]];
        partial const add{b.copies * (to.memory - from.memory),
                          b.copies * (to.time - from.time),
                          b.copies * (to.transfer - from.transfer),
                          b.copies * (at_.of(to) - at_.of(from)),
                          0,
                          x};
        shifted.clear();
        for (std::uint32_t i = 0; i < now.size(); ++i) {
          partial const n{
              now[i].memory + add.memory, now[i].time + add.time, now[i].transfer + add.transfer, now[i].regret + add.regret, i, x};
          if (hopeful(n, falls_[s + 1], rises_[s + 1])) shifted.push_back(n);
        }
        merged.clear();
        std::merge(next.begin(), next.end(), shifted.begin(), shifted.end(), std::back_inserter(merged), before);
        next.swap(merged);
      }
      filter_(next, at_.link != 0 || p_.transfer != p_.window);
      for (std::uint32_t i = 0; i < next.size(); ++i)  // each partial selection, completed with favoured choices
        if (next[i].memory <= p_.slack && p_.total(next[i].time, next[i].transfer) < value_) {
          value_ = p_.total(next[i].time, next[i].transfer);
          found = {s, i};
        }
      auto const width = static_cast<std::size_t>((std::max)(work / (bundles_.size() - s), std::uint64_t{16}));  // an equal share
      if (next.size() > width) cut = (std::min)(cut, narrow(next, width, found, s));
      work -= (std::min)(work, std::uint64_t{next.size()});
      auto& step = trail.emplace_back();
      step.reserve(next.size());
      for (auto const& n : next) step.emplace_back(n.parent, n.alternative);
      now.swap(next);
      if (now.empty()) break;
    }
    if (whole_ && !budget_.interrupted()) lower_ = cut > limit() ? value_ : (std::max)(lower_, at_.rounded_up(cut));
    if (found) retrace(trail, *found);
  }

  // `falls` and `rises` say how much the memory can still change.
  [[nodiscard]] bool hopeful(partial const& n, std::int64_t falls, std::int64_t rises) const noexcept {
    if (n.memory - falls > p_.slack) return false;
    auto const idle = (std::max)(p_.slack - n.memory - rises, std::int64_t{0});  // unused memory costs its price in the bound
    return bound_ + n.regret + at_.memory * idle <= limit();
  }

  void make_bundles(std::uint64_t work) {
    auto single = static_cast<std::int64_t>((std::min)(work / 256, std::uint64_t{1} << 20)) + 1;  // number of bundles of one item
    auto const gap = limit() - bound_;
    struct plan {
      std::int64_t key;
      std::size_t k;
      std::vector<std::pair<std::int64_t, std::size_t>> most;  // number of copies that may deviate to each choice, descending
    };
    std::vector<plan> plans;
    for (std::size_t k = 0; k < p_.classes.size(); ++k) {
      auto const& c = p_.classes[k];
      auto const base = at_.cheapest(c);
      memory_ += c.count * c.choices[base].memory;
      time_ += c.count * c.choices[base].time;
      transfer_ += c.count * c.choices[base].transfer;
      plan one{(std::numeric_limits<std::int64_t>::max)(), k, {}};
      for (std::size_t j = 0; j < c.choices.size(); ++j) {
        if (j == base) continue;
        auto const regret = at_.of(c.choices[j]) - at_.of(c.choices[base]);
        one.key = (std::min)(one.key, regret);
        auto const most = regret == 0 ? c.count : (std::min)(c.count, gap / regret);
        if (most > 0) one.most.emplace_back(most, j);
      }
      std::sort(one.most.begin(), one.most.end(),
                [](auto const& a, auto const& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
      if (!one.most.empty()) plans.push_back(std::move(one));
    }
    // bundles that can deviate least come first; the critical class, which can deviate most, comes last
    std::sort(plans.begin(), plans.end(), [](plan const& a, plan const& b) { return a.key != b.key ? a.key > b.key : a.k < b.k; });
    for (auto const& one : plans) add_bundles(one.k, one.most, single);
    falls_.assign(bundles_.size() + 1, 0);
    rises_ = falls_;
    for (auto s = bundles_.size(); s-- > 0;) {
      auto const& b = bundles_[s];
      auto const& c = p_.classes[b.k].choices;
      auto low = c[b.choices[0]].memory, high = low;
      for (auto const j : b.choices) {
        low = (std::min)(low, c[j].memory);
        high = (std::max)(high, c[j].memory);
      }
      falls_[s] = falls_[s + 1] + b.copies * (c[b.choices[0]].memory - low);
      rises_[s] = rises_[s + 1] + b.copies * (high - c[b.choices[0]].memory);
    }
  }

  // Uses bundles of doubling size if the choices cannot interact, single items if they can.
  void add_bundles(std::size_t k, std::vector<std::pair<std::int64_t, std::size_t>> const& most, std::int64_t& single) {
    auto const base = at_.cheapest(p_.classes[k]);
    auto const doubling = [&](std::int64_t copies, std::size_t j) {
      for (std::int64_t take = 1; copies > 0; take *= 2) {
        auto const n = (std::min)(take, copies);
        bundles_.push_back({k, n, {base, j}});
        copies -= n;
      }
    };
    std::int64_t others = 0;
    for (std::size_t x = 1; x < most.size() && others < p_.classes[k].count; ++x) others += most[x].first;
    auto const count = p_.classes[k].count;
    if (others <= count - most[0].first) {
      for (auto const& [copies, j] : most) doubling(copies, j);
      return;
    }
    others = (std::min)(others, count);
    if (others > single) {  // then not every combination is tried
      others = single;
      whole_ = false;
    }
    single -= others;
    doubling(count - others, most[0].second);
    std::vector<std::size_t> all{base};
    for (auto const& m : most) all.push_back(m.second);
    for (std::int64_t i = 0; i < others; ++i) bundles_.push_back({k, 1, all});
  }

  // Keeps the `width` partial selections with the least bounds; returns the least bound of the others.
  std::int64_t narrow(std::vector<partial>& list, std::size_t width, std::optional<std::pair<std::size_t, std::uint32_t>>& found,
                      std::size_t step) const {
    std::vector<std::uint32_t> order(list.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    auto const mine = found && found->first == step ? std::optional(found->second) : std::nullopt;
    auto const cheaper = [&](std::uint32_t a, std::uint32_t b) {
      if (mine && (a == *mine) != (b == *mine)) return a == *mine;  // the incumbent must stay traceable
      return list[a].regret != list[b].regret ? list[a].regret < list[b].regret : a < b;
    };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(width), order.end(), cheaper);
    auto const least = bound_ + list[order[width]].regret;
    order.resize(width);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < width; ++i) {
      if (mine && order[i] == *mine) found = {step, static_cast<std::uint32_t>(i)};
      list[i] = list[order[i]];
    }
    list.resize(width);
    return least;
  }

  void retrace(std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> const& trail, std::pair<std::size_t, std::uint32_t> at) {
    assignment a;
    a.copies.resize(p_.classes.size());
    for (std::size_t k = 0; k < p_.classes.size(); ++k) {
      auto const& c = p_.classes[k];
      auto const base = at_.cheapest(c);
      a.copies[k].assign(c.choices.size(), 0);
      a.take(k, base, c.choices[base], c.count);
    }
    for (auto [s, i] = at;; --s) {
      auto const [parent, x] = trail[s][i];
      auto const& b = bundles_[s];
      auto const& c = p_.classes[b.k].choices;
      a.take(b.k, b.choices[0], c[b.choices[0]], -b.copies);
      a.take(b.k, b.choices[x], c[b.choices[x]], b.copies);
      i = parent;
      if (s == 0) break;
    }
    best_ = std::move(a);
  }

  choice_problem const& p_;
  prices at_;
  search_budget budget_;
  std::int64_t bound_;
  assignment best_;
  std::int64_t value_ = 0, lower_ = 0;
  bool whole_ = true;  // whether the bundles can form every selection within the limit
  std::int64_t memory_ = 0, time_ = 0, transfer_ = 0;
  std::vector<bundle> bundles_;
  std::vector<std::int64_t> falls_, rises_;
  undominated_filter<> filter_;
};

}  // namespace ballast::inline v0_2::detail
