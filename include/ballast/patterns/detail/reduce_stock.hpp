// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The samples that are still to be packed, with a row for each length, longest first.
struct pattern_rows {
  std::int64_t capacity = 0;
  std::vector<std::int64_t> length;
  std::vector<std::uint32_t> item_class;  ///< its number in the histogram
  std::vector<std::uint64_t> count;
  std::uint64_t max_samples = 0;  ///< in a pack; 0: no limit

  [[nodiscard]] std::size_t size() const noexcept { return length.size(); }
  [[nodiscard]] std::uint64_t tokens() const {
    return std::inner_product(length.begin(), length.end(), count.begin(), std::uint64_t{0}, std::plus<>(),
                              [](auto l, auto n) { return static_cast<std::uint64_t>(l) * n; });
  }
};

/// Makes packs that some plan of fewest packs has, and takes their samples away (Martello, Toth 1990): two samples that fill a pack, and
/// the longest sample with the longest one that fits, where it cannot share a pack with the two shortest. In any plan, what stands beside
/// such a sample can be exchanged for its partner.
class stock_reduction {
 public:
  explicit stock_reduction(pattern_rows& rows, pack_patterns& out) : rows_(rows), out_(out) {
    for (auto more = true; more;) {
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

 private:
  // Makes `packs` packs of a sample of row i and one of row j; j = size() means none.
  void make(std::size_t i, std::size_t j, std::uint64_t packs) {
    std::vector<pattern_item> pack{{rows_.item_class[i], 1}};
    rows_.count[i] -= packs;
    if (j < rows_.size()) {
      add_copies(pack, rows_.item_class[j]);
      rows_.count[j] -= packs;
    }
    out_.push_back(pack, packs);
  }
  [[nodiscard]] bool full_pairs() {
    auto made = false;
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
  // The sum of the two shortest samples, or 0 if fewer than three samples are left.
  [[nodiscard]] std::int64_t two_shortest() const {
    std::int64_t sum = 0;
    std::uint64_t samples = 0;
    for (auto i = rows_.size(); i-- > 0 && samples < 3;) {
      auto const n = (std::min)(rows_.count[i], 3 - samples);
      sum += static_cast<std::int64_t>((std::min)(n, samples < 2 ? 2 - samples : 0)) * rows_.length[i];
      samples += n;
    }
    return samples < 3 ? 0 : sum;
  }
  [[nodiscard]] bool longest_samples() {
    auto made = false;
    for (std::size_t i = 0; i < rows_.size();) {
      if (rows_.count[i] == 0) {
        ++i;
        continue;
      }
      auto const room = rows_.capacity - rows_.length[i];
      if (auto const two = two_shortest(); two != 0 && two <= room) break;
      auto j = i;
      while (j < rows_.size() && (rows_.length[j] > room || rows_.count[j] < (j == i ? 2U : 1U))) ++j;
      make(i, j, j == rows_.size() ? rows_.count[i] : j == i ? rows_.count[i] / 2 : (std::min)(rows_.count[i], rows_.count[j]));
      made = true;
    }
    return made;
  }

  pattern_rows& rows_;
  pack_patterns& out_;
};

}  // namespace ballast::inline v0_2::detail
