// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <ballast/batching/step_randomness.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/oversize.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "binders.hpp"
#include "costs.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "plans.hpp"
#include "report/html.hpp"
#include "saved.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

nb::typed<nb::list, view_of<std::uint32_t>> packs_of(nb::handle self, std::int64_t step, std::int64_t rank) {
  auto const& plan = nb::cast<step_plan const&>(self).plan;
  auto const s = checked(step, plan.steps(), "step");
  nb::typed<nb::list, view_of<std::uint32_t>> out;
  for (auto const pack : plan.packs_of(s, checked(rank, static_cast<std::size_t>(plan.ranks), "rank")))
    out.append(view(pack.data(), pack.size(), self));
  return out;
}

using table_view = nb::ndarray<nb::numpy, std::int32_t const, nb::ndim<3>>;

table_view table_of(nb::handle self) {
  auto const& plan = nb::cast<step_plan const&>(self).plan;
  static constexpr std::int32_t nothing = -1;
  auto const* const data = plan.table.empty() ? &nothing : reinterpret_cast<std::int32_t const*>(plan.table.data());
  return table_view(data, {plan.steps(), static_cast<std::size_t>(plan.ranks), static_cast<std::size_t>(plan.micro_batches)}, self);
}

nb::list shared_of(step_plan const& p) {
  nb::list out;
  for (auto const& s : p.plan.shared) out.append(nb::make_tuple(s.sample, s.step, s.first_rank, s.ranks));
  return out;
}

/// Of each rank its packs.
nb::typed<nb::list, nb::typed<nb::list, view_of<std::uint32_t>>> step_of(nb::handle self, std::int64_t step) {
  nb::typed<nb::list, nb::typed<nb::list, view_of<std::uint32_t>>> out;
  auto const ranks = static_cast<std::int64_t>(nb::cast<step_plan const&>(self).plan.ranks);
  for (std::int64_t rank = 0; rank < ranks; ++rank) out.append(packs_of(self, step, rank));
  return out;
}

nb::tuple state_of(nb::handle self) {
  auto const& p = nb::cast<step_plan const&>(self);
  auto const& o = p.options;
  auto const numbers = nb::make_tuple(o.capacity, o.ranks, o.micro_batches, static_cast<unsigned>(o.synchronisation), o.stages,
                                      static_cast<unsigned>(o.left_over), o.seed, o.epoch, o.cost_per_micro_batch, o.cost_per_step,
                                      o.least_fill, o.time_for_randomness, o.equal_micro_batches, p.share_overhead);
  return nb::make_tuple(saved(p.plan, self), numbers, p.cost, saved(p.numbers, self));
}

void restore(step_plan& p, nb::tuple const& state) {
  ballast::batching_options o;
  unsigned synchronisation = 0, left_over = 0;
  std::uint32_t share_overhead = 0;
  std::tie(o.capacity, o.ranks, o.micro_batches, synchronisation, o.stages, left_over, o.seed, o.epoch, o.cost_per_micro_batch,
           o.cost_per_step, o.least_fill, o.time_for_randomness, o.equal_micro_batches, share_overhead) =
      nb::cast<std::tuple<std::int64_t, std::uint64_t, std::uint64_t, unsigned, std::uint64_t, unsigned, std::uint64_t, std::uint64_t,
                          std::int64_t, std::int64_t, std::uint32_t, std::uint32_t, bool, std::uint32_t>>(state[1]);
  o.synchronisation = static_cast<ballast::synchronisation>(synchronisation);
  o.left_over = static_cast<ballast::left_over>(left_over);
  new (&p) step_plan{batching_of(state[0]), o, nb::cast<any_cost>(state[2]), share_overhead, sample_numbers_from(state[3])};
}

