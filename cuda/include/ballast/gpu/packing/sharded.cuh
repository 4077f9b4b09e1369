// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/place_samples.cuh>
#include <ballast/gpu/packing/detail/run_plans.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Packs samples that are spread over processes or devices as one data set: ranks exchange counts, and no sample moves.

namespace ballast::inline v0_2::gpu {

/// @brief Where the samples of one shard are in the packing of all shards.
template <class On>
struct shard_places {
  pack_runs plan;                   ///< plan of all samples, the same on every rank
  pack_tally tally;                 ///< number of packs of the plan, with its certificate
  array<std::uint64_t, On> pack;    ///< for each sample of the shard, in input order, the number of its pack among all packs
  array<std::uint32_t, On> slot;    ///< for each sample, its position in the pack
  array<std::uint32_t, On> offset;  ///< for each sample, the tokens before it in the pack, padding included
  array<std::uint64_t, On> member;  ///< for each sample, its position in the members of all packs
};

namespace detail {

// For each key, the difference between a position in the sorted shard and the canonical position among all samples (modulo 2^64).
[[nodiscard]] inline std::vector<std::uint64_t> shifts_by_key(std::vector<std::uint64_t> const& here,
                                                              std::vector<std::uint64_t> const& before,
                                                              std::vector<std::uint64_t> const& all, pack_padding pad) {
  std::vector<std::uint64_t> out(pad.units);
  std::uint64_t all_longer = 0, here_longer = 0;
  for (auto key = pad.units; key-- > 0;) {
    std::uint64_t of_all = 0, of_here = 0, earlier = 0;
    for (auto l = std::size_t{key} * pad.multiple + 1; l <= (std::size_t{key} + 1) * pad.multiple; ++l) {
      of_all += all[l];
      of_here += here[l];
      earlier += before[l];
    }
    out[key] = all_longer + earlier - here_longer;
    all_longer += of_all;
    here_longer += of_here;
  }
  return out;
}

}  // namespace detail

/// @brief Packs samples that are spread over ranks as if all were in one place, in the order of the ranks; twin of `ballast::place`.
///
/// Every rank calls it with its own shard. The ranks exchange counts of lengths, 8 bytes for each length up to the capacity. Each rank then
/// computes the same plan, and the places of its own samples.
///
/// @tparam Index      type of the sample indices in one shard
/// @tparam On         the backend
/// @tparam Length     an integer
/// @tparam Reduce     callable with a `std::span<std::uint64_t>` of host memory
/// @tparam Exclusive  callable with a `std::span<std::uint64_t>` of host memory
/// @param on        the backend
/// @param lengths   lengths of this rank's samples in tokens, on the device, each at least 1
/// @param count     number of this rank's samples; may be 0
/// @param options   as for `best_fit_decreasing` on the device; must be the same on every rank
/// @param reduce    replaces each element by its sum over all ranks (MPI_Allreduce, ncclAllReduce)
/// @param exclusive replaces each element by its sum over the ranks before this one, 0 on the first (MPI_Exscan)
/// @return the plan, and the places of this rank's samples
/// @throws invalid_input as `best_fit_decreasing`; for a bad length on every rank after the exchange, so that no rank waits for another
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As `fold` and `expand` of the shard, one sum and one prefix sum of `capacity` + 1 words over the ranks, and O(D log D + R) on the host
/// for D distinct lengths of all samples and R runs.
/// @par Determinism
/// Together the ranks have the result of `ballast::best_fit_decreasing` for the concatenated shards, bit for bit.
template <index_type Index = std::uint32_t, class On, integer Length, class Reduce, class Exclusive>
[[nodiscard]] shard_places<On> pack_sharded(On on, Length const* lengths, std::size_t count, packing_options const& options,
                                            Reduce const& reduce, Exclusive const& exclusive) {
  detail::require_run_options(options);
  require_index<Index>(count, "samples");
  auto const pad = detail::pack_padding_of(options);
  auto const here = count_lengths(on, lengths, count, pad.longest()).counts;
  auto all = here, before = here;
  exclusive(std::span(before));
  reduce(std::span(all));
  if (here[0] != 0) detail::throw_for_lengths(on, lengths, count, options);
  require(all[0] == 0,
          [&] { return std::to_string(all[0]) + " lengths of other shards are outside 1 … " + std::to_string(pad.longest()); });

  auto const classes = histogram_of(all);
  shard_places<On> out{plan_best_fit_decreasing(classes, options), {}, {on, count}, {on, count}, {on, count}, {on, count}};
  out.tally = detail::tally_of(out.plan, classes, options);
  device_runs<On> runs(on);
  check(runs.upload(out.plan), "upload");
  auto const shift = send(on, detail::shifts_by_key(here, before, all, pad));
  pack_arrays<std::uint64_t> const places{
      .pack = out.pack.data(), .slot = out.slot.data(), .offset = out.offset.data(), .member = out.member.data()};
  call(on, "pack_sharded", [&](void* temp, std::size_t& bytes) {
    return detail::with_key(pad, [&]<class Key>(Key) {
      workspace memory(temp);
      detail::canonical_order<Key, Index> order;
      auto error = order.cut(on, memory, count, pad);
      if (memory.counting()) bytes = memory.bytes();
      if (error != typename On::error_type{} || memory.counting()) return error;
      error = order.queue(on, lengths, count, pad, static_cast<Index const*>(nullptr), nullptr);
      return error != typename On::error_type{} ? error : detail::write_packs(on, runs.view(), order, count, shift.data(), places, nullptr);
    });
  });
  return out;
}

}  // namespace ballast::inline v0_2::gpu
