// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/staging/detail/offload_problem.hpp>
#include <ballast/staging/detail/offload_spread.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Searches placements: how many layers of each class, or group of similar classes, take each choice, spread in three ways over the chain,
/// and evaluated exactly.
template <class = when_called>
class offload_search {
 public:
  /// A placement is better if it exceeds the memories by less, or by as much and takes less time.
  struct worth {
    std::int64_t over = (std::numeric_limits<std::int64_t>::max)(), time = (std::numeric_limits<std::int64_t>::max)();
    friend constexpr bool operator==(worth const&, worth const&) = default;
    friend constexpr bool operator<(worth a, worth b) noexcept { return a.over != b.over ? a.over < b.over : a.time < b.time; }
  };

  explicit offload_search(offload_problem<> const& problem) : problem_(problem), times_(problem.layers()), now_(problem.layers()) {
    auto const groups = (std::min)(problem.classes(), most_groups);  // classes are sorted by their states
    count_.assign(groups, 0);
    table_.assign(groups * hosted_choices, {});
    for (auto const k : problem.class_of) {
      group_.push_back(static_cast<std::uint32_t>(group_of_class(k)));
      ++count_[group_.back()];
    }
    for (std::size_t k = 0; k < problem.classes(); ++k)
      for (std::size_t c = 0; c < hosted_choices; ++c) add_share(table_[group_of_class(k) * hosted_choices + c], problem.at(k, c), k);
  }

  [[nodiscard]] worth best() const noexcept { return best_; }
  [[nodiscard]] std::vector<hosted> const& placement() const noexcept { return chosen_; }
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

  /// Evaluates a placement, and keeps it if it is the best. One that does not fit, or takes more than `limit`, is not simulated.
  worth consider(std::span<hosted const> placement, std::int64_t limit = (std::numeric_limits<std::int64_t>::max)()) {
    offload_totals sum;
    work_ += placement.size() + 1;
    for (std::size_t i = 0; i < placement.size(); ++i)
      sum.add(problem_.at(problem_.class_of[i], static_cast<std::size_t>(placement[i])), 1);
    worth is{over(sum), sum.over_time(problem_)};
    if (is.over == 0 && is.time <= limit) is.time = simulated(placement);
    if (is < best_) {
      best_ = is;
      chosen_.assign(placement.begin(), placement.end());
    }
    return is;
  }

  /// Moves layers of a class from one choice to another, many first, while that is better. One spread after another.
  void move_counts() {
    auto const start = chosen_;
    for (auto const spread : {offload_spread::deep, offload_spread::even, offload_spread::shallow}) {
      counts_.assign(table_.size(), 0);
      sums_ = {};
      for (std::size_t i = 0; i < start.size(); ++i) {
        auto const e = group_[i] * hosted_choices + static_cast<std::size_t>(start[i]);
        ++counts_[e];
        sums_.add_sums(table_[e], 1);
      }
      descend(spread);
    }
  }

  /// Changes a few layers at random, and keeps what is not slower than a threshold that falls with the work that is left.
  void wander() {
    auto const n = chosen_.size();
    auto now = chosen_;
    auto here = best_.time;
    splitmix64 draw(n);
    auto const from = work_, to = problem_.options.work;
    while (work_ < to && best_.over == 0) {
      auto const before = now;
      auto const changes = 1 + uniform_below(3, draw);
      for (std::uint64_t c = 0; c < changes; ++c)
        now[static_cast<std::size_t>(uniform_below(n, draw))] = static_cast<hosted>(uniform_below(hosted_choices, draw));
      if (uniform_below(3, draw) == 0)
        std::swap(now[static_cast<std::size_t>(uniform_below(n, draw))], now[static_cast<std::size_t>(uniform_below(n, draw))]);
      auto const slack = here / 128 / static_cast<std::int64_t>(1 + 8 * (work_ - from) / (to - from));
      auto const is = consider(now, here + slack);
      if (is.over == 0 && is.time <= here + slack) {
        here = is.time;
      } else {
        now = before;
      }
    }
  }

  /// Tries all placements; only for few layers. Returns the least bytes of the host among those that fit the device.
  std::int64_t try_all() {
    std::vector<hosted> now(problem_.layers(), hosted::none);
    auto least = (std::numeric_limits<std::int64_t>::max)();
    for (bool more = true; more;) {
      offload_totals sum;
      for (std::size_t i = 0; i < now.size(); ++i) sum.add(problem_.at(problem_.class_of[i], static_cast<std::size_t>(now[i])), 1);
      if (sum.device_with(problem_.options.buffers) <= problem_.options.device_memory) {
        least = (std::min)(least, sum.host);
        if (over(sum) == 0 && (best_.over > 0 || sum.over_time(problem_) < best_.time)) static_cast<void>(consider(now));
      }
      more = false;
      for (auto& h : now) {
        more = static_cast<std::size_t>(h) + 1 < hosted_choices;
        h = more ? static_cast<hosted>(static_cast<std::uint8_t>(h) + 1) : hosted::none;
        if (more) break;
      }
    }
    return least;
  }

 private:
  static constexpr std::size_t most_groups = 8;

