// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/curriculum/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Decides how many steps of each source an epoch trains, with an exact sum; and mixes them evenly.

namespace ballast::inline v0_2 {

/// @brief Apportions `total` in proportion to `share` by the largest-remainder method: each entry gets its quota rounded down, and the
/// entries of largest remainder get one more.
///
/// @param share  share of each entry, in any unit; not negative, with a sum below 2^63
/// @param total  the number to apportion
/// @return one number for each share; their sum is `total`
///
/// @post each number is `total * share / sum`, rounded down or up; of equal remainders, the first is rounded up
/// @throws invalid_input if a share is negative, their sum too large, or no share is positive though `total` is
/// @par Complexity
/// O(shares log shares).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The method of A. Hamilton; Balinski, Young, "Fair representation", 1982.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> largest_remainder(std::span<std::int64_t const> share, std::uint64_t total) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    require(share[i] >= 0, [&] { return entry("share", i, share[i]) + " must not be negative"; });
    sum += static_cast<std::uint64_t>(share[i]);
    require(sum >> 63 == 0, [&] { return sentence("share[", i, "] brings the sum of shares to 2^63 or more"); });
  }
  require(sum > 0 || total == 0, [&] { return sentence("no share is positive, but total = ", total); });
  std::vector<std::uint64_t> count(share.size(), 0), missing(share.size(), 0);
  if (total == 0) return count;
  auto left = total;
  for (std::size_t i = 0; i < share.size(); ++i) {
    auto const s = static_cast<std::uint64_t>(share[i]);
    count[i] = multiply_divide_up(total, s, sum);
    missing[i] = count[i] * sum - total * s;  // below sum, so the low 64 bits of the two products are enough
    if (missing[i] > 0) --count[i];
    left -= count[i];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < share.size(); ++i)
    if (missing[i] > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return missing[a] != missing[b] ? missing[a] < missing[b] : a < b; });
  for (std::size_t i = 0; i < left; ++i) ++count[order[i]];
  return count;
}

/// @brief Returns how many steps to take from each source for a requested number of passes over it.
///
/// For example, `{500, 3000}` asks for half a pass over a large web crawl and three passes over a small set of books. The numbers go into
/// `curriculum_source::per_epoch`.
///
/// @param sources      the sources; only `steps` is read
/// @param thousandths  passes over each source in thousandths, at most 10^6: 1000 trains each step once, 100 every tenth step
/// @return number of steps of each source; their sum is the exact sum rounded to the nearest integer, halves up
/// @throws invalid_input unless there is one entry of `thousandths` for each source, and all numbers are in range
/// @par Complexity
/// O(sources log sources).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> steps_of_passes(std::span<curriculum_source const> sources,
                                                                std::span<std::uint32_t const> thousandths) {
  require(sources.size() == thousandths.size(),
          [&] { return sentence("thousandths has ", thousandths.size(), " entries for ", sources.size(), " sources"); });
  std::vector<std::int64_t> share(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    auto const at = "[" + std::to_string(s) + "]";
    require(thousandths[s] <= 1000000, [&] { return sentence("thousandths", at, " = ", thousandths[s], " exceeds 10^6"); });
    require(sources[s].steps <= detail::most_curriculum_steps,
            [&] { return sentence("sources", at, ".steps = ", sources[s].steps, " must be below 2^31"); });
    share[s] = static_cast<std::int64_t>(sources[s].steps * thousandths[s]);
  }
  auto const sum = std::accumulate(share.begin(), share.end(), std::int64_t{0});
  return largest_remainder(share, (static_cast<std::uint64_t>(sum) + 500) / 1000);
}