/// The plan beside others of the same lengths.
plan_comparison compared(step_plan const& p, array_like const& lengths) {
  auto const given = lengths_for(p, lengths);
  return without_gil([&] {
    auto plan = ballast::data_plan<>{.steps = planned(p, *given),
                                     .samples = ballast::apply_oversize<>(given->range(), {.capacity = p.options.capacity}, p.cost),
                                     .packs = {}};
    ballast::require(p.plan.tokens == plan.samples.all_tokens || !p.plan.dropped.empty() || !p.plan.repeated.empty(), [&] {
      return "the lengths hold " + std::to_string(plan.samples.all_tokens) + " tokens and the plan " + std::to_string(p.plan.tokens) +
             ": they are not those that it was made for";
    });
    auto const histogram = ballast::fold(plan.samples.tokens);
    auto const needed = ballast::packing_lower_bound(histogram, p.options.capacity, given->size() + 1);
    plan.packs = {static_cast<std::int64_t>(p.plan.packs.size()), needed.packs};
    plan.bound = needed.bound;
    return compare_with_baselines(plan, {.steps = p.options}, p.cost.ms_per_unit());
  });
}

/// D and D8 of the plan.
std::tuple<double, double> randomness(step_plan const& p, array_like const& lengths) {
  auto const given = lengths_for(p, lengths);
  auto const found = without_gil([&] { return ballast::randomness_of(planned(p, *given), given->range()); });
  return {static_cast<double>(found.design_effect) / 1000, static_cast<double>(found.design_effect_8) / 1000};
}

void bind_plan(nb::module_& m) {
  nb::class_<step_plan>(m, "StepPlan", "The steps of an epoch: which packs each rank trains on in each step.")
      .def_prop_ro(
          "steps", [](step_plan const& p) { return p.plan.steps(); }, "Number of steps, the same on every rank.")
      .def_prop_ro(
          "ranks", [](step_plan const& p) { return p.plan.ranks; }, "Number of data-parallel ranks.")
      .def_prop_ro(
          "micro_batches", [](step_plan const& p) { return p.plan.micro_batches; }, "Places of one rank in one step.")
      .def_prop_ro("table", &table_of, "The pack of each step, rank and place; -1 where a place is empty.")
      .def_prop_ro(
          "packs", [](nb::handle self) { return all_of(nb::cast<step_plan const&>(self).plan.packs, self); },
          "The packs: a sequence of read-only arrays of sample indices.")
      .def_prop_ro(
          "offsets", [](nb::handle self) { return view(nb::cast<step_plan const&>(self).plan.packs.offsets, self); },
          "Where each pack begins in `members`.")
      .def_prop_ro(
          "members", [](nb::handle self) { return view(nb::cast<step_plan const&>(self).plan.packs.members, self); },
          "The sample indices of all packs, pack after pack.")
      .def("packs_of", &packs_of, "step"_a, "rank"_a,
           "The micro-batches of one rank in one step, each an array of sample indices; without empty places.")
      .def_prop_ro(
          "slowest_over_mean", [](step_plan const& p) { return p.plan.slowest_over_mean(); },
          "Time of the plan over the time with perfect balance; at least 1.")
      .def_prop_ro(
          "idle", [](step_plan const& p) { return idle_of(p.plan); },
          "Share of the time of all ranks in which a rank waits for a slower one.")
      .def_prop_ro(
          "fill", [](step_plan const& p) { return p.plan.fill(p.options.capacity); }, "Share of the capacity that holds tokens.")
      .def_prop_ro(
          "lower_bound", [](step_plan const& p) { return p.plan.slowest.lower_bound; },
          "Lower bound of `slowest`: no other distribution of each step's samples over the ranks costs less.")
      .def_prop_ro(
          "slowest", [](step_plan const& p) { return p.plan.slowest.value; }, "Sum over the steps of the cost of the slowest rank.")
      .def_prop_ro(
          "cost", [](step_plan const& p) { return p.plan.cost; }, "Work of all ranks.")
      .def_prop_ro(
          "tokens", [](step_plan const& p) { return p.plan.tokens; }, "Tokens of all packs.")
      .def_prop_ro(
          "method", [](step_plan const& p) { return ballast::to_string(p.plan.method); }, "The method that made the plan.")
      .def_prop_ro(
          "dropped", [](nb::handle self) { return view(nb::cast<step_plan const&>(self).plan.dropped, self); },
          "Samples in no step, ascending.")
      .def_prop_ro(
          "skipped", [](nb::handle self) { return view(nb::cast<step_plan const&>(self).numbers.skipped, self); },
          "Samples without tokens, which zero_length=\"skip\" leaves out, ascending.")
      .def_prop_ro(
          "repeated", [](nb::handle self) { return view(nb::cast<step_plan const&>(self).plan.repeated, self); },
          "Samples that are trained on again, once for each repetition.")
      .def_prop_ro("shared", &shared_of, nb::sig("def shared(self) -> list[tuple[int, int, int, int]]"),
                   "Samples that several ranks share: (sample, step, first rank, ranks).")
      .def(
          "hash", [](step_plan const& p) { return ballast::hash(p.plan); },
          "A number of 64 bits that is equal for equal plans: ranks that compare it know that they have the same plan.")
      .def_prop_ro(
          "set_aside", [](nb::handle self) { return view<std::uint32_t>(nullptr, 0, self); },
          "Samples longer than the capacity that were left out: none, since plan_steps rejects them.")
      .def("randomness", &randomness, "lengths"_a,
           "How far the steps are from random draws, which have 1: the design effect of the mean length of steps, and that of eight in a\n"
           "row, 0 below nine steps. `lengths` are those that the plan was made for; `time_for_randomness` is the price of small effects.")
      .def("compared", &compared, "lengths"_a, "What `report` shows.")
      .def(
          "report",
          [](nb::handle self, array_like const& lengths, nb::handle path, nb::handle measured) {
            return nb::object(nb::module_::import_("ballast.report").attr("report_of")(self.attr("compared")(lengths), path, measured));
          },
          "lengths"_a, "path"_a = nb::none(), nb::kw_only(), "measured"_a = nb::none(),
          nb::sig("def report(self, lengths: numpy.typing.ArrayLike, path: str | os.PathLike[str] | None = None, *, measured: "
                  "ballast.report.Measured | None = None) -> ballast.report.Report"),
          "The plan beside the naive order, TRL's, transformers' and verl's, for the lengths that it was made for. It is text where it is\n"
          "printed and a table in a notebook; with a `path`, the page of the command line is written there, too.")
      .def("__len__", [](step_plan const& p) { return p.plan.steps(); })
      .def(
          "__getitem__", [](nb::handle self, nb::handle step) { return step_of(self, index_of(step, "step")); }, "step"_a.none(),
          nb::sig("def __getitem__(self, step: int) -> list[list[numpy.typing.NDArray[numpy.uint32]]]"),
          "The packs of a step: of each rank, the list of `packs_of`.")
      .def(
          "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[list[list[numpy.typing.NDArray[numpy.uint32]]]]"))
      .def("__copy__", [](nb::object const& self) { return self; })
      .def(
          "__deepcopy__", [](nb::object const& self, nb::handle) { return self; }, "memo"_a)
      .def("__getstate__", &state_of, nb::sig("def __getstate__(self) -> tuple[object, ...]"))
      .def("__setstate__", &restore, nb::sig("def __setstate__(self, state: tuple[object, ...], /) -> None"))
      .def("__repr__", [](step_plan const& p) { return "<StepPlan: " + in_a_line(p.plan, p.options.capacity, 0) + ">"; });
}

}  // namespace

