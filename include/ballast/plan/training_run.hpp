// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/detail/run_planner.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/recalibration.hpp>
#include <ballast/plan/run_options.hpp>
#include <ballast/plan/run_state.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `training_run`: walks through the steps of several epochs, and resumes at any step, also with another number of ranks.

namespace ballast::inline v0_2 {

/// @brief A step that a training run handed out.
struct run_step {
  std::uint64_t step = 0;   ///< number of the step in the run
  std::uint64_t epoch = 0;  ///< number of the epoch it belongs to, from 0
  std::uint64_t place = 0;  ///< number of the step in `training_run::plan`
  friend constexpr bool operator==(run_step const&, run_step const&) = default;
};

/// @brief Walks through the steps of several epochs.
///
/// Every rank makes the same run with the same arguments, so that ranks need not send each other plans; they compare `hash()` once an
/// epoch. The run keeps the plan of one pass through the data. A restarted trainer makes the run again and calls `resume`; if it has
/// another number of ranks than before, the samples of the pass that were not trained on are planned anew for the new ranks. If every epoch
/// is to have the same number of steps, `run_options::steps_per_epoch` carries the rest of a pass over.
///
/// @par Determinism
/// Steps are a pure function of the arguments, the states resumed and the measurements taken, if no stop is requested.
///
/// @tparam Cost   a `cost_model`: the modelled cost of a sample by its length
/// @tparam Index  type of the sample indices
template <cost_model Cost, index_type Index = std::uint32_t>
class training_run {
 public:
  using measurement = recalibration<Cost, token_cost, full_pairs>;  ///< what `step_observer::recalibrate` returns
  /// @brief A pass that was planned ahead, by `plan_ahead`.
  struct planned_pass {
    std::uint64_t pass = 0;   ///< number of the pass
    run_part part{};          ///< ranks, micro-batches and costs it was planned for
    data_plan<Index> plan{};  ///< its plan
  };

  /// @brief Applies the over-size policy, weighs the samples and plans the first pass.
  /// @tparam R  range of integers
  /// @param lengths  tokens of each sample
  /// @param options  shape of a step, number of epochs, order of steps
  /// @param cost     cost of a sample by its length
  /// @throws invalid_input as `plan_data`, or if an option is out of range
  /// @par Complexity
  /// As `plan_steps`.
  template <length_range R>
  training_run(R const& lengths, run_options options, Cost cost) : planner_(lengths, std::move(options), std::move(cost)) {
    auto const& o = planner_.options();
    fingerprint_ = planner_.fingerprint();
    parts_ = {{0, o.data.steps.ranks, o.data.steps.micro_batches, {}}};
    plan_ = planner_.planned(0, parts_[0]);
    require(o.steps_per_epoch == 0 || plan_.steps.steps() > 0,
            [] { return "steps_per_epoch: there is no step, because no sample is left to train on"; });
  }

  /// @brief Goes on where another run was, with its plan: nothing is planned.
  /// @tparam R  range of integers
  /// @param lengths  tokens of each sample
  /// @param options  those of the other run
  /// @param cost     cost of a sample by its length
  /// @param from     state of the other run
  /// @param plan     plan of the other run, of whose samples `set_aside` alone is read
  /// @throws invalid_input if the state is of a run with other samples, costs or options, or of another plan
  /// @par Complexity
  /// O(samples).
  template <length_range R>
  training_run(R const& lengths, run_options options, Cost cost, run_state const& from, data_plan<Index> plan)
      : planner_(lengths, std::move(options), std::move(cost)), parts_(from.parts), plan_(std::move(plan)) {
    fingerprint_ = planner_.fingerprint();
    auto const ranks = planner_.options().data.steps.ranks;
    require(from.fingerprint == fingerprint_ && !parts_.empty() && plan_.steps.ranks == ranks && parts_.back().steps <= plan_.steps.steps(),
            [] { return "the state is of a run with other samples, costs or options, or of another plan"; });
    step_ = from.step, pass_ = from.pass;
    place_ = static_cast<std::size_t>(parts_.back().steps);
    if (parts_.back().costs.measured) planner_.reprice(parts_.back().costs);
    auto& samples = plan_.samples;
    auto set_aside = std::exchange(samples, planner_.samples()).set_aside;
    for (auto const i : set_aside) samples.all_tokens -= samples.cost[i] > 0 ? samples.tokens[i] : 0, samples.all_cost -= samples.cost[i];
    samples.set_aside = std::move(set_aside);
  }

