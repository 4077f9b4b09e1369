// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <ballast/partition/min_max.hpp>
#include <ballast/recompute/chain.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "interrupt.hpp"
#include "report/output.hpp"

// Chains of layers: pipeline stages, and what to compute again.

namespace ballast_python {

namespace {

std::vector<std::int64_t> copy_of(optional_array const& argument, char const* name) {
  return argument.is_none() ? std::vector<std::int64_t>() : integers(argument, name).copy();
}

std::vector<ballast::chain_block> blocks_of(array_like const& forward, array_like const& backward, array_like const& output,
                                            array_like const& saved, optional_array const& gradient) {
  integers const f(forward, "forward"), b(backward, "backward"), o(output, "output"), s(saved, "saved");
  auto const g = copy_of(gradient, "gradient");
  auto const as_long = [&](std::size_t n, char const* name) {
    ballast::require(n == f.size(), [&] {
      return std::string(name) + " has " + std::to_string(n) + " entries, forward has " + std::to_string(f.size()) + ": one for each block";
    });
  };
  as_long(b.size(), "backward");
  as_long(o.size(), "output");
  as_long(s.size(), "saved");
  if (!gradient.is_none()) as_long(g.size(), "gradient");
  std::vector<ballast::chain_block> out(f.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = {.forward = f[i], .backward = b[i], .output = o[i], .saved = s[i], .gradient = g.empty() ? o[i] : g[i]};
  return out;
}

/// A schedule with the peak of its memory.
struct recompute_plan {
  ballast::chain_schedule schedule;
  std::int64_t peak = 0;
};

nb::list steps_of(recompute_plan const& plan) {
  nb::list out;
  for (auto const& step : plan.schedule.steps) out.append(nb::make_tuple(ballast::to_string(step.action), step.block));
  return out;
}

recompute_plan recompute(array_like const& forward, array_like const& backward, array_like const& output, array_like const& saved,
                         std::int64_t budget, optional_array const& gradient, std::int64_t input, std::uint64_t slots) {
  auto const blocks = blocks_of(forward, backward, output, saved, gradient);
  return interruptible([=] {
    recompute_plan out{ballast::checkpoint_chain(blocks, {.budget = budget, .input = input, .slots = slots})};
    ballast::require(out.schedule.status == ballast::status::feasible, [&] {
      return "budget = " + std::to_string(budget) +
             (out.schedule.status == ballast::status::infeasible ? " is too small for any schedule of this chain"
                                                                 : " may be enough, but not in units of budget / slots: give more slots");
    });
    if (auto const figures = ballast::chain_peak(blocks, input, out.schedule.steps)) out.peak = figures->peak;
    return out;
  });
}

}  // namespace

void bind_chains(nb::module_& m) {
  using stages = ballast::staged<>;
  nb::class_<stages>(m, "Stages", "A chain of layers, cut into stages.")
      .def_prop_ro(
          "boundaries", [](nb::handle self) { return view(nb::cast<stages const&>(self).boundaries, self); },
          "Stage s has layers boundaries[s] to boundaries[s + 1] - 1.")
      .def_prop_ro(
          "bottleneck", [](stages const& s) { return s.bottleneck.value; }, "Cost of the most expensive stage; the least possible.")
      .def_prop_ro(
          "lower_bound", [](stages const& s) { return s.bottleneck.lower_bound; }, "Lower bound of any partition.")
      .def("__repr__", [](stages const& s) {
        return "<Stages: " + ballast_cli::counted(s.boundaries.back(), "layer") + " in " +
               ballast_cli::counted(s.boundaries.size() - 1, "stage") + ", the slowest costs " + std::to_string(s.bottleneck.value) + ">";
      });
  m.def(
      "partition",
      [](array_like const& costs, std::uint64_t stage_count, std::uint64_t min_layers, optional_array const& sizes,
         optional_array const& capacities, optional_array const& unit_times, optional_array const& transfers) {
        integers const layers(costs, "costs");
        auto const size = copy_of(sizes, "sizes"), capacity = copy_of(capacities, "capacities"),
                   unit_time = copy_of(unit_times, "unit_times"), transfer = copy_of(transfers, "transfers");
        auto out = interruptible([=] {
          return ballast::min_max_partition(layers.range(), {.stages = stage_count,
                                                             .min_layers = min_layers,
                                                             .unit_time = unit_time,
                                                             .size = size,
                                                             .capacity = capacity,
                                                             .transfer = transfer});
        });
        ballast::require(out.status == ballast::status::feasible, [&] {
          return "there is no partition into " + std::to_string(stage_count) + " stages (" + std::string(ballast::to_string(out.bound)) +
                 "): " + std::to_string(out.bottleneck.lower_bound) + " are needed, " + std::to_string(out.bottleneck.value) + " are there";
        });
        return out;
      },
      "costs"_a, "stages"_a, nb::kw_only(), "min_layers"_a = 1, "sizes"_a = nb::none(), "capacities"_a = nb::none(),
      "unit_times"_a = nb::none(), "transfers"_a = nb::none(),
      "Cuts a chain of layers into stages such that the most expensive stage costs least; the result is optimal.\n\n"
      "`costs` is one integer for each layer. The sizes of the layers of a stage sum to at most its capacity. `unit_times` are the\n"
      "times of a unit of cost on each stage, `transfers` the times of the inner cuts.");
  nb::class_<recompute_plan>(m, "Recompute", "A schedule of a chain within a budget of memory.")
      .def_prop_ro("steps", &steps_of, nb::sig("def steps(self) -> list[tuple[str, int]]"),
                   "What is done, in order: (\"forward\", block) keeps only the output, (\"save\", block) all that the backward needs.")
      .def_prop_ro(
          "time", [](recompute_plan const& p) { return p.schedule.time.value; }, "Time of all steps.")
      .def_prop_ro(
          "lower_bound", [](recompute_plan const& p) { return p.schedule.time.lower_bound; },
          "No schedule that keeps what it keeps until its backward is faster.")
      .def_prop_ro(
          "peak", [](recompute_plan const& p) { return p.peak; }, "Largest number of live bytes.")
      .def("__repr__", [](recompute_plan const& p) {
        return "<Recompute: " + ballast_cli::counted(p.schedule.steps.size(), "step") + " in time " +
               std::to_string(p.schedule.time.value) + ", at most " + ballast_cli::counted(static_cast<std::uint64_t>(p.peak), "byte") +
               ">";
      });
  m.def("recompute", &recompute, "forward"_a, "backward"_a, "output"_a, "saved"_a, "budget"_a, nb::kw_only(), "gradient"_a = nb::none(),
        "input"_a = 0, "slots"_a = 500,
        "The fastest schedule of a chain of blocks whose live bytes stay within `budget`.\n\n"
        "For each block: the times of its forward and backward, the bytes of its output, and of all that its backward needs, the output\n"
        "included. `gradient` is the bytes of the output's gradient, by default those of the output; `input` the bytes of the chain's\n"
        "input.");
}

}  // namespace ballast_python
