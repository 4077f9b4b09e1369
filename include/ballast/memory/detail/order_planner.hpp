// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/memory/detail/cut_network.hpp>
#include <ballast/memory/detail/downset_search.hpp>
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_budget.hpp>
#include <ballast/memory/detail/order_part.hpp>
#include <ballast/memory/detail/order_problem.hpp>
#include <ballast/memory/peak.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// Makes an order of little memory: the best lists, then for the part of the steps that has the peak, lower bounds by cuts, exact search and
// windows in turn.
template <class = when_called>
class order_planner {
 public:
  order_planner(order_problem const& p, std::uint64_t states, std::uint64_t cuts, search_limits const& limits)
      : p_(p), states_(states), cuts_(cuts), gap_(limits.gap), budget_(limits), parts_(p), starts_(part_starts(p)) {}

  void plan() {
    bound_ = footprint_bound(p_);
    list();
    for (std::vector<bool> closed(starts_.size(), false); !satisfied() && budget_.allows();) {
      auto const k = highest_part();
      if (closed[k]) break;
      closed[k] = true;
      plan_part(starts_[k], starts_[k + 1]);
    }
  }
  [[nodiscard]] operator_order const& order() const noexcept { return order_; }
  [[nodiscard]] certificate peak() const { return {highest(0, p_.size()), bound_}; }
  [[nodiscard]] std::uint64_t states() const noexcept { return searched_; }
  [[nodiscard]] bool complete() const noexcept { return !budget_.interrupted(); }

 private:
  using search = downset_search<>;
  static constexpr std::uint64_t most_cut_work = 250'000'000;  // not a share of the limit: more work must only add to what is done
  static constexpr std::size_t largest_part = 5000;            // above, closing a state takes too long: windows only

  [[nodiscard]] bool satisfied() const { return peak().gap() <= gap_; }
  // The most memory in use in steps begin ... end - 1; at least that before the first step.
  [[nodiscard]] std::int64_t highest(std::size_t begin, std::size_t end) const {
    auto most = p_.start;
    for (auto i = begin; i < end; ++i) most = (std::max)(most, running_[i]);
    return most;
  }
  [[nodiscard]] std::size_t highest_part() const {
    std::size_t best = 0;
    std::int64_t most = -1;
    for (std::size_t k = 0; k + 1 < starts_.size(); ++k)
      if (auto const h = highest(starts_[k], starts_[k + 1]); h > most) best = k, most = h;
    return best;
  }

  // All orders have the same parts, so each part can be that of another list.
  void list() {
    auto const n = p_.size();
    operator_order program(n);
    std::iota(program.begin(), program.end(), 0U);
    order_ = least_change_order(p_, false);
    step_.resize(n);
    least_running_.assign(n, (std::numeric_limits<std::int64_t>::max)());
    std::vector<std::int64_t> peaks(starts_.size(), (std::numeric_limits<std::int64_t>::max)());
    for (auto const& each :
         {order_, least_change_order(p_, true), program, least_peak_first(p_), breadth_first(p_), depth_first(p_), updates_at_once(p_)}) {
      running_ = profile_of(p_, each).running;
      for (std::size_t i = 0; i < n; ++i) least_running_[each[i]] = (std::min)(least_running_[each[i]], running_[i]);
      for (std::size_t k = 0; k + 1 < starts_.size(); ++k) {
        auto const h = highest(starts_[k], starts_[k + 1]);
        if (h >= peaks[k]) continue;
        peaks[k] = h;
        std::copy(each.begin() + static_cast<std::ptrdiff_t>(starts_[k]), each.begin() + static_cast<std::ptrdiff_t>(starts_[k + 1]),
                  order_.begin() + static_cast<std::ptrdiff_t>(starts_[k]));
      }
      budget_.spend(60 * (n + p_.before.members.size() + p_.users.members.size()));
    }
    auto made = profile_of(p_, order_);
    running_ = std::move(made.running);
    behind_ = std::move(made.behind);
    for (std::size_t i = 0; i < n; ++i) step_[order_[i]] = static_cast<std::uint32_t>(i);
  }

