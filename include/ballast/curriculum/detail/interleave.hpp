// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Mixes sources evenly by the chairman assignment.

namespace ballast::inline v0_2::detail {

// Let there be N steps, n of them of a source, k sources with steps, and e = 1 / (2k - 2). Step j = 1, 2, … of the source may come from
// step ceil((j - 1 + e) N / n) on and is due by step floor((j - e) N / n) + 1. Tijdeman proved that some order meets every such window, and
// taking the step that is due first meets all windows if any order does. So every source is within 1 - e steps of its share at every point.
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

}  // namespace ballast::inline v0_2::detail
