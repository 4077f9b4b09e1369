// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"

// Groups of indices as a sequence of Python: an array is made when it is asked for, over the memory of the plan.

namespace ballast_python {

/// Some groups of a plan: `count` of them from `first` on, `step` apart. The plan is kept alive by `owner`.
struct groups_view {
  nb::object owner;
  ballast::groups<> const* groups = nullptr;
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// All groups of a plan.
[[nodiscard]] inline groups_view all_of(ballast::groups<> const& groups, nb::handle owner) {
  return {nb::borrow(owner), &groups, 0, 1, static_cast<std::int64_t>(groups.size())};
}

/// A sequence of arrays of indices: packs that anybody made.
class array_sequence : public nb::object {
  NB_OBJECT_DEFAULT(array_sequence, nb::object, "collections.abc.Sequence[numpy.typing.ArrayLike]", is_any_object)
};

[[nodiscard]] inline ballast::groups<> groups_of(array_sequence const& packs, char const* name = "packs") {
  ballast::groups<> out;
  std::vector<std::uint32_t> members;
  ballast::require(nb::hasattr(packs, "__iter__"), [] { return "packs must be a sequence of arrays, one for each pack"; });
  for (auto const pack : packs) {
    integers const given(pack, name);
    members.resize(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      ballast::require(std::in_range<std::uint32_t>(given[i]), [&] {
        return ballast::sentence(name, "[", out.size(), "] holds ", given[i], ", which is no sample: samples are numbered from 0");
      });
      members[i] = static_cast<std::uint32_t>(given[i]);
    }
    out.push_back(members);
  }
  return out;
}

/// The integer that an index is; raises TypeError if it is none.
[[nodiscard]] std::int64_t index_of(nb::handle index, char const* what);

/// An index from 0 that is below `count`; raises IndexError if it is not.
[[nodiscard]] std::size_t checked(std::int64_t index, std::size_t count, char const* what);

/// Groups that belong to no plan, as a list of arrays over one block of memory.
[[nodiscard]] nb::typed<nb::list, view_of<std::uint32_t>> list_of(ballast::groups<>&& groups);

}  // namespace ballast_python
