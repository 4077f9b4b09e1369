// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/detail/cut_network.hpp>
#include <ballast/memory/detail/downset_search.hpp>
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_part.hpp>
#include <ballast/memory/detail/order_problem.hpp>
#include <ballast/memory/peak.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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
      : p_(p),
        states_(states),
        cuts_(cuts),
        gap_(limits.gap),
        budget_(limits, order_interval),
        parts_(p),
        starts_(part_starts(p)),
        running_(p.size(), (std::numeric_limits<std::int64_t>::min)()) {}

  void plan() {
    bound_ = footprint_bound(p_);
    list();
    for (std::vector<std::uint64_t> stages(starts_.size(), 0); !satisfied() && budget_.allows();) {
      auto const k = highest_part();
      if (stages[k] == closed) break;
      stages[k] = plan_part(starts_[k], starts_[k + 1], stages[k]);
    }
  }
  [[nodiscard]] operator_order const& order() const noexcept { return order_; }
  [[nodiscard]] certificate peak() const { return {highest(0, p_.size()), bound_}; }
  [[nodiscard]] std::uint64_t states() const noexcept { return searched_; }
  [[nodiscard]] bool complete() const noexcept { return !budget_.interrupted(); }

 private:
  using search = downset_search<>;
  static constexpr std::uint64_t most_cut_work = 250'000'000;  // not a share of the limit: more work must only add to what is done
  static constexpr std::uint64_t least_cut_work = 25'000'000;  // in each part
  static constexpr std::uint64_t closed = ~std::uint64_t{0};   // the stage of a part for which nothing more is done
  static constexpr std::uint64_t part_work = 30;               // of an operator or a relation of a part that is taken and searched
  static constexpr std::size_t largest_part = 5000;            // above, closing a state takes too long: windows only

  [[nodiscard]] bool satisfied() const { return peak().gap() <= gap_; }
  // The most memory in use in steps begin ... end - 1; at least that before the first step.
  [[nodiscard]] std::int64_t highest(std::size_t begin, std::size_t end) const { return (std::max)(p_.start, running_.first(begin, end)); }
  [[nodiscard]] std::size_t highest_part() const {
    auto const after = std::upper_bound(starts_.begin(), starts_.end(), running_.where_first(0, p_.size()));
    return static_cast<std::size_t>(after - starts_.begin()) - 1;
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
      auto const running = profile_of(p_, each).running;
      for (std::size_t i = 0; i < n; ++i) least_running_[each[i]] = (std::min)(least_running_[each[i]], running[i]);
      for (std::size_t k = 0; k + 1 < starts_.size(); ++k) {
        auto const h = *std::max_element(running.begin() + static_cast<std::ptrdiff_t>(starts_[k]),
                                         running.begin() + static_cast<std::ptrdiff_t>(starts_[k + 1]));
        if (h >= peaks[k]) continue;
        peaks[k] = h;
        std::copy(each.begin() + static_cast<std::ptrdiff_t>(starts_[k]), each.begin() + static_cast<std::ptrdiff_t>(starts_[k + 1]),
                  order_.begin() + static_cast<std::ptrdiff_t>(starts_[k]));
      }
    }
    auto made = profile_of(p_, order_);
    running_.write(0, made.running);
    behind_ = std::move(made.behind);
    for (std::size_t i = 0; i < n; ++i) step_[order_[i]] = static_cast<std::uint32_t>(i);
    parts_.follow(step_);
  }

  [[nodiscard]] order_problem take(std::size_t begin, std::size_t end) {
    auto part = parts_.take(order_, begin, end, begin == 0 ? p_.start : behind_[begin - 1]);
    budget_.spend(part_work * parts_.work());
    return part;
  }
  void put(order_problem const& part, operator_order const& found, std::size_t begin, std::size_t end) {
    parts_.put(found, order_, step_, begin);
    budget_.spend(part_work * parts_.work());
    auto const made = profile_of(part, found);
    running_.write(begin, made.running);
    std::copy(made.behind.begin(), made.behind.end(), behind_.begin() + static_cast<std::ptrdiff_t>(begin));
    for (auto i = begin; i < end; ++i) least_running_[order_[i]] = (std::min)(least_running_[order_[i]], running_[i]);
  }

  // Lower bounds for the operators of a part that need much memory in all orders so far.
  void bound_part(order_problem const& part) {
    auto const operators = parts_.operators();
    operator_order highest_first(part.size());
    std::iota(highest_first.begin(), highest_first.end(), 0U);
    auto const height = [&](std::uint32_t v) { return least_running_[operators[v]]; };
    std::sort(highest_first.begin(), highest_first.end(),
              [&](auto a, auto b) { return height(a) != height(b) ? height(a) > height(b) : a < b; });
    cut_bounds<> cuts(part);
    auto const end_of_cuts = budget_.spent() + (std::max)(least_cut_work, most_cut_work / p_.size() * part.size());
    for (std::size_t i = 0; i < (std::min)(static_cast<std::size_t>(cuts_), highest_first.size()); ++i) {
      if (height(highest_first[i]) <= bound_ || !budget_.allows(end_of_cuts)) return;
      bound_ = (std::max)(bound_, cuts.of(highest_first[i], budget_, end_of_cuts));
    }
  }

  // Whether another part has the peak by now.
  [[nodiscard]] bool lowered(std::size_t begin, std::size_t end) const { return highest(begin, end) < highest(0, p_.size()); }
  // Goes on with a part at a stage, 0 at first; returns the stage at which to go on once the part has the peak again.
  [[nodiscard]] std::uint64_t plan_part(std::size_t begin, std::size_t end, std::uint64_t stage) {
    auto const part = take(begin, end);
    if (stage == 0) {
      bound_part(part);
      stage = 2000;
    }
    if (highest(begin, end) <= bound_) return closed;
    if (end - begin > largest_part) {
      improve_windows(begin, end, 48);
      improve_windows(begin, end, 160);
      return lowered(begin, end) ? stage : closed;
    }
    search forwards(part, false, bound_, highest(begin, end)), backwards(part, true, bound_, highest(begin, end));
    auto const most = (std::min)(states_, (std::uint64_t{1} << 23) / ((end - begin) / 64 + 1));
    for (;; stage *= 8) {
      for (auto* direction : {&forwards, &backwards}) {
        direction->want_below(highest(begin, end));
        auto const before = direction->states();
        auto const result = direction->run(static_cast<std::size_t>((std::min)(stage, most)), budget_);
        searched_ += direction->states() - before;
        if (result == search::outcome::found) put(part, direction->order(), begin, end);
        bound_ = (std::max)(bound_, result == search::outcome::paused ? direction->lower_bound() : highest(begin, end));
        if (result != search::outcome::paused) return closed;
      }
      if (stage >= most || satisfied() || !budget_.allows()) return closed;
      if (stage < 32'000) improve_windows(begin, end, stage == 2000 ? 48 : 160);
      if (highest(begin, end) <= bound_) return closed;
      if (lowered(begin, end)) return 8 * stage;
    }
  }

  // Orders windows of steps around the peak anew, as long as that lowers it.
  void improve_windows(std::size_t begin, std::size_t end, std::size_t width) {
    if (end - begin <= width) return;
    for (bool again = true; again && highest(begin, end) > bound_ && !lowered(begin, end) && budget_.allows();) {
      again = false;
      auto const top = running_.where_first(begin, end);
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
  search_budget budget_;
  order_parts<> parts_;
  std::vector<std::size_t> starts_;                     // of parts, and the number of operators
  operator_order order_, step_;                         // the best so far, and its inverse
  range_firsts<std::int64_t, std::greater<>> running_;  // of each step
  std::vector<std::int64_t> behind_, least_running_;
  std::int64_t bound_ = 0;
  std::uint64_t searched_ = 0;
};

}  // namespace ballast::inline v0_2::detail
