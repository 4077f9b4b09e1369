// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "binders.hpp"
#include "costs.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planned_lengths.hpp"
#include "planning/level_planning.hpp"
#include "report/output.hpp"
#include "sample_numbers.hpp"
#include "shards.hpp"
#include "words.hpp"

namespace ballast_python {

using ballast::require;

namespace {

struct level_steps {
  ballast::level_plan<> plan;
  ballast::device_table<> table;
  std::vector<std::uint32_t> skipped;
};

using table_view = nb::ndarray<nb::numpy, std::int32_t const, nb::ndim<3>>;

table_view steps_of(nb::handle self) {
  auto const& t = nb::cast<level_steps const&>(self).table;
  static constexpr std::int32_t nothing = -1;
  auto const* const data = t.table.empty() ? &nothing : reinterpret_cast<std::int32_t const*>(t.table.data());
  return table_view(data, {t.level.size(), static_cast<std::size_t>(t.devices), static_cast<std::size_t>(t.micro_batches)}, self);
}

/// The settings, as a tuple of length, SP degree and recomputed layers.
using setting = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;
std::vector<setting> settings_of(level_steps const& of) {
  std::vector<setting> out;
  for (auto const& l : of.plan.levels) out.emplace_back(l.setting.capacity, l.setting.sp, l.setting.recomputed_layers);
  return out;
}

shard_plan shards_of_step(level_steps const& of, std::int64_t step, std::string const& layout) {
  auto const& t = of.table;
  auto const s = checked(step, t.level.size(), "step");
  auto const& lengths = of.plan.packed.lengths;
  shared_packs packs{.offsets = {0}, .degree = of.plan.levels[t.level[s]].setting.sp};
  std::vector<std::uint32_t> numbers;
  for (std::size_t m = 0; m < t.micro_batches; ++m)
    for (std::size_t first = 0; first < t.devices; first += packs.degree) {
      auto const pack = t.table[(s * t.devices + first) * t.micro_batches + m];
      if (pack == t.none) continue;
      for (auto const i : t.packs[pack]) {
        packs.lengths.push_back(lengths[i]);
        numbers.push_back(i);
      }
      packs.offsets.push_back(numbers.size());
      packs.first.push_back(first);
    }
  auto plan = shards_of_packs(packs, t.devices, layout);
  for (auto& p : plan.pieces) p.sample = numbers[p.sample];
  std::vector<bool> trained(lengths.size());
  for (auto const i : numbers) trained[i] = true;
  for (std::uint32_t i = 0; i < lengths.size(); ++i)
    if (!trained[i] && lengths[i] > 0) plan.left_out.push_back(i);
  return {std::move(plan), lengths};
}

class level_argument : public nb::object {
  NB_OBJECT_DEFAULT(level_argument, nb::object, "str | collections.abc.Sequence[tuple[int, int] | tuple[int, int, int]]", is_any_object)
};
class model_argument : public nb::object {
  NB_OBJECT_DEFAULT(model_argument, nb::object, "str | Transformer | None", is_any_object)
};

/// Levels that a caller named, with modelled times.
ballast_cli::level_choice given_levels(level_argument const& levels, ballast::sequence_parallel_setup const& on) {
  ballast_cli::level_choice out{.levels = {}, .rule = ballast_cli::level_rule::given, .candidates = 0, .most_levels = 0, .time = {}};
  for (auto& n : nb::cast<std::vector<std::vector<std::int64_t>>>(nb::module_::import_("ballast._arguments").attr("levels")(levels))) {
    auto const where = "levels[" + std::to_string(out.levels.size()) + "]";
    n.resize(3);
    require(n[0] > 0 && n[0] < std::int64_t{1} << 31,
            [&] { return where + ": a pack of " + std::to_string(n[0]) + " tokens must have 1 ... 2^31 - 1"; });
    require(out.levels.empty() || n[0] > out.levels.back().setting.capacity,
            [&] { return where + ": packs of " + std::to_string(n[0]) + " tokens must be longer than those of the level before"; });
    require(n[1] > 0 && std::int64_t{on.devices} % n[1] == 0,
            [&] { return where + ": an SP degree of " + std::to_string(n[1]) + " does not divide gpus = " + std::to_string(on.devices); });
    require(n[2] >= 0 && n[2] <= on.model.layers, [&] {
      return where + ": " + std::to_string(n[2]) + " recomputed layers of a model that has " + std::to_string(on.model.layers);
    });
    ballast::level const at{n[0], static_cast<std::uint32_t>(n[1]), static_cast<std::uint32_t>(n[2])};
    out.levels.push_back({at, ballast::modelled_level_time(on, at)});
  }
  require(!out.levels.empty(), [] { return "levels is empty: at least one is needed"; });
  return out;
}

/// Levels that a rule chooses for packs of up to `capacity` tokens.
ballast_cli::level_choice chosen_levels(std::string const& rule, ballast::sequence_parallel_setup const& on,
                                        std::optional<std::int64_t> capacity, std::vector<std::int64_t> const& lengths,
                                        ballast::oversize policy) {
  require(rule == "auto" || rule == "hbp",
          [&] { return "levels = \"" + rule + "\" is neither \"auto\" nor \"hbp\", nor a sequence of tuples"; });
  require(capacity.has_value(), [&] { return "capacity is missing: with levels = \"" + rule + "\" it is the tokens of the longest pack"; });
  require(*capacity > 0 && *capacity < std::int64_t{1} << 31,
          [&] { return "capacity = " + std::to_string(*capacity) + " must be in 1 ... 2^31 - 1"; });
  auto const trained = ballast_cli::within(ballast::fold(lengths), *capacity, policy);
  require(policy != ballast::oversize::reject || trained.samples() == lengths.size(), [&] {
    auto const most = std::max_element(lengths.begin(), lengths.end());
    return "lengths[" + std::to_string(most - lengths.begin()) + "] = " + std::to_string(*most) + " exceeds capacity " +
           std::to_string(*capacity) + " (see oversize policy)";
  });
  require(trained.samples() > 0,
          [] { return "every sample is longer than capacity and set aside: there is nothing to choose levels for"; });
  auto out =
      choose_among(ballast_cli::candidate_levels(on, *capacity),
                   rule == "hbp" ? ballast_cli::level_rule::hbp : ballast_cli::level_rule::exact, trained, ballast_cli::usual_levels);
  require(!out.levels.empty(), [&] {
    return "the longest sample has " + std::to_string(trained.lengths.back()) +
           " tokens, and no setting on gpus = " + std::to_string(on.devices) + " holds a pack of that length (modelled memory)";
  });
  return out;
}

/// The steps by the numbers of given samples, those that were skipped among them, which have no tokens.
void renumber(level_steps& of, sample_numbers const& numbers) {
  if (numbers.skipped.empty()) return;
  auto& packed = of.plan.packed;
  for (auto* const samples : {&of.table.packs.members, &packed.set_aside})
    for (auto& s : *samples) s = numbers(s);
  for (auto& p : packed.pieces) p.sample = numbers(static_cast<std::uint32_t>(p.sample));
  std::vector<std::int64_t> tokens(numbers.given + packed.pieces.size());
  for (std::uint32_t i = 0; i < packed.lengths.size(); ++i) tokens[numbers(i)] = packed.lengths[i];
  packed.lengths = std::move(tokens);
}

level_steps levels_for(array_like const& lengths, level_argument const& levels, std::uint32_t gpus, model_argument const& cost,
                       std::optional<std::int64_t> capacity, std::uint64_t micro_batches, std::string const& device,
                       std::string const& curriculum, std::string const& oversize, std::uint64_t seed, std::uint64_t epoch,
                       std::optional<std::uint64_t> warm_up, std::string const& zero_length) {
  auto const planned = planned_lengths::of(lengths, zero_length);
  auto const given = planned->copy();
  require(!given.empty(), [] { return "lengths is empty: there are no samples to plan"; });
  require(!cost.is_none(), [] {
    return "cost is missing, and no cost is assumed: say what a sample costs, by the name of a model such as \"llama-3.1-8b\"";
  });
  require(gpus > 0 && gpus < 1U << 20, [&] { return "gpus = " + std::to_string(gpus) + " must be in 1 ... 2^20 - 1"; });
  auto const model = shape_of(cost);
  require(model.has_value(), [] { return "cost is no name of a model, no config of one, and no Transformer"; });
  ballast::sequence_parallel_setup on;
  on.model = *model;
  on.device = entry_named(ballast::devices, device, "device");
  on.devices = gpus;
  on.kernels = ballast::times_of({.device = on.device, .mfu = {}, .time = {}, .links = {}, .hidden = {}}, {});
  auto const& order = entry_named(ballast_cli::curricula, curriculum, "curriculum");
  auto const policy = value_named(oversize_words, oversize, "oversize", of_steps);
  auto const named = nb::isinstance<nb::str>(levels);
  require(named || !capacity.has_value(),
          [] { return "capacity is for levels = \"auto\" and \"hbp\": these levels say how long packs are"; });
  auto out = planned->plan([&] {
    auto const choice = named ? chosen_levels(nb::cast<std::string>(levels), on, capacity, given, policy) : given_levels(levels, on);
    return interruptible([=] {
      level_steps made{plan_of(given, choice,
                               {.devices = gpus,
                                .micro_batches = micro_batches,
                                .oversize = policy,
                                .order = {.order = order.order, .warm_up = warm_up.value_or(order.warm_up)},
                                .seed = seed,
                                .epoch = epoch}),
                       {},
                       planned->numbers().skipped};
      made.table = table_of(made.plan);
      return made;
    });
  });
  renumber(out, planned->numbers());
  return out;
}

}  // namespace

void bind_levels(nb::module_& m) {
  nb::class_<level_steps>(m, "Levels",
                          "The steps of an epoch in levels: packs of several lengths, each shared by as many GPUs as its level says.")
      .def_prop_ro("settings", &settings_of, "Of each level: tokens of a pack, GPUs that share it, recomputed layers.")
      .def_prop_ro("steps", &steps_of, "The pack of each step, GPU and micro-batch; -1 where a place is empty. It is steps.npy.")
      .def_prop_ro(
          "levels",
          [](nb::handle self) {
            auto const& level = nb::cast<level_steps const&>(self).table.level;
            return view(level, self);
          },
          "The level of each step. It is levels.npy.")
      .def_prop_ro(
          "packs", [](nb::handle self) { return all_of(nb::cast<level_steps const&>(self).table.packs, self); },
          "The packs of all levels, each an array of sample indices. An index n + j, for n samples, is piece j.")
      .def_prop_ro(
          "offsets", [](nb::handle self) { return view(nb::cast<level_steps const&>(self).table.packs.offsets, self); },
          "Where each pack begins in `members`.")
      .def_prop_ro(
          "members", [](nb::handle self) { return view(nb::cast<level_steps const&>(self).table.packs.members, self); },
          "The sample indices of all packs, pack after pack.")
      .def_prop_ro(
          "lengths", [](nb::handle self) { return view(nb::cast<level_steps const&>(self).plan.packed.lengths, self); },
          "Tokens of each sample as it is packed, then of each piece.")
      .def_prop_ro(
          "pieces",
          [](level_steps const& of) {
            std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> out;
            for (auto const& p : of.plan.packed.pieces) out.emplace_back(p.sample, p.offset, p.length);
            return out;
          },
          "With oversize=\"split\", the second and later pieces of samples: (sample, first token, tokens).")
      .def_prop_ro(
          "set_aside", [](nb::handle self) { return view(nb::cast<level_steps const&>(self).plan.packed.set_aside, self); },
          "Samples longer than the longest level that the policy left out.")
      .def_prop_ro(
          "skipped", [](nb::handle self) { return view(nb::cast<level_steps const&>(self).skipped, self); },
          "Samples without tokens, which zero_length=\"skip\" leaves out, ascending.")
      .def_prop_ro(
          "milliseconds", [](level_steps const& of) { return of.plan.figures.seconds * 1e3; }, "Modelled time of all steps.")
      .def_prop_ro(
          "idle", [](level_steps const& of) { return of.plan.figures.idle; }, "Share of the time of all GPUs that is spent waiting.")
      .def("shards_of", &shards_of_step, "step"_a, nb::kw_only(), "layout"_a = "zigzag",
           "A step as shards: each pack is a pass of the GPUs that share it, of which each gets an early and a late chunk of each sample,\n"
           "or neighbouring tokens with layout=\"contiguous\". All samples of other steps are in `left_out`.")
      .def(
          "hash", [](level_steps const& of) { return ballast::hash(of.table); },
          "A number of 64 bits that is equal for equal plans; it is that of `ballast plan --levels`.")
      .def("__len__", [](level_steps const& of) { return of.table.level.size(); })
      .def("__repr__", [](level_steps const& of) {
        return "<Levels: " + ballast_cli::counted(of.plan.levels.size(), "level") + ", " +
               ballast_cli::counted(of.table.level.size(), "step") + ", " + ballast_cli::counted(of.table.devices, "GPU") + ">";
      });
  m.def("levels", &levels_for, "lengths"_a, "levels"_a = "auto", nb::kw_only(), "gpus"_a, "cost"_a = nb::none(), "capacity"_a = nb::none(),
        "micro_batches"_a = 1, "device"_a = "h100", "curriculum"_a = "hbp", "oversize"_a = "reject", "seed"_a = 0, "epoch"_a = 0,
        "warm_up"_a = nb::none(), "zero_length"_a = "error",
        "Plans an epoch in levels, as HBP does: long packs that several GPUs share, short ones that need one GPU, and an order of their\n"
        "steps. The plan is that of `ballast plan --levels`.\n\n"
        "`levels` is \"auto\", the levels of least modelled time, or \"hbp\", the published rule, both with packs of up to `capacity`\n"
        "tokens; or tuples (tokens of a pack, GPUs that share it, recomputed layers). `cost` has no default: it is the name of a model or\n"
        "a Transformer. `micro_batches` are those of a rank in the level whose steps hold most tokens. `curriculum` is the order:\n"
        "\"hbp\" (a warm-up of 500 steps on the shortest level, then interleaved), \"interleaved\", \"random\", \"ascending\",\n"
        "\"ascending-buckets\", \"shuffled-buckets\". Another `epoch` gives another order. `warm_up` is another number than\n"
        "500: it is that of epoch 0, of which half the steps on the shortest level are a warm-up at most. `zero_length` says what happens\n"
        "to samples without tokens: \"error\", or \"skip\", which names them in `skipped`.");
}

}  // namespace ballast_python
