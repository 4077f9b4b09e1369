// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>

#include <cstdint>

#include "any_cost.hpp"
#include "arrays.hpp"

// What an argument `cost` may be.

namespace ballast_python {

/// An argument that names a cost, or None if the caller named none.
class cost_argument : public nb::object {
  NB_OBJECT_DEFAULT(cost_argument, nb::object, "str | Cost | Transformer | numpy.typing.ArrayLike | None", is_any_object)
};

/// The cost that an argument names, of a model in micro-batches of a capacity. Needs the GIL. Throws invalid_input if it names none, or
/// lacks the cost of a length.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, integers const& lengths, std::int64_t capacity);
/// The same where no lengths are known yet.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, std::int64_t capacity);
/// Prices micro-batches by the cost, in a unit in which all samples can be planned, unless the options have prices.
void price_micro_batches(ballast::batching_options& options, any_cost& cost, integers const& lengths);

}  // namespace ballast_python