  /// @brief Number of steps of the whole run, for a learning-rate schedule.
  /// @return exactly as many steps as `next` hands out, unless the ranks, the cost or the number of epochs change
  /// @par Complexity
  /// O(1) with `steps_per_epoch`; otherwise the first call plans all later epochs.
  [[nodiscard]] std::uint64_t steps() const {
    if (planner_.options().steps_per_epoch != 0) return planner_.options().steps_per_epoch * planner_.options().epochs;
    if (pass_ >= planner_.options().epochs) return step_;
    auto sum = step_ + (plan_.steps.steps() - place_);
    for (auto pass = pass_ + 1; pass < planner_.options().epochs; ++pass) sum += steps_in(pass);
    return sum;
  }
  /// @brief Number of steps handed out so far.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  /// @brief Whether every step was handed out.
  /// @par Complexity
  /// O(1); as `steps` at the end of a pass under `left_over::drop`, where a pass may have no step.
  [[nodiscard]] bool done() const {
    auto const& o = planner_.options();
    if (o.steps_per_epoch != 0) return step_ >= steps();
    if (pass_ >= o.epochs || place_ < plan_.steps.steps()) return pass_ >= o.epochs;
    return pass_ + 1 >= o.epochs || !planner_.has_samples() || (o.data.steps.left_over == left_over::drop && step_ == steps());
  }

  /// @brief Hands out the next step: `packs_of` then returns its packs.
  /// @return its numbers
  /// @throws invalid_input when `done()`
  /// @par Complexity
  /// O(1), except for the first step of a pass, which plans that pass unless `bring` brought it.
  run_step next() {
    require(!done(), [&] { return sentence("all ", step_, " steps are done"); });
    while (place_ == plan_.steps.steps()) turn_to(pass_ + 1);
    ++parts_.back().steps;
    auto const each = planner_.options().steps_per_epoch;
    auto const epoch = each == 0 ? pass_ : step_ / each;
    return {step_++, epoch, place_++};
  }

  /// @brief The micro-batches of a rank in the step that `next` handed out last.
  /// @param rank  below the number of ranks
  /// @return a range of `std::span` of sample indices, without empty places; valid until the next call of `next`, `resume` or
  /// `recalibrate`. With `oversize::split`, index `n + j` is `plan().samples.pieces[j]` for `n` samples
  /// @throws invalid_input before the first step, or for a rank that does not exist
  [[nodiscard]] auto packs_of(std::uint64_t rank) const& {
    require(place_ > 0, [] { return "call next() before packs_of()"; });
    require(rank < plan_.steps.ranks, [&] { return sentence("rank ", rank, " is out of range: there are ", plan_.steps.ranks); });
    return plan_.steps.packs_of(place_ - 1, static_cast<std::size_t>(rank));
  }
  void packs_of(std::uint64_t) const&& = delete;  ///< a view of a temporary would dangle

  /// @brief The plan of the current pass, or of its rest since ranks or costs last changed; its steps are in the order of training.
  [[nodiscard]] data_plan<Index> const& plan() const& noexcept { return plan_; }
  /// @brief The same, moved out of a run that ends.
  [[nodiscard]] data_plan<Index> plan() && noexcept { return std::move(plan_); }
  /// @brief Whether no stop cut short the plan of this pass. If one did, make the run anew, or send this rank's plan to the others.
  [[nodiscard]] bool complete() const noexcept { return plan_.steps.complete; }

