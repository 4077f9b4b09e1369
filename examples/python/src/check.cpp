// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <ballast/batching/check.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/check_padded.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "plans.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

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
        auto const given = lengths_for(plan, lengths);
        auto const made = planned(plan, *given);
        return sentence_or_throw(interruptible(given->size(), [=, options = plan.options, padded = plan.padded] {
          auto const v = ballast::check_packing(made, given->range(), options);
          return v.valid() && padded ? ballast::check_padded(made.packs, given->range(), options) : v;
        }));
      },
      "plan"_a, "lengths"_a,
      "Checks a plan by a validator that shares no code with the planners: every sample once, no capacity exceeded, true figures.\n"
      "Raises ValueError with a sentence that names the first fault, and returns a sentence if there is none.");
  m.def(
      "check",
      [](step_plan const& p, array_like const& lengths, optional_array const& together) {
        auto const given = lengths_for(p, lengths);
        auto const keys = given->keys(together, "together");
        auto const made = planned(p, *given);
        return sentence_or_throw(interruptible(given->size(), [=, options = p.options, cost = p.cost, overhead = p.share_overhead] {
          return ballast::check_batching(made, given->range(), options, cost, overhead, keys);
        }));
      },
      "plan"_a, "lengths"_a, nb::kw_only(), "together"_a = nb::none(), "The same for a plan of steps.");
  m.def(
      "check",
      [](array_sequence const& packs, array_like const& lengths, std::int64_t capacity, std::string const& oversize,
         std::int64_t pack_multiple, std::int64_t sample_multiple, std::uint64_t max_items, bool padded) {
        integers const given(lengths, "lengths");
        auto const groups = groups_of(packs);
        ballast::packing_options const options{.capacity = capacity,
                                               .max_samples = max_items,
                                               .sample_multiple = sample_multiple,
                                               .pack_multiple = pack_multiple,
                                               .oversize = value_named(oversize_words, oversize, "oversize")};
        return sentence_or_throw(interruptible(given.size(), [=] {
          return padded ? ballast::check_padded(groups, given.range(), options) : ballast::check_packing(groups, given.range(), options);
        }));
      },
      "packs"_a, "lengths"_a, "capacity"_a, nb::kw_only(), "oversize"_a = "reject", "pack_multiple"_a = 1, "sample_multiple"_a = 1,
      "max_items"_a = 0, "padded"_a = false,
      "The same for packs that any planner made. With `padded`, each row takes the length of the longest of its pack.");
}

}  // namespace ballast_python
