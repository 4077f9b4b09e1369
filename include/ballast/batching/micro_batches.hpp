// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/kept_together.hpp>
#include <ballast/batching/detail/micro_batcher.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/search_limits.hpp>

#include <cstdint>

/// @file
/// @brief `micro_batches`: splits one global batch into micro-batches, the same number on every rank, as few as the search finds, with
/// balanced ranks.

namespace ballast::inline v0_2 {

/// @brief Splits one global batch over ranks and micro-batches, as trainers with generated data must in every step.
///
/// The number of micro-batches is decided first: by best-fit decreasing and, if that is not proven to give the smallest number, by a search
/// (`near_optimal`) within `limits`. Then the micro-batches are filled again for balance: samples are distributed over the ranks
/// (`balance`) and packed there, or distributed over all micro-batches directly; if neither fits, the packs of the first part are balanced
/// by exchanges. The plan whose slowest ranks cost least is returned. Micro-batches of a single rank are balanced against each other.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths      tokens of each sample, at most the capacity
/// @param options      `capacity`, `ranks`, `micro_batches` (the number of micro-batches of a rank is a multiple of it), `synchronisation`,
/// `stages` and `cost_per_micro_batch`; other options are only validated
/// @param cost         cost of a sample by its length
/// @param constraints  keys, and constraints on the numbers of micro-batches and samples
/// @param limits       limits of the search for fewer packs, which ends earlier if the number is proven to be the smallest
/// @return a plan of one step, or without steps if there are no samples or no plan. Its certificates bound the number of micro-batches of a
/// rank and the cost of the slowest rank. No place is empty while another micro-batch could be split; the empty places of a rank are its
/// last, and their numbers differ by at most one between ranks
/// @pre a list of keys is empty or as long as `lengths`; samples with the same `together` key have the same `apart` key; `equal_counts`
/// cannot be combined with keys
/// @post the status is `feasible` unless a number was demanded; the number of micro-batches exceeds the smallest possible one by at most
/// `count.value - count.lower_bound`
/// @throws invalid_input for a bad option, length, cost or key; if the samples of one `together` key exceed the capacity; or if `exactly`
/// is not a multiple of `micro_batches` or is below `at_least`
/// @par Complexity
/// O(n log n + n k) for n samples and k ranks, and again for k micro-batches if n k is below 2^22; plus the work of `limits`.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock of `limits` ends the search.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] micro_batching<Index> micro_batches(R const& lengths, batching_options const& options, Cost const& cost,
                                                  micro_batch_constraints const& constraints = {},
                                                  search_limits const& limits = {.work = 16'000'000}) {
  return micro_batches<Index>(weigh(lengths, options, cost), options, constraints, limits);
}

/// @brief As above, for samples that were weighed before.
/// @tparam Index  type of the sample indices
/// @param samples      result of `weigh`
/// @param options      `capacity`, `ranks`, `micro_batches`
/// @param constraints  keys, and constraints on the numbers of micro-batches and samples
/// @param limits       limits of the search for fewer packs, which ends earlier if the number is proven to be the smallest
/// @return a plan of one step, or without steps if there are no samples or no plan
/// @throws invalid_input as the overload above, or if the samples were weighed for other options and do not fit these
template <index_type Index = std::uint32_t>
[[nodiscard]] micro_batching<Index> micro_batches(weighed_samples const& samples, batching_options const& options,
                                                  micro_batch_constraints const& constraints = {},
                                                  search_limits const& limits = {.work = 16'000'000}) {
  auto const& c = constraints;
  detail::require_fit<Index>(samples, options);
  auto const n = samples.size();
  detail::require_keys(c.together, n, "together");
  detail::require_keys(c.apart, n, "apart");
  constexpr auto most = std::uint64_t{1} << 20;
  require(c.at_least > 0 && c.at_least < most, [&] { return sentence("at_least = ", c.at_least, " must be in 1 ... 2^20 - 1"); });
  require(c.exactly < most && c.exactly % options.micro_batches == 0 && (c.exactly == 0 || c.exactly >= c.at_least), [&] {
    return sentence("exactly = ", c.exactly, " must be below 2^20, a multiple of micro_batches = ", options.micro_batches,
                    " and not below at_least = ", c.at_least);
  });
  require(!c.equal_counts || (c.together.empty() && c.apart.empty()),
          [] { return "equal_counts cannot be combined with together or apart keys"; });
  micro_batching<Index> out;
  if (c.together.empty()) {
    detail::micro_batcher<Index>(samples, c.apart, options, c, limits).run(out);
    return out;
  }
  auto const units = detail::units_of<Index>(n, c.together);
  auto const apart = detail::key_of_units(units, c.apart);
  auto const folded = detail::fold(samples, units, options);
  detail::micro_batcher<Index>(folded, apart, options, c, limits).run(out);
  out.packs = detail::spell_out(units, out.packs);
  return out;
}

BALLAST_INSTANTIATE(micro_batching<std::uint32_t> micro_batches(weighed_samples const&, batching_options const&,
                                                                micro_batch_constraints const&, search_limits const&))

}  // namespace ballast::inline v0_2
