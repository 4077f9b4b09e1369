// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/allocator_types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace ballast_test {

/// A caching allocator that remembers nothing but what is mapped and what is in use: free blocks are the gaps, found anew for each request.
class gap_allocator {
 public:
  using run = std::tuple<std::int64_t, std::size_t, std::int64_t>;  // size, segment, offset

  explicit gap_allocator(ballast::caching_allocator_options const& options) : options_(options) {}

  /// Size, segment and offset of the block.
  std::optional<run> allocate(std::int64_t bytes) {
    auto const size = rounded(bytes);
    auto const small = size <= mib;
    auto found = cached(small, size);
    if (!found) found = fresh(small, size);
    if (!found && options_.max_split_size < ballast::unlimited_bytes && give_back_oversize(small, size)) found = fresh(small, size);
    if (!found) {
      give_back();
      found = fresh(small, size);
    }
    if (!found) return found;
    auto& [whole, s, offset] = *found;
    auto const rest = whole - size;
    auto const divided = small || options_.expandable_segments ? rest >= 512 : size < options_.max_split_size && rest > mib;
    if (divided) whole = size;
    segments_[s].used[offset] = whole;
    return found;
  }
  void deallocate(run const& block) { segments_[std::get<1>(block)].used.erase(std::get<2>(block)); }

