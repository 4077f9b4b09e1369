// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/staging/detail/offload_bound.hpp>
#include <ballast/staging/detail/offload_problem.hpp>
#include <ballast/staging/detail/offload_search.hpp>
#include <ballast/staging/offload_layer.hpp>
#include <ballast/staging/offload_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `plan_offload`: which states of which layers are in host memory, so that both memories suffice and a step is fast.

namespace ballast::inline v0_2 {

/// @brief Chooses what of each layer is in host memory, under the memories of the device and of the host.
///
/// Candidates are judged by the exact timeline of the step (`simulate_prefetch`). With few layers all placements are tried. Otherwise the
/// search begins with the best of all rules (`offload_by_rule`, for every choice of states) and moves layers of equal figures from one
/// choice to another in bulk. If the time is then more than a thousandth above the lower bound, it changes a few layers at a time. The
/// lower bound is that of all placements: the work of the device, of each channel and of the host's optimiser, with prices for the bytes of
/// both memories.
///
/// @param layers   the layers, first to last; fewer than 2^24
/// @param options  memories, rates, buffers, limit on the work
/// @return the plan, or `infeasible` with the memory that is too small and the bytes that are needed
/// @post both memories suffice; no rule that fits is faster; optimal if the certificate says so
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(layers log layers + work): at most about `options.work` simulated layers, and each evaluation that has begun is finished.
/// @par Determinism
/// A pure function of its arguments; all arithmetic is in integers.
/// @par Source
/// Lin et al., "M6-10T", arXiv 2110.03888, for granular offloading; the method is this library's. Plotkin, Shmoys and Tardos, "Fast
/// approximation algorithms for fractional packing and covering problems", Mathematics of Operations Research 20 (1995), for the prices.
template <class = when_called>
[[nodiscard]] offload_plan plan_offload(std::span<offload_layer const> layers, offload_options const& options) {
  require_valid(layers, options);
  detail::offload_problem<> const problem(layers, options);
  auto const infeasible = [](short_memory which, std::int64_t needed) {
    offload_plan none;
    none.status = status::infeasible;
    none.shortage = which;
    none.needed = needed;
    return none;
  };
  auto const smallest = problem.least_device();
  if (smallest.device > options.device_memory) return infeasible(short_memory::device, smallest.device);
  if (auto const least = problem.least_host(); least > options.host_memory) return infeasible(short_memory::host, least);

  detail::offload_search<> search(problem);
  std::vector<hosted> least;
  least.reserve(layers.size());
  for (auto const k : problem.class_of) least.push_back(static_cast<hosted>(smallest.choice[k]));
  search.consider(least);
  search.consider(std::vector<hosted>(layers.size(), hosted::none));
  for (auto const rule : {offload_rule::everything, offload_rule::first, offload_rule::last, offload_rule::stride})
    for (std::size_t c = 1; c < hosted_choices; ++c)
      search.consider(detail::fitting_by_rule(layers, rule, options, static_cast<hosted>(c)));
  auto all = std::uint64_t{layers.size()};
  for (std::size_t i = 0; i < layers.size() && all <= options.work; ++i) all *= hosted_choices;
  auto const few = all <= options.work;
  std::int64_t least_host = 0, bound = 0;
  if (few) {
    least_host = search.try_all();
  } else {
    search.move_counts();
    if (search.best().over == 0) {
      bound = (std::max)(problem.least_time(), detail::offload_bound<>(problem, search.best().time)());
      if (search.best().time - bound > bound / 1000) search.wander();
    }
  }
  if (search.best().over > 0) {
    if (few) return infeasible(short_memory::host, least_host);
    return {.status = status::unknown, .time = {}, .placement = {}, .memory = {}, .timeline = {}, .work = search.work()};
  }
  auto out = evaluate_offload(layers, search.placement(), options);
  out.time.lower_bound = few ? out.time.value : (std::min)(bound, out.time.value);
  out.work = search.work();
  return out;
}

BALLAST_INSTANTIATE(offload_plan plan_offload(std::span<offload_layer const>, offload_options const&))

}  // namespace ballast::inline v0_2
