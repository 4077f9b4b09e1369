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

/// The remaining samples, given by their classes, and the full packs of all rounds. Samples of a class are assigned to packs when the packs
/// are expanded.
template <class = when_called>
class sampling_rounds {
 public:
  sampling_rounds(measure_classes const& classes, std::span<std::int64_t const> capacity, std::span<std::int64_t const> filter)
      : classes_(classes), capacity_(capacity), filter_(filter), load_(capacity.size()) {
    for (std::size_t m = 0; m < classes.measures; ++m) total_left_.push_back(classes.total(m));
    left_.members.reserve(static_cast<std::size_t>(classes.samples()));
    for (std::size_t c = 0; c < classes.size(); ++c)
      left_.members.insert(left_.members.end(), static_cast<std::size_t>(classes.counts[c]), static_cast<std::uint32_t>(c));
  }

  /// Makes one round: next fit over the remaining samples in a random order; full packs are kept.
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
  /// The full packs of all rounds, in the order in which they were made.
  [[nodiscard]] groups<std::uint32_t> const& taken() const noexcept { return full_; }
  /// The other packs of the last round.
  [[nodiscard]] groups<std::uint32_t> const& left() const noexcept { return left_; }

  /// A lower bound on the number of packs of any plan with these full packs: the volume bound of the remaining samples. It never decreases.
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
