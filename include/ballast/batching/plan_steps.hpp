// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/rows_into_steps.hpp>
#include <ballast/batching/detail/sort_into_steps.hpp>
#include <ballast/batching/detail/units.hpp>
#include <ballast/batching/pipeline_steps.hpp>
#include <ballast/batching/stream.hpp>
#include <ballast/packing/shuffled.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_steps`: the default planner of steps, and samples that belong together or must not meet.

namespace ballast::inline v0_2 {

/// @brief What binds samples to each other, and whether ranks may share one.
struct step_constraints {
  std::span<std::uint64_t const> together{};  ///< a key per sample: those of one key share a micro-batch; empty = none belong together
  std::span<std::uint64_t const> apart{};     ///< a key per sample: those of two keys never share a micro-batch; empty = all may
  std::uint64_t most_ranks_shared =
      1;                             ///< most ranks that may split a sample among them (context parallelism), a power of two; 1 = none do
  std::uint32_t share_overhead = 0;  ///< what splitting adds to a sample's cost, in thousandths
};

namespace detail {

/// Best fit in a random order among the items of each key.
template <index_type Index>
[[nodiscard]] groups<Index> pack_apart(weighed_samples const& items, std::span<std::uint64_t const> key, batching_options const& o) {
  std::vector<Index> order(items.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (!key.empty()) std::sort(order.begin(), order.end(), [&](Index a, Index b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  groups<Index> packs;
  std::vector<std::int64_t> tokens;
  std::vector<Index> members;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    tokens.clear();
    for (end = begin; end < order.size() && (key.empty() || key[order[end]] == key[order[begin]]); ++end)
      tokens.push_back(items.tokens[order[end]]);
    for (auto const pack : best_fit_shuffled<Index>(tokens, {.capacity = o.capacity, .seed = epoch_seed(o)}).packs) {
      members.clear();
      for (auto k : pack) members.push_back(order[begin + k]);
      packs.push_back(members);
    }
  }
  return packs;
}

/// Ways to stream a run of which nothing is known but its critical ratios, in the order of trial.
[[nodiscard]] inline std::vector<stream_options> ways_to_stream(weighed_samples const& items, step_constraints const& c,
                                                                batching_options const& o) {
  auto const room = o.capacity * static_cast<std::int64_t>(o.micro_batches);
  auto const gathered = [](std::uint32_t fill, std::uint32_t threshold) {
    return stream_options{.fill = fill, .threshold = threshold, .pool = stream_options::whole_epoch};
  };
  auto const split = [&](std::uint32_t share) {
    return stream_options{.threshold = 0, .share = share, .share_overhead = c.share_overhead, .most_ranks_shared = c.most_ranks_shared};
  };
  if (costs_fit(items, room, 900)) {
    stream_options const random{.fill = squares_fit(items, room) ? 980U : 0U, .threshold = 0};
    return {random, {.fill = 1000, .threshold = 0}, gathered(950, 700), gathered(950, 350)};
  }
  if (c.most_ranks_shared > 1) return {split(400), split(200)};
  if (o.micro_batches == 1) return {gathered(990, 350), gathered(990, 200), gathered(1000, 250)};
  return {gathered(950, costs_fit(items, room, 1200) ? 900 : 700), gathered(950, 350), gathered(950, 200)};
}

/// Chooses by where ranks wait and by the critical ratios.
template <index_type Index>
[[nodiscard]] batching<Index> plan_items(weighed_samples const& items, std::span<std::uint64_t const> apart, step_constraints const& c,
                                         batching_options const& o) {
  auto const made_by = [](batching<Index> plan, step_method method) {
    plan.method = method;
    return plan;
  };
  plan_choice<Index> choice(items, o);
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1 && apart.empty() && choice.fewest_steps() <= 8)
    return made_by(rows_into_steps(pack_for_steps<Index>(items, o), items, o, {.window = 16, .redeal = true}),
                   step_method::rows);  // a step more would be a big one
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1)
    return made_by(rows_into_steps(pack_apart<Index>(items, apart, o), items, o, {.window = 16, .redeal = apart.empty()}),
                   step_method::rows);  // redealing would mix keys
  if (!apart.empty()) return made_by(sort_into_steps(pack_apart<Index>(items, apart, o), items, o, {}), step_method::windows);
  if (o.synchronisation == synchronisation::pipeline && o.stages > 1) {
    choice.offer(made_by(pipeline_streamer<Index>(items, o, 980).run(), step_method::pipeline));
    return choice.take();
  }
  std::uint64_t deviation = 0;
  for (auto const& way : ways_to_stream(items, c, o)) {
    if (deviation != 0 && choice.level() != (way.threshold == 0 && way.share == 0)) continue;  // level steps may be fuller, others gathered
    auto plan = streamer<Index>(items, o, way).run();
    plan.method = way.share != 0 ? step_method::shared : way.threshold != 0 ? step_method::gathered : step_method::random;
    deviation = (std::max)(deviation, choice.deviation(plan));
    choice.offer(std::move(plan));
    if (choice.good_enough()) return choice.take();
  }
  auto const room = o.capacity * static_cast<std::int64_t>(o.micro_batches);
  if (o.micro_batches == 1 || costs_fit(items, room, 900) || choice.fewest_steps() <= 3 || o.least_fill != 0)
    offer_windows(choice, items, o, deviation + deviation / 2);  // an estimate from a few steps
  return choice.take();
}

}  // namespace detail

/// @brief Plans the steps of an epoch: which samples share a micro-batch, which micro-batches a rank and a step.
///
/// The default of the room. Where ranks wait per step, samples are streamed in a random order (see `stream_steps`). Up to a cost
/// ratio of 0.9 (`critical_ratios`), steps are random draws: filled to 0.98 where the square ratio is at most 1, else as full as they can
/// be levelled. Where that leaves the slowest ranks more than 1 % above the mean, or the cost ratio is higher, dear samples are gathered
/// with their like over the whole epoch (or split over ranks, where that is allowed): ever more of them until 1 % is reached. Where that
/// is not enough, or leaves too much room empty, packs are made first, sorted by cost in windows of a random order, dealt and levelled:
/// never in steps that are less random than the others by more than half of their design effect. The fastest plan met is returned, the
/// price of steps included; but a fuller one where that fills less than 0.97 (0.93 in three steps or fewer, or `least_fill`) and the
/// fuller one is at most one percentage point more idle. `batching::method` says which it is. Where ranks wait at every micro-batch, rows
/// of like packs are mixed (`dealing::rows`); pipelines get like with like (`pipeline_steps`). Where samples of different keys may not
/// meet, packs of one key each are sorted into steps (`dealing::sorted`).
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths      tokens of each sample, at most the capacity
/// @param options      `plan_steps(lengths, {.capacity = 131072, .ranks = 64, .micro_batches = 4})`
/// @param cost         what a sample costs: `sample_cost(model)` of a transformer, or any other callable
/// @param constraints  samples that belong together or must not meet, ranks that share one
/// @return the plan, its cost and the bound; no place is empty but of the last step, where samples are too few
/// @pre a list of keys is empty or as long as `lengths`; samples of one `together` key have one `apart` key
/// @throws invalid_input for a bad option, length, cost or key, or where samples that belong together exceed the capacity
/// @par Complexity
/// That of the planner used; all of them O(n log n).
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> plan_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                         step_constraints const& constraints = {}) {
  return plan_steps<Index>(weigh(lengths, options, cost), options, constraints);
}

