// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_rest.hpp>
#include <ballast/plan/recalibration.hpp>
#include <ballast/plan/run_options.hpp>
#include <ballast/plan/run_state.hpp>
#include <ballast/plan/step_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

// Plans the passes of a training run, and parts of them. Private.

namespace ballast::inline v0_2::detail {

/// The samples, options and cost of a run. Functions that are const may be called from several threads.
template <cost_model Cost, index_type Index>
class run_planner {
 public:
  template <length_range R>
  run_planner(R const& lengths, run_options options, Cost cost)
      : options_(std::move(options)), cost_(std::make_shared<Cost const>(std::move(cost))) {
    auto& o = options_.data.steps;
    require(options_.epochs > 0, [] { return "epochs = 0 must be positive"; });
    require(options_.steps_per_epoch == 0 || options_.steps_per_epoch < (std::uint64_t{1} << 62) / options_.epochs, [&] {
      return sentence("steps_per_epoch = ", options_.steps_per_epoch, " times epochs = ", options_.epochs, " must be below 2^62");
    });
    require(options_.data.others.empty(), [] { return "data.others: a training run has samples of one measure"; });
    require(options_.data.oversize != oversize::alone, [] { return "oversize = alone: a micro-batch never exceeds the capacity"; });
    if (options_.tokens_per_step != 0) o.micro_batches = micro_batches_of(options_.tokens_per_step, o.capacity, o.ranks);
    samples_ = apply_oversize<Index>(lengths, {.capacity = o.capacity, .oversize = options_.data.oversize}, *cost_);
  }

  [[nodiscard]] run_options const& options() const noexcept { return options_; }
  [[nodiscard]] trained_samples<Index> const& samples() const noexcept { return samples_; }
  [[nodiscard]] bool has_samples() const noexcept { return samples_.tokens.size() != samples_.set_aside.size(); }

  [[nodiscard]] data_plan<Index> planned(std::uint64_t pass, run_part const& part) const {
    auto const o = options_of(part, pass);
    auto plan = plan_weighed(samples_, o, {.stop = options_.stop, .progress = options_.progress});
    put_in_order(plan, o.steps);
    return plan;
  }
  /// The rest of a plan after the steps of its part, for another part.
  [[nodiscard]] rest_plan<Index> rest(data_plan<Index> const& plan, std::uint64_t pass, run_part const& done, run_part const& next) const {
    auto const steps = static_cast<std::size_t>(done.steps);
    auto o = options_of(next, pass);
    rest_plan<Index> out;
    with_cost(next.costs, [&](auto const& cost) {
      if (done.ranks == next.ranks && done.micro_batches == next.micro_batches) {
        out = plan_rest(plan, steps, o, cost);
        return;
      }
      auto samples = keep_rest(plan, steps, options_of(done, pass), cost).samples;
      o.steps.seed = splitmix64(epoch_seed(o.steps) + done.steps)();
      out.plan = plan_weighed(std::move(samples), o, {.stop = options_.stop, .progress = options_.progress});
      out.anew = true;
    });
    if (out.anew) put_in_order(out.plan, o.steps);
    return out;
  }
  /// Weighs all samples anew, for passes to come.
  void reprice(run_costs const& costs) {
    samples_.all_cost = 0;
    with_cost(costs, [&](auto const& cost) {
      for (std::size_t i = 0; i < samples_.tokens.size(); ++i) {
        if (samples_.cost[i] == 0) continue;  // it is set aside
        auto const name = [&] { return entry("samples.tokens", i, samples_.tokens[i]); };
        samples_.cost[i] = checked_cost(samples_.tokens[i], cost_of_sample{cost, i}, "cost", name);
        samples_.all_cost += samples_.cost[i];
      }
    });
  }
  [[nodiscard]] std::uint64_t fingerprint() const {
    fnv1a h;
    for (auto const* list : {&samples_.tokens, &samples_.cost}) {
      h.append(list->size());
      for (auto const value : *list) h.append(static_cast<std::uint64_t>(value));
    }
    auto const& o = options_.data.steps;
    for (auto const value : {o.capacity, o.cost_per_micro_batch, o.cost_per_step}) h.append(static_cast<std::uint64_t>(value));
    for (auto const value :
         {std::uint64_t(o.synchronisation), o.stages, std::uint64_t(o.left_over), o.seed, o.epoch, std::uint64_t{o.least_fill},
          std::uint64_t{o.equal_micro_batches}, std::uint64_t(options_.data.oversize), options_.steps_per_epoch})
      h.append(value);
    if (o.time_for_randomness != batching_options::automatic) h.append(std::uint64_t{o.time_for_randomness} + 1);
    if (options_.data.max_samples != 0) h.append(options_.data.max_samples);  // states without a limit stay as they are
    if (options_.order)
      for (auto const value : {std::uint64_t(options_.order->order), std::uint64_t(options_.order->key), options_.order->buckets})
        h.append(value);
    return h.value();
  }

 private:
  [[nodiscard]] data_plan_options options_of(run_part const& part, std::uint64_t pass) const {
    auto o = options_.data;
    o.steps.ranks = part.ranks;
    o.steps.micro_batches = part.micro_batches;
    o.steps.epoch += pass;
    if (part.costs.measured) {
      o.steps.cost_per_micro_batch = part.costs.per_micro_batch;
      o.steps.cost_per_step = part.costs.per_step;
    }
    return o;
  }
  /// Calls `f` with the cost that a part is planned under.
  template <class F>
  void with_cost(run_costs const& costs, F const& f) const {
    if (costs.measured)
      f(recalibrated_cost<Cost, token_cost, full_pairs>{{*cost_, {}, {}}, costs.per_unit});
    else
      f(*cost_);
  }
  /// Puts the steps into the order of the options. A step with empty places stays last.
  void put_in_order(data_plan<Index>& plan, batching_options const& o) const {
    if (!options_.order || plan.steps.steps() == 0) return;
    auto keys = step_keys(plan.steps, plan.samples, options_.order->key);
    auto const last = plan.steps.step(plan.steps.steps() - 1);
    if (std::find(last.begin(), last.end(), plan.steps.none) != last.end()) keys.pop_back();
    curriculum_source const source{.setting = {.capacity = o.capacity}, .steps = keys.size(), .keys = keys};
    auto const order = plan_curriculum(
        {&source, 1}, {.order = options_.order->order, .buckets = options_.order->buckets, .seed = o.seed, .epoch = o.epoch});
    order_steps(plan.steps, std::span(order.index));
  }

  run_options options_;
  std::shared_ptr<Cost const> cost_;  // shared by copies, which may then be assigned even where a cost may not
  trained_samples<Index> samples_;
};

}  // namespace ballast::inline v0_2::detail
