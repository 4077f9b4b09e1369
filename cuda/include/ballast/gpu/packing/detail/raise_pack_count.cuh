// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>

#include <bit>
#include <cstddef>
#include <cstdint>

// The steps of `ballast::raise_pack_count` on a device: one sort finds the lightest samples that may move, and one scan closes the gaps.

namespace ballast::inline v0_2::gpu::detail {

// Writes the key of each sample: larger for lighter ones, and 0 for the heaviest of a pack, which stays. In a pack, samples are sorted by
// weight, descending, then index: the heaviest is the last of those that are as heavy as the first.
template <class Length, class Index>
struct write_move_keys {
  Length const* lengths;
  pack_padding pad;
  std::uint64_t const* offsets;
  std::size_t packs;
  Index const* members;
  std::uint32_t* keys;
  Index* samples;
  BALLAST_HD void operator()(std::size_t j) const {
    auto const behind = first_above(offsets, packs + 1, j);
    auto const key_at = [&](std::uint64_t at) { return pad.key(static_cast<std::uint32_t>(lengths[members[at]])); };
    auto const key = key_at(j);
    auto const heaviest = key == key_at(offsets[behind - 1]) && (j + 1 == offsets[behind] || key_at(j + 1) != key);
    keys[members[j]] = heaviest ? 0 : pad.units - key;
    samples[j] = static_cast<Index>(j);
  }
};

// Whether member j stays in its pack, as a summand of the new positions.
template <class Index>
struct stays_in_pack {
  Index const* members;
  std::size_t count;
  std::uint32_t const* keys;
  std::uint32_t const* last_key;  // of the last sample that moves
  Index const* last;
  BALLAST_HD Index operator()(std::size_t j) const {
    if (j == count) return 0;
    auto const sample = members[j];
    auto const moves = keys[sample] > *last_key || (keys[sample] == *last_key && sample <= *last);
    return moves ? Index{0} : Index{1};
  }
};

template <class Index>
struct write_raised {
  stays_in_pack<Index> stays;
  std::uint64_t const* offsets;
  std::size_t packs;
  Index const* at;     // new position of each member that stays
  Index const* moved;  // lightest first
  std::size_t moves;
  std::size_t between;  // packs before the new ones that somebody else writes, one member each
  std::uint64_t* out_offsets;
  Index* out_members;
  BALLAST_HD void operator()(std::size_t j) const {
    if (j <= packs) out_offsets[j] = at[offsets[j]];
    if (stays(j) != 0) out_members[at[j]] = stays.members[j];
    if (j >= moves) return;
    auto const to = stays.count - moves + between + j;
    out_members[to] = moved[j];
    out_offsets[packs + between + j + 1] = to + 1;
  }
};

// Moves the lightest `moves` of `count` samples that are not the heaviest of their pack into packs of their own, lightest first. The
// samples are in the first `size` packs, in the order of `write_packs`. In the result, `between` packs of one member each, before the new
// ones, are left to be written.
template <class On, class Length, class Index>
[[nodiscard]] groups<On, Index> raise_pack_count(On on, groups<On, Index> const& packs, std::size_t size, std::size_t count,
                                                 std::size_t moves, std::size_t between, Length const* lengths, pack_padding pad) {
  array<std::uint32_t, On> const keys(on, count), sorted_keys(on, count);
  array<Index, On> const samples(on, count), sorted(on, count), at(on, count + 1);
  auto const* const offsets = packs.offsets.data();
  auto const* const members = packs.members.data();
  groups<On, Index> out{{on, size + between + moves + 1}, {on, count + between}};
  auto const bits = static_cast<int>(std::bit_width(pad.units));
  stays_in_pack<Index> const stays{members, count, keys.data(), sorted_keys.data() + (moves - 1), sorted.data() + (moves - 1)};
  check(on.for_each(count, write_move_keys<Length, Index>{lengths, pad, offsets, size, members, keys.data(), samples.data()}),
        "raise_pack_count");
  call(on, "raise_pack_count", [&](void* temp, std::size_t& bytes) {
    return on.sort_descending(temp, bytes, keys.data(), sorted_keys.data(), samples.data(), sorted.data(), count, bits);
  });
  call(on, "raise_pack_count",
       [&](void* temp, std::size_t& bytes) { return on.exclusive_sum(temp, bytes, mapped(stays), at.data(), count + 1, Index{0}); });
  check(on.for_each(count + 1, write_raised<Index>{stays, offsets, size, at.data(), sorted.data(), moves, between, out.offsets.data(),
                                                   out.members.data()}),
        "raise_pack_count");
  return out;
}

}  // namespace ballast::inline v0_2::gpu::detail
