// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

// The memory of each step, with the highest of any range of steps: a tree of maxima, in which a node has those of the two below it.
template <class = when_called>
class step_peaks {
 public:
  void assign(std::span<std::int64_t const> memory) {
    size_ = std::bit_ceil((std::max)(memory.size(), std::size_t{1}));
    most_.assign(2 * size_, least);
    std::copy(memory.begin(), memory.end(), most_.begin() + static_cast<std::ptrdiff_t>(size_));
    for (auto i = size_; i-- > 1;) most_[i] = (std::max)(most_[2 * i], most_[2 * i + 1]);
  }
  [[nodiscard]] std::int64_t operator[](std::size_t step) const { return most_[size_ + step]; }
  // Changes the steps from `begin` on.
  void write(std::size_t begin, std::span<std::int64_t const> memory) {
    if (memory.empty()) return;
    std::copy(memory.begin(), memory.end(), most_.begin() + static_cast<std::ptrdiff_t>(size_ + begin));
    for (auto first = (size_ + begin) / 2, last = (size_ + begin + memory.size() - 1) / 2; first > 0; first /= 2, last /= 2)
      for (auto i = first; i <= last; ++i) most_[i] = (std::max)(most_[2 * i], most_[2 * i + 1]);
  }
  // The highest of steps begin ... end - 1, at least the least integer.
  [[nodiscard]] std::int64_t highest(std::size_t begin, std::size_t end) const {
    auto most = least;
    for (auto i = size_ + begin, j = size_ + end; i < j; i /= 2, j /= 2) {
      if (i % 2 == 1) most = (std::max)(most, most_[i++]);
      if (j % 2 == 1) most = (std::max)(most, most_[--j]);
    }
    return most;
  }
  // The first of these steps that has it; there is a step.
  [[nodiscard]] std::size_t first_highest(std::size_t begin, std::size_t end) const {
    auto const most = highest(begin, end);
    auto i = size_ + begin;
    while (most_[i] < most) {  // the next node to the right, as high as possible
      while (i % 2 == 1) i /= 2;
      ++i;
    }
    while (i < size_) i = 2 * i + (most_[2 * i] < most ? 1 : 0);
    return i - size_;
  }

 private:
  static constexpr auto least = (std::numeric_limits<std::int64_t>::min)();
  std::size_t size_ = 1;
  std::vector<std::int64_t> most_ = {least, least};
};

}  // namespace ballast::inline v0_2::detail
