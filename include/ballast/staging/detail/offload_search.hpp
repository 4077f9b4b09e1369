// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/staging/detail/offload_problem.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Searches placements: how many layers of each class take each choice, spread in three ways over the chain, and evaluated exactly.
template <class = when_called>
class offload_search {
 public:
  /// A placement is better if it exceeds the memories by less, or by as much and takes less time.
  struct worth {
    std::int64_t over = (std::numeric_limits<std::int64_t>::max)(), time = (std::numeric_limits<std::int64_t>::max)();
    friend constexpr bool operator==(worth const&, worth const&) = default;
    friend constexpr bool operator<(worth a, worth b) noexcept { return a.over != b.over ? a.over < b.over : a.time < b.time; }
  };

  explicit offload_search(offload_problem<> const& problem) : problem_(problem), times_(problem.layers()) {}

  [[nodiscard]] worth best() const noexcept { return best_; }
  [[nodiscard]] std::vector<hosted> const& placement() const noexcept { return chosen_; }
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

  /// Evaluates a placement, and keeps it if it is the best. One that does not fit, or takes more than `limit`, is not simulated.
  worth consider(std::span<hosted const> placement, std::int64_t limit = (std::numeric_limits<std::int64_t>::max)()) {
    totals sum;
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
    for (auto const spread : {spreads::deep, spreads::even, spreads::shallow}) {
      counts_.assign(problem_.table.size(), 0);
      sums_ = {};
      for (std::size_t i = 0; i < start.size(); ++i) {
        auto const e = problem_.class_of[i] * hosted_choices + static_cast<std::size_t>(start[i]);
        ++counts_[e];
        sums_.add_sums(problem_.table[e], 1);
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
      totals sum;
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
  enum class spreads : std::uint8_t { even, deep, shallow };  // hosts of optimisers: at equal distances, last or first

  struct totals {
    std::int64_t device = 0, buffer = 0, host = 0, forward = 0, backward = 0, load = 0, back = 0, down = 0, updates = 0;
    void add(offload_choice const& c, std::int64_t times) noexcept {
      add_sums(c, times);
      buffer = (std::max)(buffer, c.buffer);
    }
    void add_sums(offload_choice const& c, std::int64_t times) noexcept {
      device += times * c.device;
      host += times * c.host;
      forward += times * c.times.forward;
      backward += times * c.times.backward;
      load += times * c.times.load;
      back += times * c.times.give_back;
      down += times * c.times.store;
      updates += times * c.times.update;
    }
    [[nodiscard]] std::int64_t device_with(std::uint64_t buffers) const noexcept {
      return device + static_cast<std::int64_t>(buffers) * buffer;
    }
    /// A lower bound on the time.
    [[nodiscard]] std::int64_t over_time(offload_problem<> const& p) const noexcept {
      return (std::max)({(std::max)(forward, load) + (std::max)(backward, p.last_backward + (std::max)(down, updates)), 2 * load + back});
    }
  };

  [[nodiscard]] std::int64_t over(totals const& sum) const noexcept {
    auto const& o = problem_.options;
    return (std::max)(sum.device_with(o.buffers) - o.device_memory, std::int64_t{0}) +
           (std::max)(sum.host - o.host_memory, std::int64_t{0});
  }
  [[nodiscard]] std::int64_t simulated(std::span<hosted const> placement) {
    for (std::size_t i = 0; i < placement.size(); ++i)
      times_[i] = problem_.at(problem_.class_of[i], static_cast<std::size_t>(placement[i])).times;
    return simulate_(times_, problem_.options.buffers, [](auto...) {});
  }
  void descend(spreads spread) {
    spread_out(spread);
    auto here = consider(now_);
    std::uint64_t largest = 0;
    for (auto const n : problem_.count) largest = (std::max)(largest, n);
    std::uint64_t step = 1;
    while (step < largest) step *= 2;
    for (; step >= 1; step /= 2)
      while (work_ < problem_.options.work && sweep(spread, step, here)) {
      }
  }
  /// One pass over all moves of `step` layers, alone or with the fewest of a second kind that make room; whether any was made.
  [[nodiscard]] bool sweep(spreads spread, std::uint64_t step, worth& here) {
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
  [[nodiscard]] bool better(spreads spread, worth& here) {
    if (!promising(here)) return false;
    spread_out(spread);
    auto const now = consider(now_);
    if (!(now < here)) return false;
    here = now;
    return true;
  }
  /// After a move that made a step faster but takes too much memory: as few of another move as give it back.
  [[nodiscard]] bool make_room(spreads spread, worth& here) {
    for (std::size_t e = 0; e < counts_.size(); ++e)
      for (std::size_t c = 0; c < hosted_choices && work_ < problem_.options.work; ++c) {
        auto const to = e - e % hosted_choices + c;
        auto const over = sums_.device_with(problem_.options.buffers) - problem_.options.device_memory;
        auto const frees = problem_.table[e].device - problem_.table[to].device;
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
      if (counts_[e] > 0) sum.buffer = (std::max)(sum.buffer, problem_.table[e].buffer);
    return worth{over(sum), sum.over_time(problem_)} < here;
  }
  void move(std::size_t from, std::size_t to, std::uint64_t n) {
    counts_[from] -= n;
    counts_[to] += n;
    sums_.add_sums(problem_.table[from], -static_cast<std::int64_t>(n));
    sums_.add_sums(problem_.table[to], static_cast<std::int64_t>(n));
  }

  /// Gives every layer its choice: groups by what the optimiser does, in the order of the spread; within a group parameters alternate.
  void spread_out(spreads spread) {
    now_.resize(problem_.layers());
    seen_.assign(problem_.classes(), 0);
    left_ = counts_;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      auto const k = problem_.class_of[i];
      auto const of_class = counts_.data() + k * hosted_choices;
      auto* const left = left_.data() + k * hosted_choices;
      auto const at = ++seen_[k], all = problem_.count[k];
      std::array<std::uint64_t, 3> group{}, group_left{};
      for (std::size_t c = 0; c < hosted_choices; ++c) {
        group[group_of(c)] += of_class[c];
        group_left[group_of(c)] += left[c];
      }
      std::size_t g = 0;
      if (spread == spreads::even) {
        g = furthest_behind(group, group_left, at, all);
      } else {
        g = spread == spreads::deep ? 0 : 2;
        while (group_left[g] == 0) g = spread == spreads::deep ? g + 1 : g - 1;
      }
      std::array<std::uint64_t, hosted_choices> inside{}, inside_left{};
      for (std::size_t c = 0; c < hosted_choices; ++c)
        if (group_of(c) == g) {
          inside[c] = of_class[c];
          inside_left[c] = left[c];
        }
      auto const c = furthest_behind(inside, inside_left, group[g] - group_left[g] + 1, group[g]);
      --left[c];
      now_[i] = static_cast<hosted>(c);
    }
  }
  /// Of the device's updates, the host's, and the host's with gradients.
  [[nodiscard]] static constexpr std::size_t group_of(std::size_t choice) noexcept {
    auto const what = static_cast<hosted>(choice);
    return hosts_gradients(what) ? 2 : hosts_optimizer(what) ? 1 : 0;
  }
  /// The kind of which the first `at` of `all` should have most more.
  template <std::size_t N>
  [[nodiscard]] static std::size_t furthest_behind(std::array<std::uint64_t, N> const& count, std::array<std::uint64_t, N> const& left,
                                                   std::uint64_t at, std::uint64_t all) noexcept {
    std::size_t best = N;
    std::int64_t most = 0;
    for (std::size_t c = 0; c < N; ++c) {
      if (left[c] == 0) continue;
      auto const behind = static_cast<std::int64_t>(count[c] * at) - static_cast<std::int64_t>((count[c] - left[c]) * all);
      if (best == N || behind > most) {
        best = c;
        most = behind;
      }
    }
    return best;
  }

  offload_problem<> const& problem_;
  std::vector<prefetch_layer> times_;
  prefetch_simulation<> simulate_;
  worth best_;
  totals sums_;  // of the counts, without buffers
  std::vector<hosted> chosen_, now_;
  std::vector<std::uint64_t> counts_, left_, seen_;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
