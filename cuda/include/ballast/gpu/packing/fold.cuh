// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/staging.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

/// @file
/// @brief How often each length occurs, counted on the device: all that planning needs to know of the samples.

namespace ballast::inline v0_2::gpu {

/// @brief The longest sample that device lengths may have, in tokens: counts are kept for each length up to the capacity.
inline constexpr std::int64_t longest_on_device = std::int64_t{1} << 24;

namespace detail {

// The length, or 0 for one outside 1 … longest.
template <integer Length>
[[nodiscard]] BALLAST_HD constexpr std::uint32_t length_or_0(Length length, std::uint32_t longest) {
  if constexpr (std::is_signed_v<Length>)
    if (length <= 0) return 0;
  return static_cast<std::uint64_t>(length) <= longest ? static_cast<std::uint32_t>(length) : 0;
}

// A block counts its chunk of the samples: the first `in_shared` lengths in its shared memory, the rare longer ones in global memory.
template <class Length>
struct fold_chunk {
  Length const* lengths;
  std::size_t count;
  std::size_t chunk;  // below 2^32, so that no counter overflows
  std::uint32_t longest;
  std::uint32_t in_shared;
  std::uint64_t* counts;
  std::uint64_t* first_bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto* const local = block.template shared<std::uint32_t>();
    auto const begin = b * chunk;
    auto const end = count - begin < chunk ? count : begin + chunk;
    block.each([&](unsigned lane) {
      for (auto c = lane; c < in_shared; c += block.lanes()) local[c] = 0;
    });
    block.each([&](unsigned lane) {
      for (auto i = begin + lane; i < end; i += block.lanes()) {
        auto const length = length_or_0(lengths[i], longest);
        if (length == 0) atomic_min(*first_bad, i);
        if (length < in_shared)
          atomic_add(local[length], std::uint32_t{1});
        else
          atomic_add(counts[length], std::uint64_t{1});
      }
    });
    block.each([&](unsigned lane) {
      for (auto c = lane; c < in_shared; c += block.lanes())
        if (local[c] != 0) atomic_add(counts[c], std::uint64_t{local[c]});
    });
  }
};

}  // namespace detail

/// @brief Counts how often each length occurs; twin of `ballast::fold`.
///
/// Counts add: the sum of the counts of all shards is that of the whole.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @param on       where it runs
/// @param temp     scratch memory, or null to ask for `bytes`
/// @param bytes    of scratch memory
/// @param lengths  sample lengths in tokens, each in 1 … longest
/// @param count    how many
/// @param longest  1 … `longest_on_device`, or 0 where no length is good
/// @param counts   `longest` + 1 words; word l is the number of samples of length l, and word 0 of bad ones
/// @param first_bad one word: the lowest index of a bad length, `none_bad` if there is none
/// @return the error, if any; `invalid_value` for a `longest` out of range
/// @par Complexity
/// O(count + longest); reads count * sizeof(Length) bytes. Lengths below about 58000 are counted in shared memory on an H100.
/// @par Determinism
/// Integer sums; the order does not matter.
/// @par Source
/// Not CUB's DeviceHistogram, which keeps one histogram a block in global memory above 256 bins (NVIDIA/cub issue 613).
template <class On, integer Length>
[[nodiscard]] typename On::error_type fold(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                           std::int64_t longest, std::uint64_t* counts, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (longest < 0 || longest > longest_on_device) return On::invalid_value;
  if (temp == nullptr) return bytes = 1, error_type{};
  auto const words = static_cast<std::size_t>(longest) + 1;
  if (auto const error = on.fill(counts, 0, words * sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  auto const room = detail::block_memory<On>::bytes() / sizeof(std::uint32_t);
  auto const in_shared = words < room ? words : room;
  constexpr std::size_t least = 16384, most = 512;  // samples of a block; blocks: a few for each multiprocessor
  auto const chunk = count / most < least ? least : count / most + 1;
  return on.blocks((count + chunk - 1) / chunk, 1024, in_shared * sizeof(std::uint32_t),
                   detail::fold_chunk<Length>{lengths, count, chunk, static_cast<std::uint32_t>(longest),
                                              static_cast<std::uint32_t>(in_shared), counts, first_bad});
}

/// @brief Counts as the planners of the host take them. @param counts of each length from 0 on @return the lengths that occur
[[nodiscard]] inline histogram histogram_of(std::span<std::uint64_t const> counts) {
  histogram out;
  for (std::size_t l = 1; l < counts.size(); ++l)
    if (counts[l] != 0) {
      out.lengths.push_back(static_cast<std::int64_t>(l));
      out.counts.push_back(counts[l]);
    }
  return out;
}

namespace detail {

// Counts of length 0 … longest on the host, and the first bad sample.
struct fetched_counts {
  std::vector<std::uint64_t> counts;
  std::uint64_t first_bad = none_bad;
};
template <class On, class Length>
[[nodiscard]] fetched_counts fetch_counts(On on, Length const* lengths, std::size_t count, std::int64_t longest) {
  auto const words = static_cast<std::size_t>(longest) + 1;
  array<std::uint64_t, On> const found(on, words + 1);
  call(on, "fold",
       [&](void* temp, std::size_t& bytes) { return fold(on, temp, bytes, lengths, count, longest, found.data(), found.data() + words); });
  fetched_counts out{std::vector<std::uint64_t>(words + 1)};
  check(on.download(out.counts.data(), found.data(), words + 1), "download");
  out.first_bad = out.counts.back();
  out.counts.pop_back();
  return out;
}

// For sentences about bad data: the host twin finds it again.
template <class On, class Length>
[[nodiscard]] std::vector<Length> all_lengths(On on, Length const* lengths, std::size_t count) {
  std::vector<Length> out(count);
  check(on.download(out.data(), lengths, count), "download");
  return out;
}

inline void require_on_device(std::int64_t tokens, char const* name) {
  require(tokens <= longest_on_device, [&] {
    return std::string(name) + " = " + std::to_string(tokens) + " exceeds " + std::to_string(longest_on_device) +
           ", the most for device lengths";
  });
}

}  // namespace detail

/// @brief The histogram of device lengths on the host; allocates and waits.
///
/// @param on       where it runs
/// @param lengths  on the device
/// @param count    how many
/// @param longest  the longest that is allowed
/// @return exactly `ballast::fold` of these lengths
/// @throws invalid_input naming the first length outside 1 … longest, or for a `longest` out of range
/// @throws gpu_error if the backend reports an error
template <class On, integer Length>
[[nodiscard]] histogram fold(On on, Length const* lengths, std::size_t count, std::int64_t longest) {
  require(longest >= 1, [&] { return "longest = " + std::to_string(longest) + " must be positive"; });
  detail::require_on_device(longest, "longest");
  auto const [counts, bad] = detail::fetch_counts(on, lengths, count, longest);
  if (bad != none_bad) {
    Length value{};
    check(on.download(&value, lengths + bad, 1), "download");
    throw invalid_input("lengths[" + std::to_string(bad) + "] = " + std::to_string(value) + " must be in 1 … " + std::to_string(longest));
  }
  return histogram_of(counts);
}

}  // namespace ballast::inline v0_2::gpu
