// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `mixture_stream`: the source of each next sample of an endless stream, such that every source has its share.

namespace ballast::inline v0_2 {

/// @brief A draw from a source.
struct source_draw {
  std::uint32_t source = 0;  ///< number of the source
  std::uint64_t sample = 0;  ///< how many samples of this source were drawn before: read the next one of its file, or pick by this number
  friend constexpr bool operator==(source_draw const&, source_draw const&) = default;
};

/// @brief Draws from several sources such that each has its share after every draw. It knows no samples: their number and their lengths may
/// be known only when they are read.
///
/// Each draw takes the source whose next sample is due first, among the sources that then stay within their share. Nothing is random, so
/// that all ranks draw the same.
///
/// @post for every k, a source of share s has k s / sum(share) of the first k draws, rounded up or down
/// @par Source
/// Balinski, Young, "The quota method of apportionment", Amer. Math. Monthly 82 (1975).
class mixture_stream {
 public:
  /// @brief Starts or continues a stream. @param share share of each source in samples, in any unit, in 0 ... 2^31 - 1, not all 0 @param
  /// drawn `state()` of the stream that continues here; empty to start
  /// @throws invalid_input for a bad share, another number of sources, or draws of a source beyond its share
  explicit mixture_stream(std::vector<std::int64_t> share, std::vector<std::uint64_t> drawn = {})
      : share_(std::move(share)), drawn_(std::move(drawn)) {
    for (std::size_t s = 0; s < share_.size(); ++s) {
      require(share_[s] >= 0 && share_[s] < std::int64_t{1} << 31,
              [&] { return entry("share", s, share_[s]) + " must be in 0 ... 2^31 - 1"; });
      sum_ += share_[s];
    }
    require(sum_ > 0, [] { return std::string("no share is positive"); });
    if (drawn_.empty()) drawn_.resize(share_.size(), 0);
    require(drawn_.size() == share_.size(),
            [&] { return "a state of " + std::to_string(drawn_.size()) + " sources for " + std::to_string(share_.size()) + " shares"; });
    for (std::size_t s = 0; s < drawn_.size(); ++s) {
      require(drawn_[s] < (std::uint64_t{1} << 62) - count_, [&] { return entry("drawn", s, drawn_[s]) + " brings the draws to 2^62"; });
      count_ += drawn_[s];
    }
    for (std::size_t s = 0; s < drawn_.size(); ++s)
      require(compare_products(draws(s) - 1, sum_, static_cast<std::int64_t>(count_), share_[s]) < 0 || drawn_[s] == 0,
              [&] { return entry("drawn", s, drawn_[s]) + " exceeds its share of " + std::to_string(count_) + " draws"; });
  }

  /// @brief Draws the next sample. @return its source and its number in the source
  /// @par Complexity
  /// O(sources).
  [[nodiscard]] source_draw next() {
    // Of the sources with less than their share of count + 1 draws, the one whose next draw is due first.
    auto best = share_.size();
    for (std::size_t s = 0; s < share_.size(); ++s)
      if (compare_products(draws(s), sum_, static_cast<std::int64_t>(count_) + 1, share_[s]) < 0 &&
          (best == share_.size() || compare_products(draws(s) + 1, share_[best], draws(best) + 1, share_[s]) < 0))
        best = s;
    ++count_;
    return {static_cast<std::uint32_t>(best), drawn_[best]++};
  }
  /// @brief Number of draws from each source: what a restart needs beside the shares.
  [[nodiscard]] std::vector<std::uint64_t> const& state() const noexcept { return drawn_; }

 private:
  [[nodiscard]] std::int64_t draws(std::size_t s) const noexcept { return static_cast<std::int64_t>(drawn_[s]); }

  std::vector<std::int64_t> share_;
  std::vector<std::uint64_t> drawn_;
  std::int64_t sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace ballast::inline v0_2
