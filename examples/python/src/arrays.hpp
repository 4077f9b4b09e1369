// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integer_view.hpp"

// Arrays from Python and back. What comes in is read where it lies; what goes out is a view that keeps its plan alive.

namespace ballast_python {

namespace nb = nanobind;
using namespace nanobind::literals;

inline bool is_any_object(PyObject*) noexcept { return true; }

/// An argument that holds integers: an array of NumPy, or what NumPy makes an array of.
class array_like : public nb::object {
  NB_OBJECT_DEFAULT(array_like, nb::object, "numpy.typing.ArrayLike", is_any_object)
};
/// The same, or None.
class optional_array : public nb::object {
  NB_OBJECT_DEFAULT(optional_array, nb::object, "numpy.typing.ArrayLike | None", is_any_object)
};

/// Integers of an array of Python, read where they lie. Lists, and arrays that are not aligned or not contiguous, were copied.
class integers : public integer_view {
 public:
  /// Reads an argument; `name` is what errors call it. Needs the GIL. Throws invalid_input with a sentence.
  integers(nb::handle argument, char const* name);

 private:
  nb::object array_;
  std::shared_ptr<std::vector<std::int64_t> const> listed_;  ///< of a list
};

/// The numbers of an argument, whole or not. Needs the GIL. Throws invalid_input with a sentence.
[[nodiscard]] std::vector<double> numbers_of(array_like const& argument, char const* name);

/// Refuses a number of entries that is large beside the `given` ones, before they take memory.
void require_fitting(char const* name, std::uint64_t count, std::uint64_t given);

/// Keys of samples: any integers, one for each sample; no keys if the argument is None.
[[nodiscard]] std::vector<std::uint64_t> keys_of(optional_array const& argument, char const* name);

template <class T>
using view_of = nb::ndarray<nb::numpy, T const, nb::ndim<1>>;

/// A read-only view of memory that `owner` keeps alive.
template <class T>
[[nodiscard]] view_of<T> view(T const* data, std::size_t size, nb::handle owner) {
  static constexpr T nothing{};
  return view_of<T>(size == 0 ? &nothing : data, {size}, owner);
}
template <class T>
[[nodiscard]] view_of<T> view(std::vector<T> const& of, nb::handle owner) {
  return view(of.data(), of.size(), owner);
}

/// An array that owns its memory.
template <class T>
[[nodiscard]] nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T>&& values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  auto* const data = kept.get();
  nb::capsule const owner(data, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  static_cast<void>(kept.release());
  static T nothing{};
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data->empty() ? &nothing : data->data(), {data->size()}, owner);
}

}  // namespace ballast_python
