// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/layout/concepts.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/shard_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief Cumulative lengths, position ids and token indices of a pass on the device. The host sends the pieces of a plan, and never loops
/// over tokens.
///
/// Send `plan.pieces` once. The pieces of a pass are `plan(rank, pass)`, at the same place of the copy, and the last entry of
/// `shard_cu_seqlens(plan, rank, pass)` is the number of its tokens. Neighbouring passes may be given as one: their rows follow each other.

namespace ballast::inline v0_2::gpu {

namespace detail {

// Tokens of a piece; 0 at `count`, so that the scan of `count` + 1 of them ends with their sum.
template <class Index>
struct piece_tokens {
  piece<Index> const* pieces;
  std::size_t count;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const {
    if (i >= count || pieces[i].end < pieces[i].begin) return 0;  // such a piece is empty on the host too
    return static_cast<std::uint64_t>(pieces[i].end) - static_cast<std::uint64_t>(pieces[i].begin);
  }
};

// The number of the first token of a sample, or -1 if there is none: 0 for positions, else what the caller says.
struct start_at_0 {
  BALLAST_HD std::int64_t operator()(std::uint64_t) const { return 0; }
};
struct start_of_sample {
  std::int64_t const* starts;
  std::size_t samples;
  BALLAST_HD std::int64_t operator()(std::uint64_t sample) const { return sample < samples ? starts[sample] : -1; }
};

// Writes by how much the number of a token is above its place in the row, which holds for the complete piece. Finds pieces with a number
// that does not fit in T.
template <class T, class Index, class Start>
struct shift_piece {
  static constexpr std::int64_t most = (std::numeric_limits<T>::max)();
  piece<Index> const* pieces;
  std::size_t count;
  Start start_of;
  std::uint64_t const* before;  // tokens before each piece
  std::size_t tokens;
  std::uint64_t* shifts;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i == count) {
      if (before[count] != tokens) atomic_min(*first_bad, count);
      return;
    }
    auto const held = pieces[i];
    auto const start = start_of(held.sample);
    auto const room = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(held.end);
    if (held.end > most || static_cast<std::uint64_t>(start) > room) atomic_min(*first_bad, i);  // a negative start becomes larger
    shifts[i] = static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(held.begin) - before[i];
  }
};

template <class T>
struct write_shifted {
  std::uint64_t const* shifts;
  T* out;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  BALLAST_HD void operator()(row_place const& place, no_input) const {
    if (place.inside) out[place.at] = static_cast<T>(shifts[place.segment] + place.at);
  }
};

// Tokens and samples of pieces: a piece begins a sample if the one before it is of another.
struct piece_counts {
  std::uint64_t tokens = 0, samples = 0;
  friend BALLAST_HD piece_counts operator+(piece_counts const& a, piece_counts const& b) {
    return {a.tokens + b.tokens, a.samples + b.samples};
  }
};
template <class Index>
struct count_piece {
  piece<Index> const* pieces;
  std::size_t count;
  [[nodiscard]] BALLAST_HD bool begins(std::size_t i) const { return i == 0 || pieces[i - 1].sample != pieces[i].sample; }
  BALLAST_HD piece_counts operator()(std::size_t i) const {
    if (i >= count) return {};
    return {static_cast<std::uint64_t>(pieces[i].end) - static_cast<std::uint64_t>(pieces[i].begin), begins(i) ? 1U : 0U};
  }
};

// Writes the entry before each sample, and the last one.
template <class T, class Index>
struct write_shard_entry {
  static constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
  count_piece<Index> of;
  piece_counts const* before;  // `count` + 1 of them
  std::size_t samples;
  T* out;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const here = before[i];
    if (i != 0 && here.tokens > most) atomic_min(*first_bad, i - 1);
    if (i == of.count && here.samples != samples) atomic_min(*first_bad, i);
    if ((i == of.count || of.begins(i)) && here.samples <= samples) out[here.samples] = static_cast<T>(here.tokens);
  }
};

