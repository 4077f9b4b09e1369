// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

namespace ballast_python {

namespace {

using ballast::require;

/// The integers of an array that is not one of the four kinds, or is not where C++ can read it, in an array that is.
nb::object readable(nb::object const& array, char const* name) {
  auto const numpy = nb::module_::import_("numpy");
  nb::object const dtype = array.attr("dtype");
  auto const kind = nb::cast<std::string>(dtype.attr("kind"));
  auto const width = nb::cast<std::int64_t>(dtype.attr("itemsize"));
  if (kind == "u" && width == 8) {
    auto const n = nb::len(array);
    require(n == 0 || array.attr("max")() <= nb::int_((std::numeric_limits<std::int64_t>::max)()),
            [&] { return std::string(name) + " has entries of 2^63 or more"; });
  }
  auto const native = width == 4 || (width == 2 && kind == "u");
  nb::object const type = native ? nb::object(dtype.attr("newbyteorder")("=")) : numpy.attr("dtype")("int64");
  return numpy.attr("require")(array.attr("astype")(type, "copy"_a = false), "requirements"_a = nb::make_tuple("C", "A"));
}

void require_one_dimension(nb::object const& array, char const* name) {
  auto const dimensions = nb::cast<std::size_t>(array.attr("ndim"));
  require(dimensions == 1, [&] { return std::string(name) + " has " + std::to_string(dimensions) + " dimensions: it must have one"; });
}

/// The memory of an array of NumPy, of no derived type, if C++ can read it where it is; its errors are found elsewhere.
std::optional<integer_view> seen_in(nb::handle argument) {
  static PyObject* array_type = nullptr;  // kept; the GIL is held
  if (array_type == nullptr) array_type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  if (argument.type().ptr() != array_type) return std::nullopt;
  Py_buffer memory;
  if (PyObject_GetBuffer(argument.ptr(), &memory, PyBUF_ND | PyBUF_FORMAT) != 0) {
    PyErr_Clear();  // it is not contiguous
    return std::nullopt;
  }
  std::string_view const format = memory.format;
  auto const is = [&](char const* letters, Py_ssize_t width) {
    return format.size() == 1 && memory.itemsize == width && std::string_view(letters).find(format[0]) != std::string_view::npos;
  };
  using kind = integer_view::kind;
  std::optional<kind> what;
  if (is("il", 4)) what = kind::i32;
  if (is("lq", 8)) what = kind::i64;
  if (is("H", 2)) what = kind::u16;
  if (is("IL", 4)) what = kind::u32;
  std::optional<integer_view> out;
  if (what && memory.ndim == 1 && memory.shape[0] > 0 && memory.shape[0] < Py_ssize_t{1} << 31 &&
      reinterpret_cast<std::uintptr_t>(memory.buf) % static_cast<std::size_t>(memory.itemsize) == 0)
    out.emplace(memory.buf, static_cast<std::size_t>(memory.shape[0]), *what);
  PyBuffer_Release(&memory);
  return out;
}

/// The integers of a list that holds no other objects and none of 2^63 or more; empty otherwise.
std::vector<std::int64_t> listed_in(nb::handle argument) {
  std::vector<std::int64_t> out;
  if (!PyList_CheckExact(argument.ptr())) return out;
  auto const n = PyList_Size(argument.ptr());
  out.resize(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    auto* const item = PyList_GetItem(argument.ptr(), i);
    int overflow = 1;
    if (PyLong_CheckExact(item)) out[static_cast<std::size_t>(i)] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) return {};
  }
  return out;
}

}  // namespace

integers::integers(nb::handle argument, char const* name) {
  if (auto const seen = seen_in(argument)) {
    array_ = nb::borrow(argument);
    static_cast<integer_view&>(*this) = *seen;
    return;
  }
  if (auto listed = listed_in(argument); !listed.empty() && listed.size() < std::size_t{1} << 31) {
    listed_ = std::make_shared<std::vector<std::int64_t> const>(std::move(listed));
    static_cast<integer_view&>(*this) = {listed_->data(), listed_->size(), kind::i64};
    return;
  }
  auto const is_lengths = std::string_view(name) == "lengths";  // in their place data sets are given, too
  auto const data_sets = nb::module_::import_("ballast._data_sets");
  array_ = is_lengths ? data_sets.attr("array_of")(argument) : data_sets.attr("as_array")(argument, name);
  require_one_dimension(array_, name);
  auto const n = nb::cast<std::size_t>(array_.attr("size"));
  if (n == 0) return;
  require(n < std::size_t{1} << 31, [&] { return std::string(name) + " has 2^31 entries or more, which this package does not number"; });
  nb::object const dtype = array_.attr("dtype");
  auto const letter = nb::cast<std::string>(dtype.attr("kind"));
  require(letter == "i" || letter == "u", [&] {
    auto const type = nb::cast<std::string>(dtype.attr("name"));
    return std::string(name) + " holds " + type + ", not integers" +
           (letter == "f" ? ": if all are whole, pass " + std::string(name) + ".astype(\"int64\")" : std::string());
  });
  auto const described = [&] {
    nb::object const is = array_.attr("dtype");
    return nb::cast<std::string>(is.attr("kind")) + std::to_string(nb::cast<int>(is.attr("itemsize")));
  };
  auto type = described();
  nb::object const flags = array_.attr("flags");
  auto const read = [&](char const* flag) { return nb::cast<bool>(flags.attr(flag)); };
  auto const known = type == "i4" || type == "i8" || type == "u2" || type == "u4";
  if (!known || !read("aligned") || !read("c_contiguous") || !nb::cast<bool>(dtype.attr("isnative"))) {
    array_ = readable(array_, name);
    type = described();
  }
  auto const memory = nb::cast<nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>>(array_);
  auto const what = type == "i4" ? kind::i32 : type == "u2" ? kind::u16 : type == "u4" ? kind::u32 : kind::i64;
  static_cast<integer_view&>(*this) = {memory.data(), n, what};
}

std::vector<double> numbers_of(array_like const& argument, char const* name) {
  nb::object array = nb::module_::import_("ballast._data_sets").attr("as_array")(argument, name);
  require_one_dimension(array, name);
  nb::object const dtype = array.attr("dtype");
  require(std::string("iuf").find(nb::cast<std::string>(dtype.attr("kind"))) != std::string::npos,
          [&] { return std::string(name) + " holds " + nb::cast<std::string>(dtype.attr("name")) + ", not numbers"; });
  array = nb::module_::import_("numpy").attr("ascontiguousarray")(array, "float64");
  auto const memory = nb::cast<nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(array);
  return {memory.data(), memory.data() + memory.size()};
}

void require_fitting(char const* name, std::uint64_t count, std::uint64_t given) {
  auto const most = (std::max)(std::uint64_t{1} << 24, given);
  require(count <= most, [&] { return ballast::sentence(name, " = ", count, " must be at most ", most, ": each takes memory"); });
}

std::vector<std::uint64_t> keys_of(optional_array const& argument, char const* name) {
  std::vector<std::uint64_t> out;
  if (argument.is_none()) return out;
  integers const keys(argument, name);
  out.reserve(keys.size());
  for (auto const key : keys.range()) out.push_back(static_cast<std::uint64_t>(key));
  return out;
}

}  // namespace ballast_python
