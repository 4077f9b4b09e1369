// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>

#include <cstdint>
#include <string>
#include <vector>

// A plan beside what trainers do without one, on the same samples, with the same cost, capacity, ranks and micro-batches.

namespace ballast_python {

struct compared_plan {
  std::string name, how;
  ballast::plan_figures figures;
};

struct plan_comparison {
  std::vector<compared_plan> plans;  ///< the last is the plan
  ballast::batching_options options;
  double ms_per_unit = 0;             ///< of the cost; 0: the cost says no time
  double slowest_over_mean = 1;       ///< no plan of these samples is below
  ballast::certificate packs;         ///< of the plan
  std::string pack_bound;             ///< what proves the lower bound
  std::vector<std::int64_t> tokens;   ///< of each sample or piece that the plan trains
  std::uint64_t set_aside = 0;        ///< samples that it does not
  std::vector<std::string> limits{};  ///< sentences
};

/// Figures of a plan and of the others. `options` are those that it was planned with.
[[nodiscard]] plan_comparison compare_with_baselines(ballast::data_plan<> const& plan, ballast::data_plan_options const& options,
                                                     double ms_per_unit);

}  // namespace ballast_python
