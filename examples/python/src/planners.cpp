// SPDX-License-Identifier: Apache-2.0
#include "planners.hpp"

#include <ballast/balance/balance.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/plan/observe.hpp>
#include <ballast/plan/training_run.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "words.hpp"

namespace ballast_python {

ballast::packing<> pack(integer_view const& lengths, ballast::packing_options const& options) {
  return lengths.visit([&](auto const& given) { return ballast::pack(given, options); });
}
ballast::packing<> pack(integer_view const& lengths, ballast::packing_options const& options, ballast::search_limits const& limits) {
  return ballast::pack(lengths.range(), options, limits);
}
ballast::packing<> near_optimal(integer_view const& lengths, ballast::packing_options const& options,
                                ballast::search_limits const& limits) {
  return ballast::near_optimal(lengths.range(), options, limits);
}
ballast::batching<> plan_steps(integer_view const& lengths, ballast::batching_options const& options, any_cost const& cost,
                               ballast::step_constraints const& constraints, std::size_t threads, std::stop_token const& stop) {
  return ballast::plan_steps(lengths.range(), options, cost, constraints, {.stop = stop}, ballast::threads(threads));
}
ballast::micro_batching<> micro_batches(integer_view const& lengths, ballast::batching_options const& options, any_cost const& cost,
                                        ballast::micro_batch_constraints const& constraints) {
  return ballast::micro_batches(lengths.range(), options, cost, constraints);
}
ballast::balanced_sets<> balance(integer_view const& weights, ballast::balance_options const& options) {
  return ballast::balance(weights.range(), options);
}

namespace {

inline constexpr word<ballast::curriculum_order> order_words[] = {{"random", ballast::curriculum_order::random},
                                                                  {"ascending", ballast::curriculum_order::ascending},
                                                                  {"ascending_buckets", ballast::curriculum_order::ascending_buckets},
                                                                  {"shuffled_buckets", ballast::curriculum_order::shuffled_buckets}};
inline constexpr word<ballast::step_key> key_words[] = {
    {"mean_length", ballast::step_key::mean_length}, {"longest", ballast::step_key::longest}, {"cost", ballast::step_key::cost}};

ballast::run_options options_of(run_request const& r) {
  ballast::run_options out{.data = {.steps = r.steps, .oversize = r.oversize},
                           .epochs = r.epochs,
                           .steps_per_epoch = r.steps_per_epoch,
                           .tokens_per_step = r.tokens_per_step};
  if (!r.order.empty())
    out.order = ballast::run_order{
        .order = value_named(order_words, r.order, "order"), .key = value_named(key_words, r.key, "key"), .buckets = r.buckets};
  return out;
}

/// Between passes it keeps the lengths as Python has them, and the packs: tokens and costs of samples would take ten times as much. What
/// plans makes the run of the library from them, for as long as that takes. Copies share both.
class run_of_any_cost final : public planned_run {
  using run_type = ballast::training_run<any_cost>;

 public:
  run_of_any_cost(kept_lengths lengths, ballast::run_options options, any_cost const& cost)
      : lengths_(std::move(lengths)), options_(std::move(options)), cost_(cost), watch_(options_.data.steps, {}, cost) {}

  void begin(std::stop_token const& stop) { keep(run_type(lengths_.view.range(), stopped_by(stop), cost_)); }
  void restore(saved_run&& saved) {
    state_ = ballast::run_state::from_words(saved.words);
    plan_ = std::make_shared<ballast::data_plan<> const>(std::move(saved.plan));
    auto const& last = state_.parts.back();
    ballast::require(last.ranks == plan_->steps.ranks && last.steps <= plan_->steps.steps(),
                     [] { return "the saved run is damaged: its plan is not that of its state"; });
  }

