// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/training_plan.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `describe`: what limits a plan of steps or a training, and what is remarkable in a comparison, in sentences for people.

namespace ballast::inline v0_2 {

namespace detail {
/// A number with two decimals.
template <class = when_called>
[[nodiscard]] inline std::string two_decimals(double value) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}
}  // namespace detail

/// @brief Describes what limits a plan, in sentences for people.
///
/// @tparam Index  index type of the plan
/// @param limits  the result of `report_balance`
/// @param plan    the plan that it was computed for
/// @return three or four sentences; none if the plan has no cost
template <index_type Index>
[[nodiscard]] std::vector<std::string> describe(balance_report<Index> const& limits, batching<Index> const& plan) {
  if (plan.cost == 0) return {};
  auto const above_mean = [&](std::int64_t slowest) {
    auto const over = static_cast<double>(slowest) * static_cast<double>(plan.ranks) / static_cast<double>(plan.cost) - 1;
    return detail::two_decimals(100 * (std::max)(over, 0.0)) + " %";
  };
  auto const bound = above_mean(limits.bound);
  auto const beyond = bound == above_mean(0) ? "." : sentence("; no plan takes less than ", bound, " more without cutting samples.");
  std::vector<std::string> text{
      sentence("In this plan the slowest ranks take ", above_mean(plan.slowest.value), " more than the mean", beyond)};
  if (limits.dominated == 0) {
    text.emplace_back("In no step does one sample alone cost more than a mean rank, so only the mean bounds the balance of these steps.");
  } else {
    auto const& d = limits.samples.front();
    text.push_back(sentence("In ", limits.dominated, " of ", plan.steps(), " steps one sample alone costs more than a mean rank; ",
                            "with these steps, no assignment to ranks takes less than ", above_mean(plan.slowest.lower_bound),
                            " more than the mean."));
    text.push_back(sentence("The worst is sample ", d.sample, " of ", d.tokens, " tokens, which costs ", detail::two_decimals(d.times_mean),
                            " times the mean rank of step ", d.step, "."));
  }
  auto const share =
      "The most expensive sample takes " + detail::two_decimals(plan.critical.cost) + " of a rank's full mean step (cost ratio)";
  text.push_back(limits.micro_batches <= plan.micro_batches
                     ? share + ": random steps can be balanced."
                     : sentence(share, ": a random step that holds it cannot be full and balanced, so similar samples share steps; with ",
                                limits.micro_batches, " micro-batches on each rank, steps could be random and balanced."));
  return text;
}

/// @brief Describes what limits a training, in sentences for people.
/// @param plan  the result of `plan_training`
/// @return two sentences if the plan takes time, one if it does not fit, none if it has no steps
template <class = when_called>
[[nodiscard]] inline std::vector<std::string> describe(training_plan const& plan) {
  if (plan.status != status::feasible) {
    if (plan.status == status::unknown) return {"No partition into chunks was found that fits; more memory, or fewer chunks, may help."};
    if (plan.shortage.needed == 0) return {"There are too few layers for the stages, or they do not fit in memory with any recomputation."};
    auto const& [stage, needed, budget] = plan.shortage;
    return {sentence("No partition into stages fits in ", budget, " bytes per device: in the one that needs least, stage ", stage,
                     " needs ", needed, ", which is ", needed - budget, " more.")};
  }
  auto const& of = plan.shares;
  if (of.total() == 0) return {};
  auto const percent = [&](std::int64_t part) { return detail::two_decimals(100 * of.share(part)) + " %"; };
  std::string const all = "Of the device-time " + percent(of.work) + " is forward and backward, " + percent(of.recompute) +
                          " recomputed forward, " + percent(of.exchange) + " exchange, " + percent(of.optimizer) + " optimiser, " +
                          percent(of.bubble) + " waiting inside pipelines, " + percent(of.waiting) + " waiting for the slowest rank.";
  switch (of.largest_loss()) {
    case lost_time::none: return {all, "Nothing is lost."};
    case lost_time::recompute: return {all, "Recomputation costs most: with more memory, or smaller micro-batches, less of it is needed."};
    case lost_time::exchange:
      return {all,
              "Exchange costs most: more micro-batches in a step, or smaller groups of devices that exchange activations, make it less."};
    case lost_time::optimizer: return {all, "The optimiser costs most: shard its states (ZeRO), or use more micro-batches in a step."};
    case lost_time::bubble: return {all, "The bubble costs most: more micro-batches in a step, or fewer stages, make it a smaller part."};
    case lost_time::waiting: return {all, "Waiting for the slowest rank costs most: the longest samples bound how balanced steps can be."};
  }
  return {all};
}

/// @brief Describes what is remarkable in a comparison, in sentences for people: a plan that does not fit, or one that is faster.
/// @param of  the result of `compare_training`
/// @return a sentence for each of the naive and the usual plan that does not fit in memory, or that takes less time than the plan
template <class = when_called>
[[nodiscard]] inline std::vector<std::string> describe(training_comparison const& of) {
  std::vector<std::string> out;
  if (of.planned.status != status::feasible) return out;
  for (auto const& [name, other] : {std::pair{"naive", &of.naive}, {"usual", &of.usual}}) {
    auto const the = std::string("The ") + name + " plan ";
    if (other->status != status::feasible) {
      auto const& lack = other->shortage;
      out.push_back(lack.needed == 0 ? the + "does not fit in memory."
                                     : sentence(the, "does not fit in memory: with all that can be recomputed, stage ", lack.stage,
                                                " needs ", lack.needed - lack.budget, " bytes more."));
    } else if (other->time.value < of.planned.time.value) {
      auto const planned = static_cast<double>(of.planned.time.value), saved = planned - static_cast<double>(other->time.value);
      out.push_back(the + "takes " + detail::two_decimals(100 * saved / planned) + " % less time than this plan, by simulation.");
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