  [[nodiscard]] order_problem take(std::size_t begin, std::size_t end) {
    return parts_.take(order_, step_, begin, end, begin == 0 ? p_.start : behind_[begin - 1]);
  }
  void put(order_problem const& part, operator_order const& found, std::size_t begin, std::size_t end) {
    std::ignore = parts_.take(order_, step_, begin, end, 0);
    parts_.put(found, order_, step_, begin);
    auto const made = profile_of(part, found);
    std::copy(made.running.begin(), made.running.end(), running_.begin() + static_cast<std::ptrdiff_t>(begin));
    std::copy(made.behind.begin(), made.behind.end(), behind_.begin() + static_cast<std::ptrdiff_t>(begin));
    for (auto i = begin; i < end; ++i) least_running_[order_[i]] = (std::min)(least_running_[order_[i]], running_[i]);
  }

  // Lower bounds for the operators that need much memory in all orders so far.
  void bound_part(std::size_t begin, std::size_t end) {
    operator_order highest_first(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(highest_first.begin(), highest_first.end(),
              [&](auto a, auto b) { return least_running_[a] != least_running_[b] ? least_running_[a] > least_running_[b] : a < b; });
    cut_bounds<> cuts(p_);
    auto const end_of_cuts = budget_.spent() + most_cut_work;
    for (std::size_t i = 0; i < (std::min)(static_cast<std::size_t>(cuts_), highest_first.size()); ++i) {
      if (least_running_[highest_first[i]] <= bound_ || !budget_.allows(end_of_cuts)) return;
      bound_ = (std::max)(bound_, cuts.of(highest_first[i], budget_));
    }
  }

  void plan_part(std::size_t begin, std::size_t end) {
    bound_part(begin, end);
    if (highest(begin, end) <= bound_) return;
    if (end - begin > largest_part) {
      improve_windows(begin, end, 48);
      improve_windows(begin, end, 160);
      return;
    }
    auto const part = take(begin, end);
    search forwards(part, false, bound_, highest(begin, end)), backwards(part, true, bound_, highest(begin, end));
    auto const most = (std::min)(states_, (std::uint64_t{1} << 23) / ((end - begin) / 64 + 1));
    std::size_t width = 48;
    for (std::uint64_t stage = 2000;; stage *= 8) {
      for (auto* direction : {&forwards, &backwards}) {
        direction->want_below(highest(begin, end));
        auto const before = direction->states();
        auto const result = direction->run(static_cast<std::size_t>((std::min)(stage, most)), budget_);
        searched_ += direction->states() - before;
        if (result == search::outcome::found) put(part, direction->order(), begin, end);
        bound_ = (std::max)(bound_, result == search::outcome::paused ? direction->lower_bound() : highest(begin, end));
        if (result != search::outcome::paused) return;
      }
      if (stage >= most || satisfied() || !budget_.allows()) return;
      if (stage < 32'000) improve_windows(begin, end, std::exchange(width, 160));
      if (highest(begin, end) <= bound_) return;
    }
  }

  // Orders windows of steps around the peak anew, as long as that lowers it.
  void improve_windows(std::size_t begin, std::size_t end, std::size_t width) {
    if (end - begin <= width) return;
    for (bool again = true; again && highest(begin, end) > bound_ && budget_.allows();) {
      again = false;
      auto const top = static_cast<std::size_t>(
          std::max_element(running_.begin() + static_cast<std::ptrdiff_t>(begin), running_.begin() + static_cast<std::ptrdiff_t>(end)) -
          running_.begin());
      for (std::size_t const share : {50U, 20U, 80U, 35U, 65U, 5U, 95U}) {
        auto const before = (std::min)(width * share / 100, top - begin);
        auto const first = (std::min)(top - before, end - width);
        if (again = improve_window(begin, end, first, first + width); again) break;
      }
    }
  }
  bool improve_window(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    auto const inside = highest(first, last), outside = (std::max)({highest(begin, first), highest(last, end), bound_});
    auto const part = take(first, last);
    budget_.spend(10 * (end - begin));
    for (bool const backwards : {false, true}) {
      search window(part, backwards, (std::min)(outside, inside - 1), inside);
      auto const result = window.run(2000, budget_);
      searched_ += window.states();
      if (result == search::outcome::found) {
        put(part, window.order(), first, last);
        return true;
      }
      if (result == search::outcome::exhausted) return false;
    }
    return false;
  }

  order_problem const& p_;
  std::uint64_t states_, cuts_;
  double gap_;
  order_budget budget_;
  order_parts<> parts_;
  std::vector<std::size_t> starts_;  // of parts, and the number of operators
  operator_order order_, step_;      // the best so far, and its inverse
  std::vector<std::int64_t> running_, behind_, least_running_;
  std::int64_t bound_ = 0;
  std::uint64_t searched_ = 0;
};

}  // namespace ballast::inline v0_2::detail