  [[nodiscard]] std::uint64_t steps(std::stop_token const& stop) const override {
    if (!counted()) steps_ = whole(stop).steps();
    return options_.steps_per_epoch != 0 ? options_.steps_per_epoch * options_.epochs : *steps_;
  }
  [[nodiscard]] bool counted() const override { return steps_ || options_.steps_per_epoch != 0; }
  [[nodiscard]] std::uint64_t step() const override { return state_.step; }
  [[nodiscard]] bool done(std::stop_token const& stop) const override {
    if (ready()) return false;
    if (options_.steps_per_epoch != 0) return state_.step >= options_.steps_per_epoch * options_.epochs;
    return state_.pass + 1 >= options_.epochs || whole(stop).done();
  }
  [[nodiscard]] bool ready() const override {
    auto const each = options_.steps_per_epoch;
    return at() < plan_->steps.steps() && (each == 0 ? state_.pass < options_.epochs : state_.step < each * options_.epochs);
  }
  numbers next(std::stop_token const& stop) override {
    if (!ready())
      return planning(stop, [](run_type& run) {
        auto const now = run.next();
        return numbers{now.step, now.epoch};
      });
    ++state_.parts.back().steps;
    auto const now = state_.step++, each = options_.steps_per_epoch;
    return {now, each == 0 ? state_.pass : now / each};
  }
  [[nodiscard]] ballast::groups<> packs_of(std::uint64_t rank) const override {
    auto const& steps = plan_->steps;
    auto const step = last_step("packs_of()");
    ballast::require(rank < steps.ranks,
                     [&] { return "rank " + std::to_string(rank) + " is out of range: there are " + std::to_string(steps.ranks); });
    ballast::groups<> out;
    for (auto const pack : steps.packs_of(step, static_cast<std::size_t>(rank))) out.push_back(pack);
    return out;
  }
  [[nodiscard]] std::vector<std::uint64_t> words() const override { return state_.words(); }
  void resume(std::span<std::uint64_t const> words, std::stop_token const& stop) override {
    auto const from = ballast::run_state::from_words(words);
    planning(stop, [&](run_type& run) { return run.resume(from), 0; });
    steps_.reset();
  }
  [[nodiscard]] std::uint64_t hash() const override { return run_type::hash_of(state_, plan_->steps); }
  [[nodiscard]] std::unique_ptr<planned_run> copy() const override { return std::make_unique<run_of_any_cost>(*this); }
  void take(planned_run const& copy) override { *this = dynamic_cast<run_of_any_cost const&>(copy); }
  void observe(double ms) override { watch_.observe(step_now(), 0, ms); }
  void observe(std::span<double const> ms) override { watch_.observe(step_now(), 0, ms); }
  [[nodiscard]] std::vector<std::uint64_t> measured() const override { return ballast::run_costs::of(watch_.recalibrate()).words(); }
  bool recalibrate(std::span<std::uint64_t const> words, std::stop_token const& stop) override {
    auto const costs = ballast::run_costs::from_words(words);
    steps_.reset();
    return planning(stop, [&](run_type& run) { return run.recalibrate(costs); });
  }
  [[nodiscard]] ballast::data_plan<> const& plan() const override { return *plan_; }
  [[nodiscard]] std::vector<std::uint32_t> set_aside() const override {
    auto out = plan_->samples.set_aside;  // after a change of ranks or costs, with the samples that were trained on before
    std::erase_if(out, [&](auto i) { return i >= lengths_.view.size() || lengths_.view[i] <= options_.data.steps.capacity; });
    return out;
  }
  [[nodiscard]] plan_comparison compared() const override {
    auto options = options_.data;
    auto const& costs = state_.parts.back().costs;
    options.steps.micro_batches = plan_->steps.micro_batches;
    options.steps.epoch += state_.pass;
    if (costs.measured) {
      options.steps.cost_per_micro_batch = costs.per_micro_batch;
      options.steps.cost_per_step = costs.per_step;
    }
    auto const run = whole({});
    return compare_with_baselines(run.plan(), options, costs.measured ? 1e-6 : cost_.ms_per_unit());
  }

 private:
  [[nodiscard]] std::size_t at() const { return static_cast<std::size_t>(state_.parts.back().steps); }
  [[nodiscard]] std::size_t last_step(char const* caller) const {
    ballast::require(at() > 0, [&] { return std::string("call next() before ") + caller; });
    return at() - 1;
  }
  [[nodiscard]] ballast::run_options stopped_by(std::stop_token const& stop) const {
    auto out = options_;
    out.stop = stop;
    return out;
  }
  [[nodiscard]] run_type whole(std::stop_token const& stop) const {
    return {lengths_.view.range(), stopped_by(stop), cost_, state_, *plan_};
  }
  void keep(run_type&& run) {
    state_ = run.state();
    auto plan = std::move(run).plan();
    for (auto* const list : {&plan.samples.tokens, &plan.samples.cost}) *list = std::vector<std::int64_t>();
    plan.steps.packs.members.shrink_to_fit();
    plan_ = std::make_shared<ballast::data_plan<> const>(std::move(plan));
  }
  template <class F>
  std::invoke_result_t<F const&, run_type&> planning(std::stop_token const& stop, F const& change) {
    auto run = whole(stop);
    auto const result = change(run);
    keep(std::move(run));
    return result;
  }
  [[nodiscard]] std::int64_t tokens_of(std::size_t i) const {
    auto const n = lengths_.view.size();
    return i < n ? (std::min)(lengths_.view[i], options_.data.steps.capacity) : plan_->samples.pieces[i - n].length;
  }
  /// The step that was handed out last, alone.
  [[nodiscard]] ballast::data_plan<> step_now() const {
    auto const& from = plan_->steps;
    ballast::data_plan<> out;
    out.steps.ranks = from.ranks;
    out.steps.micro_batches = from.micro_batches;
    std::vector<std::uint32_t> pack;
    for (auto const place : from.step(last_step("observe()"))) {
      out.steps.table.push_back(place == from.none ? place : static_cast<std::uint32_t>(out.steps.packs.size()));
      if (place == from.none) continue;
      pack.clear();
      for (auto const i : from.packs[place]) {
        pack.push_back(static_cast<std::uint32_t>(out.samples.tokens.size()));
        out.samples.tokens.push_back(tokens_of(i));
      }
      out.steps.packs.push_back(pack);
    }
    return out;
  }

  kept_lengths lengths_;
  ballast::run_options options_;
  any_cost cost_;
  ballast::run_state state_;
  std::shared_ptr<ballast::data_plan<> const> plan_;  // without tokens and costs of its samples
  ballast::step_observer<any_cost, ballast::token_cost, ballast::full_pairs> watch_;
  mutable std::optional<std::uint64_t> steps_;
};

}  // namespace

std::unique_ptr<planned_run> make_run(kept_lengths lengths, run_request const& request, any_cost const& cost, std::stop_token const& stop) {
  auto out = std::make_unique<run_of_any_cost>(std::move(lengths), options_of(request), cost);
  out->begin(stop);
  return out;
}
std::unique_ptr<planned_run> restored_run(kept_lengths lengths, run_request const& request, any_cost const& cost, saved_run saved) {
  auto out = std::make_unique<run_of_any_cost>(std::move(lengths), options_of(request), cost);
  out->restore(std::move(saved));
  return out;
}

}  // namespace ballast_python
