// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>

// The passes of expand.cuh: where each sorted sample goes, and where each pack begins.

namespace ballast::inline v0_2::gpu::detail {

template <class Key, class Index, class Place>
struct place_sample {
  runs_view plan;
  Key const* keys;
  Index const* samples;
  std::uint64_t const* shift;  // difference of canonical and sorted position, by key; null if 0
  pack_arrays<Place> out;
  std::uint64_t* mismatch;  // null: the samples are known to be those of the plan
  BALLAST_HD void operator()(std::size_t p) const {
    auto const sample = static_cast<std::size_t>(samples[p]);
    auto const position = shift == nullptr ? std::uint64_t{p} : p + shift[keys[p]];
    auto const& run = *ballast::detail::last_from(plan.runs, plan.run_count, &pack_run::first, position);
    if (mismatch != nullptr && (std::int64_t{keys[p]} + 1) * plan.sample_multiple != run.length) {
      atomic_min(*mismatch, sample);
      return;
    }
    auto const at = ballast::detail::place_in(run, position, plan.capacity, plan.blocks, plan.block_count);
    if (out.members != nullptr) out.members[at.member] = static_cast<Place>(sample);
    if (out.pack != nullptr) out.pack[sample] = static_cast<Place>(at.pack);
    if (out.slot != nullptr) out.slot[sample] = static_cast<std::uint32_t>(at.slot);
    if (out.offset != nullptr) out.offset[sample] = static_cast<std::uint32_t>(at.offset);
    if (out.member != nullptr) out.member[sample] = static_cast<Place>(at.member);
  }
};

struct write_offset {
  runs_view plan;
  std::uint64_t* offsets;
  BALLAST_HD void operator()(std::size_t pack) const {
    if (pack == plan.packs) {
      offsets[pack] = plan.samples;
      return;
    }
    auto const* const block = ballast::detail::last_from(plan.blocks, plan.block_count, &pack_block::first_pack, pack);
    offsets[pack] = block->first_member + (pack - block->first_pack) * block->samples;
  }
};

// Writes the places of the sorted samples.
template <class On, class Key, class Index, class Place>
[[nodiscard]] typename On::error_type write_packs(On on, runs_view const& plan, canonical_order<Key, Index> const& order, std::size_t count,
                                                  std::uint64_t const* shift, pack_arrays<Place> const& out, std::uint64_t* mismatch) {
  if (out.offsets != nullptr) {
    auto const error = on.for_each(static_cast<std::size_t>(plan.packs) + 1, write_offset{plan, out.offsets});
    if (error != typename On::error_type{}) return error;
  }
  return on.for_each(count, place_sample<Key, Index, Place>{plan, order.keys, order.samples, shift, out, mismatch});
}

}  // namespace ballast::inline v0_2::gpu::detail