template <class On, class Index, class Start, class T>
[[nodiscard]] typename On::error_type number_tokens(On on, void* temp, std::size_t& bytes, piece<Index> const* pieces, std::size_t count,
                                                    Start start_of, std::size_t tokens, T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  workspace cut(temp);
  auto* const before = cut.take<std::uint64_t>(count + 1);
  auto* const shifts = cut.take<std::uint64_t>(count);
  auto const scan = [&](void* room, std::size_t& need) {
    return on.exclusive_sum(room, need, mapped(piece_tokens<Index>{pieces, count}), before, count + 1, std::uint64_t{0});
  };
  auto room = cut.finish<On>(bytes, scan);
  if (room.ends) return room.error;
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = scan(room.memory, room.bytes); error != error_type{}) return error;
  shift_piece<T, Index, Start> const shift{pieces, count, start_of, before, tokens, shifts, first_bad};
  if (auto const error = on.for_each(count + 1, shift); error != error_type{}) return error;
  return visit_rows(on, same_bounds<offset_bounds<std::uint64_t>>{{before, count}}, 1, tokens, write_shifted<T>{shifts, out});
}

// The numbers of one pass. If a piece is bad, `host` throws.
template <class T, class On, class Index, class Start, class Host>
[[nodiscard]] array<T, On> numbered_tokens(On on, char const* what, shards<Index> const& plan, std::size_t rank, std::size_t pass,
                                           Start start_of, Host const& host) {
  auto const held = ballast::detail::checked_pass(plan, rank, pass);
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!std::in_range<T>(held[i].end)) host();  // before memory is asked for
    tokens += static_cast<std::size_t>(piece_tokens<Index>{held.data(), held.size()}(i));
  }
  auto const pieces = send(on, std::vector(held.begin(), held.end()));
  array<T, On> out(on, tokens);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, what, [&](void* temp, std::size_t& bytes) {
    return number_tokens(on, temp, bytes, pieces.data(), pieces.size(), start_of, tokens, out.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad) host();
  return out;
}

}  // namespace detail

/// @brief Writes the position of each token of a pass within its sample; twin of `ballast::shard_position_ids`.
///
/// @tparam On     the backend
/// @tparam Index  index type of the shards
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param pieces     the pieces of a pass, or of neighbouring passes, in memory of the backend
/// @param count      number of pieces
/// @param tokens     number of tokens of all pieces
/// @param out        array of `tokens` elements
/// @param first_bad  one word: the first piece that ends beyond the largest `T`; `count` if the pieces do not have `tokens` tokens; `~0` if
///                   there is none. `out` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(pieces + tokens), for any lengths; writes `sizeof(T)` bytes a token, and 16 bytes of scratch memory a piece.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset T>
[[nodiscard]] typename On::error_type shard_position_ids(On on, void* temp, std::size_t& bytes, piece<Index> const* pieces,
                                                         std::size_t count, std::size_t tokens, T* out, std::uint64_t* first_bad) {
  return detail::number_tokens(on, temp, bytes, pieces, count, detail::start_at_0{}, tokens, out, first_bad);
}

/// @brief Returns the position ids of a pass, as the overload with `temp` writes them; sends its pieces, allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param plan the shards, on the host @param rank below `plan.ranks()` @param pass below `plan.passes(rank)`
/// @return one position for each token of the row, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, index_type Index>
[[nodiscard]] array<T, On> shard_position_ids(On on, shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  return detail::numbered_tokens<T>(on, "shard_position_ids", plan, rank, pass, detail::start_at_0{},
                                    [&] { static_cast<void>(ballast::shard_position_ids<T>(plan, rank, pass)); });
}

