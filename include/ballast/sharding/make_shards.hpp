// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief `make_shards`: the pieces of every rank, from the passes of a schedule and the samples in them.

namespace ballast::inline v0_2 {

/// @brief The passes of a schedule, before its samples are cut.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct pass_list {
  /// @brief A value of `placement::rank`: all ranks of the pass share the sample.
  static constexpr std::uint32_t all_ranks = (std::numeric_limits<std::uint32_t>::max)();
  /// @brief A sample in a pass.
  struct placement {
    Index sample = 0;                ///< index of the sample
    std::uint32_t pass = 0;          ///< number of the pass
    std::uint32_t rank = all_ranks;  ///< the one rank of the pass that holds the whole sample, or `all_ranks`
    friend constexpr bool operator==(placement const&, placement const&) = default;
  };
  groups<std::uint32_t> ranks;        ///< the ranks of each pass, ascending; each rank runs its passes in this order
  std::vector<placement> placements;  ///< every sample once, in any order; the samples of a pass keep this order, shared ones first
};

namespace detail {

/// Calls `emit(k, begin, end)` for each piece of a sample of `length` tokens on ranks k = 0 ... ranks - 1; the ranks from `extra` on, in
/// a circle, take one token more where the length is no multiple. Returns where the next sample of the pass begins to do so.
template <class Emit>
std::uint64_t cut_sample(std::int64_t length, std::uint64_t ranks, std::uint64_t extra, share_layout layout, Emit const& emit) {
  auto const d = static_cast<std::int64_t>(ranks), each = length / d, more = length % d;
  auto const tokens = [&](std::uint64_t k) { return each + (static_cast<std::int64_t>((k + ranks - extra) % ranks) < more ? 1 : 0); };
  std::int64_t begin = 0, end = length;
  for (std::uint64_t k = 0; k < ranks; ++k) {
    auto const all = tokens(k);
    if (layout == share_layout::contiguous || k + 1 == ranks) {  // the two chunks of the last rank are neighbours
      if (all > 0) emit(k, begin, begin + all);
      begin += all;
      continue;
    }
    auto const head = all - all / 2, tail = all / 2;
    if (head > 0) emit(k, begin, begin + head);
    if (tail > 0) emit(k, end - tail, end);
    begin += head;
    end -= tail;
  }
  return (extra + static_cast<std::uint64_t>(more)) % ranks;
}

}  // namespace detail

/// @brief Cuts the samples of a schedule into the pieces of every rank.
///
/// A sample that several ranks share is cut into nearly equal shares. Tokens that are left go to the ranks in turn, over all samples of a
/// pass, so a pass with T shared tokens gives each of its d ranks at most `ceil(T / d)`. If kernels need lengths that divide evenly, pass
/// lengths that are rounded up.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param list     passes and the samples in them
/// @param ranks    number of ranks
/// @param layout   how the ranks of a pass cut a sample
/// @return the pieces, with default values of `status`, `execution`, `time` and `left_out`
/// @throws invalid_input if a placement names a sample, pass or rank that does not exist, a length is not positive, or a pass of several
/// ranks shares fewer tokens than it has ranks
/// @par Complexity
/// O(samples + pieces + ranks of all passes).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R>
[[nodiscard]] shards<Index> make_shards(R const& lengths, pass_list<Index> const& list, std::uint64_t ranks,
                                        share_layout layout = share_layout::zigzag) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths)), passes = list.ranks.size();
  auto const at = read_by_position(lengths);
  auto const& members = list.ranks.members;
  shards<Index> out;

  // The number of each pass on each of its ranks.
  out.rank_offsets.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    require(members[i] < ranks, [&] { return sentence(entry("ranks.members", i, members[i]), " must be below ranks = ", ranks); });
    ++out.rank_offsets[members[i] + std::size_t{1}];
  }
  for (std::size_t r = 0; r < ranks; ++r) out.rank_offsets[r + 1] += out.rank_offsets[r];
  std::vector<std::uint64_t> number(members.size()), next(out.rank_offsets.begin(), out.rank_offsets.end() - 1);
  for (std::size_t i = 0; i < members.size(); ++i) number[i] = next[members[i]]++;

  // Which passes share a sample, and so are groups.
  std::vector<std::int64_t> shared(passes, 0);
  for (std::size_t j = 0; j < list.placements.size(); ++j) {
    auto const& p = list.placements[j];
    auto const what = [&] { return sentence("placements[", j, "]"); };
    require(p.sample < n, [&] { return sentence(what(), ".sample = ", p.sample, " must be below ", n); });
    require(p.pass < passes, [&] { return sentence(what(), ".pass = ", p.pass, " must be below ", passes); });
    auto const length = static_cast<std::int64_t>(at[p.sample]);
    require(length > 0, [&] { return entry("lengths", p.sample, length) + " must be positive"; });
    if (p.rank == list.all_ranks) shared[p.pass] += length;
  }
  std::vector<std::uint32_t> group(passes, not_shared);
  for (std::size_t p = 0; p < passes; ++p) {
    auto const width = list.ranks[p].size();
    if (width < 2 || shared[p] == 0) continue;
    require(shared[p] >= static_cast<std::int64_t>(width),
            [&] { return sentence("pass ", p, " shares ", shared[p], " tokens among ", width, " ranks"); });
    group[p] = static_cast<std::uint32_t>(out.rank_groups.size());
    out.rank_groups.push_back(list.ranks[p]);
  }

  // Pieces are counted, then written; shared ones come first in their pass.
  auto const each_piece = [&](auto const& emit) {
    std::vector<std::uint64_t> extra(passes, 0);
    for (auto const whole : {false, true})
      for (auto const& p : list.placements) {
        auto const in = list.ranks[p.pass];
        auto const length = static_cast<std::int64_t>(at[p.sample]);
        auto const first = list.ranks.offsets[p.pass];
        if ((p.rank != list.all_ranks) != whole) continue;
        if (whole) {
          std::size_t k = 0;
          while (k < in.size() && in[k] != p.rank) ++k;
          require(k < in.size(), [&] { return sentence("rank ", p.rank, " is not in pass ", p.pass); });
          emit(number[first + k], piece<Index>{p.sample, 0, length, not_shared});
        } else {
          extra[p.pass] =
              detail::cut_sample(length, in.size(), extra[p.pass], layout, [&](std::uint64_t k, std::int64_t b, std::int64_t e) {
                emit(number[first + k], piece<Index>{p.sample, b, e, group[p.pass]});
              });
        }
      }
  };
  out.pass_offsets.assign(members.size() + 1, 0);
  each_piece([&](std::uint64_t pass, piece<Index> const&) { ++out.pass_offsets[pass + 1]; });
  for (std::size_t p = 0; p < members.size(); ++p) out.pass_offsets[p + 1] += out.pass_offsets[p];
  out.pieces.resize(static_cast<std::size_t>(out.pass_offsets.back()));
  next.assign(out.pass_offsets.begin(), out.pass_offsets.end() - 1);
  each_piece([&](std::uint64_t pass, piece<Index> const& p) { out.pieces[next[pass]++] = p; });
  return out;
}

BALLAST_INSTANTIATE(shards<std::uint32_t> make_shards(std::vector<std::int64_t> const&, pass_list<std::uint32_t> const&, std::uint64_t,
                                                      share_layout))

}  // namespace ballast::inline v0_2
