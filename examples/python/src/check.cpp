// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <ballast/batching/check.hpp>
#include <ballast/packing/check.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "interrupt.hpp"
#include "plans.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

/// A sequence of arrays of indices: packs that anybody made.
class array_sequence : public nb::object {
  NB_OBJECT_DEFAULT(array_sequence, nb::object, "collections.abc.Sequence[numpy.typing.ArrayLike]", is_any_object)
};

ballast::groups<> groups_of(array_sequence const& packs) {
  ballast::groups<> out;
  std::vector<std::uint32_t> members;
  for (auto const pack : packs) {
    integers const given(pack, "packs");
    members.resize(given.size());
    for (std::size_t i = 0; i < given.size(); ++i)  // what is out of range stays out of range, for the validator to name
      members[i] = std::in_range<std::uint32_t>(given[i]) ? static_cast<std::uint32_t>(given[i]) : 0xffffffffU;
    out.push_back(members);
  }
  return out;
}

template <class Verdict>
std::string sentence_or_throw(Verdict const& v) {
  if (!v.valid()) throw ballast::invalid_input(ballast::describe(v));
  return ballast::describe(v);
}

}  // namespace

void bind_check(nb::module_& m) {
  m.def(
      "check",
      [](packing_plan const& plan, array_like const& lengths) {
        integers const given(lengths, "lengths");
        return sentence_or_throw(without_gil([&] { return ballast::check_packing(plan.plan, given.range(), plan.options); }));
      },
      "plan"_a, "lengths"_a,
      "Checks a plan by a validator that shares no code with the planners: every sample once, no capacity exceeded, true figures.\n"
      "Raises ValueError with a sentence that names the first fault, and returns a sentence if there is none.");
  m.def(
      "check",
      [](step_plan const& p, array_like const& lengths, optional_array const& together) {
        integers const given(lengths, "lengths");
        auto const keys = keys_of(together, "together");
        return sentence_or_throw(
            without_gil([&] { return ballast::check_batching(p.plan, given.range(), p.options, p.cost, p.share_overhead, keys); }));
      },
      "plan"_a, "lengths"_a, nb::kw_only(), "together"_a = nb::none(), "The same for a plan of steps.");
  m.def(
      "check",
      [](array_sequence const& packs, array_like const& lengths, std::int64_t capacity, std::string const& oversize,
         std::int64_t pack_multiple, std::int64_t sample_multiple, std::uint64_t max_items) {
        integers const given(lengths, "lengths");
        auto const groups = groups_of(packs);
        ballast::packing_options const options{.capacity = capacity,
                                               .max_samples = max_items,
                                               .sample_multiple = sample_multiple,
                                               .pack_multiple = pack_multiple,
                                               .oversize = value_named(oversize_words, oversize, "oversize")};
        return sentence_or_throw(without_gil([&] { return ballast::check_packing(groups, given.range(), options); }));
      },
      "packs"_a, "lengths"_a, "capacity"_a, nb::kw_only(), "oversize"_a = "reject", "pack_multiple"_a = 1, "sample_multiple"_a = 1,
      "max_items"_a = 0, "The same for packs that any planner made.");
}

}  // namespace ballast_python
