// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// The subset sums of items up to a limit, as bits, and the item that first reached each sum.
class subset_sums {
 public:
  /// Starts again without items.
  void reset(std::size_t most) {
    most_ = most;
    reachable_.assign(most / 64 + 1, 0);
    reachable_[0] = 1;
    reached_by_.resize(64 * reachable_.size());
  }
  /// The work of one `add`.
  [[nodiscard]] std::size_t words() const noexcept { return reachable_.size(); }
  [[nodiscard]] bool reaches(std::size_t sum) const { return (reachable_[sum / 64] >> sum % 64 & 1U) != 0; }
  /// The largest sum.
  [[nodiscard]] std::size_t best() const {
    auto sum = most_;
    while (!reaches(sum)) --sum;
    return sum;
  }
  /// The last item of a reachable sum that is not 0; earlier items reach the sum without it.
  [[nodiscard]] std::uint32_t last_of(std::size_t sum) const { return reached_by_[sum]; }

  /// Adds item `i`, which may be used once.
  void add(std::uint32_t i, std::size_t length) {
    auto const jump = length / 64, shift = length % 64;
    for (auto w = reachable_.size(); w-- > jump;) {  // in descending order, so that no sum uses the item twice
      auto moved = reachable_[w - jump] << shift;
      if (shift != 0 && w > jump) moved |= reachable_[w - jump - 1] >> (64 - shift);
      auto fresh = moved & ~reachable_[w];
      reachable_[w] |= fresh;
      for (; fresh != 0; fresh &= fresh - 1) reached_by_[w * 64 + static_cast<std::size_t>(std::countr_zero(fresh))] = i;
    }
  }

 private:
  std::size_t most_ = 0;
  pooled_vector<std::uint64_t> reachable_;
  pooled_vector<std::uint32_t> reached_by_;
};

}  // namespace ballast::inline v0_2::detail
