// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <ballast/core/classes.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/padded_batches.hpp>
#include <ballast/packing/run_length.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "binders.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "plans.hpp"
#include "report/html.hpp"
#include "saved.hpp"
#include "words.hpp"

namespace ballast_python {

namespace {

using ballast_cli::counted;
using ballast_cli::grouped;

struct request {
  ballast::packing_options options;
  ballast::search_limits limits;
  enum { fast, searched, near_optimal } how = fast;
};

packing_plan run(std::shared_ptr<planned_lengths const> const& lengths, request const& r) {
  if (r.how == request::fast) return {interruptible(lengths->size(), [=] { return pack(*lengths, r.options); }), r.options};
  auto const plan = [=](std::stop_token stop) {
    auto limits = r.limits;
    limits.stop = std::move(stop);
    return r.how == request::near_optimal ? near_optimal(*lengths, r.options, limits) : pack(*lengths, r.options, limits);
  };
  return {interruptible(plan), r.options};
}

packing_plan checked(packing_plan&& made, planned_lengths const& lengths) {
  ballast::require(made.plan.status == ballast::status::feasible, [&] {
    auto const& count = made.plan.count;
    return "pack_count = " + std::to_string(count.value) + " packs were not found: " +
           (made.plan.status == ballast::status::infeasible ? "there is no such plan"
                                                            : "a search may find them, as ballast.near_optimal has") +
           "; the lower bound is " + std::to_string(count.lower_bound);
  });
  made.numbers = lengths.numbers();
  if (!made.numbers.skipped.empty()) renumber(made.plan, made.numbers);
  return std::move(made);
}

ballast::packing_options options_of(std::int64_t capacity, std::string const& oversize, std::int64_t pack_multiple,
                                    std::int64_t sample_multiple, std::uint64_t max_items, std::uint64_t count_multiple,
                                    std::uint64_t count, std::size_t policies = std::size(oversize_words)) {
  return {.capacity = capacity,
          .max_samples = max_items,
          .sample_multiple = sample_multiple,
          .pack_multiple = pack_multiple,
          .pack_count_multiple = count_multiple,
          .pack_count = count,
          .oversize = value_named(oversize_words, oversize, "oversize", policies)};
}

ballast::search_limits limits_of(std::uint64_t work, double gap, double seconds) {
  ballast::require(gap >= 0, [&] { return "gap = " + std::to_string(gap) + " must not be negative; 0.01 is one percent"; });
  ballast::require(seconds >= 0 && seconds < 1e9, [&] { return "seconds = " + std::to_string(seconds) + " must be in 0 ... 10^9"; });
  return {.work = work, .gap = gap, .wall_clock = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
}

nb::list pieces_of(packing_plan const& p) {
  nb::list out;
  for (auto const& piece : p.plan.pieces) out.append(nb::make_tuple(piece.sample, piece.offset, piece.length));
  return out;
}

nb::tuple state_of(nb::handle self) {
  auto const& p = nb::cast<packing_plan const&>(self);
  auto const& o = p.options;
  return nb::make_tuple(saved(p.plan, self),
                        nb::make_tuple(o.capacity, o.max_samples, o.sample_multiple, o.pack_multiple, o.pack_count_multiple, o.pack_count,
                                       static_cast<unsigned>(o.oversize), p.padded),
                        saved(p.numbers, self));
}

void restore(packing_plan& p, nb::tuple const& state) {
  ballast::packing_options o;
  unsigned oversize = 0;
  bool padded = false;
  std::tie(o.capacity, o.max_samples, o.sample_multiple, o.pack_multiple, o.pack_count_multiple, o.pack_count, oversize, padded) =
      nb::cast<std::tuple<std::int64_t, std::uint64_t, std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, unsigned, bool>>(state[1]);
  o.oversize = static_cast<ballast::oversize>(oversize);
  new (&p) packing_plan{packing_of(state[0]), o, padded, sample_numbers_from(state[2])};
}

void bind_plan(nb::module_& m) {
  nb::class_<packing_plan>(m, "Packing", "Samples in packs, and the number of packs beside a proven lower bound.")
      .def_prop_ro(
          "packs", [](nb::handle self) { return all_of(nb::cast<packing_plan const&>(self).plan.packs, self); },
          "The packs: a sequence of read-only arrays of sample indices. An index n + j, for n samples, is piece j.")
      .def_prop_ro(
          "offsets", [](nb::handle self) { return view(nb::cast<packing_plan const&>(self).plan.packs.offsets, self); },
          "Where each pack begins in `members`; one entry more than there are packs.")
      .def_prop_ro(
          "members", [](nb::handle self) { return view(nb::cast<packing_plan const&>(self).plan.packs.members, self); },
          "The sample indices of all packs, pack after pack.")
      .def_prop_ro(
          "set_aside", [](nb::handle self) { return view(nb::cast<packing_plan const&>(self).plan.set_aside, self); },
          "Samples longer than the capacity that the policy left out, ascending.")
      .def_prop_ro(
          "skipped", [](nb::handle self) { return view(nb::cast<packing_plan const&>(self).numbers.skipped, self); },
          "Samples without tokens, which zero_length=\"skip\" leaves out, ascending.")
      .def_prop_ro("pieces", &pieces_of, nb::sig("def pieces(self) -> list[tuple[int, int, int]]"),
                   "Second and later pieces of split samples: (sample, first token, tokens).")
      .def_prop_ro(
          "count", [](packing_plan const& p) { return p.plan.packs.size(); }, "Number of packs.")
      .def_prop_ro(
          "lower_bound", [](packing_plan const& p) { return p.plan.count.lower_bound; }, "No plan has fewer packs.")
      .def_prop_ro(
          "bound", [](packing_plan const& p) { return ballast::to_string(p.plan.bound); }, "What proves the lower bound.")
      .def_prop_ro(
          "gap", [](packing_plan const& p) { return p.plan.count.gap(); }, "count / lower_bound - 1.")
      .def_prop_ro(
          "optimal", [](packing_plan const& p) { return p.plan.count.optimal(); }, "Whether no plan has fewer packs.")
      .def_prop_ro(
          "complete", [](packing_plan const& p) { return p.plan.complete; }, "False if `seconds` ended the search.")
      .def_prop_ro(
          "tokens", [](packing_plan const& p) { return p.plan.tokens; }, "Tokens in packs.")
      .def_prop_ro(
          "fill", [](packing_plan const& p) { return p.plan.fill(p.options.capacity); }, "Share of the capacity that holds tokens.")
      .def(
          "hash", [](packing_plan const& p) { return ballast::hash(p.plan.packs); },
          "A number of 64 bits that is equal for equal plans, on every machine, and equals that of the C++ library.")
      .def_prop_ro(
          "idle", [](nb::handle) { return nb::none(); }, nb::sig("def idle(self) -> None"),
          "None: packs are on no rank yet, so nothing says how long one waits.")
      .def_prop_ro(
          "dropped", [](nb::handle self) { return view<std::uint32_t>(nullptr, 0, self); },
          "Samples that an incomplete step leaves out: none, since packs have no steps.")
      .def_prop_ro(
          "repeated", [](nb::handle self) { return view<std::uint32_t>(nullptr, 0, self); },
          "Samples that are trained on again: none, since packs have no steps.")
      .def("__len__", [](packing_plan const& p) { return p.plan.packs.size(); })
      .def(
          "__getitem__", [](nb::handle self, nb::handle pack) { return self.attr("packs")[pack]; }, "pack"_a.none(),
          nb::sig("def __getitem__(self, pack: int) -> numpy.typing.NDArray[numpy.uint32]"), "The sample indices of a pack.")
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(self.attr("packs")); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[numpy.typing.NDArray[numpy.uint32]]"))
      .def("__copy__", [](nb::object const& self) { return self; })
      .def(
          "__deepcopy__", [](nb::object const& self, nb::handle) { return self; }, "memo"_a)
      .def("__getstate__", &state_of, nb::sig("def __getstate__(self) -> tuple[object, ...]"))
      .def("__setstate__", &restore, nb::sig("def __setstate__(self, state: tuple[object, ...], /) -> None"))
      .def("__repr__", [](packing_plan const& p) {
        auto const& plan = p.plan;
        return "<Packing: " + counted(plan.packs.members.size(), plan.pieces.empty() ? "sample" : "samples and piece") + " in " +
               counted(plan.packs.size(), "pack") + " of up to " + counted(static_cast<std::uint64_t>(p.options.capacity), "token") +
               ", at least " + grouped(static_cast<std::uint64_t>(plan.count.lower_bound)) + " needed; fill " +
               ballast_cli::percent(plan.fill(p.options.capacity)) +
               (plan.set_aside.empty() ? std::string() : "; " + grouped(plan.set_aside.size()) + " set aside") + ">";
      });
}

char const* const options_text =
    "\n\n`oversize` says what happens to a sample longer than `capacity`: \"reject\" raises ValueError, \"set_aside\" (or \"drop\")\n"
    "leaves it out and names it, \"truncate\", \"split\", \"alone\"; `zero_length` what happens to one without tokens: \"error\", or\n"
    "\"skip\", which names it in `skipped`. Each sample takes up its length rounded up to `sample_multiple`; the total of a pack, rounded "
    "up to\n"
    "`pack_multiple`, fits the capacity. A pack has at most `max_items` samples. The number of packs is a multiple of\n"
    "`pack_count_multiple`, and exactly `pack_count` if that is not 0.";

}  // namespace

void bind_packing(nb::module_& m) {
  bind_plan(m);
  static std::string const text = std::string("Packs samples by best-fit decreasing, so that no pack exceeds `capacity` tokens.") +
                                  options_text +
                                  "\n\nWith `search`, a search of at most a second follows where that plan is not proven good.";
  m.def(
      "pack",
      [](array_like const& lengths, std::int64_t capacity, std::string const& oversize, std::int64_t pack_multiple,
         std::int64_t sample_multiple, std::optional<std::uint64_t> max_items, std::uint64_t pack_count_multiple, std::uint64_t pack_count,
         bool search, std::string const& zero_length) {
        auto const given = planned_lengths::of(lengths, zero_length);
        auto const options =
            options_of(capacity, oversize, pack_multiple, sample_multiple, max_items.value_or(0), pack_count_multiple, pack_count);
        return checked(given->plan([&] { return run(given, {options, {}, search ? request::searched : request::fast}); }), *given);
      },
      "lengths"_a, "capacity"_a, nb::kw_only(), "oversize"_a = "reject", "pack_multiple"_a = 1, "sample_multiple"_a = 1,
      "max_items"_a = nb::none(), "pack_count_multiple"_a = 1, "pack_count"_a = 0, "search"_a = false, "zero_length"_a = "error",
      text.c_str());
  static std::string const long_text =
      std::string("Packs samples into as few packs as a search finds, usually the fewest or one or two more.") + options_text +
      "\n\nThe search ends when the plan is proven optimal or within `gap` (0.01 is one percent), after `work` operations of about a\n"
      "nanosecond, or after `seconds` if that is not 0, which makes the plan depend on the machine. Ctrl-C ends it.";
  m.def(
      "near_optimal",
      [](array_like const& lengths, std::int64_t capacity, std::string const& oversize, std::int64_t pack_multiple,
         std::int64_t sample_multiple, std::optional<std::uint64_t> max_items, std::uint64_t pack_count_multiple, std::uint64_t pack_count,
         std::uint64_t work, double gap, double seconds, std::string const& zero_length) {
        auto const given = planned_lengths::of(lengths, zero_length);
        auto const options =
            options_of(capacity, oversize, pack_multiple, sample_multiple, max_items.value_or(0), pack_count_multiple, pack_count);
        return checked(given->plan([&] { return run(given, {options, limits_of(work, gap, seconds), request::near_optimal}); }), *given);
      },
      "lengths"_a, "capacity"_a, nb::kw_only(), "oversize"_a = "reject", "pack_multiple"_a = 1, "sample_multiple"_a = 1,
      "max_items"_a = nb::none(), "pack_count_multiple"_a = 1, "pack_count"_a = 0, "work"_a = 1'000'000'000, "gap"_a = 0.0,
      "seconds"_a = 0.0, "zero_length"_a = "error", long_text.c_str());
  m.def(
      "padded_batches",
      [](array_like const& lengths, std::int64_t capacity, std::string const& oversize, std::int64_t sample_multiple,
         std::optional<std::uint64_t> max_items, std::string const& zero_length) {
        auto const given = planned_lengths::of(lengths, zero_length);
        auto const options = options_of(capacity, oversize, 1, sample_multiple, max_items.value_or(0), 1, 0, of_padded_rows);
        auto made =
            given->plan([&] { return interruptible(given->size(), [=] { return ballast::padded_batches(given->range(), options); }); });
        return checked({std::move(made), options, true}, *given);
      },
      "lengths"_a, "capacity"_a, nb::kw_only(), "oversize"_a = "reject", "sample_multiple"_a = 1, "max_items"_a = nb::none(),
      "zero_length"_a = "error",
      "The fewest batches in which rows times the longest row is at most `capacity`: `max_tokens` batches, whose rows are padded to the\n"
      "longest. `oversize` is \"reject\", \"set_aside\" (or \"drop\") or \"truncate\", `zero_length` is that of ballast.pack. `fill` "
      "counts the tokens of samples, without padding.");
  m.def(
      "lower_bound",
      [](array_like const& lengths, std::int64_t capacity, std::optional<std::uint64_t> max_items) {
        integers const given(lengths, "lengths");
        auto const most = max_items.value_or(0);
        return interruptible(given.size(), [=] {
          auto const all = ballast::apply_oversize(given.visit([](auto const& l) { return ballast::fold(l); }), {.capacity = capacity});
          return ballast::packing_lower_bound(all.weights, capacity, most != 0 ? most : all.weights.samples() + 1).packs;
        });
      },
      "lengths"_a, "capacity"_a, nb::kw_only(), "max_items"_a = nb::none(), "A number of packs that every plan needs.");
}

}  // namespace ballast_python
