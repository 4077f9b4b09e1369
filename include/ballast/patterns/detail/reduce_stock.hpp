// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The samples that are still to be packed, with a row for each length, longest first.
template <template <class> class Allocator>
struct basic_pattern_rows {
  std::int64_t capacity = 0;
  std::vector<std::int64_t, Allocator<std::int64_t>> length;
  std::vector<std::uint32_t, Allocator<std::uint32_t>> item_class;  ///< its number in the histogram
  std::vector<std::uint64_t, Allocator<std::uint64_t>> count;
  std::uint64_t max_samples = 0;  ///< in a pack; 0: no limit

  void add(histogram const& lengths) {
    for (auto c = lengths.lengths.size(); c-- > 0;) {
      length.push_back(lengths.lengths[c]);
      item_class.push_back(static_cast<std::uint32_t>(c));
      count.push_back(lengths.counts[c]);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return length.size(); }
  [[nodiscard]] std::uint64_t tokens() const {
    return std::inner_product(length.begin(), length.end(), count.begin(), std::uint64_t{0}, std::plus<>(),
                              [](auto l, auto n) { return static_cast<std::uint64_t>(l) * n; });
  }
};
using pattern_rows = basic_pattern_rows<std::allocator>;

/// Makes packs that some plan of fewest packs has, and takes their samples away (Martello, Toth 1990): two samples that fill a pack, and
/// the longest sample with the longest one that fits, where it cannot share a pack with the two shortest. In any plan, what stands beside
/// such a sample can be exchanged for its partner.
template <template <class> class Allocator>
class stock_reduction {
 public:
  /// Does as much of it as takes about `most` steps.
  stock_reduction(basic_pattern_rows<Allocator>& rows, basic_pack_patterns<Allocator>& out, std::uint64_t most = ~std::uint64_t{0})
      : rows_(rows), out_(out), most_(most) {
    for (auto more = true; more && steps_ < most_;) {
      more = full_pairs();
      more = longest_samples() || more;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_.count[i] == 0) continue;
      rows_.length[kept] = rows_.length[i];
      rows_.item_class[kept] = rows_.item_class[i];
      rows_.count[kept++] = rows_.count[i];
    }
    rows_.length.resize(kept);
    rows_.item_class.resize(kept);
    rows_.count.resize(kept);
  }
  /// The work.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  // Makes `packs` packs of a sample of row i and one of row j; j = size() means none.
  void make(std::size_t i, std::size_t j, std::uint64_t packs) {
    pattern_item const pack[] = {{rows_.item_class[i], i == j ? 2U : 1U}, {j < rows_.size() ? rows_.item_class[j] : 0, 1}};
    rows_.count[i] -= packs;
    if (j < rows_.size()) rows_.count[j] -= packs;
    out_.push_back(std::span(pack, i == j || j == rows_.size() ? 1 : 2), packs);
    steps_ += 20;
  }
  [[nodiscard]] bool full_pairs() {
    auto made = false;
    steps_ += rows_.size();
    for (std::size_t i = 0, j = rows_.size(); i < j;) {
      auto const sum = rows_.length[i] + rows_.length[j - 1];
      if (sum == rows_.capacity) {
        auto const packs = i == j - 1 ? rows_.count[i] / 2 : (std::min)(rows_.count[i], rows_.count[j - 1]);
        if (packs != 0) {
          make(i, j - 1, packs);
          made = true;
        }
      }
      i += sum >= rows_.capacity ? 1 : 0;
      j -= sum <= rows_.capacity ? 1 : 0;
    }
    return made;
  }
  // The sum of the two shortest samples, or 0 if fewer than three samples are left. `shortest` moves to the row of the shortest.
  [[nodiscard]] std::int64_t two_shortest(std::size_t& shortest) {
    while (shortest > 0 && rows_.count[shortest - 1] == 0) --shortest;
    std::int64_t sum = 0;
    std::uint64_t samples = 0;
    for (auto i = shortest; i-- > 0 && samples < 3; ++steps_) {
      auto const n = (std::min)(rows_.count[i], 3 - samples);
      sum += static_cast<std::int64_t>((std::min)(n, samples < 2 ? 2 - samples : 0)) * rows_.length[i];
      samples += n;
    }
    return samples < 3 ? 0 : sum;
  }
  [[nodiscard]] bool longest_samples() {
    auto made = false;
    steps_ += rows_.size();
    std::vector<std::size_t, Allocator<std::size_t>> partners;  // rows that fit beside the longest sample, the longest of them last
    for (std::size_t i = 0, next = rows_.size(), shortest = next; i < rows_.size() && steps_ < most_;) {
      if (rows_.count[i] == 0) {
        ++i;
        continue;
      }
      auto const room = rows_.capacity - rows_.length[i];
      if (auto const two = two_shortest(shortest); two != 0 && two <= room) break;
      while (next > i && rows_.length[next - 1] <= room) partners.push_back(--next);
      while (!partners.empty() && rows_.count[partners.back()] < (partners.back() == i ? 2U : 1U)) partners.pop_back();
      auto const j = partners.empty() ? rows_.size() : partners.back();
      make(i, j, j == rows_.size() ? rows_.count[i] : j == i ? rows_.count[i] / 2 : (std::min)(rows_.count[i], rows_.count[j]));
      made = true;
    }
    return made;
  }

  basic_pattern_rows<Allocator>& rows_;
  basic_pack_patterns<Allocator>& out_;
  std::uint64_t most_, steps_ = 0;
};

}  // namespace ballast::inline v0_2::detail
