// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/place_samples.cuh>
#include <ballast/gpu/packing/detail/run_plans.cuh>
#include <ballast/gpu/packing/planner.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// Shared by both overloads in best_fit_decreasing.cuh.

namespace ballast::inline v0_2::gpu::detail {

// `outputs(packs)` returns the arrays once the number of packs is known.
template <class Index, class On, class Length, class Outputs>
[[nodiscard]] typename On::error_type pack_lengths(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                   packing_options const& options, pack_planner<On>& planner, Outputs const& outputs) {
  using error_type = typename On::error_type;
  planner.first_bad = none_bad;
  if (!takes_runs(options) || count > (std::numeric_limits<Index>::max)()) return On::invalid_value;
  auto const pad = pack_padding_of(options);
  return with_key(pad, [&]<class Key>(Key) {
    workspace memory(temp);
    auto const words = std::size_t{pad.longest()} + 1;
    auto* const counts = memory.take<std::uint64_t>(words + 1);  // one more for the first bad index
    canonical_order<Key, Index> order;
    if (auto const end = order.cut(on, memory, bytes, count, pad.units); end.ends) return end.error;
    std::size_t no_bytes = 1;
    error_type error{};

    auto const queue = [&](auto const& step) {
      if (error == error_type{}) error = step();
    };
    queue([&] { return fold(on, temp, no_bytes, lengths, count, pad.longest(), counts, counts + words); });
    queue([&] { return planner.counts.reserve((words + 1) * sizeof(std::uint64_t)); });
    queue([&] { return planner.counts.download(counts, (words + 1) * sizeof(std::uint64_t)); });
    queue([&] { return order.queue(on, lengths, count, pad, static_cast<Index const*>(nullptr), nullptr); });
    queue([&] { return planner.counts.wait(); });
    if (error != error_type{}) return error;
    auto const* const found = planner.counts.template as<std::uint64_t>();
    planner.first_bad = found[words];
    if (planner.first_bad != none_bad) return On::invalid_value;
    planner.lengths = histogram_of({found, words});
    auto& kept = ballast::detail::memory_of(planner.scratch);
    auto const& runs = kept.bulk.runs;
    ballast::detail::plan_runs(planner.lengths, options, kept, planner.plan,
                               [&] { queue([&] { return planner.runs.upload_runs(runs); }); });
    queue([&] { return planner.runs.upload_rest(planner.plan); });
    queue([&] { return write_packs(on, planner.runs.view(), order, count, nullptr, outputs(planner.plan.packs), nullptr); });
    planner.plan.runs.assign(runs.begin(), runs.end());  // while the device works
    planner.tally = tally_of(planner.plan, planner.lengths, options);
    return error;
  });
}

}  // namespace ballast::inline v0_2::gpu::detail
