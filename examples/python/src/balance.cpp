// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "binders.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planners.hpp"

namespace ballast_python {

void bind_balance(nb::module_& m) {
  m.def(
      "balance",
      [](array_like const& weights, std::uint64_t sets, bool equal_size) {
        integers const given(weights, "weights");
        require_fitting("sets", sets, given.size());
        auto plan = interruptible(given.size(), [=] { return balance(given, {.sets = sets, .equal_counts = equal_size}); });
        return list_of(std::move(plan.sets));
      },
      "weights"_a, "sets"_a, "equal_size"_a = false,
      "Distributes items over a number of sets such that the largest sum of weights is small. Returns a list of arrays of indices.\n\n"
      "With `equal_size`, the numbers of items in any two sets differ by at most one.");
}

}  // namespace ballast_python
