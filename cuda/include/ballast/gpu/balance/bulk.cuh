// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bulk.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/balance/detail/name_sets.cuh>
#include <ballast/gpu/balance/detail/sorted_lengths.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief Longest processing time first on a histogram, with the samples on a device: the host decides on classes, and one pass over the
/// samples writes their sets.

namespace ballast::inline v0_2::gpu {

/// @brief Sorts the runs of a plan on classes in the order in which samples are sorted.
/// @param plan     the result of `ballast::bulk_longest_processing_time`
/// @param classes  the histogram that it was made for
/// @return the runs, longest length first, and one more entry after the last sample
/// @throws invalid_input if the plan does not hold the samples of the histogram
/// @par Complexity
/// O(runs + distinct lengths).
[[nodiscard]] inline std::vector<set_run> sorted_set_runs(balance_runs const& plan, histogram const& classes) {
  auto const kinds = classes.lengths.size();
  std::vector<std::uint64_t> place(kinds + 1), held(kinds);  // by class, shortest last: where its runs begin
  for (auto const& r : plan.runs) {
    require(r.item_class < kinds, [&] { return sentence("a run holds class ", r.item_class, " of ", kinds); });
    ++place[kinds - static_cast<std::size_t>(r.item_class)];
    held[static_cast<std::size_t>(r.item_class)] += r.count;
  }
  for (std::size_t c = 0; c < kinds; ++c) {
    require(held[c] == classes.counts[c],
            [&] { return sentence("the runs of class ", c, " hold ", held[c], " of ", classes.counts[c], " samples"); });
    place[c + 1] += place[c];
  }
  std::vector<set_run> runs(plan.runs.size() + 1);
  for (auto const& r : plan.runs) {
    auto const c = static_cast<std::size_t>(r.item_class);
    runs[static_cast<std::size_t>(place[kinds - 1 - c]++)] = {r.count, classes.lengths[c], r.set};
  }
  std::uint64_t first = 0;
  for (auto& r : runs) {
    auto const count = r.first;
    r.first = first;
    first += count;
  }
  return runs;
}

/// @brief Writes the set of every sample, from a plan on classes. Among equal samples, lower indices go to lower sets.
///
/// @tparam Index  type of the sample indices
/// @tparam On     the backend
/// @tparam Len    an integer
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param lengths    tokens of each sample, 1 … `longest`
/// @param count      number of samples
/// @param longest    largest length that may occur, 1 … 2^32 - 1
/// @param runs       the result of `sorted_set_runs`, in memory of the backend
/// @param run_count  number of runs, the last one, which is empty, included
/// @param set_of     array for the set of each sample
/// @param first_bad  one word: the first sample with a length out of range or without a place in the plan; `count` if the plan has places
///                   left; all ones if there is none
/// @return the error, if any; `invalid_value` if `longest` is out of range, there are too many samples for the index, or the workspace is
///         too small
/// @par Complexity
/// A radix sort of 4-byte keys with the bits of `longest`; then for each sample 8 bytes read, 4 written out of order, and a search among
/// the runs, in which neighbours search the same place. Scratch memory of 16 bytes a sample, 24 with 64-bit indices, plus that of the sort.
/// @par Determinism
/// The sort is stable; the result is a pure function of lengths and plan.
/// @par Source
/// As `ballast::bulk_longest_processing_time`.
template <index_type Index = std::uint32_t, class On, integer Len>
[[nodiscard]] typename On::error_type expand_sets(On on, void* temp, std::size_t& bytes, Len const* lengths, std::uint64_t count,
                                                  std::int64_t longest, set_run const* runs, std::uint64_t run_count, std::uint32_t* set_of,
                                                  std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  if (longest < 1 || longest >> 32 != 0 || count > (std::numeric_limits<Index>::max)()) return On::invalid_value;
  auto const n = static_cast<std::size_t>(count);
  workspace cut(temp);
  detail::balance_sorted<Index> s;
  if (auto const end = detail::balance_take_sorted(on, cut, bytes, n, s); end.ends) return end.error;
  if (auto const sorted = detail::balance_sort(on, lengths, n, longest, s, first_bad); sorted != ok) return sorted;
  return on.for_each(n == 0 ? 1 : n, detail::balance_name_sets<Index>{s.keys, s.order, count, runs, run_count, set_of, first_bad});
}

/// @brief Assigns samples on a device to sets, most expensive first, each to the least loaded set. Plan and sets are those of
/// `ballast::bulk_longest_processing_time`. Allocates, and waits for the counts.
///
/// @tparam Index  type of the sample indices
/// @tparam On     the backend
/// @tparam Len    an integer
/// @tparam Cost   a `cost_model` of the lengths, called on the host
/// @param on       the backend
/// @param lengths  tokens of each sample, 1 … `longest`
/// @param count    number of samples
/// @param longest  largest length that may occur, 1 … 2^24
/// @param sets     number of sets, 1 … 2^31
/// @param cost     cost of one length, not negative
/// @param set_of   array for the set of each sample, on the device
/// @return the plan on classes, on the host
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first length out of range, or as the host function
/// @par Complexity
/// As `expand_sets`, plus `longest + 1` searches in the sorted lengths, as many words copied, and the plan on the host.
template <index_type Index = std::uint32_t, class On, integer Len, cost_model Cost>
[[nodiscard]] balance_runs bulk_longest_processing_time(On on, Len const* lengths, std::uint64_t count, std::int64_t longest,
                                                        std::uint64_t sets, Cost const& cost, std::uint32_t* set_of) {
  require(longest >= 1 && longest <= std::int64_t{1} << 24, [&] { return sentence("longest = ", longest, " must be in 1 ... 2^24"); });
  require_index<Index>(count, "samples");
  auto const n = static_cast<std::size_t>(count), kinds = static_cast<std::size_t>(longest) + 1;
  array<std::uint64_t, On> const bad(on, 1), above(on, kinds);
  workspace counting(nullptr);
  detail::balance_sorted<Index> s;
  std::size_t bytes = 0;
  check(detail::balance_take_sorted(on, counting, bytes, n, s).error, "sort");
  array<std::byte, On> const temp(on, bytes);
  workspace cut(temp.data());
  check(detail::balance_take_sorted(on, cut, bytes, n, s).error, "sort");
  check(detail::balance_sort(on, lengths, n, longest, s, bad.data()), "sort");
  check(on.for_each(kinds, detail::balance_count_above{s.keys, count, above.data()}), "count");

  auto const first_bad = fetch_one(on, bad.data());
  require(first_bad == none_bad,
          [&] { return sentence(entry("lengths", first_bad, fetch_one(on, lengths + first_bad)), " is not in 1 ... ", longest); });
  auto counts = fetch(on, above);
  for (auto l = kinds; --l > 0;) counts[l] = counts[l - 1] - counts[l];
  auto const classes = histogram_of(counts);
  auto plan = ballast::bulk_longest_processing_time(classes, sets, cost);
  auto const placed = send(on, sorted_set_runs(plan, classes));
  check(on.for_each(n, detail::balance_name_sets<Index>{s.keys, s.order, count, placed.data(), placed.size(), set_of, bad.data()}),
        "expand");
  return plan;
}

}  // namespace ballast::inline v0_2::gpu
