// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/gpu/packing/detail/place_samples.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/runs.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief What a plan of runs says of its packs without their samples: costs and cumulative lengths. Nothing is gathered: the host computes
/// the costs of all packs from the runs, and one pass writes them.

namespace ballast::inline v0_2::gpu {

/// @brief Consecutive packs of one cost; they end at the `first_pack` of the next.
struct pack_step {
  std::uint64_t first_pack = 0;  ///< number of the first pack
  std::int64_t cost = 0;         ///< cost of each pack
  friend constexpr bool operator==(pack_step const&, pack_step const&) = default;
};

namespace detail {

// From this pack on, packs cost more and less by this much.
struct cost_change {
  std::uint64_t pack, more, less;
};

// Adds what `samples` of one run in each of some packs cost.
inline void add_changes(std::uint64_t first_pack, std::uint64_t packs, std::uint64_t samples, std::int64_t cost, std::size_t run,
                        std::vector<cost_change>& changes) {
  if (packs == 0 || samples == 0) return;
  auto const all = checked(static_cast<std::int64_t>(samples)) * checked(cost);
  require(all.fits(), [&] { return sentence("runs[", run, "]: the samples of a pack bring its cost to 2^63 or more"); });
  changes.push_back({first_pack, static_cast<std::uint64_t>(all.value), 0});
  changes.push_back({first_pack + packs, 0, static_cast<std::uint64_t>(all.value)});
}

struct write_pack_costs {
  pack_step const* steps;
  std::size_t count;
  std::size_t packs;
  std::int64_t* costs;
  BALLAST_HD void operator()(std::size_t lane) const {
    last_found<pack_step, &pack_step::first_pack> step_of(steps, count);
    for (std::size_t k = 0, pack = strip_begin(lane); k < strip && pack < packs; ++k, pack += strip_lanes) costs[pack] = step_of(pack).cost;
  }
};

}  // namespace detail

/// @brief Computes the cost of every pack of a plan: the sum of `cost(length)` over its samples, with lengths as the plan has them, padding
/// included.
///
/// @tparam Cost  a `cost_model`
/// @param plan  result of `plan_best_fit_decreasing`
/// @param cost  cost of one length, called once for each run
/// @return packs of equal cost after each other, from pack 0 on; empty if there are no packs
/// @throws invalid_input naming the first run with a cost outside [0, 2^63), or whose samples bring the cost of a pack to 2^63 or more; or
///                       the first pack whose cost is that much
/// @par Complexity
/// O(runs log runs); at most four steps for each run.
template <cost_model Cost>
[[nodiscard]] std::vector<pack_step> cost_steps(pack_runs const& plan, Cost const& cost) {
  std::vector<detail::cost_change> changes;
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    auto const& run = plan.runs[r];
    auto const samples = (r + 1 < plan.runs.size() ? plan.runs[r + 1].first : plan.samples) - run.first;
    auto const each = checked_cost(run.length, cost, "cost", [&] { return entry("runs", r, run.length); });
    detail::add_changes(run.pack, samples / run.per_pack, run.per_pack, each, r, changes);
    detail::add_changes(run.pack + samples / run.per_pack, 1, samples % run.per_pack, each, r, changes);
  }
  std::sort(changes.begin(), changes.end(), [](auto const& a, auto const& b) { return a.pack < b.pack; });
  std::vector<pack_step> steps;
  std::uint64_t high = 0, low = 0;  // the cost is high 2^32 + low
  for (std::size_t i = 0; i < changes.size();) {
    auto const pack = changes[i].pack;
    for (; i < changes.size() && changes[i].pack == pack; ++i) {
      high += (changes[i].more >> 32) - (changes[i].less >> 32);
      low += (changes[i].more & 0xffffffff) - (changes[i].less & 0xffffffff);
    }
    if (pack >= plan.packs) break;
    require(high + (low >> 32) < std::uint64_t{1} << 31, [&] { return sentence("pack ", pack, " has a cost of 2^63 or more"); });
    auto const sum = static_cast<std::int64_t>((high << 32) + low);
    if (steps.empty() || steps.back().cost != sum) steps.push_back({pack, sum});
  }
  return steps;
}

/// @brief Costs of the packs of a plan, on their way to arrays of a backend; the next plan reuses the memory.
/// @tparam On  the backend
template <class On>
class planned_costs {
 public:
  using error_type = typename On::error_type;  ///< error type of the backend
  /// @brief Makes an object without costs. @param on the backend
  explicit planned_costs(On on) : on_(on), steps_(on) {}
  /// @brief Computes the costs and queues their copy, 16 bytes for each step.
  /// @param plan the plan @param cost as for `cost_steps` @return the error, if any
  /// @throws invalid_input as `cost_steps`
  template <cost_model Cost>
  [[nodiscard]] error_type upload(pack_runs const& plan, Cost const& cost) {
    auto const steps = cost_steps(plan, cost);
    count_ = steps.size();
    packs_ = static_cast<std::size_t>(plan.packs);
    return steps_.upload(steps);
  }
  /// @brief Queues the pass that writes them: 8 bytes for each pack. @param costs array of one entry for each pack @return the error, if
  /// any
  [[nodiscard]] error_type write(std::int64_t* costs) const {
    return on_.for_each(detail::strips(packs_), detail::write_pack_costs{steps_.data(), count_, packs_, costs});
  }

 private:
  On on_;
  detail::uploaded<pack_step, On> steps_;
  std::size_t count_ = 0, packs_ = 0;
};

/// @brief Returns the cost of every pack of a plan, on the device: what the other overloads (cost/pack_costs.cuh) find by its members if
/// lengths are not padded. Allocates, and waits for the copy.
/// @param on the backend @param plan result of `plan_best_fit_decreasing` @param cost as for `cost_steps`
/// @return one entry for each pack
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input as `cost_steps`
template <class On, cost_model Cost>
[[nodiscard]] array<std::int64_t, On> pack_costs(On on, pack_runs const& plan, Cost const& cost) {
  planned_costs<On> costs(on);
  array<std::int64_t, On> out(on, static_cast<std::size_t>(plan.packs));
  check(costs.upload(plan, cost), "upload");
  check(costs.write(out.data()), "pack_costs");
  return out;
}

/// @brief Writes the cumulative lengths of all packs of a plan, as `cu_seqlens` (layout/cu_seqlens.cuh) does for its packs with the plan's
/// `sample_multiple`: the entries of pack p are at `[offsets[p] + p, offsets[p + 1] + p + 1)`.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @param on    the backend
/// @param plan  result of `plan_best_fit_decreasing`, uploaded
/// @param out   array of `samples + packs` entries
/// @return the error, if any; `invalid_value` if `Offset` cannot number the tokens of a pack
/// @par Complexity
/// One pass, which writes the entries and reads nothing but runs and blocks.
template <class On, std::signed_integral Offset>
[[nodiscard]] typename On::error_type cu_seqlens(On on, device_runs<On> const& plan, Offset* out) {
  auto const& runs = plan.view();
  if (runs.capacity > (std::numeric_limits<Offset>::max)()) return On::invalid_value;
  return on.for_each(detail::strips(static_cast<std::size_t>(runs.samples)), detail::write_planned_entries<Offset>{runs, out});
}

}  // namespace ballast::inline v0_2::gpu
