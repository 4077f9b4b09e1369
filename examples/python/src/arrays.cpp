// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <limits>
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

}  // namespace

integers::integers(nb::handle argument, char const* name) {
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
