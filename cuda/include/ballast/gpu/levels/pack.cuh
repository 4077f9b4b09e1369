// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/gpu/core/lengths.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/levels/detail/plan_levels.cuh>
#include <ballast/gpu/packing/expand.cuh>
#include <ballast/gpu/packing/oversize.cuh>
#include <ballast/gpu/packing/planner.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Packs of several capacities in one call: the device counts lengths once and expands one plan; the host plans each level.

namespace ballast::inline v0_2::gpu {

/// @brief Memory that `pack_levels` keeps between calls, and its last plan: one plan of runs for the packs of all levels, the shortest
/// level first, whose capacity is that of the longest. Use it in one call at a time.
/// @tparam On  the backend
template <class On>
struct level_planner : pack_planner<On> {
  using pack_planner<On>::pack_planner;
  std::vector<std::size_t> first_pack;  ///< level i has the packs first_pack[i] … first_pack[i + 1] - 1
  std::vector<certificate> count;       ///< for each level: number of packs, and its lower bound
  std::vector<std::int64_t> tokens;     ///< tokens in the packs of each level
  std::uint64_t filled = 0;             ///< number of samples that fill room in a longer level
  std::int64_t filled_tokens = 0;       ///< tokens of these samples
};

/// @brief Samples in packs of several levels on the device; its members are those of `ballast::level_packing`, and mean the same.
/// @tparam On      the backend
/// @tparam Length  type of the lengths
/// @tparam Index   type of the sample indices
template <class On, integer Length, index_type Index = std::uint32_t>
struct level_packing {
  std::vector<level> levels;            ///< the given levels, by capacity
  groups<On, Index> packs;              ///< packs of all levels, the shortest level first; a member `n + j` is `pieces[j]`, for n samples
  std::vector<std::size_t> first_pack;  ///< level i has the packs first_pack[i] … first_pack[i + 1] - 1; levels.size() + 1 entries
  std::vector<certificate> count;       ///< for each level, before samples of shorter levels were added: number of packs, its lower bound
  std::vector<std::int64_t> tokens;     ///< tokens in the packs of each level
  array<Length, On> lengths;            ///< tokens of each sample as packed, then of each piece; empty if the policy cuts no sample
  array<Index, On> set_aside;           ///< samples longer than the longest level that the policy left out, ascending
  array<sample_piece, On> pieces;       ///< second and later pieces of split samples, by sample, then offset
  std::uint64_t filled = 0;             ///< number of samples that fill room in a longer level
  std::int64_t filled_tokens = 0;       ///< tokens of these samples
};

namespace detail {

// `outputs()` returns the arrays once the number of packs is known; `pays(i, j)` says whether samples of level j fill room in level i.
template <class Index, class On, class Length, class Pays, class Outputs>
[[nodiscard]] typename On::error_type pack_levels(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                  std::span<std::int64_t const> capacities, Pays const& pays, level_planner<On>& planner,
                                                  Outputs const& outputs) {
  using error_type = typename On::error_type;
  planner.first_bad = none_bad;
  if (capacities.back() > longest_on_device || count > (std::numeric_limits<Index>::max)()) return On::invalid_value;
  workspace memory(temp);
  auto const words = static_cast<std::size_t>(capacities.back()) + 1;
  auto* const counts = memory.take<std::uint64_t>(words + 1);  // one more for the first bad index
  planner.runs.expect(count, capacities.back());
  auto const expands = [&](void* some, std::size_t& need) {
    return expand(on, some, need, planner.runs, lengths, count, nullptr, pack_arrays<Index>{}, nullptr);
  };
  auto const room = memory.finish<On>(bytes, expands);
  if (room.ends) return room.error;

  error_type error{};
  auto const queue = [&](auto const& step) {
    if (error == error_type{}) error = step();
  };
  std::size_t no_bytes = 1;
  queue([&] { return fold(on, temp, no_bytes, lengths, count, capacities.back(), counts, counts + words); });
  queue([&] { return planner.counts.reserve((words + 1) * sizeof(std::uint64_t)); });
  queue([&] { return planner.counts.download(counts, (words + 1) * sizeof(std::uint64_t)); });
  queue([&] { return planner.counts.wait(); });
  if (error != error_type{}) return error;
  auto const* const found = planner.counts.template as<std::uint64_t>();
  planner.first_bad = found[words];
  if (planner.first_bad != none_bad) return On::invalid_value;
  planner.lengths = histogram_of({found, words});
  plan_level_packs(capacities, pays, planner);
  queue([&] { return planner.runs.upload(planner.plan); });
  auto need = room.bytes;
  queue([&] { return expand(on, room.memory, need, planner.runs, lengths, count, nullptr, outputs(), counts + words); });
  return error;
}

// What the host says of options and levels, and what no device takes.
inline void require_device_levels(std::span<level const> levels, level_options const& options) {
  (void)ballast::pack_levels(std::vector<std::int64_t>{}, levels, options);
  require_on_device(levels.back().capacity + (options.oversize == oversize::set_aside ? 1 : 0), "capacity");
}

inline std::vector<std::int64_t> capacities_of(std::span<level const> levels) {
  std::vector<std::int64_t> out;
  for (auto const& l : levels) out.push_back(l.capacity);
  return out;
}

template <class Index>
struct copy_indices {
  Index const* from;
  Index* to;
  BALLAST_HD void operator()(std::size_t j) const { to[j] = from[j]; }
};

}  // namespace detail

/// @brief Packs samples into levels, the longest level first, and fills room in its packs with samples of shorter levels if `options` say
/// so; twin of `ballast::pack_levels`. The other overload allocates, and takes over-size policies.
///
/// Waits once, for the counts of the lengths, of which the host plans all levels. It cannot be captured into a CUDA graph. When it returns,
/// the numbers of packs are known and the rest of the work is queued.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   type of the sample indices
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param lengths  sample lengths in tokens, each at least 1
/// @param count    number of samples
/// @param levels   levels with strictly ascending capacities, up to `longest_on_device`
/// @param options  when to fill room; `oversize` must be `reject`
/// @param planner  a planner of this backend and stream; afterwards it holds the plan, its levels and their certificates
/// @param out      arrays for the packs of all levels, the shortest level first; for `offsets`, count + 1 words are always enough
/// @return the error, if any; `invalid_value` if `ballast::pack_levels` would refuse levels or options, there is a policy, `Index` cannot
///         number the samples, the workspace is too small, or a length is outside 1 … the longest capacity (`planner.first_bad` is then its
///         index)
/// @throws std::bad_alloc if the host has no memory for the plan
/// @par Complexity
/// As `fold` and `expand`, and O(D log D + R) on the host for D distinct lengths and R runs; no more for many levels than for one. Filling
/// takes O(packs log packs + moves log D) on the host, where all samples of a length that go into one pack are one move, and up to a run
/// for each move.
/// @par Determinism
/// The same packs as on the host, bit for bit.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type pack_levels(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                  std::span<level const> levels, level_options const& options, level_planner<On>& planner,
                                                  pack_arrays<Index> const& out) {
  planner.first_bad = none_bad;
  if (options.oversize != oversize::reject) return On::invalid_value;
  try {
    ballast::detail::require_valid(levels, options);
  } catch (invalid_input const&) {
    return On::invalid_value;
  }
  return detail::pack_levels<Index>(
      on, temp, bytes, lengths, count, detail::capacities_of(levels),
      [&](std::size_t into, std::size_t from) { return fill_pays(levels, options, into, from); }, planner, [&] { return out; });
}

