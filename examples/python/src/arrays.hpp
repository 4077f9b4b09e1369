// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

/// Integers of an array of Python, read where they lie. Arrays that are not aligned or not contiguous were copied.
class integers {
 public:
  enum class kind : std::uint8_t { i32, i64, u16, u32 };

  /// Reads an argument; `name` is what errors call it. Needs the GIL. Throws invalid_input with a sentence.
  integers(nb::handle argument, char const* name);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const noexcept {
    switch (kind_) {
      case kind::i32: return static_cast<std::int32_t const*>(data_)[i];
      case kind::i64: return static_cast<std::int64_t const*>(data_)[i];
      case kind::u16: return static_cast<std::uint16_t const*>(data_)[i];
      case kind::u32: return static_cast<std::uint32_t const*>(data_)[i];
    }
    return 0;
  }
  /// The integers as a range of int64, whatever the array holds.
  [[nodiscard]] auto range() const noexcept {
    return std::views::iota(std::int32_t{0}, static_cast<std::int32_t>(size_)) |
           std::views::transform([this](std::int32_t i) { return (*this)[static_cast<std::size_t>(i)]; });
  }
  /// Calls `body` with a span of the array's own type.
  template <class Body>
  [[nodiscard]] decltype(auto) visit(Body const& body) const {
    switch (kind_) {
      case kind::i32: return body(span<std::int32_t>());
      case kind::u16: return body(span<std::uint16_t>());
      case kind::u32: return body(span<std::uint32_t>());
      case kind::i64: break;
    }
    return body(span<std::int64_t>());
  }
  [[nodiscard]] std::vector<std::int64_t> copy() const {
    std::vector<std::int64_t> out(size_);
    for (std::size_t i = 0; i < size_; ++i) out[i] = (*this)[i];
    return out;
  }
  /// The array that is read: the argument itself, unless it had to be copied.
  [[nodiscard]] nb::object const& array() const noexcept { return array_; }

 private:
  template <class T>
  [[nodiscard]] std::span<T const> span() const noexcept {
    return {static_cast<T const*>(data_), size_};
  }

  nb::object array_;
  void const* data_ = nullptr;
  std::size_t size_ = 0;
  kind kind_ = kind::i64;
};

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
