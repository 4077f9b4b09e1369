// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The passes of expand.cuh: where each sorted sample goes, and where each pack begins.

namespace ballast::inline v0_2::gpu::detail {

// A lane takes `strip` positions, `strip_lanes` apart: neighbouring lanes still read neighbours, and a lane mostly finds the next position
// in the run and the block of the last one, which it looked for among all.
inline constexpr std::size_t strip = 16, strip_lanes = 256;
[[nodiscard]] constexpr std::size_t strips(std::size_t count) { return divide_up(count, strip * strip_lanes) * strip_lanes; }
[[nodiscard]] BALLAST_HD constexpr std::size_t strip_begin(std::size_t lane) {
  return lane / strip_lanes * (strip * strip_lanes) + lane % strip_lanes;
}

// Finds the last element whose `Begin` is at most a value; searches only for a value outside the element found before.
template <class T, std::uint64_t T::* Begin>
class last_found {
 public:
  BALLAST_HD last_found(T const* all, std::size_t count) : all_(all), count_(count) {}
  [[nodiscard]] BALLAST_HD T const& operator()(std::uint64_t value) {
    if (value < found_.*Begin || value >= end_) {
      auto const* const at = ballast::detail::last_from(all_, count_, Begin, value);
      end_ = at + 1 == all_ + count_ ? ~std::uint64_t{0} : at[1].*Begin;
      found_ = *at;
    }
    return found_;
  }

 private:
  T const* all_;
  std::size_t count_;
  std::uint64_t end_ = 0;
  T found_{};
};
using run_found = last_found<pack_run, &pack_run::first>;
using block_found = last_found<pack_block, &pack_block::first_pack>;

template <class Key, class Index, class Place, bool OnlyMembers>
struct place_samples {
  runs_view plan;
  Key const* keys;
  Index const* samples;
  std::size_t count;
  std::uint64_t const* shift;  // difference of canonical and sorted position, by key; null if 0
  pack_arrays<Place> out;
  std::uint64_t* mismatch;  // null: the samples are known to be those of the plan
  BALLAST_HD void operator()(std::size_t lane) const {
    constexpr unsigned at_once = 4;  // reads in flight
    run_found run_of(plan.runs, plan.run_count);
    block_found block_of(plan.blocks, plan.block_count);
    for (auto first = strip_begin(lane), end = first + strip * strip_lanes; first < end; first += at_once * strip_lanes) {
      Key key[at_once] = {};
      Index sample[at_once] = {};
      for (unsigned j = 0; j < at_once; ++j) {
        auto const p = first + j * strip_lanes;
        if (p >= count) continue;
        sample[j] = samples[p];
        if (shift != nullptr || mismatch != nullptr) key[j] = keys[p];
      }
      for (unsigned j = 0; j < at_once; ++j)
        if (first + j * strip_lanes < count) place(first + j * strip_lanes, key[j], static_cast<std::size_t>(sample[j]), run_of, block_of);
    }
  }

 private:
  BALLAST_HD void place(std::uint64_t position, Key key, std::size_t sample, run_found& run_of, block_found& block_of) const {
    if (shift != nullptr) position += shift[key];
    auto const& run = run_of(position);
    if (mismatch != nullptr && (std::int64_t{key} + 1) * plan.sample_multiple != run.length) {
      atomic_min(*mismatch, sample);
      return;
    }
    auto const pack = ballast::detail::pack_of(run, position);
    auto const at = ballast::detail::place_in(run, position, plan.capacity, pack, block_of(pack));
    if (out.members != nullptr) out.members[at.member] = static_cast<Place>(sample);
    if constexpr (OnlyMembers) return;  // the usual call, in fewer instructions
    if (out.pack != nullptr) out.pack[sample] = static_cast<Place>(at.pack);
    if (out.slot != nullptr) out.slot[sample] = static_cast<std::uint32_t>(at.slot);
    if (out.offset != nullptr) out.offset[sample] = static_cast<std::uint32_t>(at.offset);
    if (out.member != nullptr) out.member[sample] = static_cast<Place>(at.member);
  }
};

struct write_offsets {
  runs_view plan;
  std::uint64_t* offsets;
  BALLAST_HD void operator()(std::size_t lane) const {
    block_found block_of(plan.blocks, plan.block_count);
    for (std::size_t k = 0, pack = strip_begin(lane); k < strip && pack <= plan.packs; ++k, pack += strip_lanes) {
      if (pack == plan.packs) {
        offsets[pack] = plan.samples;
        return;
      }
      auto const& block = block_of(pack);
      offsets[pack] = block.first_member + (pack - block.first_pack) * block.samples;
    }
  }
};

// Writes the entries of cumulative lengths, from the plan alone: the tokens before each sample, and behind the last of a pack.
template <class Offset>
struct write_planned_entries {
  runs_view plan;
  Offset* out;
  BALLAST_HD void operator()(std::size_t lane) const {
    run_found run_of(plan.runs, plan.run_count);
    block_found block_of(plan.blocks, plan.block_count);
    for (std::size_t k = 0, position = strip_begin(lane); k < strip && position < plan.samples; ++k, position += strip_lanes) {
      auto const& run = run_of(position);
      auto const pack = ballast::detail::pack_of(run, position);
      auto const& block = block_of(pack);
      auto const at = ballast::detail::place_in(run, position, plan.capacity, pack, block);
      out[at.member + pack] = static_cast<Offset>(at.offset);
      if (at.slot + 1 == block.samples) out[at.member + pack + 1] = static_cast<Offset>(block.tokens);
    }
  }
};

// Writes the places of the sorted samples.
template <class On, class Key, class Index, class Place>
[[nodiscard]] typename On::error_type write_packs(On on, runs_view const& plan, canonical_order<Key, Index> const& order, std::size_t count,
                                                  std::uint64_t const* shift, pack_arrays<Place> const& out, std::uint64_t* mismatch) {
  if (out.offsets != nullptr) {
    auto const error = on.for_each(strips(static_cast<std::size_t>(plan.packs) + 1), write_offsets{plan, out.offsets});
    if (error != typename On::error_type{}) return error;
  }
  auto const place = [&]<bool OnlyMembers>(std::bool_constant<OnlyMembers>) {
    return on.for_each(strips(count),
                       place_samples<Key, Index, Place, OnlyMembers>{plan, order.keys, order.samples, count, shift, out, mismatch});
  };
  auto const only_members = out.pack == nullptr && out.slot == nullptr && out.offset == nullptr && out.member == nullptr;
  return only_members ? place(std::true_type{}) : place(std::false_type{});
}

}  // namespace ballast::inline v0_2::gpu::detail
