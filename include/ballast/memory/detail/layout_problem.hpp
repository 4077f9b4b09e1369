// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A buffer of positive size, in units.
struct layout_piece {
  std::uint32_t index = 0;            ///< of the buffer in the input
  std::uint32_t first = 0, last = 0;  ///< it is in use in the sections first … last - 1
  std::int64_t size = 0;              ///< units, rounded up to the common alignment
  std::int64_t alignment = 1;         ///< units
  std::int64_t fixed = -1;            ///< units; -1: any
  std::int64_t pad = 0;               ///< bytes by which the size was rounded up
};

/// Buffers in units and sections. A section is a largest set of buffers that are in use at one time: times at which nothing new starts
/// are left out. Nothing can start in the bytes from a size to the next multiple of the common alignment, so they belong to the buffer.
template <class = when_called>
struct layout_problem {
  std::int64_t unit = 1;  ///< bytes; divides every address of some lowest layout
  bool padded = false;    ///< whether a size is not a multiple of the common alignment
  std::uint32_t sections = 0;
  std::vector<layout_piece> pieces;   ///< by first section; those that can replace each other are neighbours
  std::vector<std::uint32_t> begins;  ///< of a section, or their number: the first piece that begins there or later
  std::vector<std::int64_t> loads;    ///< of a section: sizes of its pieces
  std::vector<std::uint32_t> covers;  ///< of a section: its pieces

  explicit layout_problem(std::span<buffer const> buffers) {
    std::int64_t common = 0, exact = 0;  // greatest common divisors of alignments and fixed addresses; of sizes and fixed addresses
    for (auto const& b : buffers) {
      if (b.size == 0) continue;
      common = std::gcd(common, b.fixed >= 0 ? b.fixed : b.alignment);
    }
    if (common == 0) common = 1;  // all are fixed at 0
    bool aligned = false;
    for (auto const& b : buffers) {
      if (b.size == 0) continue;
      exact = std::gcd(exact, round_up(b.size, common));
      if (b.fixed >= 0) exact = std::gcd(exact, b.fixed);
    }
    if (exact == 0) exact = 1;
    for (auto const& b : buffers) aligned = aligned || (b.size != 0 && b.fixed < 0 && exact % b.alignment != 0);
    unit = aligned ? common : exact;
    pieces.reserve(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      auto const& b = buffers[i];
      if (b.size == 0) continue;
      auto const size = round_up(b.size, common);
      pieces.push_back({.index = static_cast<std::uint32_t>(i),
                        .size = size / unit,
                        .alignment = aligned && b.fixed < 0 ? b.alignment / unit : 1,
                        .fixed = b.fixed < 0 ? -1 : b.fixed / unit,
                        .pad = size - b.size});
      padded = padded || size != b.size;
    }
    find_sections(buffers);
    auto const key = [](layout_piece const& p) { return std::tie(p.first, p.last, p.size, p.alignment, p.fixed, p.pad, p.index); };
    std::sort(pieces.begin(), pieces.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
    sum_sections();
  }

  /// Whether piece i and the one before it can replace each other in every layout.
  [[nodiscard]] bool twins(std::uint32_t i) const {
    if (i == 0) return false;
    auto const key = [](layout_piece const& p) { return std::tie(p.first, p.last, p.size, p.alignment, p.fixed, p.pad); };
    return key(pieces[i]) == key(pieces[i - 1]);
  }

 private:
  void sum_sections() {
    begins.assign(std::size_t{sections} + 1, static_cast<std::uint32_t>(pieces.size()));
    loads.assign(std::size_t{sections} + 1, 0);
    covers.assign(std::size_t{sections} + 1, 0);
    for (auto i = pieces.size(); i-- > 0;) {
      auto const& p = pieces[i];
      begins[p.first] = static_cast<std::uint32_t>(i);
      loads[p.first] += p.size, loads[p.last] -= p.size;
      ++covers[p.first], --covers[p.last];
    }
    for (auto s = sections; s-- > 0;) begins[s] = (std::min)(begins[s], begins[s + 1]);
    std::partial_sum(loads.begin(), loads.end(), loads.begin());
    std::partial_sum(covers.begin(), covers.end(), covers.begin());
    loads.pop_back();
    covers.pop_back();
  }
  void find_sections(std::span<buffer const> buffers) {
    struct event {
      std::int64_t time;
      bool start;  // ends at a time come before starts
      std::uint32_t number;
    };
    std::vector<event> events;
    events.reserve(2 * pieces.size());
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      auto const& b = buffers[pieces[i].index];
      events.push_back({b.lower, true, i});
      events.push_back({b.upper, false, i});
    }
    std::sort(events.begin(), events.end(), [](auto const& a, auto const& b) {
      return a.time != b.time ? a.time < b.time : a.start != b.start ? b.start : a.number < b.number;
    });
    bool started = false;
    for (auto const& e : events) {
      if (e.start) {
        pieces[e.number].first = sections;
        started = true;
      } else {
        sections += started ? 1 : 0;
        started = false;
        pieces[e.number].last = sections;
      }
    }
  }
};

/// Whether two pieces overlap at their fixed addresses.
template <class = when_called>
[[nodiscard]] bool fixed_overlap(layout_problem<> const& problem) {
  struct event {
    std::uint32_t section;
    bool start;  // ends come first
    std::int64_t fixed, size;
  };
  std::vector<event> events;
  for (auto const& p : problem.pieces) {
    if (p.fixed < 0) continue;
    events.push_back({p.first, true, p.fixed, p.size});
    events.push_back({p.last, false, p.fixed, p.size});
  }
  std::sort(events.begin(), events.end(), [](auto const& a, auto const& b) {
    return std::tie(a.section, a.start, a.fixed, a.size) < std::tie(b.section, b.start, b.fixed, b.size);
  });
  std::map<std::int64_t, std::int64_t> ends;  // by address, of the pieces in use
  for (auto const& e : events) {
    if (!e.start) {
      ends.erase(e.fixed);
      continue;
    }
    auto const after = ends.lower_bound(e.fixed);
    if (after != ends.end() && after->first < e.fixed + e.size) return true;
    if (after != ends.begin() && std::prev(after)->second > e.fixed) return true;
    ends.emplace_hint(after, e.fixed, e.fixed + e.size);
  }
  return false;
}

}  // namespace ballast::inline v0_2::detail
