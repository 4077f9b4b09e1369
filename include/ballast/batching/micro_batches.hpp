// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/micro_batcher.hpp>
#include <ballast/batching/detail/units.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/core/search_limits.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief One global batch into micro-batches: the same number on every rank, as few as can be, none above the cap, loads balanced.

namespace ballast::inline v0_2 {

/// @brief Splits one global batch over ranks and micro-batches, as trainers with generated data do at every step.
///
/// First as few packs as there can be: best-fit decreasing, and where that is not proven to give the least number of micro-batches, a
/// search (`near_optimal`) within `limits`. Then that number is filled anew: units are dealt to the ranks (`balance`) and each rank's
/// packed, or dealt to the micro-batches at once, or where neither fits, the packs themselves are balanced by exchanges; the plan whose
/// slowest ranks cost least is kept.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths      tokens of each sample, at most the capacity
/// @param options      `capacity`, `ranks`, `micro_batches` (of which the number of a rank is a multiple), where ranks wait, with how many
///                     stages, and the price of a micro-batch; the rest is not read
/// @param cost         what a sample costs
/// @param constraints  keys, and how many micro-batches of how many samples
/// @param limits       of the search for fewer packs; it ends by itself where the number is proven
/// @return a plan of one step, or of none without samples or without a plan. Its certificates bound the number of micro-batches of a rank
/// and the cost of the slowest one. No place is empty while another holds what could be split; empty places are the last of their rank, and
/// ranks differ in them by one at most
/// @pre a list of keys is empty or as long as `lengths`; samples of one `together` key have one `apart` key; equal counts go with neither
/// @post feasible unless a number was demanded; a number that is feasible is never missed by more than the certificate says
/// @throws invalid_input for a bad option, length, cost or key, where samples that belong together exceed the capacity, or where `exactly`
/// is no multiple, or below `at_least`
/// @par Complexity
/// O(n log n + n k) for n samples over k ranks, and as much for k micro-batches where n k is below 2^22; then `limits`.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the wall clock of `limits` cuts the search short.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] micro_batching<Index> micro_batches(R const& lengths, batching_options const& options, Cost const& cost,
                                                  micro_batch_constraints const& constraints = {},
                                                  search_limits const& limits = {.work = 16'000'000}) {
  return micro_batches<Index>(weigh(lengths, options, cost), options, constraints, limits);
}

/// @brief As above, of samples weighed before.
/// @tparam Index  type of the sample indices
/// @param samples      from `weigh`
/// @param options      as above
/// @param constraints  as above
/// @param limits       as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
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
  require(c.at_least > 0 && c.at_least < most, [&] { return "at_least = " + std::to_string(c.at_least) + " must be in 1 ... 2^20 - 1"; });
  require(c.exactly < most && c.exactly % options.micro_batches == 0 && (c.exactly == 0 || c.exactly >= c.at_least), [&] {
    return "exactly = " + std::to_string(c.exactly) +
           " must be below 2^20, a multiple of micro_batches = " + std::to_string(options.micro_batches) +
           " and not below at_least = " + std::to_string(c.at_least);
  });
  require(!c.equal_counts || (c.together.empty() && c.apart.empty()),
          [] { return std::string("equal_counts goes with neither together nor apart keys"); });
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

}  // namespace ballast::inline v0_2