namespace detail {

// Mixes sources evenly by the chairman assignment. Let there be N steps, n of them of a source, k sources with steps, and e = 1 / (2k - 2).
// Step j = 1, 2, … of the source may come from step ceil((j - 1 + e) N / n) on and is due by step floor((j - e) N / n) + 1. Tijdeman proved
// that some order meets every such window, and taking the step that is due first meets all windows if any order does. So every source is
// within 1 - e steps of its share at every point.
class chairman_windows {
 public:
  chairman_windows(std::uint64_t all, std::uint64_t count, std::uint64_t sources)
      : unit_((2 * sources - 2) * count),
        stride_(all / count),
        stride_part_((2 * sources - 2) * (all % count)),
        from_(all / unit_),
        from_part_(all % unit_),
        due_((2 * sources - 3) * all / unit_),
        due_part_((2 * sources - 3) * all % unit_) {}

  [[nodiscard]] std::uint64_t from() const noexcept { return from_ + (from_part_ > 0 ? 1 : 0); }
  [[nodiscard]] std::uint64_t due() const noexcept { return due_; }  // less by one, for all sources
  // Moves to the next step of the source; after the last, `from` is after step N.
  void advance() noexcept {
    add_stride(from_, from_part_);
    add_stride(due_, due_part_);
  }

 private:
  void add_stride(std::uint64_t& whole, std::uint64_t& part) const noexcept {
    whole += stride_;
    part += stride_part_;
    if (part >= unit_) {
      part -= unit_;
      ++whole;
    }
  }
  std::uint64_t unit_;  // fractions are in units of 1 / unit_
  std::uint64_t stride_, stride_part_, from_, from_part_, due_, due_part_;
};

// Returns the source of each step: `count[s]` steps of source s, evenly mixed. The sum of counts is below 2^31, and there are fewer than
// 2^16 sources.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> interleave(std::span<std::uint64_t const> count) {
  std::uint64_t all = 0, sources = 0;
  for (auto c : count) {
    all += c;
    sources += c > 0 ? 1 : 0;
  }
  std::vector<std::uint32_t> order;
  order.reserve(static_cast<std::size_t>(all));
  std::vector<chairman_windows> windows;
  std::vector<std::uint32_t> source;
  for (std::uint32_t s = 0; s < count.size(); ++s) {
    if (count[s] == 0) continue;
    if (sources == 1) {
      order.assign(static_cast<std::size_t>(all), s);
      return order;
    }
    windows.emplace_back(all, count[s], sources);
    source.push_back(s);
  }
  if (windows.size() <= 8) {  // searching all of them is faster than a heap
    for (std::uint64_t step = 1; step <= all; ++step) {
      auto first = (std::numeric_limits<std::uint64_t>::max)();
      std::size_t next = 0;
      for (std::size_t w = 0; w < windows.size(); ++w) {
        auto const earlier = windows[w].from() <= step && windows[w].due() < first;
        next = earlier ? w : next;
        first = earlier ? windows[w].due() : first;
      }
      order.push_back(source[next]);
      windows[next].advance();
    }
    return order;
  }
  constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();
  std::vector<std::uint32_t> opens(static_cast<std::size_t>(all) + 1, none), also(windows.size());  // a list for each step
  auto const wait = [&](std::uint32_t w, std::uint64_t step) { also[w] = std::exchange(opens[static_cast<std::size_t>(step)], w); };
  for (std::uint32_t w = 0; w < windows.size(); ++w) wait(w, windows[w].from());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready;  // a heap, first due on top; ties are broken by source
  for (std::uint64_t step = 1; step <= all; ++step) {
    for (auto w = opens[static_cast<std::size_t>(step)]; w != none; w = also[w]) {
      ready.emplace_back(windows[w].due(), w);
      std::push_heap(ready.begin(), ready.end(), std::greater<>{});
    }
    std::pop_heap(ready.begin(), ready.end(), std::greater<>{});
    auto const w = ready.back().second;
    ready.pop_back();
    order.push_back(source[w]);
    windows[w].advance();
    if (auto const from = (std::max)(windows[w].from(), step + 1); from <= all) wait(w, from);
  }
  return order;
}

}  // namespace detail

}  // namespace ballast::inline v0_2
