// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "sample_numbers.hpp"

// Plans as numbers and arrays, for pickle: nothing is planned again. Arrays are views of a plan that `owner` keeps alive.

namespace ballast_python {

[[nodiscard]] nb::tuple saved(ballast::batching<> const& plan, nb::handle owner);
[[nodiscard]] nb::tuple saved(ballast::packing<> const& plan, nb::handle owner);
[[nodiscard]] nb::object saved(std::vector<ballast::sample_piece> const& pieces);
[[nodiscard]] nb::tuple saved(sample_numbers const& numbers, nb::handle owner);

/// Throw invalid_input unless a plan was saved so.
[[nodiscard]] ballast::batching<> batching_of(nb::handle saved);
[[nodiscard]] ballast::packing<> packing_of(nb::handle saved);
[[nodiscard]] std::vector<ballast::sample_piece> pieces_from(nb::handle saved);
[[nodiscard]] sample_numbers sample_numbers_from(nb::handle saved);

/// The entries of an array.
template <class T>
[[nodiscard]] std::vector<T> vector_of(nb::handle array) {
  auto const from = nb::cast<nb::ndarray<T const, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(array);
  return std::vector<T>(from.data(), from.data() + from.shape(0));
}

}  // namespace ballast_python
