// SPDX-License-Identifier: Apache-2.0
// Linked with ballast::compiled, which holds the planner.
#include <ballast/batching/plan_steps.hpp>

#include <vector>

#ifndef BALLAST_COMPILED
#error "ballast::compiled defines BALLAST_COMPILED"
#endif

int main() {
  std::vector<int> const lengths{700, 2100, 350, 4000, 1200, 90, 3300, 640};
  ballast::batching_options const options{.capacity = 4096, .ranks = 2};
  auto const plan = ballast::plan_steps(lengths, options, ballast::token_cost{});
  return plan.steps() > 0 && plan.complete ? 0 : 1;
}
