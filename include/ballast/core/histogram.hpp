// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief `histogram`: the distinct lengths of samples and how many samples have each.

namespace ballast::inline v0_2 {

/// @brief Distinct lengths and how many samples have each.
///
/// Histograms can be added: ranks that each hold a shard of the data agree on a global plan after one all-reduce of counts.
struct histogram {
  std::vector<std::int64_t> lengths;  ///< distinct, ascending, positive
  std::vector<std::uint64_t> counts;  ///< samples of each length, positive; as many as `lengths`

  /// @brief Number of samples: the sum of the counts.
  [[nodiscard]] std::uint64_t samples() const noexcept {
    std::uint64_t sum = 0;
    for (auto c : counts) sum += c;
    return sum;
  }
  /// @brief Sum of all lengths, in tokens.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) sum += lengths[i] * static_cast<std::int64_t>(counts[i]);
    return sum;
  }
  /// @brief Removes all lengths and keeps the memory.
  void clear() noexcept {
    lengths.clear();
    counts.clear();
  }
  /// @brief Adds the samples of another histogram. @param other any valid histogram @par Complexity Linear in the distinct lengths.
  histogram& operator+=(histogram const& other) {
    histogram sum;
    sum.lengths.reserve(lengths.size() + other.lengths.size());
    sum.counts.reserve(lengths.size() + other.lengths.size());
    std::size_t i = 0, j = 0;
    while (i < lengths.size() || j < other.lengths.size()) {
      auto const mine = j == other.lengths.size() || (i < lengths.size() && lengths[i] <= other.lengths[j]);
      auto const both = mine && j < other.lengths.size() && lengths[i] == other.lengths[j];
      sum.lengths.push_back(mine ? lengths[i] : other.lengths[j]);
      sum.counts.push_back((mine ? counts[i] : 0) + (both || !mine ? other.counts[j] : 0));
      i += mine ? 1 : 0;
      j += both || !mine ? 1 : 0;
    }
    *this = std::move(sum);
    return *this;
  }
  friend bool operator==(histogram const&, histogram const&) = default;
};

/// @brief Throws unless a histogram is valid: as many counts as lengths, lengths positive and strictly ascending, counts positive, and the
/// sum of all lengths below 2^63.
/// @param h  the histogram
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(histogram const& h) {
  require(h.lengths.size() == h.counts.size(),
          [&] { return sentence("histogram: ", h.lengths.size(), " lengths but ", h.counts.size(), " counts"); });
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  std::uint64_t left = most;
  for (std::size_t i = 0; i < h.lengths.size(); ++i) {
    auto const length_entry = [&] { return entry("histogram.lengths", i, h.lengths[i]); };
    auto const count_entry = [&] { return entry("histogram.counts", i, h.counts[i]); };
    require(h.lengths[i] > 0, [&] { return length_entry() + " must be positive"; });
    require(i == 0 || h.lengths[i - 1] < h.lengths[i], [&] { return length_entry() + " must be above its predecessor"; });
    require(h.counts[i] > 0, [&] { return count_entry() + " must be positive"; });
    auto const length = static_cast<std::uint64_t>(h.lengths[i]);
    auto const narrow = (h.counts[i] | length) >> 31 == 0;  // avoids a division
    require(narrow ? h.counts[i] * length <= left : h.counts[i] <= left / length,
            [&] { return count_entry() + " brings the sum of lengths to 2^63 or more"; });
    left -= h.counts[i] * length;
  }
}

}  // namespace ballast::inline v0_2
