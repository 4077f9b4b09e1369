// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// The spans of samples that fit a micro-batch, their times, and the least sum of times under a limit on each.

namespace ballast::inline v0_2::detail {

inline constexpr auto no_time = (std::numeric_limits<std::int64_t>::max)();

/// The spans that fit, with their times in a table unless they are many.
template <class Cost>
class consecutive_spans {
 public:
  /// `size` is called O(n) times, `cost` for each span that fits. Without a plan, `oversized()` is a sample that does not fit alone.
  template <class Size>
  consecutive_spans(std::uint64_t samples, std::int64_t capacity, Cost const& cost, Size const& size, bool quadrangle)
      : n_(static_cast<std::size_t>(samples)), cost_(cost), first_(n_ + 1), last_(n_ + 1), oversized_(n_) {
    std::int64_t held = 0;
    for (std::size_t begin = 0, end = 1; end <= n_; ++end) {
      auto value = value_of(size, begin, end, "size");
      if (begin + 1 < end) require_rising("size", held, value, begin, end - 1, begin, end);
      for (; value > capacity; ++begin) {
        if (begin + 1 == end) {
          oversized_ = begin;
          return;
        }
        auto const less = value_of(size, begin + 1, end, "size");
        require_rising("size", less, value, begin + 1, end, begin, end);
        value = less;
      }
      held = value;
      first_[end] = begin;
    }
    for (std::size_t begin = n_, end = n_; begin-- > 0;) {
      while (first_[end] > begin) --end;
      last_[begin] = end;
    }
    for (std::size_t end = 1; end <= n_; ++end) spans_ += end - first_[end];
    if (quadrangle && spans_ > most)
      look_at_ends();
    else
      fill();
  }

  [[nodiscard]] std::size_t samples() const noexcept { return n_; }
  [[nodiscard]] std::size_t oversized() const noexcept { return oversized_; }  ///< `samples()` if there is none
  /// Where the longest span that ends at `end` begins, and where the longest that begins at `begin` ends.
  [[nodiscard]] std::size_t first(std::size_t end) const noexcept { return first_[end]; }
  [[nodiscard]] std::size_t last(std::size_t begin) const noexcept { return last_[begin]; }
  [[nodiscard]] std::int64_t slowest_alone() const noexcept { return slowest_alone_; }  ///< the largest time of a sample alone
  [[nodiscard]] std::int64_t slowest() const noexcept { return slowest_; }              ///< the largest time of a span that fits
  [[nodiscard]] bool quadrangle() const noexcept { return quadrangle_; }
  [[nodiscard]] std::uint64_t spans() const noexcept { return spans_; }
  [[nodiscard]] std::int64_t operator()(std::size_t begin, std::size_t end) const {
    return table_.empty() ? static_cast<std::int64_t>(cost_(begin, end)) : table_[rows_[end] + (begin - first_[end])];
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 22;  ///< spans with a table

  template <class Value>
  static constexpr bool in_range(Value value) {
    return std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0) && std::cmp_less(value, std::int64_t{1} << 62);
  }
  template <class Callable>
  static std::int64_t value_of(Callable const& of, std::size_t begin, std::size_t end, char const* what) {
    auto const value = of(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
    require(in_range(value), [&] { return sentence(named(what, begin, end), " = ", value, " is outside [0, 2^62)"); });
    return static_cast<std::int64_t>(value);
  }
  static std::string named(char const* what, std::size_t begin, std::size_t end) { return sentence(what, "(", begin, ", ", end, ")"); }
  static void require_rising(char const* what, std::int64_t less, std::int64_t more, std::size_t from, std::size_t to, std::size_t begin,
                             std::size_t end) {
    require(less <= more, [&] {
      return sentence(named(what, begin, end), " = ", more, " is below ", named(what, from, to), " = ", less,
                      ": it must not fall if the span grows");
    });
  }
  /// For costs that are known to rise and to meet the quadrangle inequality: those of the shortest and the longest spans.
  void look_at_ends() {
    for (std::size_t end = 1; end <= n_; ++end) {
      slowest_alone_ = (std::max)(slowest_alone_, value_of(cost_, end - 1, end, "cost"));
      slowest_ = (std::max)(slowest_, value_of(cost_, first_[end], end, "cost"));
    }
  }
  /// Calls the cost of every span once, and checks that it rises and whether it meets the quadrangle inequality. That of neighbours,
  /// t(i, j - 1) + t(i + 1, j) <= t(i, j) + t(i + 1, j - 1), gives that of all.
  void fill() {
    auto const keeps = spans_ <= most;
    rows_.resize(keeps ? n_ + 1 : 0);
    std::vector<std::int64_t> times(keeps ? static_cast<std::size_t>(spans_) : 2 * n_);
    std::size_t row = 0, before = 0;  // where the times of the spans that end at `end` are, and those that end at `end - 1`
    for (std::size_t end = 1; end <= n_; ++end) {
      auto* const now = times.data() + row;
      fill_row(end, now, end == 1 ? now : times.data() + before + (first_[end] - first_[end - 1]));
      auto const count = end - first_[end];
      slowest_alone_ = (std::max)(slowest_alone_, now[count - 1]);
      slowest_ = (std::max)(slowest_, now[0]);
      if (keeps) rows_[end] = row;
      before = row;
      row = keeps ? row + count : n_ - row;
    }
    if (keeps) table_.swap(times);
  }
  /// Times of the spans that end at `end`, longest first. `old` are those of the spans that begin there and end before.
  void fill_row(std::size_t end, std::int64_t* now, std::int64_t const* old) {
    auto const first = first_[end], count = end - first;
    auto good = true, quadrangle = true;
    for (auto k = count; k-- > 0;) {
      auto const time = cost_(static_cast<std::uint64_t>(first + k), static_cast<std::uint64_t>(end));
      now[k] = static_cast<std::int64_t>(time);
      good = good && in_range(time);
      if (k + 1 < count) good = good && now[k] >= now[k + 1] && now[k] >= old[k];
      if (k + 2 < count) quadrangle = quadrangle && old[k] + now[k + 1] <= now[k] + old[k + 1];
    }
    quadrangle_ = quadrangle_ && quadrangle;
    if (good) return;
    for (auto k = count; k-- > 0;) {
      now[k] = value_of(cost_, first + k, end, "cost");
      if (k + 1 == count) continue;
      require_rising("cost", now[k + 1], now[k], first + k + 1, end, first + k, end);
      require_rising("cost", old[k], now[k], first + k, end - 1, first + k, end);
    }
  }

  std::size_t n_;
  Cost const& cost_;
  std::vector<std::size_t> first_, last_;
  std::size_t oversized_;
  std::int64_t slowest_alone_ = 0, slowest_ = 0;
  std::uint64_t spans_ = 0;
  bool quadrangle_ = true;
  std::vector<std::size_t> rows_;
  std::vector<std::int64_t> table_;
};

/// Least sums of times of the first 0 ... n samples, or of the last 0 ... n, where no span takes more than a limit.
template <class Spans>
class least_sums {
 public:
  explicit least_sums(Spans const& spans, bool of_last) : spans_(spans), of_last_(of_last), lowest_(spans.samples() + 1) {}

