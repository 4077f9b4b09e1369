// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/vector/detail/pack_measures.cuh>
#include <ballast/gpu/packing/vector/detail/plan_measures.cuh>
#include <ballast/gpu/packing/vector/measures.cuh>
#include <ballast/gpu/packing/vector/planner.cuh>
#include <ballast/gpu/packing/vector/result.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/raise_pack_count.hpp>
#include <ballast/packing/vector/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief Packing of samples of several measures on a device, image tiles and text tokens for example: the device sorts samples into
/// classes and expands the plan; the host plans on the classes.

namespace ballast::inline v0_2::gpu {

/// @brief Packs samples of several measures by the best of several packers; twin of `ballast::pack_portfolio`.
///
/// Waits twice, for the number of classes and for the classes, and then for the host, which plans as long as `portfolio.limits` allow. It
/// cannot be captured into a CUDA graph. When it returns, the number of packs is known and the rest of the work is queued.
///
/// @tparam On     the backend
/// @tparam Value  an integer
/// @tparam Index  type of the sample indices
/// @param on        the backend
/// @param temp      scratch memory, or null to get its size
/// @param bytes     size of `temp` in bytes; set if `temp` is null
/// @param samples   measures of each sample: at most `most_measures`
/// @param options   capacities, `max_samples` and `seed`; at most 2^63 combinations of measures may fit a pack. No over-size policy and no
///                  multiple of packs, since the sizes of the arrays would be known too late: the other overload takes them
/// @param portfolio members, criteria and limits of the search
/// @param planner   a planner of this backend and stream; afterwards it holds the plan, its classes and its certificate
/// @param out       arrays for the packs; for `offsets`, count + 1 words are always enough. `offset` counts the last measure
/// @return the error, if any; `invalid_value` if an option is out of range, `Index` cannot number the samples, the workspace is too small,
///         a sample cannot be packed (`planner.first_bad` is then its index), or a sum of one measure is 2^63 or more
/// @throws std::bad_alloc if the host has no memory for the plan
/// @par Complexity
/// O(count) with a sort of as many bits as a number of all combinations of measures has, and the members of the portfolio on the host,
/// which read classes, not samples; all but iterative sampling.
/// @par Determinism
/// The same packs as on the host, bit for bit, unless a stop request or the wall clock ends the search.
template <class On, integer Value, index_type Index>
[[nodiscard]] typename On::error_type pack_portfolio(On on, void* temp, std::size_t& bytes, sample_measures<Value> const& samples,
                                                     vector_packing_options const& options, portfolio_options const& portfolio,
                                                     vector_planner<On>& planner, pack_arrays<Index> const& out) {
  planner.first_bad = none_bad;
  try {
    require_valid(portfolio);
    detail::require_device_measures(samples, options);
  } catch (invalid_input const&) {
    return On::invalid_value;
  }
  auto const numbered = out.offset == nullptr || options.capacity.back() <= (std::numeric_limits<std::uint32_t>::max)();
  if (options.oversize != oversize::reject || options.pack_count_multiple != 1 || !numbered) return On::invalid_value;
  return detail::pack_measures<Index>(on, temp, bytes, samples, options, portfolio, planner,
                                      [&](std::uint64_t, std::uint64_t) { return std::pair(out, detail::exceeding_arrays<Index>{}); });
}

/// @brief Packs samples of several measures by the best of several packers, by any over-size policy; allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on        the backend
/// @param samples   measures of each sample, on the device
/// @param options   capacities and limits; at most 2^63 combinations of measures may fit a pack
/// @param portfolio members, criteria and limits of the search
/// @return the same packs, lists and certificate as `ballast::pack_portfolio`
/// @throws invalid_input as `ballast::pack_portfolio`, and for more than `most_measures` measures or too many combinations
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As the other overload. Where the number of packs is raised, the host does it, and all packs travel to it and back.
/// @par Determinism
/// The same packs as on the host, bit for bit, unless a stop request or the wall clock ends the search.
template <index_type Index = std::uint32_t, class On, integer Value>
[[nodiscard]] vector_packing<On, Index> pack_portfolio(On on, sample_measures<Value> const& samples, vector_packing_options const& options,
                                                       portfolio_options const& portfolio = {}) {
  require_valid(portfolio);
  detail::require_device_measures(samples, options);
  require_index<Index>(samples.count, "samples");
  vector_planner<On> planner(on);
  vector_packing<On, Index> out{.packs = {{on, 0}, {on, 0}}, .set_aside = {on, 0}};
  auto const outputs = [&](std::uint64_t packs, std::uint64_t exceeding) {
    auto const before = static_cast<std::size_t>(packs), more = static_cast<std::size_t>(exceeding);
    auto const alone = options.oversize == oversize::alone ? more : 0;
    auto const packed = samples.count - more;
    out.packs = {{on, before + alone + 1}, {on, packed + alone}};
    pack_arrays<Index> const arrays{out.packs.offsets.data(), out.packs.members.data()};
    if (alone != 0) return std::pair(arrays, detail::exceeding_arrays<Index>{arrays.members + packed, arrays.offsets + before + 1});
    out.set_aside = array<Index, On>(on, more);
    return std::pair(arrays, detail::exceeding_arrays<Index>{out.set_aside.data()});
  };
  call(on, "pack_portfolio", [&](void* temp, std::size_t& bytes) {
    auto const error = detail::pack_measures<Index>(on, temp, bytes, samples, options, portfolio, planner, outputs);
    if (error == On::invalid_value && temp != nullptr) detail::throw_for_measures(on, samples, options);
    return error;
  });
  auto& found = planner.found;
  out.status = found.status;
  out.count = found.count;
  out.bound = found.bound;
  out.measure = found.measure;
  out.totals = std::move(found.totals);
  out.packer = found.packer;
  out.complete = found.complete;
  if (out.status != status::feasible) {
    out.totals.assign(samples.measures, 0);
    out.packs = {send(on, std::vector<std::uint64_t>{0}), {on, 0}};
  } else if (auto const wanted = static_cast<std::size_t>(out.count.value); out.packs.size() != wanted) {
    ballast::groups<Index> packs{fetch(on, out.packs.offsets), fetch(on, out.packs.members)};
    auto const weights = fetch(on, samples.columns[samples.measures - 1], samples.count);
    (void)raise_pack_count(packs, wanted, [&](Index i) { return static_cast<std::int64_t>(weights[i]); });
    out.packs = {send(on, packs.offsets), send(on, packs.members)};
  }
  return out;
}

/// @brief Packs samples of several measures by the default portfolio; twin of `ballast::pack`. Allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       the backend
/// @param samples  measures of each sample, on the device: `{{tiles, tokens}, count}`
/// @param options  capacities and limits
/// @param limits   limits of the search on the host, which takes about a second at most by default
/// @return the same packs, lists and certificate as `ballast::pack`
/// @throws invalid_input as `pack_portfolio`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As `pack_portfolio`.
template <index_type Index = std::uint32_t, class On, integer Value>
[[nodiscard]] vector_packing<On, Index> pack(On on, sample_measures<Value> const& samples, vector_packing_options const& options,
                                             search_limits const& limits = {}) {
  return pack_portfolio<Index>(on, samples, options, {.limits = limits});
}

}  // namespace ballast::inline v0_2::gpu
