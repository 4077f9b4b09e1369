// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/context_cu_seqlens.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/zigzag.hpp>

#include <cstddef>
#include <cstdint>

// The passes of cu_seqlens.cuh and context_cu_seqlens.cuh.

namespace ballast::inline v0_2::gpu::detail {

// Tokens of a member; if it is bad, returns 0 and records its position.
template <class Offset, class Index, class Length>
struct member_tokens {
  Index const* members;
  std::size_t count;
  Length const* lengths;
  std::size_t length_count;
  std::int64_t multiple;
  std::uint64_t* first_bad;
  BALLAST_HD std::uint64_t operator()(std::size_t m) const {
    if (m >= count) return 0;
    auto const member = members[m];
    auto const known = static_cast<std::uint64_t>(member) < length_count;  // a negative member becomes larger
    auto const length = known ? static_cast<std::int64_t>(lengths[member]) : 0;
    auto const tokens = length > 0 ? ballast::detail::padded(length, multiple) : 0;
    if (tokens != 0 && tokens <= largest<Offset>) return tokens;
    atomic_min(*first_bad, m);
    return 0;
  }
};

// Writes one array of entries.
template <class Offset>
struct write_entry {
  Offset* out;
  BALLAST_HD bool operator()(std::size_t at, std::uint64_t sum) const {
    if (sum > largest<Offset>) return false;
    out[at] = static_cast<Offset>(sum);
    return true;
  }
};

// Calls write(entry, sum over the members of its pack before it), which returns whether that fits.
template <class Sum, class Write>
struct write_sums {
  entry_bounds bounds;
  Sum const* sums;  // over all members before each
  Write write;
  std::uint64_t* first_bad;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    if (!place.inside || place.at < place.segment) return;
    auto const start = bounds.members_before(place.segment), end = place.at - place.segment;
    if (start > end || end > bounds.members) return;  // the offsets are not valid
    if (!write(place.at, sums[end] - sums[start])) atomic_min(*first_bad, end - 1);
  }
};

// Adds up what `member` says of each member, and writes the sums as the entries of all packs.
template <class Sum, class On, class Member, class Write>
[[nodiscard]] typename On::error_type write_cumulative(On on, void* temp, std::size_t& bytes, entry_bounds const& bounds,
                                                       Member const& member, Write const& write, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  auto const count = bounds.members + 1;
  workspace cut(temp);
  auto* const sums = cut.take<Sum>(count);
  auto const scan = [&](void* room, std::size_t& need) { return on.exclusive_sum(room, need, mapped(member), sums, count, Sum{}); };
  auto room = cut.finish<On>(bytes, scan);
  if (room.ends) return room.error;
  auto error = check_each(on, bounds.count + 1, first_bad, check_packs{bounds, bounds.members, first_bad});
  if (error == error_type{}) error = scan(room.memory, room.bytes);
  if (error != error_type{}) return error;
  return visit_rows(on, same_bounds<entry_bounds>{bounds}, 1, bounds.members + bounds.count,
                    write_sums<Sum, Write>{bounds, sums, write, first_bad});
}

// The same for the cumulative lengths of context parallelism: tokens that are held, without and with padding.
struct context_tokens {
  std::uint64_t held = 0, padded = 0;
  friend BALLAST_HD context_tokens operator+(context_tokens a, context_tokens const& b) { return {a.held + b.held, a.padded + b.padded}; }
  friend BALLAST_HD context_tokens operator-(context_tokens a, context_tokens const& b) { return {a.held - b.held, a.padded - b.padded}; }
};
template <class Offset, class Index, class Length>
struct member_context {
  member_tokens<Offset, Index, Length> member;
  zigzag rule;
  std::int64_t rank;
  BALLAST_HD context_tokens operator()(std::size_t m) const {
    auto const padded = member(m);
    if (padded == 0) return {};
    auto const length = static_cast<std::int64_t>(member.lengths[member.members[m]]);
    return {static_cast<std::uint64_t>(ballast::detail::held_tokens(length, static_cast<std::int64_t>(padded), rule, rank)),
            rank == whole_row ? padded : padded / static_cast<std::uint64_t>(rule.ranks)};
  }
};
template <class Offset>
struct write_context {
  std::uint64_t most;  // largest number of padded tokens of a row
  Offset* cu;
  Offset* cu_padded;
  BALLAST_HD bool operator()(std::size_t at, context_tokens const& sum) const {
    if (sum.padded > most) return false;
    cu[at] = static_cast<Offset>(sum.held);
    cu_padded[at] = static_cast<Offset>(sum.padded);
    return true;
  }
};

// The length of a sequence, if its offsets rise and it fits.
template <class Offset, class T>
struct write_length {
  Offset const* offsets;
  T* out;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const length = static_cast<std::uint64_t>(offsets[i + 1]) - static_cast<std::uint64_t>(offsets[i]);
    if (offsets[i + 1] < offsets[i] || length > largest<T>) return atomic_min(*first_bad, i);
    out[i] = static_cast<T>(length);
  }
};

template <class Offset>
struct longest_step {
  Offset const* cu;
  BALLAST_HD Offset operator()(std::size_t i) const { return cu[i] < cu[i + 1] ? static_cast<Offset>(cu[i + 1] - cu[i]) : Offset{0}; }
};
struct longer_of {
  template <class T>
  BALLAST_HD T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
