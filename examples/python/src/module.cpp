// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <ballast/core/version.hpp>

#include <string>

#include "binders.hpp"

NB_MODULE(_ballast, m) {
  m.doc() = "Plans balanced training of large models.";
#ifdef NDEBUG  // what daemon threads hold, as those of loaders and queues, Python never frees: at exit that looks like a leak
  nanobind::set_leak_warnings(false);
#endif
  m.def("_warn_of_leaks", [] { nanobind::set_leak_warnings(true); }, "Lets Python say at exit what it never freed: for tests.");
  auto const version = ballast::version;
  m.attr("__version__") = std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
  ballast_python::bind_costs(m);
  ballast_python::bind_models(m);
  ballast_python::bind_groups(m);
  ballast_python::bind_report(m);
  ballast_python::bind_packing(m);
  ballast_python::bind_steps(m);
  ballast_python::bind_micro_batches(m);
  ballast_python::bind_balance(m);
  ballast_python::bind_run(m);
  ballast_python::bind_layout(m);
  ballast_python::bind_loss(m);
  ballast_python::bind_memory(m);
  ballast_python::bind_check(m);
  ballast_python::bind_chains(m);
  ballast_python::bind_streams(m);
  ballast_python::bind_shards(m);
  ballast_python::bind_chunks(m);
  ballast_python::bind_levels(m);
}
