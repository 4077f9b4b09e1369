// SPDX-License-Identifier: Apache-2.0
#include "planners.hpp"

#include <ballast/balance/balance.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/plan/observe.hpp>
#include <ballast/plan/training_run.hpp>

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

ballast::run_options options_of(run_request const& r, std::stop_token stop) {
  ballast::run_options out{.data = {.steps = r.steps, .oversize = r.oversize},
                           .epochs = r.epochs,
                           .steps_per_epoch = r.steps_per_epoch,
                           .tokens_per_step = r.tokens_per_step,
                           .stop = std::move(stop)};
  if (!r.order.empty())
    out.order = ballast::run_order{
        .order = value_named(order_words, r.order, "order"), .key = value_named(key_words, r.key, "key"), .buckets = r.buckets};
  return out;
}

class run_of_any_cost final : public planned_run {
 public:
  run_of_any_cost(integer_view const& lengths, ballast::run_options const& options, any_cost const& cost)
      : run_(lengths.range(), options, cost), watch_(options.data.steps, {}, cost) {}

  [[nodiscard]] std::uint64_t steps() const override { return run_.steps(); }
  [[nodiscard]] std::uint64_t step() const override { return run_.step(); }
  [[nodiscard]] bool done() const override { return run_.done(); }
  numbers next() override {
    auto const at = run_.next();
    return {at.step, at.epoch};
  }
  [[nodiscard]] ballast::groups<> packs_of(std::uint64_t rank) const override {
    ballast::groups<> out;
    for (auto const pack : run_.packs_of(rank)) out.push_back(pack);
    return out;
  }
  [[nodiscard]] std::vector<std::uint64_t> words() const override { return run_.state().words(); }
  void resume(std::span<std::uint64_t const> words) override { run_.resume(ballast::run_state::from_words(words)); }
  [[nodiscard]] std::uint64_t hash() const override { return run_.hash(); }
  [[nodiscard]] std::unique_ptr<planned_run> copy() const override { return std::make_unique<run_of_any_cost>(*this); }
  void observe(double ms) override { run_.observe(watch_, ms); }
  void observe(std::span<double const> ms) override { run_.observe(watch_, ms); }
  [[nodiscard]] std::vector<std::uint64_t> measured() const override { return ballast::run_costs::of(watch_.recalibrate()).words(); }
  bool recalibrate(std::span<std::uint64_t const> words) override { return run_.recalibrate(ballast::run_costs::from_words(words)); }
  [[nodiscard]] std::uint64_t micro_batches() const override { return run_.plan().steps.micro_batches; }
  [[nodiscard]] std::vector<ballast::sample_piece> const& pieces() const override { return run_.plan().samples.pieces; }
  [[nodiscard]] std::vector<std::uint32_t> const& set_aside() const override { return run_.plan().samples.set_aside; }
  [[nodiscard]] std::vector<std::uint32_t> const& dropped() const override { return run_.plan().steps.dropped; }

 private:
  ballast::training_run<any_cost> run_;
  ballast::step_observer<any_cost, ballast::token_cost, ballast::full_pairs> watch_;
};

}  // namespace

std::unique_ptr<planned_run> make_run(integer_view const& lengths, run_request const& request, any_cost const& cost, std::stop_token stop) {
  return std::make_unique<run_of_any_cost>(lengths, options_of(request, std::move(stop)), cost);
}

}  // namespace ballast_python
