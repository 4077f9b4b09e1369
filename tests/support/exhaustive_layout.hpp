// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace ballast_test {

[[nodiscard]] inline bool share_time(ballast::buffer const& a, ballast::buffer const& b) { return a.lower < b.upper && b.lower < a.upper; }

/// Where buffer i starts on those placed so far (offset -1: not placed): above all that it shares time with.
[[nodiscard]] inline std::int64_t start_above(std::vector<ballast::buffer> const& buffers, std::vector<std::int64_t> const& offsets,
                                              std::size_t i) {
  std::int64_t at = 0;
  for (std::size_t j = 0; j < buffers.size(); ++j)
    if (offsets[j] >= 0 && share_time(buffers[i], buffers[j])) at = (std::max)(at, offsets[j] + buffers[j].size);
  auto const a = buffers[i].alignment;
  return (at + a - 1) / a * a;
}

/// The least height of all layouts, by all permutations: each buffer stands on those before it. None: fixed addresses rule all out.
[[nodiscard]] inline std::optional<std::int64_t> least_height_of_all_orders(std::vector<ballast::buffer> const& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::optional<std::int64_t> best;
  do {
    std::vector<std::int64_t> offsets(buffers.size(), -1);
    std::int64_t height = 0;
    bool possible = true;
    for (auto const i : order) {
      auto at = start_above(buffers, offsets, i);
      if (buffers[i].fixed >= 0) {
        possible = possible && at <= buffers[i].fixed;
        at = buffers[i].fixed;
      }
      offsets[i] = at;
      height = (std::max)(height, at + buffers[i].size);
    }
    if (possible && (!best || height < *best)) best = height;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Whether a layout within a capacity exists: buffers are placed by address from the lowest, each on those before it, and a branch ends
/// where what is left of a time does not fit above what is placed there. Times are small and not negative; sizes are positive.
class layout_exists {
 public:
  layout_exists(std::vector<ballast::buffer> const& buffers, std::int64_t capacity)
      : buffers_(buffers), capacity_(capacity), offsets_(buffers.size(), -1) {
    exists_ = try_from(0, 0, buffers.size());
  }
  [[nodiscard]] bool value() const { return exists_; }

 private:
  [[nodiscard]] bool fits_at(std::int64_t time) const {
    std::int64_t top = 0, rest = 0;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (time < buffers_[i].lower || time >= buffers_[i].upper) continue;
      if (offsets_[i] < 0)
        rest += buffers_[i].size;
      else
        top = (std::max)(top, offsets_[i] + buffers_[i].size);
    }
    return top + rest <= capacity_;
  }
  [[nodiscard]] bool try_from(std::int64_t lowest, std::size_t after, std::size_t left) {
    if (left == 0) return true;
    for (auto const& b : buffers_)
      if (!fits_at(b.lower)) return false;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (offsets_[i] >= 0) continue;
      auto at = start_above(buffers_, offsets_, i);
      if (buffers_[i].fixed >= 0) {
        if (at > buffers_[i].fixed) return false;
        at = buffers_[i].fixed;
      }
      if (at < lowest || (at == lowest && i < after) || at + buffers_[i].size > capacity_) continue;
      offsets_[i] = at;
      if (try_from(at, i, left - 1)) return true;
      offsets_[i] = -1;
    }
    return false;
  }

  std::vector<ballast::buffer> const& buffers_;
  std::int64_t capacity_;
  std::vector<std::int64_t> offsets_;
  bool exists_ = false;
};

/// Buffers whose sizes at any of `steps` times add up to `height`: at each time some end, and others of the same total size begin.
[[nodiscard]] inline std::vector<ballast::buffer> tight_buffers(std::int64_t height, std::int64_t steps, std::size_t most,
                                                                ballast::splitmix64& draw) {
  using ballast::uniform_below;
  std::vector<ballast::buffer> done;
  std::vector<ballast::buffer> open;
  auto free = height;
  for (std::int64_t t = 0; t < steps; ++t) {
    while (free > 0 && done.size() + open.size() < most) {
      auto const last = done.size() + open.size() + 1 == most || uniform_below(3, draw) == 0;
      auto const size = last ? free : 1 + static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(free), draw));
      open.push_back({.lower = t, .upper = steps, .size = size});
      free -= size;
    }
    for (std::size_t i = 0; i < open.size() && t + 1 < steps && done.size() + open.size() < most;) {
      if (uniform_below(4, draw) != 0) {
        ++i;
        continue;
      }
      open[i].upper = t + 1;
      free += open[i].size;
      done.push_back(open[i]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  done.insert(done.end(), open.begin(), open.end());
  return done;
}

/// Buffers of random times and sizes.
[[nodiscard]] inline std::vector<ballast::buffer> random_buffers(std::size_t count, std::uint64_t times, std::uint64_t sizes,
                                                                 ballast::splitmix64& draw) {
  using ballast::uniform_below;
  std::vector<ballast::buffer> out(count);
  for (auto& b : out) {
    b.lower = static_cast<std::int64_t>(uniform_below(times, draw));
    b.upper = b.lower + 1 + static_cast<std::int64_t>(uniform_below(times - static_cast<std::uint64_t>(b.lower), draw));
    b.size = 1 + static_cast<std::int64_t>(uniform_below(sizes, draw));
  }
  return out;
}

}  // namespace ballast_test
