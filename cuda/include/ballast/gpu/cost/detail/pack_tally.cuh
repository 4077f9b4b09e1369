// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/cost/detail/check_costs.cuh>
#include <ballast/gpu/cost/packed_lengths.cuh>

#include <cstddef>
#include <cstdint>

// Figures of packs in one pass over their members, balanced for any pack sizes: each lane takes a range of members. The figure of a pack
// within one range is stored; parts of other packs are joined atomically, which for integers gives the same result in any order.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr std::uint64_t cost_stretch = 8;  // number of members per lane: one sector of 32-bit lengths

// The length of the sample of member i; -1 if it is not a sample.
template <class Len, class Index>
[[nodiscard]] BALLAST_HD std::int64_t member_length(packed_lengths<Len, Index> const& in, std::uint64_t i) {
  auto const sample = in.members == nullptr ? i : std::uint64_t{in.members[i]};
  return sample < in.samples ? static_cast<std::int64_t>(in.lengths[sample]) : std::int64_t{-1};
}

// `Tally` has: value_type, add(value, length), join(pack, value, whole).
template <class Len, class Index, class Tally>
struct cost_tally_stretch {
  Tally tally;
  packed_lengths<Len, Index> in;
  std::int64_t longest;
  std::int64_t const* most;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t lane) const {
    if (*most < 0) return;
    auto const begin = lane * cost_stretch, end = in.placed - begin < cost_stretch ? in.placed : begin + cost_stretch;
    std::uint64_t stop = 0;  // the offset at which the pack of i ends
    for (auto i = begin; i < end;) {
      ++stop;
      if (i == begin || stop > in.packs || in.offsets[stop] <= i) stop = first_above(in.offsets, in.packs + 1, i);
      if (stop > in.packs) return;
      auto const last = in.offsets[stop] < end ? in.offsets[stop] : end;
      if (stop == 0) {  // no pack covers these
        i = last;
        continue;
      }
      typename Tally::value_type value{};
      auto const whole = in.offsets[stop - 1] == i && in.offsets[stop] == last;
      for (; i < last; ++i) {
        auto const length = member_length(in, i);
        if (length < 0 || length > longest)
          atomic_min(*bad, i);
        else
          tally.add(value, length);
      }
      tally.join(stop - 1, value, whole);
    }
  }
};

// Finds the member that brings the sum of a pack to 2^63. It visits only packs with enough members for that.
template <class Len, class Index, class Cost>
struct cost_check_sum {
  Cost cost;
  packed_lengths<Len, Index> in;
  std::int64_t longest;
  std::int64_t const* most;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t pack) const {
    auto const begin = in.offsets[pack], end = in.offsets[pack + 1] < in.placed ? in.offsets[pack + 1] : in.placed;
    if (*most <= 0 || end <= begin || end - begin <= static_cast<std::uint64_t>(ballast::checked::most / *most)) return;
    auto left = ballast::checked::most;
    for (auto i = begin; i < end; ++i) {
      auto const length = member_length(in, i);
      if (length < 0 || length > longest) return;
      auto const one = static_cast<std::int64_t>(cost(length));
      if (one > left) return atomic_min(*bad, i);
      left -= one;
    }
  }
};

// A pass over packs: computes `value` for each, which is zeroed before. `prepare` queues what the cost needs.
template <class On, class Len, class Index, class Cost, class Prepare, class Tally, class T>
[[nodiscard]] typename On::error_type cost_tally_packs(On on, workspace& cut, std::size_t& bytes, packed_lengths<Len, Index> const& in,
                                                       std::int64_t longest, Cost const& cost, Prepare const& prepare, Tally const& tally,
                                                       T* out, std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  auto* const most = cut.take<std::int64_t>(1);
  if (auto const end = cut.finish<On>(bytes); end.ends) return end.error;
  if (longest < 0 || (in.members == nullptr && in.placed > in.samples)) return On::invalid_value;
  auto done = prepare();
  if (done == ok) done = on.for_each(1, cost_check_longest<Cost>{cost, longest, in.placed, first_bad, most});
  if (done == ok) done = on.fill(out, 0, static_cast<std::size_t>(in.packs) * sizeof(T));
  auto const stretches = static_cast<std::size_t>(divide_up(in.placed, cost_stretch));
  if (done == ok) done = on.for_each(stretches, cost_tally_stretch<Len, Index, Tally>{tally, in, longest, most, first_bad});
  if (done == ok)
    done = on.for_each(static_cast<std::size_t>(in.packs), cost_check_sum<Len, Index, Cost>{cost, in, longest, most, first_bad});
  return done;
}

// Throws for the first bad member, if there is one.
template <class On, class Len, class Index>
void cost_require_packs(On on, array<std::uint64_t, On> const& bad, packed_lengths<Len, Index> const& in, std::int64_t longest) {
  auto const first = fetch_one(on, bad.data());
  if (first == none_bad) return;
  cost_require_longest(first, in.placed, longest);
  auto const sample = in.members == nullptr ? static_cast<Index>(first) : fetch_one(on, in.members + first);
  require(sample < in.samples, [&] { return entry("members", first, sample) + " is no sample"; });
  auto const length = fetch_one(on, in.lengths + sample);
  cost_require_length(sample, length, longest);
  throw invalid_input(entry("lengths", sample, length) + " brings the sum of costs to 2^63 or more");
}

}  // namespace ballast::inline v0_2::gpu::detail
