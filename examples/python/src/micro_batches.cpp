// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "binders.hpp"
#include "costs.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "planners.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

inline constexpr word<bool> order_words[] = {{"any", false}, {"small_ends", true}};

struct global_batch {
  std::int64_t capacity = 0;
  std::uint64_t exactly = 0, at_least = 1, multiple = 1;
  bool equal_counts = false, small_ends = false;
};

ballast::micro_batching<> split(std::shared_ptr<planned_lengths const> const& lengths, any_cost const& cost, optional_array const& together,
                                optional_array const& apart, global_batch const& by) {
  auto const same = lengths->keys(together, "together"), other = lengths->keys(apart, "apart");
  return lengths->plan([&] {
    return interruptible(lengths->size(), [=] {
      ballast::batching_options const options{.capacity = by.capacity, .micro_batches = by.multiple};
      return micro_batches(*lengths, options, cost,
                           {.together = same,
                            .apart = other,
                            .at_least = by.at_least,
                            .exactly = by.exactly,
                            .equal_counts = by.equal_counts,
                            .small_ends = by.small_ends});
    });
  });
}

nb::typed<nb::list, view_of<std::uint32_t>> micro_batch_list(array_like const& lengths, std::int64_t capacity,
                                                             std::optional<std::uint64_t> exactly, std::uint64_t at_least,
                                                             std::uint64_t multiple, optional_array const& together,
                                                             optional_array const& apart, bool equal_counts, std::string const& order,
                                                             cost_argument const& cost, optional_array const& costs,
                                                             std::string const& zero_length) {
  auto const given = planned_lengths::of(lengths, zero_length);
  require_within(given->given(), capacity, "micro_batches");
  ballast::require(exactly != 0U, [] { return "exactly = 0 must be positive, or None for as few as are found"; });
  auto const plan = split(given, given->cost(cost, costs, capacity), together, apart,
                          {capacity, exactly.value_or(0), at_least, multiple, equal_counts, value_named(order_words, order, "order")});
  ballast::require(plan.status == ballast::status::feasible, [&] {
    return "exactly = " + std::to_string(plan.count.value) + " micro-batches were not found for " + std::to_string(given->size()) +
           " samples; the lower bound is " + std::to_string(plan.count.lower_bound);
  });
  ballast::groups<> out;  // in the order of training
  for (std::size_t s = 0; s < plan.steps(); ++s)
    for (auto const pack : plan.packs_of(s)) out.push_back(pack);
  for (auto& sample : out.members) sample = given->numbers()(sample);
  return list_of(std::move(out));
}

}  // namespace

void bind_micro_batches(nb::module_& m) {
  m.def("micro_batches", &micro_batch_list, "lengths"_a, "capacity"_a, nb::kw_only(), "exactly"_a = nb::none(), "at_least"_a = 1,
        "multiple"_a = 1, "together"_a = nb::none(), "apart"_a = nb::none(), "equal_counts"_a = false, "order"_a = "any",
        "cost"_a = nb::none(), "costs"_a = nb::none(), "zero_length"_a = "error",
        "Splits the samples of one rank in one step into micro-batches of at most `capacity` tokens: as few as a search finds, and\n"
        "balanced by `cost`, which has no default, or by `costs`, integers, one for each sample. Returns a list of arrays of sample "
        "indices.\n\n"
        "The number is a multiple of `multiple`, not below `at_least`, and `exactly` that many if it is given: ValueError is raised if\n"
        "no such plan is found. Samples with equal `together` keys share a micro-batch; those with different `apart` keys never do.\n"
        "With `order=\"small_ends\"` the cheapest micro-batches come first and last. `zero_length` says what happens to samples without\n"
        "tokens: \"error\", or \"skip\", which leaves them out of all micro-batches.");
  m.def(
      "least_micro_batches",
      [](array_like const& lengths, std::int64_t capacity, std::uint64_t at_least, std::uint64_t multiple, optional_array const& together,
         optional_array const& apart, std::string const& zero_length) {
        return split(planned_lengths::of(lengths, zero_length), {}, together, apart, {capacity, 0, at_least, multiple}).count.value;
      },
      "lengths"_a, "capacity"_a, nb::kw_only(), "at_least"_a = 1, "multiple"_a = 1, "together"_a = nb::none(), "apart"_a = nb::none(),
      "zero_length"_a = "error",
      "The number of micro-batches that ballast.micro_batches makes of these samples. Ranks take the largest of theirs, and pass it\n"
      "as `exactly`.");
}

}  // namespace ballast_python