/// @brief Writes the cumulative lengths of the tokens that a rank holds in a pass; twin of `ballast::shard_cu_seqlens`.
///
/// @tparam On     the backend
/// @tparam Index  index type of the shards
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param pieces     the pieces of a pass, in memory of the backend
/// @param count      number of pieces
/// @param samples    number of samples of the pass
/// @param out        array of `samples` + 1 elements: one sequence for each sample, its pieces joined
/// @param first_bad  one word: the first piece with which the tokens do not fit in `T`; `count` if the pieces are not of `samples` samples;
///                   `~0` if there is none. `out` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(pieces), with 16 bytes of scratch memory a piece.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset T>
[[nodiscard]] typename On::error_type shard_cu_seqlens(On on, void* temp, std::size_t& bytes, piece<Index> const* pieces, std::size_t count,
                                                       std::size_t samples, T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  detail::count_piece<Index> const of{pieces, count};
  workspace cut(temp);
  auto* const before = cut.take<detail::piece_counts>(count + 1);
  auto const scan = [&](void* room, std::size_t& need) {
    return on.exclusive_sum(room, need, mapped(of), before, count + 1, detail::piece_counts{});
  };
  auto room = cut.finish<On>(bytes, scan);
  if (room.ends) return room.error;
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = scan(room.memory, room.bytes); error != error_type{}) return error;
  return on.for_each(count + 1, detail::write_shard_entry<T, Index>{of, before, samples, out, first_bad});
}

/// @brief Returns the cumulative lengths of a pass, as the overload with `temp` writes them; sends its pieces, allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param plan the shards, on the host @param rank below `plan.ranks()` @param pass below `plan.passes(rank)`
/// @return one entry more than the pass has samples, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, index_type Index>
[[nodiscard]] array<T, On> shard_cu_seqlens(On on, shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  auto const held = ballast::detail::checked_pass(plan, rank, pass);
  auto const samples = ballast::shard_samples(plan, rank, pass).size();
  auto const pieces = send(on, std::vector(held.begin(), held.end()));
  array<T, On> out(on, samples + 1);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "shard_cu_seqlens", [&](void* temp, std::size_t& bytes) {
    return shard_cu_seqlens(on, temp, bytes, pieces.data(), pieces.size(), samples, out.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad) static_cast<void>(ballast::shard_cu_seqlens<T>(plan, rank, pass));
  return out;
}

/// @brief Writes the place of each token of a pass in an array that holds all samples; twin of `ballast::shard_token_indices`.
///
/// @tparam On     the backend
/// @tparam Index  index type of the shards
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param pieces     the pieces of a pass, or of neighbouring passes, in memory of the backend
/// @param count      number of pieces
/// @param starts     place of the first token of each sample, in memory of the backend
/// @param samples    number of samples
/// @param tokens     number of tokens of all pieces
/// @param out        array of `tokens` elements
/// @param first_bad  one word: the first piece whose sample has no start or a negative one, or whose indices go beyond the largest `T`;
///                   `count` if the pieces do not have `tokens` tokens; `~0` if there is none. `out` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// As `shard_position_ids`; a start is read for each piece.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset T>
[[nodiscard]] typename On::error_type shard_token_indices(On on, void* temp, std::size_t& bytes, piece<Index> const* pieces,
                                                          std::size_t count, std::int64_t const* starts, std::size_t samples,
                                                          std::size_t tokens, T* out, std::uint64_t* first_bad) {
  return detail::number_tokens(on, temp, bytes, pieces, count, detail::start_of_sample{starts, samples}, tokens, out, first_bad);
}

/// @brief Returns the token indices of a pass, as the overload with `temp` writes them; sends its pieces, allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param plan the shards, on the host @param rank below `plan.ranks()` @param pass below `plan.passes(rank)`
/// @param starts place of the first token of each sample, in memory of the backend @param samples number of samples
/// @return one index for each token of the row, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int64_t, class On, index_type Index>
[[nodiscard]] array<T, On> shard_token_indices(On on, shards<Index> const& plan, std::size_t rank, std::size_t pass,
                                               std::int64_t const* starts, std::size_t samples) {
  return detail::numbered_tokens<T>(on, "shard_token_indices", plan, rank, pass, detail::start_of_sample{starts, samples}, [&] {
    static_cast<void>(ballast::shard_token_indices<T>(plan, rank, pass, fetch(on, starts, samples)));
  });
}

}  // namespace ballast::inline v0_2::gpu
