// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/staging.cuh>
#include <ballast/gpu/packing/device_runs.cuh>
#include <ballast/gpu/packing/expand.cuh>
#include <ballast/gpu/packing/fold.cuh>
#include <ballast/gpu/packing/run_length.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

/// @file
/// @brief Best-fit decreasing on device lengths: counted and expanded on the device, planned on the host while the device sorts.

namespace ballast::inline v0_2::gpu {

/// @brief What `best_fit_decreasing` keeps between calls, and what the host knows of the last packing. One call at a time may use it.
/// @tparam On  the backend
template <class On>
struct pack_planner {
  /// @brief Nothing yet. @param on where packing will run
  explicit pack_planner(On on) : runs(on), counts(on) {}
  pack_runs plan;                      ///< of the last packing
  pack_tally tally;                    ///< its number of packs, with the certificate
  std::uint64_t first_bad = none_bad;  ///< lowest index of a length outside 1 … capacity
  device_runs<On> runs;                ///< the plan on the device
  detail::host_buffer<On> counts;      ///< private
  plan_workspace scratch;              ///< private
  histogram lengths;                   ///< private
};

namespace detail {

// `outputs(packs)` gives the arrays once the number of packs is known.
template <class Index, class On, class Length, class Outputs>
[[nodiscard]] typename On::error_type pack_lengths(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                   packing_options const& options, pack_planner<On>& planner, Outputs const& outputs) {
  using error_type = typename On::error_type;
  if (!takes_runs(options) || count > (std::numeric_limits<Index>::max)()) return On::invalid_value;
  auto const pad = pack_padding_of(options);
  return with_key(pad, [&]<class Key>(Key) {
    workspace memory(temp);
    auto const words = std::size_t{pad.longest()} + 1;
    auto* const counts = memory.take<std::uint64_t>(words + 1);  // and the first bad index
    canonical_order<Key, Index> order;
    auto error = order.cut(on, memory, count, pad);
    std::size_t no_bytes = 1;
    if (memory.counting()) bytes = memory.bytes();
    if (error != error_type{} || memory.counting()) return error;
    if (bytes < memory.bytes()) return On::invalid_value;

    planner.first_bad = none_bad;
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
    plan_best_fit_decreasing(planner.lengths, options, planner.scratch, planner.plan);
    queue([&] { return planner.runs.upload(planner.plan); });
    queue([&] { return write_packs(on, planner.runs.view(), order, count, nullptr, outputs(planner.plan.packs), nullptr); });
    planner.tally = tally_of(planner.plan, planner.lengths, options);
    return error;
  });
}

}  // namespace detail

/// @brief Packs the samples, longest first, each into the fullest pack that still takes it; twin of `ballast::best_fit_decreasing`.
///
/// The one twin that waits: for the counts of the lengths, which it plans on the host while the device sorts. It cannot be captured into a
/// graph. When it returns, the number of packs is known and the rest is queued.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   type of the sample indices
/// @param on       where it runs
/// @param temp     scratch memory, or null to ask for `bytes`
/// @param bytes    of scratch memory
/// @param lengths  sample lengths in tokens, each at least 1
/// @param count    how many
/// @param options  capacity up to `longest_on_device`, max_samples, sample_multiple and pack_multiple; no over-size policy and no demanded
///                 number of packs
/// @param planner  of this backend and stream; on return it holds the plan and its certificate
/// @param out      where the packs go; for `offsets`, count + 1 words always suffice
/// @return the error, if any; `invalid_value` for options out of range, more samples than `Index` can number, a workspace that is too
/// small, or a length outside 1 … capacity, whose index `planner.first_bad` then is
/// @throws std::bad_alloc if the host has no memory for the plan
/// @par Complexity
/// As `fold` and `expand`, and O(D log D + R) on the host for D distinct lengths and R runs.
/// @par Determinism
/// Bit for bit that of the host.
/// @par Source
/// As `ballast::best_fit_decreasing`.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type best_fit_decreasing(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                          packing_options const& options, pack_planner<On>& planner,
                                                          pack_arrays<Index> const& out) {
  return detail::pack_lengths<Index>(on, temp, bytes, lengths, count, options, planner, [&](std::uint64_t) { return out; });
}

/// @brief Samples in packs on the device, with the proof of how good the plan is.
template <class On, index_type Index = std::uint32_t>
struct device_packing {
  device_groups<On, Index> packs;  ///< as `packing::packs`
  pack_tally tally;                ///< number of packs, certificate, tokens
};

/// @brief Packs the samples; allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       where it runs
/// @param lengths  of the device
/// @param count    how many
/// @param options  as the other overload
/// @return exactly the groups and the certificate of `ballast::best_fit_decreasing`
/// @throws invalid_input as `ballast::best_fit_decreasing`, and for options that a plan of runs does not take
/// @throws gpu_error if the backend reports an error
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] device_packing<On, Index> best_fit_decreasing(On on, Length const* lengths, std::size_t count,
                                                            packing_options const& options) {
  detail::require_run_options(options);
  require(count <= (std::numeric_limits<Index>::max)(),
          [&] { return std::to_string(count) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  pack_planner<On> planner(on);
  device_packing<On, Index> out{{{on, 0}, {on, count}}, {}};
  auto const outputs = [&](std::uint64_t packs) {
    out.packs.offsets = array<std::uint64_t, On>(on, static_cast<std::size_t>(packs) + 1);
    return pack_arrays<Index>{out.packs.offsets.data(), out.packs.members.data()};
  };
  call(on, "best_fit_decreasing", [&](void* temp, std::size_t& bytes) {
    auto const error = detail::pack_lengths<Index>(on, temp, bytes, lengths, count, options, planner, outputs);
    if (planner.first_bad != none_bad) detail::refuse_lengths(on, lengths, count, options);
    return error;
  });
  out.tally = planner.tally;
  return out;
}

}  // namespace ballast::inline v0_2::gpu
