// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <optional>

#include "any_cost.hpp"
#include "arrays.hpp"

// What an argument `cost` may be.

namespace ballast_python {

/// An argument that names a cost, or None if the caller named none.
class cost_argument : public nb::object {
  NB_OBJECT_DEFAULT(cost_argument, nb::object,
                    "str | Cost | Transformer | os.PathLike[str] | collections.abc.Mapping[str, object] | "
                    "collections.abc.Callable[[int], float] | numpy.typing.ArrayLike | None",
                    is_any_object)
};

/// The shape of what ballast.models.shape_of knows: a name, a config or where it is, a module; none of an array. Needs the GIL.
/// @param images  whether the language model of one that reads images too will do
[[nodiscard]] std::optional<ballast::transformer> shape_of(nb::handle model, bool images = true);

/// The cost that an argument names, of a model in micro-batches of a capacity. Needs the GIL. Throws invalid_input if it names none, or
/// lacks the cost of a length.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, integers const& lengths, std::int64_t capacity);
/// The same, or the cost of each sample if `costs` are given.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, optional_array const& costs, integers const& lengths, std::int64_t capacity);
/// The same where no lengths are known yet.
[[nodiscard]] any_cost cost_of(cost_argument const& argument, std::int64_t capacity, char const* name = "cost");
/// Prices micro-batches by the cost, in a unit in which all samples can be planned, unless the options have prices.
void price_micro_batches(ballast::batching_options& options, any_cost& cost, integers const& lengths);

/// The shape of a model in a line.
[[nodiscard]] std::string in_a_line(ballast::transformer const& model);

}  // namespace ballast_python
