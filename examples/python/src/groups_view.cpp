// SPDX-License-Identifier: Apache-2.0
#include "groups_view.hpp"

#include <memory>
#include <string>
#include <utility>

#include "binders.hpp"
#include "report/output.hpp"

namespace ballast_python {

namespace {

view_of<std::uint32_t> at(groups_view const& self, nb::handle index) {
  auto const i = index_of(index, "pack");
  auto const place = checked(i < 0 && i >= -self.count ? i + self.count : i, static_cast<std::size_t>(self.count), "pack");
  auto const members = (*self.groups)[static_cast<std::size_t>(self.first + static_cast<std::int64_t>(place) * self.step)];
  return view(members.data(), members.size(), self.owner);
}

groups_view part_of(groups_view const& self, nb::slice const& slice) {
  auto const [start, stop, step, count] = slice.compute(static_cast<std::size_t>(self.count));
  static_cast<void>(stop);
  return {self.owner, self.groups, self.first + static_cast<std::int64_t>(start) * self.step, self.step * static_cast<std::int64_t>(step),
          static_cast<std::int64_t>(count)};
}

}  // namespace

std::int64_t index_of(nb::handle index, char const* what) {
  if (PyIndex_Check(index.ptr()) == 0) {
    auto const type = nb::cast<std::string>(index.type().attr("__name__"));
    throw nb::type_error(ballast::sentence(what, "s are numbered by integers, not by an index of type ", type).c_str());
  }
  auto const i = PyNumber_AsSsize_t(index.ptr(), nullptr);  // of integers that are too large it makes the largest
  if (i == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return i;
}

std::size_t checked(std::int64_t index, std::size_t count, char const* what) {
  if (index < 0 || std::cmp_greater_equal(index, count))
    throw nb::index_error(ballast::sentence(what, " ", index, " is out of range: there are ", count).c_str());
  return static_cast<std::size_t>(index);
}

nb::typed<nb::list, view_of<std::uint32_t>> list_of(ballast::groups<>&& groups) {
  auto kept = std::make_unique<ballast::groups<>>(std::move(groups));
  auto* const data = kept.get();
  nb::capsule const owner(data, [](void* p) noexcept { delete static_cast<ballast::groups<>*>(p); });
  static_cast<void>(kept.release());
  nb::typed<nb::list, view_of<std::uint32_t>> out;
  for (auto const group : *data) out.append(view(group.data(), group.size(), owner));
  return out;
}

void bind_groups(nb::module_& m) {
  nb::class_<groups_view>(m, "Packs",
                          "A sequence of packs, each a read-only array of sample indices. An array is made when it is asked for, over the\n"
                          "memory of the plan, and keeps the plan alive.")
      .def("__len__", [](groups_view const& self) { return self.count; })
      .def("__getitem__", &part_of, "range"_a, "Some of the packs, as a sequence.")
      .def("__getitem__", &at, "index"_a.none(), nb::sig("def __getitem__(self, index: int) -> numpy.typing.NDArray[numpy.uint32]"),
           "The sample indices of one pack.")
      .def(
          "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[numpy.typing.NDArray[numpy.uint32]]"))
      .def("__repr__", [](groups_view const& self) { return "<" + ballast_cli::counted(self.count, "pack") + ">"; });
}

}  // namespace ballast_python
