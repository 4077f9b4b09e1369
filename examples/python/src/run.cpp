// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "costs.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "planners.hpp"
#include "plans.hpp"
#include "saved.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

nb::tuple saved_run_of(nb::handle self) {
  auto const& run = nb::cast<planned_run const&>(self);
  auto const& plan = run.plan();
  auto const words = run.words();
  return nb::make_tuple(array_of(std::vector(words)), saved(plan.steps, self), plan.packs.value, plan.packs.lower_bound,
                        static_cast<unsigned>(plan.bound), array_of(std::vector(plan.samples.set_aside)), saved(plan.samples.pieces));
}

saved_run run_from(nb::handle state) {
  saved_run out{.words = vector_of<std::uint64_t>(state[0]), .plan = {}};
  auto& plan = out.plan;
  plan.steps = batching_of(state[1]);
  plan.packs = {nb::cast<std::int64_t>(state[2]), nb::cast<std::int64_t>(state[3])};
  auto const bound = nb::cast<unsigned>(state[4]);
  ballast::require(bound <= static_cast<unsigned>(ballast::packing_bound::cutting_stock), [] { return "the saved run is damaged"; });
  plan.bound = static_cast<ballast::packing_bound>(bound);
  plan.samples.set_aside = vector_of<std::uint32_t>(state[5]);
  plan.samples.pieces = pieces_from(state[6]);
  return out;
}

std::unique_ptr<planned_run> run_of(array_like const& lengths, std::int64_t capacity, std::uint64_t ranks, std::uint64_t micro_batches,
                                    std::uint64_t epochs, cost_argument const& cost, optional_array const& costs, std::uint64_t seed,
                                    std::uint64_t steps_per_epoch, std::int64_t tokens_per_step, std::string const& oversize,
                                    std::string const& order, std::string const& key, std::uint64_t buckets, std::string const& left_over,
                                    std::string const& synchronisation, std::uint64_t stages, bool equal_micro_batches,
                                    std::optional<std::uint32_t> time_for_randomness, std::string const& zero_length, nb::handle state) {
  auto const given = planned_lengths::of(lengths, zero_length);
  auto work = given->cost(cost, costs, capacity);
  auto const policy = value_named(oversize_words, oversize, "oversize", of_steps);
  auto const cuts = policy == ballast::oversize::split || policy == ballast::oversize::truncate;
  ballast::require(costs.is_none() || !cuts,
                   [&] { return "oversize = " + oversize + " cuts samples, whose costs= are those of whole ones: give cost="; });
  run_request request{.steps = {.capacity = capacity,
                                .ranks = ranks,
                                .micro_batches = micro_batches,
                                .synchronisation = value_named(synchronisation_words, synchronisation, "synchronisation"),
                                .stages = stages,
                                .left_over = value_named(left_over_words, left_over, "left_over"),
                                .seed = seed,
                                .time_for_randomness = time_for_randomness.value_or(ballast::batching_options::automatic),
                                .equal_micro_batches = equal_micro_batches},
                      .oversize = policy,
                      .epochs = epochs,
                      .steps_per_epoch = steps_per_epoch,
                      .tokens_per_step = tokens_per_step,
                      .order = order,
                      .key = key,
                      .buckets = buckets};
  price_micro_batches(request.steps, work, *given);
  kept_lengths const kept{*given, given};
  auto run =
      state.is_none()
          ? given->plan([&] { return interruptible([=](std::stop_token const& stop) { return make_run(kept, request, work, stop); }); })
          : restored_run(kept, request, work, run_from(state));
  run->samples = {given, &given->numbers()};
  return run;
}

auto named(planned_run const& run, std::vector<std::uint32_t> samples) {
  for (auto& s : samples) s = (*run.samples)(s);
  return array_of(std::move(samples));
}

std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> pieces_of(planned_run const& run) {
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> out;
  out.reserve(run.plan().samples.pieces.size());
  for (auto const& p : run.plan().samples.pieces)
    out.emplace_back((*run.samples)(static_cast<std::uint32_t>(p.sample)), p.offset, p.length);
  return out;
}

/// Changes a copy of a run, which takes the place of the run if no Ctrl-C comes before.
template <class Change>
auto changed(planned_run& run, Change const& change) {
  std::shared_ptr<planned_run> const copy = run.copy();
  auto const out = interruptible([=](std::stop_token const& stop) { return change(*copy, stop); });
  run.take(*copy);
  return out;
}

