// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `mixture`: draws samples from several sources in given shares. `mixture_stream` draws from an endless stream.

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
    require(sum_ > 0, [] { return "no share is positive"; });
    if (drawn_.empty()) drawn_.resize(share_.size(), 0);
    require(drawn_.size() == share_.size(),
            [&] { return sentence("a state of ", drawn_.size(), " sources for ", share_.size(), " shares"); });
    for (std::size_t s = 0; s < drawn_.size(); ++s) {
      require(drawn_[s] < (std::uint64_t{1} << 62) - count_, [&] { return entry("drawn", s, drawn_[s]) + " brings the draws to 2^62"; });
      count_ += drawn_[s];
    }
    for (std::size_t s = 0; s < drawn_.size(); ++s)
      require(compare_products(draws(s) - 1, sum_, static_cast<std::int64_t>(count_), share_[s]) < 0 || drawn_[s] == 0,
              [&] { return sentence(entry("drawn", s, drawn_[s]), " exceeds its share of ", count_, " draws"); });
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

/// @brief Draws `count` samples from several sources such that each source has its share after every draw.
///
/// Each draw takes the source whose next sample is due first, among the sources that then stay within their share. The samples of a source
/// come in a random order; when all have come, they come again in another random order, so the numbers of times that any two samples of a
/// source occur differ by at most one.
///
/// @tparam Index  type of the sample indices
/// @param source  number of the source of each sample, below `share.size()`
/// @param share   share of each source, in any unit: `{3, 1}` draws three of the first for each of the second; not negative
/// @param count   number of samples to draw
/// @param seed    any value; another seed gives another order
/// @return sample indices in the order of the draws; samples of an over-sampled source occur several times
///
/// @post for every k, a source of share s has k s / sum(share) of the first k draws, rounded up or down
/// @throws invalid_input if a source has no entry in `share`, or has a positive share but no samples; if a share is negative or 2^31 or
/// more, or no share is positive
/// @par Complexity
/// O(samples + count * sources).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Balinski, Young, "The quota method of apportionment", Amer. Math. Monthly 82 (1975).
template <index_type Index = std::uint32_t>
[[nodiscard]] std::vector<Index> mixture(std::span<std::uint32_t const> source, std::span<std::int64_t const> share, std::size_t count,
                                         std::uint64_t seed) {
  std::vector<std::vector<Index>> of(share.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    require(source[i] < share.size(), [&] { return sentence(entry("source", i, source[i]), " has no share: there are ", share.size()); });
    of[source[i]].push_back(static_cast<Index>(i));
  }
  for (std::size_t s = 0; s < share.size(); ++s)
    require(share[s] <= 0 || !of[s].empty(), [&] { return entry("share", s, share[s]) + " but the source has no samples"; });
  std::vector<Index> out;
  if (count == 0 && std::all_of(share.begin(), share.end(), [](auto s) { return s == 0; })) return out;
  mixture_stream stream({share.begin(), share.end()});
  std::vector<std::vector<Index>> order(share.size());
  out.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    auto const [from, drawn] = stream.next();
    auto const size = of[from].size();
    auto const at = static_cast<std::size_t>(drawn % size);
    if (at == 0) order[from] = random_permutation<Index>(size, splitmix64(seed + drawn + 1)() ^ from);
    out.push_back(of[from][order[from][at]]);
  }
  return out;
}

}  // namespace ballast::inline v0_2
