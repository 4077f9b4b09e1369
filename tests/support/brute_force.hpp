// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// The fewest packs for a handful of samples, by trying every way to share packs.
class fewest_packs {
 public:
  fewest_packs(std::vector<std::int64_t> const& lengths, std::int64_t capacity, std::uint64_t max_samples = 0)
      : lengths_(lengths), capacity_(capacity), max_samples_(max_samples), best_(lengths.size()) {
    if (!lengths_.empty()) place(0);
  }
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(best_); }

 private:
  struct open_pack {
    std::int64_t load;
    std::uint64_t samples;
  };
  void place(std::size_t i) {
    if (packs_.size() >= best_) return;
    if (i == lengths_.size()) {
      best_ = packs_.size();
      return;
    }
    for (std::size_t g = 0; g < packs_.size(); ++g) {
      if (lengths_[i] > capacity_ - packs_[g].load || packs_[g].samples == max_samples_) continue;
      auto const before = packs_[g];
      packs_[g] = {before.load + lengths_[i], before.samples + 1};
      place(i + 1);
      packs_[g] = before;
    }
    packs_.push_back({lengths_[i], 1});
    place(i + 1);
    packs_.pop_back();
  }
  std::vector<std::int64_t> lengths_;
  std::int64_t capacity_;
  std::uint64_t max_samples_;  // 0 is never reached: no limit
  std::size_t best_;
  std::vector<open_pack> packs_;
};

}  // namespace ballast_test
