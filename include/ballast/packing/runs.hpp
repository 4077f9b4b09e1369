// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `pack_runs`: a packing in about a hundred bytes for each distinct length, from which the place of every sample follows by
/// arithmetic.

namespace ballast::inline v0_2 {

/// @brief A run: consecutive samples of one length that go into consecutive packs, `per_pack` into each and the rest into the last.
///
/// Samples are counted in canonical order: length descending, then index ascending. A run ends at the `first` of the next run.
struct pack_run {
  std::uint64_t first = 0;     ///< position of the run's first sample in canonical order
  std::uint64_t pack = 0;      ///< number of the run's first pack
  std::int64_t length = 0;     ///< tokens of each sample, padding included
  std::int64_t room = 0;       ///< tokens left in each of these packs before the run
  std::uint64_t per_pack = 0;  ///< samples of the run in each pack
  std::uint64_t slot = 0;      ///< samples in each of these packs before the run
  friend constexpr bool operator==(pack_run const&, pack_run const&) = default;
};

/// @brief A block: consecutive packs that hold equally many samples and tokens.
struct pack_block {
  std::uint64_t first_pack = 0;    ///< number of the block's first pack; the block ends at the `first_pack` of the next block
  std::uint64_t first_member = 0;  ///< position in `groups::members` at which the first pack begins
  std::uint64_t samples = 0;       ///< samples in each pack
  std::int64_t tokens = 0;         ///< tokens in each pack, padding included
  friend constexpr bool operator==(pack_block const&, pack_block const&) = default;
};

/// @brief The place of a sample in a packing.
struct placement {
  std::uint64_t pack = 0;    ///< number of the pack
  std::uint64_t slot = 0;    ///< position of the sample in the pack
  std::int64_t offset = 0;   ///< tokens before the sample in the pack, padding included
  std::uint64_t member = 0;  ///< position of the sample in `groups::members`
  friend constexpr bool operator==(placement const&, placement const&) = default;
};

namespace detail {

// The last of `count >= 1` elements whose `key` is at most `value`, which holds for the first. On pointers, since kernels call it too.
template <class T>
[[nodiscard]] BALLAST_HD constexpr T const* last_from(T const* first, std::size_t count, std::uint64_t T::* key, std::uint64_t value) {
  while (count > 1) {
    auto const half = count / 2;
    if (first[half].*key <= value) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return first;
}

// The pack of the sample at a canonical position of a run.
[[nodiscard]] BALLAST_HD constexpr std::uint64_t pack_of(pack_run const& run, std::uint64_t position) {
  return run.pack + (position - run.first) / run.per_pack;
}

// The place of the sample at a canonical position of a run, given its pack and the block of that.
[[nodiscard]] BALLAST_HD constexpr placement place_in(pack_run const& run, std::uint64_t position, std::int64_t capacity,
                                                      std::uint64_t pack, pack_block const& block) {
  auto const before = position - run.first - (pack - run.pack) * run.per_pack;
  auto const slot = run.slot + before;
  return {pack, slot, capacity - run.room + static_cast<std::int64_t>(before) * run.length,
          block.first_member + (pack - block.first_pack) * block.samples + slot};
}

}  // namespace detail

/// @brief A packing planned on the histogram of lengths. Its size does not depend on the number of samples.
///
/// The plan says which positions of the canonical order share a pack. A new shuffle in each epoch, or a shard on each rank, only changes
/// which sample is at which position; `expand` and `place` (expand.hpp) map positions to samples.
struct pack_runs {
  std::int64_t capacity = 0;         ///< tokens of one pack
  std::int64_t sample_multiple = 1;  ///< lengths are rounded up to a multiple of this
  std::uint64_t samples = 0;         ///< number of samples in the packs
  std::uint64_t packs = 0;           ///< number of packs
  std::vector<pack_run> runs;        ///< sorted by `first`, ascending; lengths descend
  std::vector<pack_block> blocks;    ///< sorted by `first_pack`, ascending

  /// @brief The place of a sample. @param position its canonical position, below `samples` @return pack, slot, offset, member
  /// @par Complexity O(log runs).
  [[nodiscard]] placement at(std::uint64_t position) const {
    return at(*detail::last_from(runs.data(), runs.size(), &pack_run::first, position), position);
  }
  /// @brief The place of a sample whose run is known. @param run the run that holds the sample @param position its canonical position
  [[nodiscard]] placement at(pack_run const& run, std::uint64_t position) const {
    auto const pack = detail::pack_of(run, position);
    auto const* const block = detail::last_from(blocks.data(), blocks.size(), &pack_block::first_pack, pack);
    return detail::place_in(run, position, capacity, pack, *block);
  }
  friend bool operator==(pack_runs const&, pack_runs const&) = default;
};

}  // namespace ballast::inline v0_2
