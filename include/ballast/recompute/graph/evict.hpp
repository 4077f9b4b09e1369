// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/graph/detail/evictor.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `evict`: runs a graph of one batch within a memory limit, by recomputing and by moving memory to the host.

namespace ballast::inline v0_2 {

/// @brief The limit of a batch, and what evicting costs.
struct evict_options {
  std::int64_t limit = 0;  ///< bytes that may be in use at any time
  std::int64_t time_per_megabyte =
      0;                  ///< time in which 10^6 bytes move to the host, or back, in the unit of the operators; 0: nothing is moved
  bool recompute = true;  ///< whether operators may run again

  friend constexpr bool operator==(evict_options const&, evict_options const&) = default;
};

/// @brief A run of a graph within a memory limit.
struct eviction {
  /// `feasible`: the events keep the limit; `infeasible`: a lower bound on memory is above the limit; `unknown`: no run was found.
  ballast::status status = ballast::status::unknown;
  certificate memory{};                ///< most bytes in use, and what any run that evicts the same memories needs; value 0 without a run
  certificate time{};                  ///< added time, and a lower bound on it
  std::vector<memory_event> events{};  ///< what is done; empty without a run
  std::int64_t recomputed = 0;         ///< time of operators that run again
  std::int64_t moved = 0;              ///< bytes that were stored or loaded

  friend bool operator==(eviction const&, eviction const&) = default;
};

/// @brief Runs the order of a plan for one batch within a memory limit.
///
/// Before an operator runs, its inputs that are not in memory are loaded, or made again. If there is no room, memory is evicted that has
/// the best score: bytes freed over the lesser of the time to recompute and the time to move there and back. Two more runs use other
/// rules: the score times the number of steps until the next reader, and the least time among what is large enough alone. The run that adds
/// the least time is returned. Subgraphs whose benefit is negative are used where nothing else is left.
///
/// @param plan     an order with its subgraphs
/// @param values   values of all dimensions, within their ranges
/// @param options  limit and costs
/// @return the events of a run within the limit, or that there is none
/// @throws invalid_input if a value is missing or out of range, the limit or the time per megabyte is negative, or the sizes or the times
/// of the batch together reach 2^62
/// @par Complexity
/// O(terms + inputs + evictions * (tensors + subgraphs)).
/// @par Determinism
/// A pure function of the arguments.
/// @par Source
/// The run-time part of rematerialisation in BladeDISC++, arXiv 2412.16985, section 4.
template <class = when_called>
[[nodiscard]] eviction evict(eviction_plan const& plan, std::span<std::int64_t const> values, evict_options const& options) {
  require(options.limit >= 0, [&] { return sentence("limit = ", options.limit, " must not be negative"); });
  require(options.time_per_megabyte >= 0,
          [&] { return sentence("time_per_megabyte = ", options.time_per_megabyte, " must not be negative"); });
  detail::eviction_numbers const numbers(plan, values, options.time_per_megabyte, options.recompute);
  eviction out;
  out.memory.lower_bound = numbers.least_memory();
  if (out.memory.lower_bound > options.limit) {
    out.status = status::infeasible;
    return out;
  }
  out.time.lower_bound = numbers.least_time(options.limit);
  for (auto const rule : {detail::eviction_rule::score, detail::eviction_rule::distance, detail::eviction_rule::enough}) {
    detail::evictor run(numbers, options.limit, rule);
    if (!run.run()) continue;
    auto const time = run.recomputed + run.moving;
    if (out.status != status::feasible || time < out.time.value) {
      out.status = status::feasible;
      out.memory.value = run.peak;
      out.time.value = time;
      out.events = std::move(run.events);
      out.recomputed = run.recomputed;
      out.moved = run.moved;
    }
    if (out.time.optimal()) break;
  }
  return out;
}

}  // namespace ballast::inline v0_2