  /// @brief What ranks compare once an epoch: equal hashes mean equal samples, options, plans and positions.
  /// @par Complexity
  /// O(samples).
  [[nodiscard]] std::uint64_t hash() const { return hash_of(state(), plan_.steps); }
  /// @brief The same from both. @param at state @param steps those of `plan()` @return the hash
  [[nodiscard]] static std::uint64_t hash_of(run_state const& at, batching<Index> const& steps) {
    fnv1a h;
    auto const words = at.words();
    for (std::size_t k = 0; k + 1 < words.size(); ++k) h.append(words[k]);  // without their digest
    for (auto const value : {ballast::hash(steps), std::uint64_t{steps.complete}}) h.append(value);
    return h.value();
  }

  /// @brief What a checkpoint keeps. The step that `next` handed out last counts as trained.
  [[nodiscard]] run_state state() const { return {fingerprint_, step_, pass_, parts_}; }

  /// @brief Goes on where another run was.
  /// If that run had other ranks or micro-batches, what is left of the pass is planned anew for those of this run. If it has trained on
  /// all epochs of this run, this run is `done()`.
  /// @param from  the state of a run with the same samples, cost and options, apart from ranks, micro-batches and epochs
  /// @throws invalid_input if the other run had other samples, costs or options, or the state is damaged; this run is then unchanged
  /// @par Complexity
  /// That of planning the pass, once for each of its parts.
  void resume(run_state const& from) {
    require(from.fingerprint == fingerprint_, [] {
      return std::string("the state is of a run with other samples, costs or options (ranks, micro-batches and epochs may differ)");
    });
    require(!from.parts.empty(), [] { return "the state has no parts"; });
    auto before = from.step;  // steps of the passes that are complete
    for (auto const& part : from.parts) {
      require(part.steps <= before, [&] { return sentence("the state is damaged: its parts have more steps than its ", from.step); });
      before -= part.steps;
      if (part.costs.measured) static_cast<void>(run_costs::from_words(part.costs.words()));
    }
    auto const samples = plan_.samples.tokens.size();  // a step has one or more
    auto const fewest = planner_.options().data.steps.left_over == left_over::drop ? 0 : from.pass;
    require(from.pass == 0 ? before == 0 : before >= fewest && before / from.pass <= samples, [&] {
      return sentence("the state is damaged: it counts ", before, " steps in its ", from.pass, " complete passes through ", samples,
                      " samples");
    });
    auto other = *this;
    other.parts_ = {from.parts.front()};
    other.pass_ = from.pass;
    other.counts_.clear();
    other.planner_.reprice(other.parts_[0].costs);
    other.plan_ = other.planner_.planned(from.pass, other.parts_[0]);
    for (std::size_t k = 0;; ++k) {
      auto const& part = from.parts[k];
      require(part.steps <= other.plan_.steps.steps(),
              [&] { return sentence("the state is damaged: it is at step ", part.steps, " of a plan of ", other.plan_.steps.steps()); });
      if (k + 1 == from.parts.size()) break;
      other.turn_to_part(from.parts[k + 1]);
    }
    other.place_ = static_cast<std::size_t>(from.parts.back().steps);
    other.step_ = from.step;
    auto const& last = from.parts.back();
    auto const& o = planner_.options().data.steps;
    if (last.ranks != o.ranks || last.micro_batches != o.micro_batches) other.turn_to_part({0, o.ranks, o.micro_batches, last.costs});
    *this = std::move(other);
  }