/// @brief Packs samples into levels, the longest level first, and fills room in its packs with samples of shorter levels if `options` say
/// so; twin of `ballast::pack_levels` with every option. Allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device
/// @param count    number of samples
/// @param levels   levels with strictly ascending capacities, up to `longest_on_device`
/// @param options  over-size policy, and when to fill room
/// @return the same packs, lists and certificates as `ballast::pack_levels`
/// @throws invalid_input as `ballast::pack_levels`, and for capacities above `longest_on_device`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As the other overload and, with a policy, `apply_oversize`.
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] level_packing<On, Length, Index> pack_levels(On on, Length const* lengths, std::size_t count, std::span<level const> levels,
                                                           level_options const& options = {}) {
  detail::require_device_levels(levels, options);
  require_index<Index>(count, "samples");
  auto const longest = levels.back().capacity;
  auto const sets_aside = options.oversize == oversize::set_aside;
  auto capacities = detail::capacities_of(levels);
  if (sets_aside) capacities.push_back(longest + 1);  // its packs, which are last, hold one sample each that is left out
  trained_samples<On, Length, Index> items{{on, 0}, {on, 0}, {on, 0}, {on, 0}};
  if (options.oversize != oversize::reject)
    items = apply_oversize<Index>(on, lengths, count,
                                  {.capacity = capacities.back(), .oversize = sets_aside ? oversize::truncate : options.oversize});
  auto const cut = options.oversize != oversize::reject;
  auto const* const packed = cut ? items.tokens.data() : lengths;
  auto const members = cut ? items.tokens.size() : count;
  require_index<Index>(members + 1, "members");
  auto const pays = [&](std::size_t into, std::size_t from) { return into < levels.size() && fill_pays(levels, options, into, from); };
  level_planner<On> planner(on);
  groups<On, Index> packs{{on, 0}, {on, members}};
  call(on, "pack_levels", [&](void* temp, std::size_t& bytes) {
    auto const error = detail::pack_levels<Index>(on, temp, bytes, packed, members, capacities, pays, planner, [&] {
      packs.offsets = array<std::uint64_t, On>(on, static_cast<std::size_t>(planner.plan.packs) + 1);
      return pack_arrays<Index>{packs.offsets.data(), packs.members.data()};
    });
    if (planner.first_bad != none_bad)
      (void)ballast::pack_levels<Index>(fetch(on, lengths, count), levels, options);  // throws with the reason
    return error;
  });
  level_packing<On, Length, Index> out{{levels.begin(), levels.end()},
                                       std::move(packs),
                                       std::move(planner.first_pack),
                                       std::move(planner.count),
                                       std::move(planner.tokens),
                                       {on, 0},
                                       {on, 0},
                                       std::move(items.pieces),
                                       planner.filled,
                                       planner.filled_tokens};
  if (!sets_aside) {
    out.lengths = std::move(items.tokens);
    return out;
  }
  out.first_pack.pop_back();
  out.count.pop_back();
  auto const left_out = static_cast<std::size_t>(out.tokens.back() / (longest + 1));
  out.tokens.pop_back();
  out.set_aside = array<Index, On>(on, left_out);
  out.packs.offsets.shrink(out.packs.offsets.size() - left_out);
  out.packs.members.shrink(members - left_out);
  check(on.for_each(left_out, detail::copy_indices<Index>{out.packs.members.data() + (members - left_out), out.set_aside.data()}),
        "pack_levels");
  return out;
}

}  // namespace ballast::inline v0_2::gpu