std::string in_a_line(ballast::batching<> const& plan, std::int64_t capacity, std::size_t set_aside) {
  using ballast_cli::counted;
  using ballast_cli::percent;
  auto line = counted(plan.packs.members.size() - plan.repeated.size(), "sample") + " in " + counted(plan.packs.size(), "pack") +
              " of up to " + counted(static_cast<std::uint64_t>(capacity), "token") + "; " + counted(plan.steps(), "step") + " on " +
              counted(plan.ranks, "rank") + " of " + counted(plan.micro_batches, "micro-batch") + "; idle " + percent(idle_of(plan)) +
              ", fill " + percent(plan.fill(capacity));
  for (auto const& [count, what] :
       {std::pair{set_aside, " set aside"}, {plan.dropped.size(), " dropped"}, {plan.repeated.size(), " repeated"}})
    if (count > 0) line += "; " + ballast_cli::grouped(count) + what;
  return line;
}

void bind_steps(nb::module_& m) {
  bind_plan(m);
  m.def(
      "plan_steps",
      [](array_like const& lengths, std::int64_t capacity, std::uint64_t ranks, std::uint64_t micro_batches, cost_argument const& cost,
         optional_array const& costs, std::uint64_t seed, std::uint64_t epoch, std::string const& left_over,
         std::string const& synchronisation, std::uint64_t stages, bool equal_micro_batches,
         std::optional<std::int64_t> cost_per_micro_batch, std::int64_t cost_per_step, std::uint32_t least_fill,
         std::optional<std::uint32_t> time_for_randomness, optional_array const& together, optional_array const& apart,
         std::uint64_t most_ranks_shared, std::uint32_t share_overhead, std::size_t threads, std::string const& zero_length) {
        auto const given = planned_lengths::of(lengths, zero_length);
        if (most_ranks_shared == 1) require_within(given->given(), capacity, "plan_steps");
        auto work = given->cost(cost, costs, capacity);
        auto const same = given->keys(together, "together"), other = given->keys(apart, "apart");
        ballast::batching_options options{.capacity = capacity,
                                          .ranks = ranks,
                                          .micro_batches = micro_batches,
                                          .synchronisation = value_named(synchronisation_words, synchronisation, "synchronisation"),
                                          .stages = stages,
                                          .left_over = value_named(left_over_words, left_over, "left_over"),
                                          .seed = seed,
                                          .epoch = epoch,
                                          .cost_per_micro_batch = cost_per_micro_batch.value_or(0),
                                          .cost_per_step = cost_per_step,
                                          .least_fill = least_fill,
                                          .time_for_randomness = time_for_randomness.value_or(ballast::batching_options::automatic),
                                          .equal_micro_batches = equal_micro_batches};
        if (!cost_per_micro_batch) price_micro_batches(options, work, *given);
        auto plan = given->plan([&] {
          return interruptible([=](std::stop_token const& stop) {
            ballast::step_constraints const constraints{
                .together = same, .apart = other, .most_ranks_shared = most_ranks_shared, .share_overhead = share_overhead};
            return plan_steps(*given, options, work, constraints, threads, stop);
          });
        });
        renumber(plan, given->numbers());
        return step_plan{std::move(plan), options, work, share_overhead, given->numbers()};
      },
      "lengths"_a, nb::kw_only(), "capacity"_a, "ranks"_a, "micro_batches"_a = 1, "cost"_a = nb::none(), "costs"_a = nb::none(),
      "seed"_a = 0, "epoch"_a = 0, "left_over"_a = "split", "synchronisation"_a = "per_step", "stages"_a = 1,
      "equal_micro_batches"_a = true, "cost_per_micro_batch"_a = nb::none(), "cost_per_step"_a = 0, "least_fill"_a = 0,
      "time_for_randomness"_a = nb::none(), "together"_a = nb::none(), "apart"_a = nb::none(), "most_ranks_shared"_a = 1,
      "share_overhead"_a = 0, "threads"_a = 1, "zero_length"_a = "error",
      "Plans the steps of an epoch: every sample once, no micro-batch above `capacity` tokens, ranks balanced by `cost`.\n\n"
      "`cost` has no default: the name of a model, ballast.sample_time(...), ballast.token_cost(), or an array of integers with the\n"
      "cost of each length. `costs`, in its place, are integers, one for each sample. `cost_per_micro_batch` is what the cost says, "
      "`per_micro_batch`, unless it is given. `left_over` says what "
      "happens to an incomplete last step: \"split\", \"shorten\", \"repeat\", \"drop\".\n"
      "`synchronisation` says where ranks wait: \"per_step\" (DDP, ZeRO-1 and 2), \"per_micro_batch\" (FSDP, ZeRO-3), \"pipeline\" of\n"
      "`stages`. `least_fill` is in thousandths, and so is `time_for_randomness`: the time above that of the fastest plan that may be\n"
      "given for steps that are random draws; 0 plans the fastest steps, 1000 the most random, None about 1 %. Samples with equal "
      "`together` keys share a micro-batch, those with different\n"
      "`apart` keys never do. Up to `most_ranks_shared` ranks split a sample, for `share_overhead` thousandths more cost.\n"
      "`zero_length` says what happens to samples without tokens: \"error\", or \"skip\", which names them in `skipped`.\n"
      "Millions of samples are planned in blocks, on that many `threads` (0: one for each processor); the plan is the same.");
}

}  // namespace ballast_python
