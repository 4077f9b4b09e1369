// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/detail/shuffle.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Samples that are left, as their classes, and the full packs that rounds have taken out of them. Which sample of a class is meant is
/// decided when the packs are expanded.
class sampling_rounds {
 public:
  sampling_rounds(measure_classes const& classes, std::span<std::int64_t const> capacity, std::span<std::int64_t const> filter)
      : classes_(classes), capacity_(capacity), filter_(filter), load_(capacity.size()) {
    for (std::size_t m = 0; m < classes.measures; ++m) total_left_.push_back(classes.total(m));
    left_.members.reserve(static_cast<std::size_t>(classes.samples()));
    for (std::size_t c = 0; c < classes.size(); ++c)
      left_.members.insert(left_.members.end(), static_cast<std::size_t>(classes.counts[c]), static_cast<std::uint32_t>(c));
  }

  /// Next fit over what is left, in a random order; full packs are taken out.
  void sample(std::uint64_t seed) {
    auto& pool = left_.members;
    splitmix64 random(seed);
    shuffle(std::span(pool), random);
    left_.offsets.assign(1, 0);
    std::size_t kept = 0;
    for (std::size_t begin = 0, end = 0; begin < pool.size(); begin = end) {
      std::fill(load_.begin(), load_.end(), 0);
      while (end < pool.size() && add(pool[end])) ++end;
      if (full()) {
        full_.push_back({pool.data() + begin, end - begin});
        for (std::size_t m = 0; m < load_.size(); ++m) total_left_[m] -= load_[m];
      } else {
        std::copy(pool.data() + begin, pool.data() + end, pool.data() + kept);
        left_.offsets.push_back(kept += end - begin);
      }
    }
    pool.resize(kept);
  }
  /// The full packs of all rounds, in the order they were taken.
  [[nodiscard]] groups<std::uint32_t> const& taken() const noexcept { return full_; }
  /// The other packs of the last round.
  [[nodiscard]] groups<std::uint32_t> const& left() const noexcept { return left_; }

  /// No plan that keeps the full packs has fewer packs: what some measure needs for the rest. Never falls.
  [[nodiscard]] std::size_t least_packs() const {
    std::int64_t most = 0;
    for (std::size_t m = 0; m < load_.size(); ++m) most = (std::max)(most, divide_up(total_left_[m], capacity_[m]));
    return full_.size() + static_cast<std::size_t>(most);
  }

 private:
  bool add(std::uint32_t item_class) {
    auto const* const row = classes_.values.data() + item_class * load_.size();
    for (std::size_t m = 0; m < load_.size(); ++m)
      if (row[m] > capacity_[m] - load_[m]) return false;
    for (std::size_t m = 0; m < load_.size(); ++m) load_[m] += row[m];
    return true;
  }
  [[nodiscard]] bool full() const {
    for (std::size_t m = 0; m < load_.size(); ++m)
      if (load_[m] >= filter_[m]) return true;
    return false;
  }

  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_, filter_;
  std::vector<std::int64_t> load_, total_left_;
  groups<std::uint32_t> left_, full_;
};

}  // namespace ballast::inline v0_2::detail
