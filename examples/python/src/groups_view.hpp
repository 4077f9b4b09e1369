// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"

// Groups of indices as a sequence of Python: an array is made when it is asked for, over the memory of the plan.

namespace ballast_python {

/// Some groups of a plan: `count` of them from `first` on, `step` apart. The plan is kept alive by `owner`.
struct groups_view {
  nb::object owner;
  ballast::groups<> const* groups = nullptr;
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// All groups of a plan.
[[nodiscard]] inline groups_view all_of(ballast::groups<> const& groups, nb::handle owner) {
  return {nb::borrow(owner), &groups, 0, 1, static_cast<std::int64_t>(groups.size())};
}

/// Groups that belong to no plan, as a list of arrays over one block of memory.
[[nodiscard]] nb::typed<nb::list, view_of<std::uint32_t>> list_of(ballast::groups<>&& groups);

}  // namespace ballast_python