/// @brief As above, of samples weighed before.
/// @tparam Index  type of the sample indices
/// @param samples      from `weigh`
/// @param options      as above
/// @param constraints  as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t>
[[nodiscard]] batching<Index> plan_steps(weighed_samples const& samples, batching_options const& options,
                                         step_constraints const& constraints = {}) {
  auto const& c = constraints;
  auto const most = c.most_ranks_shared;
  require(most != 0 && (most & (most - 1)) == 0, [&] { return "most_ranks_shared = " + std::to_string(most) + " must be a power of two"; });
  detail::require_fit<Index>(samples, options);
  auto const n = samples.size();
  detail::require_keys(c.together, n, "together");
  detail::require_keys(c.apart, n, "apart");
  if (c.together.empty()) return detail::plan_items<Index>(samples, c.apart, c, options);

  auto const units = detail::units_of<Index>(n, c.together);
  auto const apart = detail::key_of_units(units, c.apart);
  auto whole = c;
  whole.most_ranks_shared = 1;  // what belongs together is not torn apart
  auto plan = detail::plan_items<Index>(detail::fold(samples, units, options), apart, whole, options);
  plan.packs = detail::spell_out(units, plan.packs);
  for (auto* list : {&plan.dropped, &plan.repeated}) {
    std::vector<Index> samples_of;
    for (auto u : *list) samples_of.insert(samples_of.end(), units[u].begin(), units[u].end());
    std::sort(samples_of.begin(), samples_of.end());
    *list = std::move(samples_of);
  }
  return plan;
}

}  // namespace ballast::inline v0_2