  /// @brief Gives measured times to a `step_observer`: those of the step that `next` handed out last.
  /// @param watch  a `step_observer` with the options and cost of this run
  /// @param ms     milliseconds of the step, or a list of those of each rank
  /// @throws invalid_input before the first step, or as `step_observer::observe`
  template <class Observer, class Times>
  void observe(Observer& watch, Times const& ms) const {
    require(place_ > 0, [] { return "call next() before observe()"; });
    watch.observe(plan_, place_ - 1, ms);
  }
  /// @brief Plans the rest of the pass, and all later passes, under measured times.
  /// All ranks need the same integers: let one rank call `step_observer::recalibrate` and send `run_costs::of(found).words()`.
  ///
  /// @param found  what an observer found, or what `run_costs::from_words` read
  /// @return whether the steps to come were planned anew; if not, that would have saved less than a thousandth of their time
  /// @throws invalid_input if the cost of a sample or a coefficient is out of range; the run is then unchanged
  /// @par Complexity
  /// As `plan_rest`.
  bool recalibrate(run_costs const& found) {
    if (found.measured) static_cast<void>(run_costs::from_words(found.words()));
    auto const part = next_part(found);
    auto other = *this;
    auto const anew = other.turn_to_part(part);
    *this = std::move(other);
    return anew;
  }
  /// @brief Plans the rest of the pass, and all later passes, under measured times.
  /// @param found  what an observer found
  /// @return whether the steps to come were planned anew
  bool recalibrate(measurement const& found) { return recalibrate(run_costs::of(found)); }

  /// @brief A task that plans the next pass, for another thread: `std::async(std::launch::async, run.plan_ahead())`.
  /// The run may hand out steps while the task runs, but must not be destroyed, resumed or recalibrated.
  /// @return a callable without arguments that returns a `planned_pass`
  [[nodiscard]] auto plan_ahead() const& {
    auto const part = next_part(parts_.back().costs);
    return [this, part, pass = pass_ + 1] { return planned_pass{pass, part, planner_.planned(pass, part)}; };
  }
  void plan_ahead() const&& = delete;  ///< the task of a temporary would dangle
  /// @brief Takes a pass that was planned ahead. One for other ranks, costs or another pass is ignored when its turn comes.
  /// @param ahead  what a task of `plan_ahead` returned
  void bring(planned_pass ahead) { ahead_ = std::move(ahead); }

 private:
  [[nodiscard]] run_part next_part(run_costs const& costs) const { return {0, parts_.back().ranks, parts_.back().micro_batches, costs}; }
  void turn_to(std::uint64_t pass) {
    auto const part = next_part(parts_.back().costs);
    plan_ = ahead_.pass == pass && ahead_.part == part ? std::exchange(ahead_, {}).plan : planner_.planned(pass, part);
    parts_ = {part};
    pass_ = pass;
    place_ = 0;
  }
  /// Ends the current part after its steps, and plans the rest of the pass for another. @return whether steps were planned anew
  bool turn_to_part(run_part const& next) {
    auto rest = planner_.rest(plan_, pass_, parts_.back(), next);
    if (parts_.back().costs != next.costs) planner_.reprice(next.costs);
    plan_ = std::move(rest.plan);
    parts_.push_back(next);
    place_ = 0;
    counts_.clear();
    return rest.anew;
  }
  [[nodiscard]] std::uint64_t steps_in(std::uint64_t pass) const {
    auto const part = next_part(parts_.back().costs);
    for (auto p = std::uint64_t{counts_.size()}; p <= pass; ++p)
      counts_.push_back(p <= pass_ ? 0 : std::uint64_t{planner_.planned(p, part).steps.steps()});
    return counts_[static_cast<std::size_t>(pass)];
  }

  detail::run_planner<Cost, Index> planner_;
  std::vector<run_part> parts_;
  data_plan<Index> plan_;
  planned_pass ahead_{};
  mutable std::vector<std::uint64_t> counts_;  // steps of each pass after the current one, as far as they are known
  std::uint64_t fingerprint_ = 0;
  std::uint64_t step_ = 0;  // steps handed out
  std::uint64_t pass_ = 0;  // passes that are complete
  std::size_t place_ = 0;   // steps of the current plan handed out
};

/// @brief The cost names the type: `training_run run(lengths, options, cost)`.
template <length_range R, cost_model Cost>
training_run(R const&, run_options, Cost) -> training_run<Cost>;

}  // namespace ballast::inline v0_2
