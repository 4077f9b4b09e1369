// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
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

// Adds up one word of every rank: those of all ranks, and of the ranks before this one.
struct add_ranks {
  std::uint64_t const* gathered;  // words of each rank, rank after rank
  std::size_t words;
  std::size_t rank;
  std::size_t ranks;
  std::uint64_t* before;
  std::uint64_t* all;
  BALLAST_HD void operator()(std::size_t word) const {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == rank) before[word] = sum;
      sum += gathered[r * words + word];
    }
    all[word] = sum;
  }
};

// What the exchange tells a rank: word 0 is a rank that failed, and counts of lengths 0, 1, … follow.
struct exchanged_counts {
  std::vector<std::uint64_t> here, before, all;
};

// Whatever happens to this rank, the others get their words. `count` puts this rank's counts into memory, or throws. At most so many words
// of all ranks are in memory at once.
template <class On, class Count, class AllGather>
[[nodiscard]] exchanged_counts exchange_counts(On on, std::size_t lengths, std::size_t rank, std::size_t ranks, Count const& count,
                                               AllGather const& all_gather, std::size_t most = std::size_t{1} << 23) {
  auto const words = lengths + 1;
  auto const part = (std::max)(std::size_t{1}, (std::min)(words, most / ranks));
  array<std::uint64_t, On> const here(on, words), before(on, words), all(on, words), gathered(on, part * ranks);
  check(on.fill(here.data(), 0, words * sizeof(std::uint64_t)), "fill");
  std::exception_ptr failed;
  try {
    count(here.data() + 1);
  } catch (...) {
    failed = std::current_exception();
    check(on.fill(here.data(), 1, 1), "fill");
  }
  for (std::size_t first = 0; first < words; first += part) {
    auto const some = (std::min)(part, words - first);
    all_gather(static_cast<std::uint64_t const*>(here.data() + first), gathered.data(), some);
    check(on.for_each(some, add_ranks{gathered.data(), some, rank, ranks, before.data() + first, all.data() + first}), "exchange");
  }
  exchanged_counts out{fetch(on, here), fetch(on, before), fetch(on, all)};
  if (failed) std::rethrow_exception(failed);
  require(out.all[0] == 0, [] { return "another rank could not count its samples; its message says why"; });
  for (auto* const counts : {&out.here, &out.before, &out.all}) counts->erase(counts->begin());
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
/// @tparam AllGather  callable with `(std::uint64_t const* from, std::uint64_t* to, std::size_t words)`
/// @param on         the backend
/// @param lengths    lengths of this rank's samples in tokens, on the device, each at least 1
/// @param count      number of this rank's samples; may be 0
/// @param options    as for the form of `best_fit_decreasing` with a workspace; must be the same on every rank
/// @param rank       this rank, from 0 on
/// @param ranks      number of ranks
/// @param all_gather writes the words of every rank to `to`, rank after rank, `ranks * words` in all: `ncclAllGather` on the stream of
///                   `on`, or `MPI_Allgather` for memory of the host. Both are memory of the backend, and work before and after is in the
///                   order of its stream. It is called equally often, with the same `words`, on every rank
/// @return the plan, and the places of this rank's samples
/// @throws invalid_input as `best_fit_decreasing`, and for other options; if a length of any rank is bad or a rank fails otherwise, on
/// every rank after the
///         exchange, so that no rank waits for another
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As `fold` and `expand` of the shard, one exchange of `capacity` + 2 words of each rank, of which at most 64 MiB are in memory at once,
/// and O(D log D + R) on the host for D distinct lengths of all samples and R runs.
/// @par Determinism
/// Together the ranks have the result of `ballast::best_fit_decreasing` for the concatenated shards, bit for bit.
template <index_type Index = std::uint32_t, class On, integer Length, class AllGather>
[[nodiscard]] shard_places<On> pack_sharded(On on, Length const* lengths, std::size_t count, packing_options const& options,
                                            std::size_t rank, std::size_t ranks, AllGather const& all_gather) {
  detail::require_device_options(options);
  require(detail::takes_runs(options),
          [] { return "pack_sharded takes no demanded number of packs and no over-size policy: call apply_oversize before"; });
  require(rank < ranks, [&] { return sentence("rank = ", rank, " must be below ranks = ", ranks); });
  auto const pad = detail::pack_padding_of(options);
  auto const count_here = [&](std::uint64_t* counts) {
    require_index<Index>(count, "samples");
    array<std::uint64_t, On> const first_bad(on, 1);
    call(on, "fold",
         [&](void* temp, std::size_t& bytes) { return fold(on, temp, bytes, lengths, count, pad.longest(), counts, first_bad.data()); });
  };
  auto const found = detail::exchange_counts(on, std::size_t{pad.longest()} + 1, rank, ranks, count_here, all_gather);
  auto const& [here, before, all] = found;
  if (here[0] != 0) detail::throw_for_lengths(on, lengths, count, options);
  require(all[0] == 0, [&] { return sentence(all[0], " lengths of other shards are outside 1 … ", pad.longest()); });

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
      if (auto const end = order.cut(on, memory, bytes, count, pad.units); end.ends) return end.error;
      auto const error = order.queue(on, lengths, count, pad, static_cast<Index const*>(nullptr), nullptr);
      return error != typename On::error_type{} ? error : detail::write_packs(on, runs.view(), order, count, shift.data(), places, nullptr);
    });
  });
  return out;
}

}  // namespace ballast::inline v0_2::gpu
