// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `pack_runs`: a whole packing in a few bytes a distinct length, from which every sample's place follows by arithmetic.

namespace ballast::inline v0_2 {

/// @brief Consecutive samples of one length that go into consecutive packs, `per_pack` into each (fewer into the last).
///
/// Samples are counted in canonical order: length descending, then index ascending. A run reaches to the `first` of the next one.
struct pack_run {
  std::uint64_t first = 0;     ///< position of its first sample in canonical order
  std::uint64_t pack = 0;      ///< its first pack
  std::int64_t length = 0;     ///< tokens of each sample, padding included
  std::int64_t room = 0;       ///< tokens left in each of its packs before it
  std::uint64_t per_pack = 0;  ///< samples it puts into one pack
  std::uint64_t slot = 0;      ///< samples that already stand in each of its packs
  friend constexpr bool operator==(pack_run const&, pack_run const&) = default;
};

/// @brief Consecutive packs that hold equally many samples and tokens.
struct pack_block {
  std::uint64_t first_pack = 0;    ///< number of its first pack; the block reaches to the `first_pack` of the next one
  std::uint64_t first_member = 0;  ///< where its first pack begins in `groups::members`
  std::uint64_t samples = 0;       ///< samples in each pack
  std::int64_t tokens = 0;         ///< tokens in each pack, padding included
  friend constexpr bool operator==(pack_block const&, pack_block const&) = default;
};

/// @brief Where a sample went.
struct placement {
  std::uint64_t pack = 0;    ///< number of the pack
  std::uint64_t slot = 0;    ///< position in the pack
  std::int64_t offset = 0;   ///< tokens before it in the pack, padding included
  std::uint64_t member = 0;  ///< position in `groups::members`
  friend constexpr bool operator==(placement const&, placement const&) = default;
};

namespace detail {

// The last of `count` elements, at least one, whose `key` is at most `value`; the first one's always is. For kernels too, so on pointers.
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

// The place of the sample at a canonical position of a run.
[[nodiscard]] BALLAST_HD constexpr placement place_in(pack_run const& run, std::uint64_t position, std::int64_t capacity,
                                                      pack_block const* blocks, std::size_t block_count) {
  auto const j = position - run.first;
  auto const pack = run.pack + j / run.per_pack;
  auto const before = j % run.per_pack;
  auto const* const block = last_from(blocks, block_count, &pack_block::first_pack, pack);
  auto const slot = run.slot + before;
  return {pack, slot, capacity - run.room + static_cast<std::int64_t>(before) * run.length,
          block->first_member + (pack - block->first_pack) * block->samples + slot};
}

}  // namespace detail

/// @brief A packing that was planned on the histogram of lengths: the size does not depend on the number of samples.
///
/// The plan is the same for every assignment of identities to lengths. A new shuffle per epoch, or a shard per rank, only changes which
/// sample is at which canonical position; `expand` and `place` (expand.hpp) take care of that.
struct pack_runs {
  std::int64_t capacity = 0;         ///< tokens of one pack
  std::int64_t sample_multiple = 1;  ///< lengths are rounded up to a multiple of this
  std::uint64_t samples = 0;         ///< how many are placed
  std::uint64_t packs = 0;           ///< how many are used
  std::vector<pack_run> runs;        ///< by `first`, ascending; lengths descend
  std::vector<pack_block> blocks;    ///< by `first_pack`, ascending

  /// @brief The place of a sample. @param position its canonical position, below `samples` @return pack, slot, offset, member
  /// @par Complexity O(log runs).
  [[nodiscard]] placement at(std::uint64_t position) const {
    return at(*detail::last_from(runs.data(), runs.size(), &pack_run::first, position), position);
  }
  /// @brief The place of a sample whose run is known. @param run the run it is in @param position its canonical position
  [[nodiscard]] placement at(pack_run const& run, std::uint64_t position) const {
    return detail::place_in(run, position, capacity, blocks.data(), blocks.size());
  }
  friend bool operator==(pack_runs const&, pack_runs const&) = default;
};

}  // namespace ballast::inline v0_2
