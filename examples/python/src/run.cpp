// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
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
#include "words.hpp"

namespace ballast_python {

namespace {

std::unique_ptr<planned_run> run_of(array_like const& lengths, std::int64_t capacity, std::uint64_t ranks, std::uint64_t micro_batches,
                                    std::uint64_t epochs, cost_argument const& cost, optional_array const& costs, std::uint64_t seed,
                                    std::uint64_t steps_per_epoch, std::int64_t tokens_per_step, std::string const& oversize,
                                    std::string const& order, std::string const& key, std::uint64_t buckets, std::string const& left_over,
                                    std::string const& synchronisation, std::uint64_t stages, bool equal_micro_batches,
                                    std::optional<std::uint32_t> time_for_randomness, std::string const& zero_length) {
  planned_lengths const given(lengths, zero_length);
  auto work = given.cost(cost, costs, capacity);
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
  price_micro_batches(request.steps, work, given);
  auto run = given.plan([&] { return interruptible([&](std::stop_token const& stop) { return make_run(given, request, work, stop); }); });
  run->samples = std::make_shared<sample_numbers const>(given.numbers());
  return run;
}

auto named(planned_run const& run, std::vector<std::uint32_t> samples) {
  for (auto& s : samples) s = (*run.samples)(s);
  return array_of(std::move(samples));
}

std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> pieces_of(planned_run const& run) {
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> out;
  out.reserve(run.pieces().size());
  for (auto const& p : run.pieces()) out.emplace_back((*run.samples)(static_cast<std::uint32_t>(p.sample)), p.offset, p.length);
  return out;
}

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<planned_run>(m, "Run", "What ballast.TrainingRun is made of.")
      .def(
          "steps", [](planned_run const& run) { return without_gil([&] { return run.steps(); }); }, "Steps of all epochs.")
      .def("step", &planned_run::step, "Steps handed out.")
      .def(
          "done", [](planned_run const& run) { return without_gil([&] { return run.done(); }); }, "Whether no step is left.")
      .def(
          "next",
          [](planned_run& run) {
            auto const at = without_gil([&] { return run.next(); });
            return std::make_tuple(at.step, at.epoch);
          },
          "Hands out the next step: its number and that of its epoch.")
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
          "resume", [](planned_run& run, std::vector<std::uint64_t> const& words) { without_gil([&] { return run.resume(words), 0; }); },
          "words"_a, "Goes on from a state.")
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
          [](planned_run& run, std::vector<std::uint64_t> const& found) { return without_gil([&] { return run.recalibrate(found); }); },
          "found"_a, "Plans the steps to come under measured times.")
      .def("micro_batches", &planned_run::micro_batches, "Places of a rank in a step.")
      .def("pieces", &pieces_of, "Second and later pieces of split samples.")
      .def(
          "set_aside", [](planned_run const& run) { return named(run, run.set_aside()); }, "Samples left out.")
      .def("dropped", [](planned_run const& run) { return named(run, run.dropped()); }, "Samples in no step of the pass.");
  m.def("make_run", &run_of, "lengths"_a, nb::kw_only(), "capacity"_a, "ranks"_a, "micro_batches"_a, "epochs"_a, "cost"_a.none(),
        "costs"_a.none(), "seed"_a, "steps_per_epoch"_a, "tokens_per_step"_a, "oversize"_a, "order"_a, "key"_a, "buckets"_a, "left_over"_a,
        "synchronisation"_a, "stages"_a, "equal_micro_batches"_a, "time_for_randomness"_a.none(), "zero_length"_a,
        "Makes what ballast.TrainingRun is made of.");
}

}  // namespace ballast_python
