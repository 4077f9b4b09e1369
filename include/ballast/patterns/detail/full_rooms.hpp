// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// How many samples there are of each length, longest first.
using sample_counts = std::map<std::int64_t, std::uint64_t, std::greater<>>;

/// Which sums of samples fill the room beside a sample to the last token: a bit for each sum.
template <class = when_called>
class full_rooms {
 public:
  full_rooms(std::int64_t capacity, search_budget& budget) : capacity_(capacity), budget_(budget) {}

  /// Looks for samples, none of a length in `without`, that fill a pack with one of `length`; `found()` has them, equal ones side by side.
  [[nodiscard]] bool fill(sample_counts const& samples, std::int64_t length, std::span<std::int64_t const> without) {
    auto const room = begin(length);
    last_.resize(static_cast<std::size_t>(room) + 1);
    added_.clear();
    for (auto const& [l, count] : samples) {
      if (l > room || std::find(without.begin(), without.end(), l) != without.end()) continue;
      auto const copies = (std::min)(count - (l == length ? 1 : 0), static_cast<std::uint64_t>(room / l));
      for (std::uint64_t k = 0; k < copies; ++k) {
        auto const place = static_cast<std::uint32_t>(added_.size());
        auto more = false;
        add(l, [&](std::size_t word, std::uint64_t sums) {
          more = more || sums != 0;
          for (; sums != 0; sums &= sums - 1) {
            auto const sum = 64 * word + static_cast<std::size_t>(std::countr_zero(sums));
            if (sum < last_.size()) last_[sum] = place;
            work_ += 4;  // it is written at random
          }
        });
        if (!more) break;
        added_.push_back(l);
        if (has(room)) return end(true);
      }
    }
    return end(room == 0);
  }
  [[nodiscard]] std::vector<std::int64_t> const& found() const noexcept { return found_; }

  /// The lengths, ascending, of the longest sample beside one of `length` in a full pack; the first `most` of them.
  [[nodiscard]] std::vector<std::int64_t> longest_beside(sample_counts const& samples, std::int64_t length, std::size_t most) {
    auto const room = begin(length);
    std::vector<std::int64_t> out;
    for (auto at = samples.rbegin(); at != samples.rend() && at->first <= room && out.size() < most; ++at) {
      auto const l = at->first;
      auto fills = false;
      auto const copies = (std::min)(at->second - (l == length ? 1 : 0), static_cast<std::uint64_t>(room / l));
      for (std::uint64_t k = 0; k < copies; ++k) {
        fills = fills || has(room - l);
        add(l, [](std::size_t, std::uint64_t) {});
      }
      if (fills) out.push_back(l);
    }
    budget_.spend(work_);
    return out;
  }

 private:
  [[nodiscard]] std::int64_t begin(std::int64_t length) {
    auto const room = capacity_ - length;
    sums_.assign(static_cast<std::size_t>(room / 64) + 1, 0);
    sums_[0] = 1;
    sum_ = 0;
    work_ = sums_.size() / 8;
    return room;
  }
  [[nodiscard]] bool has(std::int64_t sum) const { return (sums_[static_cast<std::size_t>(sum / 64)] >> (sum % 64) & 1) != 0; }
  // Adds a sample; `visit(word, sums)` is called for each word with the new sums in it.
  template <class Visit>
  void add(std::int64_t length, Visit const& visit) {
    sum_ += length;
    auto const step = static_cast<std::size_t>(length / 64), shift = static_cast<std::size_t>(length % 64);
    auto const words = (std::min)(sums_.size(), static_cast<std::size_t>(sum_ / 64) + 1);
    for (auto x = words; x-- > step;) {
      auto moved = sums_[x - step] << shift;
      if (shift != 0 && x > step) moved |= sums_[x - step - 1] >> (64 - shift);
      auto const sums = moved & ~sums_[x];
      if (sums == 0) continue;
      sums_[x] |= sums;
      visit(x, sums);
    }
    work_ += 8 + 2 * (words > step ? words - step : 0);
  }
  // Each sum was reached by its last sample from a sum that earlier ones reach.
  [[nodiscard]] bool end(bool full) {
    budget_.spend(work_);
    found_.clear();
    if (!full) return false;
    for (auto sum = last_.size() - 1; sum > 0; sum -= static_cast<std::size_t>(found_.back())) found_.push_back(added_[last_[sum]]);
    return true;
  }

  std::int64_t capacity_;
  search_budget& budget_;
  std::vector<std::uint64_t> sums_;  // bits
  std::vector<std::uint32_t> last_;  // of each sum, the place in `added_` of the sample that reached it first
  std::vector<std::int64_t> added_, found_;
  std::int64_t sum_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