  [[nodiscard]] std::size_t group_of_class(std::size_t k) const noexcept {
    return problem_.classes() <= most_groups ? k : k * most_groups / problem_.classes();
  }
  /// Adds the share that a class has in the mean figures of its group.
  void add_share(offload_choice& mean, offload_choice const& of, std::size_t k) const {
    auto const n = static_cast<std::int64_t>(problem_.count[k]), all = static_cast<std::int64_t>(count_[group_of_class(k)]);
    auto const add = [&](std::int64_t& to, std::int64_t value) { to += n == all ? value : value / all * n + value % all * n / all; };
    add(mean.times.backward, of.times.backward);
    add(mean.times.load, of.times.load);
    add(mean.times.store, of.times.store);
    add(mean.times.update, of.times.update);
    add(mean.times.give_back, of.times.give_back);
    add(mean.device, of.device);
    add(mean.host, of.host);
    mean.buffer = (std::max)(mean.buffer, of.buffer);
  }
  [[nodiscard]] std::int64_t over(offload_totals const& sum) const noexcept {
    auto const& o = problem_.options;
    return (std::max)(sum.device_with(o.buffers) - o.device_memory, std::int64_t{0}) +
           (std::max)(sum.host - o.host_memory, std::int64_t{0});
  }
  [[nodiscard]] std::int64_t simulated(std::span<hosted const> placement) {
    for (std::size_t i = 0; i < placement.size(); ++i) {
      times_[i] = problem_.at(problem_.class_of[i], static_cast<std::size_t>(placement[i])).times;
      times_[i].forward = problem_.passes[i].first;
      times_[i].backward += problem_.passes[i].second;
    }
    return simulate_(times_, problem_.options.buffers, [](auto...) {});
  }
  void descend(offload_spread spread) {
    spread_choices(spread, group_, count_, counts_, now_);
    auto here = consider(now_);
    std::uint64_t largest = 0;
    for (auto const n : count_) largest = (std::max)(largest, n);
    std::uint64_t step = 1;
    while (step < largest) step *= 2;
    for (; step >= 1; step /= 2)
      while (work_ < problem_.options.work && sweep(spread, step, here)) {
      }
  }
  /// One pass over all moves of `step` layers, alone or with the fewest of a second kind that make room; whether any was made.
  [[nodiscard]] bool sweep(offload_spread spread, std::uint64_t step, worth& here) {
    bool moved = false;
    for (std::size_t e = 0; e < counts_.size(); ++e)
      for (std::size_t c = 0; c < hosted_choices && work_ < problem_.options.work; ++c) {
        auto const to = e - e % hosted_choices + c;
        auto const n = (std::min)(step, counts_[e]);
        if (to == e || n == 0) continue;
        move(e, to, n);
        if (better(spread, here) || (sums_.over_time(problem_) < here.time && make_room(spread, here))) {
          moved = true;
          continue;
        }
        move(to, e, n);
      }
    return moved;
  }
  /// Tries the counts.
  [[nodiscard]] bool better(offload_spread spread, worth& here) {
    if (!promising(here)) return false;
    spread_choices(spread, group_, count_, counts_, now_);
    auto const now = consider(now_);
    if (!(now < here)) return false;
    here = now;
    return true;
  }
  /// After a move that made a step faster but takes too much memory: as few of another move as give it back.
  [[nodiscard]] bool make_room(offload_spread spread, worth& here) {
    for (std::size_t e = 0; e < counts_.size(); ++e)
      for (std::size_t c = 0; c < hosted_choices && work_ < problem_.options.work; ++c) {
        if (++tries_ % 16 == 0) ++work_;
        auto const to = e - e % hosted_choices + c;
        auto const over = sums_.device_with(problem_.options.buffers) - problem_.options.device_memory;
        auto const frees = table_[e].device - table_[to].device;
        if (over <= 0 || frees <= 0) continue;
        auto const n = static_cast<std::uint64_t>((over + frees - 1) / frees);
        for (auto const more : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4}}) {  // room for the buffers
          if (n + more > counts_[e]) break;
          move(e, to, n + more);
          if (better(spread, here)) return true;
          move(to, e, n + more);
        }
      }
    return false;
  }
  /// Whether the counts may be better, as far as sums say.
  [[nodiscard]] bool promising(worth const& here) {
    if (!(worth{over(sums_), sums_.over_time(problem_)} < here)) return false;  // sums without the buffers
    auto sum = sums_;
    for (std::size_t e = 0; e < counts_.size(); ++e)
      if (counts_[e] > 0) sum.buffer = (std::max)(sum.buffer, table_[e].buffer);
    return worth{over(sum), sum.over_time(problem_)} < here;
  }
  void move(std::size_t from, std::size_t to, std::uint64_t n) {
    counts_[from] -= n;
    counts_[to] += n;
    sums_.add_sums(table_[from], -static_cast<std::int64_t>(n));
    sums_.add_sums(table_[to], static_cast<std::int64_t>(n));
  }

  offload_problem<> const& problem_;
  std::vector<prefetch_layer> times_;
  prefetch_simulation<> simulate_;
  worth best_;
  offload_totals sums_;                // of the counts, without buffers
  std::vector<offload_choice> table_;  // mean figures of each group of classes, of which few are alike
  std::vector<std::uint32_t> group_;   // of each layer
  std::vector<std::uint64_t> count_;   // layers of each group
  std::vector<hosted> chosen_, now_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t work_ = 0, tries_ = 0;
};

}  // namespace ballast::inline v0_2::detail
