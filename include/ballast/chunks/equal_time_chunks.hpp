// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `equal_time_chunks`: as many chunks as `make_chunks` makes, but of more equal times.

namespace ballast::inline v0_2 {

namespace detail {

/// Cuts a sample into `pieces` consecutive pieces of at most `size` tokens such that the longest time of a piece is least. Returns where
/// each piece ends. `time(t)` is the time of the first t tokens; it does not fall.
template <class Time>
[[nodiscard]] std::vector<std::int64_t> cut_by_time(std::int64_t length, std::int64_t size, std::int64_t pieces, Time const& time) {
  std::vector<std::int64_t> best, ends;
  std::int64_t longest = 0;
  // Each piece is as long as the size and the limit let it be, so no cut within the limit has fewer pieces.
  auto const fits = [&](std::int64_t limit) {
    ends.clear();
    longest = 0;
    for (std::int64_t begin = 0, before = 0; begin < length;) {
      if (std::ssize(ends) == pieces) return false;
      auto low = begin, high = begin + (std::min)(size, length - begin);  // the piece ends in [low, high]
      while (low < high) {
        auto const middle = high - (high - low) / 2;
        if (time(middle) - before <= limit)
          low = middle;
        else
          high = middle - 1;
      }
      if (low == begin) return false;
      auto const through = time(low);
      longest = (std::max)(longest, through - before);
      ends.push_back(low);
      begin = low;
      before = through;
    }
    return true;
  };
  std::int64_t shortest = divide_up(time(length), pieces), limit = time(length);  // the mean, and what certainly fits
  while (shortest <= limit) {
    auto const middle = shortest + (limit - shortest) / 2;
    if (fits(middle)) {
      best = ends;
      limit = longest - 1;
    } else {
      shortest = middle + 1;
    }
  }
  return best;
}

}  // namespace detail

/// @brief Cuts a batch into chunks of nearly equal times: as many standalone and as many dependent chunks as `make_chunks`.
///
/// Late pieces of a long sample take longer than early ones of the same size, since they attend to more tokens. So a long sample is cut
/// into as many pieces as `make_chunks` cuts it, each of at most `size` tokens, such that the longest time of a piece is least. The short
/// samples are dealt to as many standalone chunks by longest processing time, within the size. If that does not fit, or its longest
/// chunk takes longer, they stay in the packs of `make_chunks`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` that does not fall
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  the size of a chunk
/// @param cost     time of a complete sample; `chunk_times` says what a range takes
/// @return the chunks and their chains; `count` and `bound` as `make_chunks`
/// @post every token is in exactly one chunk; no chunk has more than `size` tokens; no cut of a long sample into as many pieces of at most
/// `size` tokens has a shorter longest piece
/// @throws invalid_input as `make_chunks`, or if a cost, or the sum of the costs of all samples, is outside [0, 2^63), or a cost that falls
/// leaves no cut
/// @par Complexity
/// That of `make_chunks` and of `longest_processing_time` with a capacity; and for each distinct length above `size`,
/// O(pieces log(size) log(cost)) calls of the cost model.
/// @par Determinism
/// A pure function of its arguments; all arithmetic is in integers.
/// @par Source
/// This library (docs/chunks.md).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] chunking<Index> equal_time_chunks(R const& lengths, chunking_options const& options, Cost const& cost) {
  std::vector<std::int64_t> times;
  auto out = make_chunks<Index>(lengths, options);
  (void)weigh(lengths, cost, "lengths", "cost", times);
  auto const at = read_by_position(lengths);
  auto const tokens = [&](auto i) { return static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]); };
  auto const time_of = [&](auto i) { return times[static_cast<std::size_t>(i)]; };

  std::size_t alone = 0;  // standalone chunks come first
  while (alone < out.size() && out[alone].front().end == tokens(out[alone].front().sample)) ++alone;
  auto const shorts = std::span(out.ranges).first(static_cast<std::size_t>(out.offsets[alone]));
  if (alone > 1) {
    std::vector<Index> samples;
    samples.reserve(shorts.size());
    for (auto const& r : shorts) samples.push_back(r.sample);
    std::sort(samples.begin(), samples.end());  // of equal times, the lower index goes first
    std::int64_t longest = 0;
    for (std::size_t k = 0; k < alone; ++k) {
      std::int64_t sum = 0;
      for (auto const& r : out[k]) sum += time_of(r.sample);
      longest = (std::max)(longest, sum);
    }
    auto const dealt = longest_processing_time<Index>(samples, {.sets = alone, .capacity = options.size}, time_of, tokens);
    auto const& to = dealt.sets.offsets;
    if (dealt.status == status::feasible && dealt.load.value < longest && std::adjacent_find(to.begin(), to.end()) == to.end()) {
      for (std::size_t j = 0; j < shorts.size(); ++j) {
        auto const i = samples[static_cast<std::size_t>(dealt.sets.members[j])];
        shorts[j] = {i, 0, tokens(i)};
      }
      std::copy(to.begin(), to.end(), out.offsets.begin());
    }
  }

  std::map<std::int64_t, std::vector<std::int64_t>> cuts;  // of each length
  for (auto j = shorts.size(); j < out.ranges.size();) {
    auto const length = tokens(out.ranges[j].sample);
    auto const pieces = divide_up(length, options.size);
    auto& ends = cuts[length];
    if (ends.empty()) {
      auto const through = [&](std::int64_t t) {
        return checked_cost(t, cost, "cost", [&] { return "a length of " + std::to_string(t); });
      };
      ends = detail::cut_by_time(length, options.size, pieces, through);
      require(!ends.empty(), [&] { return sentence("the cost falls below ", length, " tokens, from one length to a longer one"); });
    }
    std::int64_t begin = 0;
    for (auto const end : ends) {
      out.ranges[j].begin = begin;
      out.ranges[j++].end = begin = end;
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