std::uint64_t steps_of(planned_run& run) {
  return run.counted() ? run.steps({}) : changed(run, [](auto const& other, auto const& stop) { return other.steps(stop); });
}
bool is_done(planned_run& run) {
  return !run.ready() && changed(run, [](auto const& other, auto const& stop) { return other.done(stop); });
}
std::tuple<std::uint64_t, std::uint64_t> next_of(planned_run& run) {
  auto const at = run.ready() ? run.next({}) : changed(run, [](auto& other, auto const& stop) { return other.next(stop); });
  return {at.step, at.epoch};
}

/// The steps of the pass at hand.
ballast::batching<> const& plan_of(nb::handle self) { return nb::cast<planned_run const&>(self).plan().steps; }

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<planned_run>(m, "Run", "What ballast.TrainingRun is made of.")
      .def("steps", &steps_of, "Steps of all epochs.")
      .def("step", &planned_run::step, "Steps handed out.")
      .def("done", &is_done, "Whether no step is left.")
      .def("next", &next_of, "Hands out the next step: its number and that of its epoch.")
      .def(
          "packs_of",
          [](planned_run const& run, std::uint64_t rank) {
            auto packs = run.packs_of(rank);
            for (auto& s : packs.members) s = (*run.samples)(s);
            return list_of(std::move(packs));
          },
          "rank"_a, "The micro-batches of a rank in the current step.")
      .def("words", &planned_run::words, "The state.")
      .def(
          "resume",
          [](planned_run& run, std::vector<std::uint64_t> const& words) {
            changed(run, [=](auto& other, auto const& stop) { return other.resume(words, stop), 0; });
          },
          "state"_a, "Goes on from a state.")
      .def(
          "hash", [](planned_run const& run) { return without_gil([&] { return run.hash(); }); }, "What ranks compare.")
      .def(
          "copy", [](planned_run const& run) { return without_gil([&] { return run.copy(); }); }, "Another run at the same place.")
      .def(
          "observe_step", [](planned_run& run, double ms) { run.observe(ms); }, "ms"_a, "Takes the time of the last step.")
      .def(
          "observe_ranks", [](planned_run& run, std::vector<double> const& ms) { run.observe(std::span(ms)); }, "ms"_a,
          "Takes the time of each rank in the last step.")
      .def(
          "measured", [](planned_run const& run) { return without_gil([&] { return run.measured(); }); }, "What the times say.")
      .def(
          "recalibrate",
          [](planned_run& run, std::vector<std::uint64_t> const& found) {
            return changed(run, [=](auto& other, auto const& stop) { return other.recalibrate(found, stop); });
          },
          "measured"_a, "Plans the steps to come under measured times.")
      .def(
          "micro_batches", [](planned_run const& run) { return run.plan().steps.micro_batches; }, "Places of a rank in a step.")
      .def("pieces", &pieces_of, "Second and later pieces of split samples.")
      .def(
          "set_aside", [](planned_run const& run) { return named(run, run.set_aside()); }, "Samples left out.")
      .def(
          "dropped", [](planned_run const& run) { return named(run, run.plan().steps.dropped); }, "Samples in no step of the pass.")
      .def(
          "repeated", [](planned_run const& run) { return named(run, run.plan().steps.repeated); }, "Samples in two steps of the pass.")
      .def(
          "idle", [](nb::handle self) { return idle_of(plan_of(self)); }, "Share of the time in which ranks wait.")
      .def(
          "fill", [](nb::handle self, std::int64_t capacity) { return plan_of(self).fill(capacity); }, "capacity"_a, "Share that is used.")
      .def(
          "slowest", [](nb::handle self) { return std::pair(plan_of(self).slowest.value, plan_of(self).slowest.lower_bound); },
          "Cost of the slowest ranks, and its lower bound.")
      .def(
          "line",
          [](planned_run const& run, std::int64_t capacity) { return in_a_line(run.plan().steps, capacity, run.set_aside().size()); },
          "capacity"_a, "The plan in words.")
      .def(
          "compared", [](planned_run const& run) { return without_gil([&] { return run.compared(); }); }, "Beside other plans.")
      .def("saved", &saved_run_of, nb::sig("def saved(self) -> tuple[object, ...]"), "What `make_run` takes as `state`.");
  m.def("make_run", &run_of, "lengths"_a, nb::kw_only(), "capacity"_a, "ranks"_a, "micro_batches"_a, "epochs"_a, "cost"_a.none(),
        "costs"_a.none(), "seed"_a, "steps_per_epoch"_a, "tokens_per_step"_a, "oversize"_a, "order"_a, "key"_a, "buckets"_a, "left_over"_a,
        "synchronisation"_a, "stages"_a, "equal_micro_batches"_a, "time_for_randomness"_a.none(), "zero_length"_a, "state"_a = nb::none(),
        "Makes what ballast.TrainingRun is made of.");
}

}  // namespace ballast_python
