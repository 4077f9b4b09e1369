// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "baselines.hpp"
#include "binders.hpp"
#include "report/page.hpp"
#include "report/words.hpp"

namespace ballast_python {

namespace {

/// The page of the command line, with these plans.
std::string page_of(plan_comparison const& of, std::string const& title, std::string const& model, std::string const& device,
                    std::vector<std::string> const& sentences) {
  auto const& o = of.options;
  ballast_cli::report_data page{.title = title,
                                .samples = of.tokens.size(),
                                .capacity = static_cast<std::uint64_t>(o.capacity),
                                .ranks = o.ranks,
                                .micro_batches = o.micro_batches,
                                .model = model,
                                .device = device,
                                .bin_edges = {},
                                .bin_samples = {},
                                .bin_tokens = {},
                                .plans = {},
                                .single_sample_bound = of.slowest_over_mean,
                                .pack_bound = static_cast<std::uint64_t>(of.packs.lower_bound),
                                .pack_bound_by = of.pack_bound,
                                .limits = of.limits,
                                .command = "plan.report(path)"};
  for (auto const n : of.tokens) page.tokens += static_cast<std::uint64_t>(n);
  page.limits.insert(page.limits.end(), sentences.begin(), sentences.end());
  auto const ms = of.ms_per_unit > 0 ? of.ms_per_unit : 1;
  for (auto const& plan : of.plans) page.plans.push_back(ballast_cli::row_of(plan.name, plan.how, plan.figures, ms));
  if (!of.tokens.empty()) ballast_cli::add_histogram(page, of.tokens);
  return render_report(page);
}

/// A tuple for each plan: ballast.report.Row says of what.
nb::list rows_of(plan_comparison const& of) {
  nb::list out;
  auto const own = of.plans.back().figures.modelled_total_ms;
  for (auto const& plan : of.plans) {
    auto const& f = plan.figures;
    out.append(nb::make_tuple(plan.name, plan.how, f.idle, f.fill, f.packs, f.steps, own > 0 ? f.modelled_total_ms / own : 1.0));
  }
  return out;
}

}  // namespace

void bind_report(nb::module_& m) {
  nb::class_<plan_comparison>(m, "Comparison", "A plan beside others of the same samples: what ballast.report.Report shows.")
      .def_prop_ro("rows", &rows_of, nb::sig("def rows(self) -> list[tuple[str, str, float, float, int, int, float]]"),
                   "Of each plan: name, how it is made, idle, fill, packs, steps, time over that of the last, which is the plan itself.")
      .def_prop_ro(
          "samples", [](plan_comparison const& c) { return c.tokens.size(); }, "Samples and pieces that the plan trains.")
      .def_prop_ro(
          "tokens", [](plan_comparison const& c) { return c.plans.back().figures.tokens; }, "Their tokens.")
      .def_prop_ro(
          "capacity", [](plan_comparison const& c) { return c.options.capacity; }, "Tokens of a micro-batch.")
      .def_prop_ro(
          "ranks", [](plan_comparison const& c) { return c.options.ranks; }, "Data-parallel ranks.")
      .def_prop_ro(
          "micro_batches", [](plan_comparison const& c) { return c.options.micro_batches; }, "Micro-batches of a rank in a step.")
      .def_prop_ro(
          "least_idle", [](plan_comparison const& c) { return 1 - 1 / c.slowest_over_mean; }, "No plan of these samples waits less.")
      .def_prop_ro(
          "least_packs", [](plan_comparison const& c) { return c.packs.lower_bound; }, "No plan of these samples has fewer packs.")
      .def_prop_ro(
          "timed", [](plan_comparison const& c) { return c.ms_per_unit > 0; }, "Whether the cost says milliseconds.")
      .def("page", &page_of, "title"_a, "model"_a, "device"_a, "sentences"_a, "The page of the command line, as HTML.");
}

}  // namespace ballast_python
