// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/detail/fold_chunk.cuh>
#include <ballast/gpu/core/lengths.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Counts on the device how often each length occurs. Planners need nothing else of the samples.

namespace ballast::inline v0_2::gpu {

/// @brief Counts how often each length occurs; twin of `ballast::fold`.
///
/// Counts can be added: the sum of the counts of all shards is the count of all samples.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param lengths  sample lengths in tokens, each in 1 … longest
/// @param count    number of samples
/// @param longest  1 … `longest_on_device`, or 0 if no length is allowed
/// @param counts   array of `longest` + 1 words; word l gets the number of samples of length l, and word 0 that of bad lengths
/// @param first_bad one word: the lowest index of a bad length, `none_bad` if there is none
/// @return the error, if any; `invalid_value` if `longest` is out of range
/// @par Complexity
/// O(count + longest); reads count * sizeof(Length) bytes. Lengths below 57600 are counted in shared memory on an H100.
/// @par Determinism
/// Sums of integers, which do not depend on the order.
/// @par Source
/// This library. CUB's DeviceHistogram keeps one histogram per block in global memory above 256 bins (NVIDIA/cub issue 613).
template <class On, integer Length>
[[nodiscard]] typename On::error_type fold(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                           std::int64_t longest, std::uint64_t* counts, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (longest < 0 || longest > longest_on_device) return On::invalid_value;
  if (temp == nullptr) return bytes = 1, error_type{};
  auto const words = static_cast<std::size_t>(longest) + 1;
  if (auto const error = on.fill(counts, 0, words * sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  auto const room = on.shared_memory() / sizeof(std::uint32_t);
  auto const in_shared = words < room ? words : room;
  constexpr std::size_t least = 16384, most = 512;  // samples per block; number of blocks: a few for each multiprocessor
  auto const chunk = count / most < least ? least : count / most + 1;
  return on.blocks(divide_up(count, chunk), 1024, in_shared * sizeof(std::uint32_t),
                   detail::fold_chunk<Length>{lengths, count, chunk, static_cast<std::uint32_t>(longest),
                                              static_cast<std::uint32_t>(in_shared), counts, first_bad});
}

/// @brief Makes a histogram of counts. @param counts number of samples of each length, from length 0 on @return the lengths that occur
[[nodiscard]] inline histogram histogram_of(std::span<std::uint64_t const> counts) {
  histogram out;
  for (std::size_t l = 1; l < counts.size(); ++l)
    if (counts[l] != 0) {
      out.lengths.push_back(static_cast<std::int64_t>(l));
      out.counts.push_back(counts[l]);
    }
  return out;
}

/// @brief How many samples of each length there are, on the host.
struct length_counts {
  std::vector<std::uint64_t> counts;   ///< number of samples of each length; entry 0 counts the lengths that are not allowed
  std::uint64_t first_bad = none_bad;  ///< lowest index of a length that is not allowed
};

/// @brief Counts how often each length occurs; allocates and waits.
/// @param on the backend @param lengths on the device @param count number of samples @param longest largest length that is allowed
/// @return the counts of lengths 0 … longest, which ranks may add up, and the index of the first bad length
/// @throws gpu_error if the backend reports an error
template <class On, integer Length>
[[nodiscard]] length_counts count_lengths(On on, Length const* lengths, std::size_t count, std::int64_t longest) {
  auto const words = static_cast<std::size_t>(longest) + 1;
  array<std::uint64_t, On> const found(on, words + 1);
  call(on, "fold",
       [&](void* temp, std::size_t& bytes) { return fold(on, temp, bytes, lengths, count, longest, found.data(), found.data() + words); });
  length_counts out{fetch(on, found)};
  out.first_bad = out.counts.back();
  out.counts.pop_back();
  return out;
}

/// @brief Returns the histogram of device lengths on the host; allocates and waits.
///
/// @param on       the backend
/// @param lengths  sample lengths, on the device
/// @param count    number of samples
/// @param longest  largest length that is allowed
/// @return the result of `ballast::fold` for these lengths
/// @throws invalid_input naming the first length outside 1 … longest, or if `longest` is out of range
/// @throws gpu_error if the backend reports an error
template <class On, integer Length>
[[nodiscard]] histogram fold(On on, Length const* lengths, std::size_t count, std::int64_t longest) {
  require(longest >= 1, [&] { return sentence("longest = ", longest, " must be positive"); });
  require_on_device(longest, "longest");
  auto const found = count_lengths(on, lengths, count, longest);
  require(found.first_bad == none_bad, [&] {
    return sentence(entry("lengths", found.first_bad, fetch_one(on, lengths + found.first_bad)), " must be in 1 … ", longest);
  });
  return histogram_of(found.counts);
}

}  // namespace ballast::inline v0_2::gpu