  /// `limit` is at least `slowest_alone()`. Sets `sums` and `from`, where the last step to each number of samples begins.
  void solve(std::int64_t limit, std::vector<std::int64_t>& sums) {
    auto const n = spans_.samples();
    for (std::size_t low = 0, k = 1; k <= n; ++k) {
      low = (std::max)(low, of_last_ ? n - spans_.last(n - k) : spans_.first(k));
      for (; time(low, k) > limit; ++low) ++work;
      lowest_[k] = low;
    }
    work += n;
    sums.resize(n + 1);
    from.resize(n + 1);
    sums[0] = 0;
    spans_.quadrangle() ? by_queue(sums) : by_window(sums);
  }

  std::vector<std::size_t> from;
  std::uint64_t work = 0;  ///< times that were looked up

 private:
  [[nodiscard]] std::int64_t time(std::size_t a, std::size_t b) const {
    auto const n = spans_.samples();
    return of_last_ ? spans_(n - b, n - a) : spans_(a, b);
  }
  void by_window(std::vector<std::int64_t>& sums) {
    for (std::size_t k = 1; k < sums.size(); ++k) {
      auto least = no_time;
      for (auto a = k; a-- > lowest_[k];)
        if (auto const sum = sums[a] + time(a, k); sum < least) {
          least = sum;
          from[k] = a;
        }
      work += k - lowest_[k];
      sums[k] = least;
    }
  }
  /// By the quadrangle inequality, a later begin that is as good as an earlier one for some end stays so for all later ends. The queue has
  /// the begins that are best for some end ahead, each with the first such end.
  void by_queue(std::vector<std::int64_t>& sums) {
    auto const n = sums.size() - 1;
    auto const sum = [&](std::size_t a, std::size_t b) {
      ++work;
      return a < lowest_[b] ? no_time : sums[a] + time(a, b);
    };
    queue_.assign(1, {0, 1});
    std::size_t head = 0;
    for (std::size_t k = 1; k <= n; ++k) {
      while (head + 1 < queue_.size() && queue_[head + 1].second <= k) ++head;
      from[k] = queue_[head].first;
      sums[k] = sum(from[k], k);
      while (queue_.back().second > k && sum(k, queue_.back().second) <= sum(queue_.back().first, queue_.back().second)) queue_.pop_back();
      auto const [other, since] = queue_.back();
      auto low = (std::max)(since, k) + 1, high = n + 1;
      while (low < high) {
        auto const middle = low + (high - low) / 2;
        if (sum(k, middle) <= sum(other, middle))
          high = middle;
        else
          low = middle + 1;
      }
      if (low <= n) queue_.emplace_back(k, low);
    }
  }

  Spans const& spans_;
  bool of_last_;
  std::vector<std::size_t> lowest_;
  std::vector<std::pair<std::size_t, std::size_t>> queue_;
};

}  // namespace ballast::inline v0_2::detail
