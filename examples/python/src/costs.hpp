// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "any_cost.hpp"
#include "arrays.hpp"

// What an argument `cost` may be.

namespace ballast_python {

/// An argument that names a cost, or None if the caller named none.
class cost_argument : public nb::object {
  NB_OBJECT_DEFAULT(cost_argument, nb::object, "str | Cost | Transformer | numpy.typing.ArrayLike | None", is_any_object)
};

/// The cost that an argument names. Needs the GIL. Throws invalid_input if it names none, or lacks the cost of a length.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, integers const& lengths);
/// The same where no lengths are known yet.
[[nodiscard]] any_cost cost_of(cost_argument const& argument);

}  // namespace ballast_python
