// SPDX-License-Identifier: Apache-2.0
#include "baselines.hpp"

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/random.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/export/describe.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace ballast_python {

namespace {

using ballast::batching;
using ballast::batching_options;
using ballast::weighed_samples;
using permutation = std::vector<std::uint32_t>;

/// The samples that have a place in a plan, or had one if its last step were full.
weighed_samples samples_of(ballast::data_plan<> const& plan, batching_options const& o) {
  auto next = plan.samples.set_aside.begin();
  std::vector<std::int64_t> tokens, cost;
  for (std::size_t i = 0; i < plan.samples.tokens.size(); ++i) {
    if (next != plan.samples.set_aside.end() && *next == i) {
      ++next;
      continue;
    }
    tokens.push_back(plan.samples.tokens[i]);
    cost.push_back(plan.samples.cost[i]);
  }
  return ballast::weigh(tokens, cost, o);
}

/// `group_by_length` of transformers: a random order, in which each stretch of fifty batches is sorted by length, longest first. Batches
/// here are filled up to the capacity without padding.
batching<> grouped_by_length(weighed_samples const& samples, batching_options const& o) {
  auto const n = samples.size();
  auto order = ballast::random_permutation(n, ballast::epoch_seed(o));
  auto const of_step = static_cast<std::int64_t>(o.micro_batches) * o.capacity;
  auto const batch = samples.all_tokens == 0 ? 1 : std::max<std::int64_t>(1, of_step * static_cast<std::int64_t>(n) / samples.all_tokens);
  auto const batches = std::clamp<std::size_t>(n / (4 * static_cast<std::size_t>(batch)), 1, 50);
  auto const stretch = batches * static_cast<std::size_t>(batch);
  for (std::size_t first = 0; first < n; first += stretch)
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first),
              order.begin() + static_cast<std::ptrdiff_t>((std::min)(first + stretch, n)),
              [&](auto a, auto b) { return samples.tokens[a] != samples.tokens[b] ? samples.tokens[a] > samples.tokens[b] : a < b; });
  std::vector<std::int64_t> in_order(n);
  for (std::size_t k = 0; k < n; ++k) in_order[k] = samples.tokens[order[k]];
  auto packs = ballast::next_fit(in_order, {.capacity = o.capacity}).packs;
  for (auto& member : packs.members) member = order[member];
  return ballast::deal_steps(std::move(packs), samples, o, {.how = ballast::dealing::in_order});
}

/// verl: a random order is cut into as many global batches as the plan has steps; each is balanced over the ranks, in equal numbers of
/// samples, and each rank's part over micro-batches, of which all ranks have as many.
batching<> balanced_by_verl(weighed_samples const& samples, batching_options const& o, std::size_t steps) {
  auto const n = samples.size();
  auto const order = ballast::random_permutation(n, ballast::epoch_seed(o));
  auto const ranks = static_cast<std::size_t>(o.ranks);
  auto const each = (std::max)((n + steps - 1) / (std::max)(steps, std::size_t{1}), (std::min)(n, ranks));
  ballast::sharding_options const shape{.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_micro_batch};
  std::vector<ballast::shards<>> made;
  std::size_t most = 1;
  for (std::size_t first = 0; first < n; first += each) {
    std::vector<std::int64_t> lengths;
    for (auto k = first; k < (std::min)(first + each, n); ++k) lengths.push_back(samples.tokens[order[k]]);
    made.push_back(ballast::verl::schedule(lengths, shape, [](std::int64_t length, std::int64_t) { return length; },
                                           {.context_ranks = 1, .equal_counts = true}));
    for (std::size_t r = 0; r < ranks; ++r) most = (std::max)(most, made.back().passes(r));
  }
  batching<> out;
  out.ranks = o.ranks;
  out.micro_batches = most;
  out.table.assign(made.size() * ranks * most, out.none);
  permutation pack;
  for (std::size_t s = 0; s < made.size(); ++s)
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t m = 0; m < made[s].passes(r); ++m) {
        pack.clear();
        for (auto const& piece : made[s](r, m)) pack.push_back(order[s * each + piece.sample]);
        if (pack.empty()) continue;
        out.table[(s * ranks + r) * most + m] = static_cast<std::uint32_t>(out.packs.size());
        out.packs.push_back(pack);
      }
  auto shape_of_step = o;
  shape_of_step.micro_batches = most;
  return ballast::steps_from(out, 0, samples.tokens, samples.cost, shape_of_step);
}

}  // namespace

plan_comparison compare_with_baselines(ballast::data_plan<> const& plan, ballast::data_plan_options const& options, double ms_per_unit) {
  auto const& o = options.steps;
  plan_comparison out{.plans = {},
                      .options = o,
                      .ms_per_unit = ms_per_unit,
                      .packs = plan.packs,
                      .pack_bound = std::string(ballast::to_string(plan.bound)),
                      .tokens = {}};
  auto const ms = ms_per_unit > 0 ? ms_per_unit : 1;
  auto const add = [&](char const* name, char const* how, ballast::batching<> const& steps, auto const& samples) {
    out.plans.push_back({name, how, ballast::figures_of(steps, samples, o, ms)});
  };
  auto const samples = samples_of(plan, o);
  auto const others = ballast::usual_batchings_of(plan, options);
  add("naive order", "next fit in input order, dealt in order", others.naive, plan.samples);
  add("length-grouped", "random stretches sorted by length, as group_by_length of transformers, packed by next fit",
      grouped_by_length(samples, o), samples);
  add("verl", "random global batches, balanced over ranks and micro-batches by Karmarkar-Karp",
      balanced_by_verl(samples, o, plan.steps.steps()), samples);
  add("TRL bfd, shuffled", "best-fit decreasing, as packing=\"bfd\" of TRL, dealt at random", others.usual, plan.samples);
  add("ballast", "samples dealt to ranks by cost", plan.steps, plan.samples);
  auto const limits = ballast::report_balance(plan.steps, plan.samples, o);
  out.slowest_over_mean = limits.slowest_over_mean;
  out.limits = ballast::describe(limits, plan.steps);
  if (!out.limits.empty()) out.limits.erase(out.limits.begin());  // which the page says in words of its own
  for (auto const i : plan.steps.packs.members) out.tokens.push_back(plan.samples.tokens[i]);
  return out;
}

}  // namespace ballast_python
