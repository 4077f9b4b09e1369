// SPDX-License-Identifier: Apache-2.0
#include "groups_view.hpp"

#include <memory>
#include <string>

#include "binders.hpp"

namespace ballast_python {

namespace {

view_of<std::uint32_t> at(groups_view const& self, std::int64_t i) {
  auto const place = i < 0 ? i + self.count : i;
  if (place < 0 || place >= self.count)
    throw nb::index_error(("pack " + std::to_string(i) + " is out of range: there are " + std::to_string(self.count)).c_str());
  auto const members = (*self.groups)[static_cast<std::size_t>(self.first + place * self.step)];
  return view(members.data(), members.size(), self.owner);
}

groups_view part_of(groups_view const& self, nb::slice const& slice) {
  auto const [start, stop, step, count] = slice.compute(static_cast<std::size_t>(self.count));
  static_cast<void>(stop);
  return {self.owner, self.groups, self.first + static_cast<std::int64_t>(start) * self.step, self.step * static_cast<std::int64_t>(step),
          static_cast<std::int64_t>(count)};
}

}  // namespace

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
      .def("__getitem__", &at, "index"_a, "The sample indices of one pack.")
      .def("__getitem__", &part_of, "range"_a, "Some of the packs, as a sequence.")
      .def(
          "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[numpy.typing.NDArray[numpy.uint32]]"))
      .def("__repr__", [](groups_view const& self) { return "<" + std::to_string(self.count) + " packs>"; });
}

}  // namespace ballast_python
