// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/detail/chain.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The local search over the chunks of an interleaved pipeline.

namespace ballast::inline v0_2::detail {

/// Local search over cuts that balances the loads of the devices.
template <class = when_called>
class chunk_search {
 public:
  chunk_search(chain_data const& chain, std::size_t devices, std::size_t min_layers, std::uint64_t work)
      : chain_(chain), min_(min_layers), work_(work), load_(devices) {}

  /// Starts from given cuts, and moves single cuts until no move improves the plan.
  void descend(std::vector<std::size_t> cuts) {
    cuts_ = std::move(cuts);
    std::fill(load_.begin(), load_.end(), std::int64_t{0});
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) load_[c % load_.size()] += chain_.work[cuts_[c + 1]] - chain_.work[cuts_[c]];
    for (bool moved = load_.size() > 1; moved && tried_ < work_;) {
      moved = false;
      for (std::size_t k = 1; k + 1 < cuts_.size(); ++k) moved = even_out(k) || moved;
    }
    keep();
  }
  /// Moves a few cuts of the best plan at random and descends again, until the work is spent or `bound` is met.
  void kick(std::uint64_t seed, std::int64_t bound) {
    splitmix64 draw(seed);
    auto const inner = best_cuts_.size() - 2;
    while (inner > 0 && load_.size() > 1 && best_ > bound && tried_ < work_) {
      auto cuts = best_cuts_;
      for (int kicks = 0; kicks < 3; ++kicks) {
        auto const k = 1 + static_cast<std::size_t>(uniform_below(inner, draw));
        auto const low = cuts[k - 1] + min_, high = cuts[k + 1] - min_;
        cuts[k] = low + static_cast<std::size_t>(uniform_below(high - low + 1, draw));
      }
      ++tried_;
      descend(std::move(cuts));
    }
  }
  [[nodiscard]] std::int64_t value() const { return best_; }
  [[nodiscard]] std::vector<std::size_t> const& cuts() const { return best_cuts_; }

 private:
  /// Moves a cut to where its two devices are most balanced; returns whether that improves the plan.
  bool even_out(std::size_t k) {
    auto &left = load_[(k - 1) % load_.size()], &right = load_[k % load_.size()];
    auto const at = chain_.work[cuts_[k]];
    auto const shift = [&](std::size_t to) { return chain_.work[to] - at; };
    auto const larger = [&](std::size_t to) { return (std::max)(left + shift(to), right - shift(to)); };
    auto const first = cuts_[k - 1] + min_;
    auto low = first_where(first, cuts_[k + 1] - min_, [&](std::size_t to) {  // where the left device has as much as the right one
      ++tried_;
      return left + shift(to) >= right - shift(to);
    });
    if (low > first && larger(low - 1) < larger(low)) --low;
    if (larger(low) >= (std::max)(left, right)) return false;
    auto const moved = shift(low);
    left += moved;
    right -= moved;
    cuts_[k] = low;
    return true;
  }
  void keep() {
    auto const value = *std::max_element(load_.begin(), load_.end());
    wide squares;
    for (auto const l : load_) squares = squares + multiply(static_cast<std::uint64_t>(l), static_cast<std::uint64_t>(l));
    if (!best_cuts_.empty() && (value > best_ || (value == best_ && !(squares < best_squares_)))) return;
    best_ = value;
    best_squares_ = squares;
    best_cuts_ = cuts_;
  }

  chain_data const& chain_;
  std::size_t min_;
  std::uint64_t work_, tried_ = 0;
  std::vector<std::int64_t> load_;  ///< load of each device
  std::vector<std::size_t> cuts_, best_cuts_;
  std::int64_t best_ = 0;
  wide best_squares_;
};

}  // namespace ballast::inline v0_2::detail
