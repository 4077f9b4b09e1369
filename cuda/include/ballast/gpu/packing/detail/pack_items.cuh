// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/pack_lengths.cuh>
#include <ballast/gpu/packing/detail/raise_pack_count.cuh>
#include <ballast/gpu/packing/detail/run_items.cuh>
#include <ballast/gpu/packing/detail/run_plans.cuh>
#include <ballast/gpu/packing/planner.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

// Best-fit decreasing with all options: lengths -> items -> packs of items, as many as demanded -> packs of samples and pieces.

namespace ballast::inline v0_2::gpu::detail {

// Turns the numbers of items into those of samples, where samples were left out, and writes the packs of samples that are alone.
template <class Index>
struct name_samples {
  Index const* left_out;
  std::size_t left_out_count;
  std::size_t packs;  // packs before those of samples that are alone
  std::size_t begin;  // members in these packs
  std::size_t alone;
  std::uint64_t* offsets;
  Index* members;
  BALLAST_HD void operator()(std::size_t j) const {
    if (j < begin || j - begin >= alone) {
      members[j] = static_cast<Index>(unlisted(left_out, left_out_count, members[j]));
      return;
    }
    members[j] = left_out[j - begin];
    offsets[packs + 1 + (j - begin)] = j + 1;
  }
};

template <class Index, class On, class Length>
[[nodiscard]] packing<On, Index> pack_items(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  auto items = run_items_of<Index>(on, lengths, count, options);
  auto const alone = static_cast<std::size_t>(items.alone(options));
  auto const run_options = items.options(options, count);
  pack_planner<On> planner(on);
  packing<On, Index> out{.packs = {{on, 0}, {on, items.count + alone}}, .set_aside = {on, 0}, .pieces = std::move(items.fitted.pieces)};
  auto const outputs = [&](std::uint64_t packs) {
    out.packs.offsets = array<std::uint64_t, On>(on, static_cast<std::size_t>(packs) + alone + 1);
    return pack_arrays<Index>{out.packs.offsets.data(), out.packs.members.data()};
  };
  call(on, "best_fit_decreasing", [&](void* temp, std::size_t& bytes) {
    auto const error = pack_lengths<Index>(on, temp, bytes, items.lengths, items.count, run_options, planner, outputs);
    if (planner.first_bad != none_bad) throw_for_lengths(on, lengths, count, options);
    return error;
  });
  auto const tally = items.settle(planner.tally, options);
  out.status = tally.status;
  out.count = tally.count;
  out.bound = tally.bound;
  out.tokens = tally.tokens;
  auto& left_out = items.fitted.listed;
  if (tally.status != status::feasible) {
    out.packs = {{on, 1}, {on, 0}};
    check(on.fill(out.packs.offsets.data(), 0, sizeof(std::uint64_t)), "best_fit_decreasing");
  } else {
    auto const packs = static_cast<std::size_t>(planner.plan.packs);
    auto const moves = static_cast<std::size_t>(tally.count.value) - packs - alone;
    if (moves != 0)
      out.packs = raise_pack_count(on, out.packs, packs, items.count, moves, alone, items.lengths, pack_padding_of(run_options));
    if (left_out.size() != 0)
      check(on.for_each(out.packs.members.size(), name_samples<Index>{left_out.data(), left_out.size(), packs, items.count - moves, alone,
                                                                      out.packs.offsets.data(), out.packs.members.data()}),
            "best_fit_decreasing");
  }
  if (options.oversize == oversize::set_aside) out.set_aside = std::move(left_out);
  return out;
}

}  // namespace ballast::inline v0_2::gpu::detail
