// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

// Each source adds its functions to the module.

namespace ballast_python {

void bind_models(nanobind::module_& m);
void bind_costs(nanobind::module_& m);
void bind_groups(nanobind::module_& m);
void bind_packing(nanobind::module_& m);
void bind_steps(nanobind::module_& m);
void bind_micro_batches(nanobind::module_& m);
void bind_balance(nanobind::module_& m);
void bind_run(nanobind::module_& m);
void bind_layout(nanobind::module_& m);
void bind_loss(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_check(nanobind::module_& m);
void bind_chains(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_shards(nanobind::module_& m);
void bind_chunks(nanobind::module_& m);
void bind_levels(nanobind::module_& m);
void bind_report(nanobind::module_& m);

}  // namespace ballast_python