  void give_back() {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      auto& segment = segments_[s];
      for (std::size_t p = 0; p < segment.mapped.size(); ++p) {
        auto const begin = static_cast<std::int64_t>(p) * segment.page;
        if (!overlaps(segment, begin, begin + segment.page)) segment.mapped[p] = false;
      }
    }
  }

  [[nodiscard]] std::int64_t reserved() const {
    std::int64_t sum = 0;
    for (auto const& s : segments_) sum += s.page * std::count(s.mapped.begin(), s.mapped.end(), true);
    return sum;
  }
  [[nodiscard]] std::int64_t allocated() const {
    std::int64_t sum = 0;
    for (auto const& s : segments_)
      for (auto const& [offset, size] : s.used) sum += size;
    return sum;
  }
  [[nodiscard]] std::int64_t inactive_split() const {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < segments_.size() && !options_.expandable_segments; ++s)
      if (!segments_[s].used.empty())
        for (auto const& r : runs(s, true)) sum += std::get<0>(r);
    return sum;
  }
  [[nodiscard]] std::uint64_t segments() const {
    return static_cast<std::uint64_t>(std::count_if(segments_.begin(), segments_.end(),
                                                    [](auto const& s) { return std::count(s.mapped.begin(), s.mapped.end(), true) > 0; }));
  }

 private:
  static constexpr std::int64_t mib = 1 << 20;
  struct mapped_segment {
    bool small;
    std::int64_t page;
    std::vector<bool> mapped;
    std::map<std::int64_t, std::int64_t> used;  // sizes by offset
  };

  [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const {
    auto const divisions = options_.roundup_power2_divisions;
    std::int64_t power = 1, step = 512;
    while (2 * power <= bytes) power *= 2;
    if (divisions > 1 && bytes > 512 * divisions) step = power / divisions;
    return (bytes + step - 1) / step * step;
  }
  [[nodiscard]] static bool overlaps(mapped_segment const& s, std::int64_t begin, std::int64_t end) {
    return std::any_of(s.used.begin(), s.used.end(), [&](auto const& u) { return u.first < end && u.first + u.second > begin; });
  }
  /// The maximal gaps that are mapped, or not mapped, by address.
  [[nodiscard]] std::vector<run> runs(std::size_t s, bool mapped) const {
    auto const& segment = segments_[s];
    std::vector<run> out;
    auto const add = [&](std::int64_t begin, std::int64_t end) {
      if (begin >= end) return;
      if (!out.empty() && std::get<2>(out.back()) + std::get<0>(out.back()) == begin)
        std::get<0>(out.back()) += end - begin;
      else
        out.emplace_back(end - begin, s, begin);
    };
    for (std::size_t p = 0; p < segment.mapped.size(); ++p) {
      if (segment.mapped[p] != mapped) continue;
      auto at = static_cast<std::int64_t>(p) * segment.page;
      auto const end = at + segment.page;
      for (auto const& [offset, size] : segment.used) {
        if (offset + size <= at) continue;
        add(at, std::min(offset, end));
        at = std::max(at, offset + size);
      }
      add(at, end);
    }
    return out;
  }
  [[nodiscard]] std::vector<run> pool(bool small, bool mapped) const {
    std::vector<run> out;
    for (std::size_t s = 0; s < segments_.size(); ++s)
      if (segments_[s].small == small)
        for (auto const& r : runs(s, mapped)) out.push_back(r);
    return out;
  }
  [[nodiscard]] std::int64_t grown(run const& r) const {
    for (auto const& next : runs(std::get<1>(r), false))
      if (std::get<2>(next) == std::get<2>(r) + std::get<0>(r)) return std::get<0>(r) + std::get<0>(next);
    return std::get<0>(r);
  }
  [[nodiscard]] std::optional<run> cached(bool small, std::int64_t size) const {
    auto fits = pool(small, true);
    std::erase_if(fits, [&](run const& r) { return std::get<0>(r) < size; });
    std::sort(fits.begin(), fits.end());
    if (fits.empty()) return std::nullopt;
    std::size_t k = 0;
    if (options_.expandable_segments)
      while (k + 1 < fits.size() && grown(fits[k + 1]) < grown(fits[k])) ++k;
    auto const whole = std::get<0>(fits[k]);
    if (size < options_.max_split_size && whole >= options_.max_split_size) return std::nullopt;
    if (size >= options_.max_split_size && whole >= size + options_.max_non_split_rounding) return std::nullopt;
    return fits[k];
  }
  [[nodiscard]] std::optional<run> fresh(bool small, std::int64_t size) {
    if (options_.expandable_segments) return mapped_more(small, size);
    auto const bytes = small ? 2 * mib : size < 10 * mib ? 20 * mib : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
    if (reserved() + bytes > options_.capacity) return std::nullopt;
    segments_.push_back({small, bytes, {true}, {}});
    return run{bytes, segments_.size() - 1, 0};
  }
  [[nodiscard]] std::optional<run> mapped_more(bool small, std::int64_t size) {
    auto const page = small ? 2 * mib : 20 * mib;
    for (int round = 0; round < 2; ++round) {
      for (auto const& [unmapped, s, begin] : pool(small, false)) {
        auto& segment = segments_[s];
        auto gap = begin, end = begin + unmapped;
        for (auto const& [free, where, offset] : pool(small, true))
          if (where == s && offset + free == begin) gap = offset;
        // The gap ends at the next block in use, or with the segment.
        end = static_cast<std::int64_t>(segment.mapped.size()) * page;
        for (auto const& [offset, used] : segment.used)
          if (offset >= begin) end = std::min(end, offset);
        if (end - gap < size) continue;
        // Unmapped runs one after the other, each of them whole or not at all.
        for (auto const& [bytes, where, from] : runs(s, false)) {
          if (from < begin || from >= gap + size) continue;
          auto const to = std::min(from + bytes, (gap + size + page - 1) / page * page);
          if (reserved() + to - from > options_.capacity) return std::nullopt;
          for (auto p = from / page; p < to / page; ++p) segment.mapped[static_cast<std::size_t>(p)] = true;
        }
        for (auto const& r : runs(s, true))
          if (std::get<2>(r) == gap) return r;
      }
      auto const pages = (options_.capacity + options_.capacity / 8 + page - 1) / page;
      if (round == 0) segments_.push_back({small, page, std::vector<bool>(static_cast<std::size_t>(pages)), {}});
    }
    return std::nullopt;
  }
  [[nodiscard]] bool give_back_oversize(bool small, std::int64_t size) {
    auto const wanted = std::max(size, options_.max_split_size);
    auto blocks = pool(small, true);
    std::sort(blocks.begin(), blocks.end());
    auto const unmap = [&](run const& r) { segments_[std::get<1>(r)].mapped[0] = false; };
    for (auto const& b : blocks)
      if (std::get<0>(b) >= wanted) return unmap(b), true;
    std::int64_t given = 0;
    for (auto b = blocks.rbegin(); b != blocks.rend() && given < wanted && std::get<0>(*b) >= options_.max_split_size; ++b) {
      unmap(*b);
      given += std::get<0>(*b);
    }
    return given >= wanted;
  }

  ballast::caching_allocator_options options_;
  std::vector<mapped_segment> segments_;
};

}  // namespace ballast_test
