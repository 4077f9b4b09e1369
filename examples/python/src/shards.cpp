// SPDX-License-Identifier: Apache-2.0
#include "shards.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <ballast/attention/document_shares.hpp>
#include <ballast/batching/shard_weights.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/layout/zigzag.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/shard_layout.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "binders.hpp"
#include "costs.hpp"
#include "errors.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "planning/schedulers.hpp"
#include "report/output.hpp"
#include "words.hpp"

namespace ballast_python {

using ballast::require;

shard_plan::shard_plan(ballast::shards<> plan, std::vector<std::int64_t> lengths, double seconds,
                       std::span<ballast::attention_plan<> const> attention)
    : plan_(std::move(plan)), lengths_(std::move(lengths)), seconds_(seconds) {
  starts_.resize(lengths_.size());
  std::exclusive_scan(lengths_.begin(), lengths_.end(), starts_.begin(), std::int64_t{0});
  rows_.reserve(4 * plan_.pieces.size());
  for (auto const& p : plan_.pieces)
    rows_.insert(rows_.end(), {std::int64_t{p.sample}, p.begin, p.end, p.group == ballast::not_shared ? -1 : std::int64_t{p.group}});
  for (std::uint32_t r = 0; r < plan_.ranks(); ++r)
    for (std::size_t m = 0; m < attention.size(); ++m)
      for (auto const& t : attention[m](r))
        tasks_.insert(tasks_.end(), {r, static_cast<std::int64_t>(m), t.sample, t.home, t.begin, t.end, t.tail_begin, t.tail_end});
}

namespace {

void require_positive(std::vector<std::int64_t> const& lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i)
    require(lengths[i] > 0, [&] { return "lengths[" + std::to_string(i) + "] = " + std::to_string(lengths[i]) + " must be positive"; });
}

shared_cost cost_of_model(ballast::transformer const& model, std::uint64_t ranks, std::int64_t capacity, std::string const& name,
                          std::uint32_t recomputed_layers) {
  require(ranks > 0 && ranks < std::uint64_t{1} << 20, [&] { return "ranks = " + std::to_string(ranks) + " must be in 1 ... 2^20 - 1"; });
  auto const& device = entry_named(ballast::devices, name, "device");
  auto const kernels = ballast::times_of({.device = device, .mfu = {}, .time = {}, .links = {}, .hidden = {}}, {});
  auto const alone = ballast::sample_time(model, device, kernels, {}, {.capacity = capacity, .recomputed_layers = recomputed_layers});
  shared_cost out{.of = degree_cost_of(model, device, ballast::datasheet_fabric(device),
                                       {.recomputed_layers = recomputed_layers, .ranks = static_cast<std::int64_t>(ranks)}),
                  .per_pass = (alone.per_micro_batch + 500) / 1000,
                  .model = model};
  out.of.linear = alone.tokens.linear;
  out.of.square = alone.tokens.quadratic;
  return out;
}

}  // namespace

shared_cost shared_cost_of(shared_cost_argument const& argument, std::uint64_t ranks, std::int64_t capacity) {
  require(!argument.is_none(), [] {
    return "cost is missing, and no cost is assumed: say what a sample costs, by the name of a model such as \"llama-3.1-8b\", or by "
           "ballast.degree_cost(...)";
  });
  if (nb::isinstance<shared_cost>(argument)) return nb::cast<shared_cost>(argument);
  auto const model = shape_of(argument);
  require(model.has_value(), [] {
    return "cost is no name of a model, no config of one, no Transformer and no ballast.degree_cost(...): other costs do not say what a "
           "sample takes "
           "that several ranks share";
  });
  return cost_of_model(*model, ranks, capacity, "h100", 0);
}

namespace {

/// One pass of one rank.
struct shard_pass {
  nb::object owner;
  shard_plan const* of = nullptr;
  std::size_t rank = 0, pass = 0;
};

using row_view = nb::ndarray<nb::numpy, std::int64_t const, nb::ndim<2>>;

row_view rows_of(std::span<std::int64_t const> values, std::size_t width, nb::handle owner) {
  static constexpr std::int64_t nothing = 0;
  return row_view(values.empty() ? &nothing : values.data(), {values.size() / width, width}, owner);
}

std::vector<std::int64_t> token_indices(shard_pass const& p, optional_array const& starts) {
  if (starts.is_none()) return ballast::shard_token_indices(p.of->plan(), p.rank, p.pass, p.of->starts());
  return ballast::shard_token_indices(p.of->plan(), p.rank, p.pass, integers(starts, "starts").copy());
}

nb::typed<nb::list, nb::ndarray<nb::numpy, double, nb::ndim<1>>> weights_of(shard_plan const& of, std::int64_t rank,
                                                                            array_like const& counts, std::string const& preset,
                                                                            std::int64_t length) {
  auto const& plan = of.plan();
  auto const r = checked(rank, plan.ranks(), "rank");
  auto by = ballast::loss_preset_named(preset);
  by.normaliser.length = length;
  auto const all = ballast::shard_weights(plan, r, integers(counts, "counts").copy(), by.normaliser, by.path);
  nb::typed<nb::list, nb::ndarray<nb::numpy, double, nb::ndim<1>>> out;
  auto at = all.begin();
  for (std::size_t m = 0; m < plan.passes(r); ++m) {
    auto const end = at + static_cast<std::ptrdiff_t>(plan(r, m).size());
    out.append(array_of(std::vector<double>(at, end)));
    at = end;
  }
  return out;
}

void bind_pass(nb::module_& m) {
  nb::class_<shard_pass>(m, "ShardPass", "What a rank trains on in one pass: a forward and a backward pass over the tokens that it holds.")
      .def_prop_ro(
          "pieces",
          [](nb::handle self) {
            auto const& p = nb::cast<shard_pass const&>(self);
            auto const& plan = p.of->plan();
            auto const number = static_cast<std::size_t>(plan.rank_offsets[p.rank]) + p.pass;
            auto const first = 4 * static_cast<std::size_t>(plan.pass_offsets[number]);
            return rows_of(std::span(p.of->rows()).subspan(first, 4 * plan.of_pass(number).size()), 4, self);
          },
          "The pieces: rows of sample, first token, token behind the last, and the group that shares the sample, or -1.")
      .def_prop_ro(
          "samples", [](shard_pass const& p) { return array_of(ballast::shard_samples(p.of->plan(), p.rank, p.pass)); },
          nb::rv_policy::automatic,
          "The samples, each once, in the order of the row: `cu_seqlens(samples, lengths)` are those of the keys of a group.")
      .def_prop_ro(
          "cu_seqlens", [](shard_pass const& p) { return array_of(ballast::shard_cu_seqlens(p.of->plan(), p.rank, p.pass)); },
          nb::rv_policy::automatic,
          "The cumulative lengths of the tokens that the rank holds, int32: one sequence for each sample, its pieces joined.")
      .def_prop_ro(
          "position_ids",
          [](shard_pass const& p) { return array_of(ballast::shard_position_ids<std::int64_t>(p.of->plan(), p.rank, p.pass)); },
          nb::rv_policy::automatic, "The position of each token in its sample, int64.")
      .def(
          "token_indices", [](shard_pass const& p, optional_array const& starts) { return array_of(token_indices(p, starts)); },
          "starts"_a = nb::none(),
          "The place of each token in an array that holds all samples, int64. `starts` are the places of their first tokens; by default\n"
          "the samples of the batch are one behind the other.")
      .def("__repr__", [](shard_pass const& p) {
        return "<ShardPass " + std::to_string(p.pass) + " of rank " + std::to_string(p.rank) + ": " +
               ballast_cli::counted(p.of->plan()(p.rank, p.pass).size(), "piece") + ">";
      });
}

void bind_plan(nb::module_& m) {
  nb::class_<shard_plan>(m, "Shards", "Which tokens of which samples each rank trains on in each pass of one global batch.")
      .def_prop_ro(
          "ranks", [](shard_plan const& s) { return s.plan().ranks(); }, "Number of ranks.")
      .def("passes_of", &passes_of, nb::sig("def passes_of(self, rank: int) -> list[ShardPass]"), "rank"_a,
           "The passes of a rank, in the order in which it runs them.")
      .def_prop_ro(
          "groups", [](nb::handle self) { return all_of(nb::cast<shard_plan const&>(self).plan().rank_groups, self); },
          "The ranks of each group that shares samples: a sequence of arrays.")
      .def_prop_ro(
          "execution", [](shard_plan const& s) { return ballast::to_string(s.plan().execution); },
          "Where ranks wait for each other: \"independent\", \"lockstep\" or \"mixed\".")
      .def_prop_ro(
          "milliseconds", [](shard_plan const& s) { return static_cast<double>(s.plan().time.value) * 1e-6; },
          "Modelled time until the last rank is done.")
      .def_prop_ro(
          "lower_bound", [](shard_plan const& s) { return static_cast<double>(s.plan().time.lower_bound) * 1e-6; },
          "Milliseconds that no plan of the same samples is below, by the rules of the method; 0 if none is known.")
      .def_prop_ro("seconds", &shard_plan::seconds,
                   "What the planner took, without the conversion of arguments; 0 where nothing was planned.")
      .def_prop_ro(
          "left_out", [](nb::handle self) { return view(nb::cast<shard_plan const&>(self).plan().left_out, self); },
          "Samples in no pass, ascending: put them into the next batch.")
      .def_prop_ro(
          "lengths", [](nb::handle self) { return view(nb::cast<shard_plan const&>(self).lengths(), self); }, "Tokens of each sample.")
      .def_prop_ro(
          "rank_offsets", [](nb::handle self) { return view(nb::cast<shard_plan const&>(self).plan().rank_offsets, self); },
          "Where the passes of each rank begin, numbered over all ranks; one entry more than there are ranks.")
      .def_prop_ro(
          "pass_offsets", [](nb::handle self) { return view(nb::cast<shard_plan const&>(self).plan().pass_offsets, self); },
          "Where the pieces of each pass begin; one entry more than there are passes.")
      .def_prop_ro(
          "pieces", [](nb::handle self) { return rows_of(nb::cast<shard_plan const&>(self).rows(), 4, self); },
          "The pieces of all passes: rows of sample, first token, token behind the last, and group or -1.")
      .def_prop_ro(
          "attention", [](nb::handle self) { return rows_of(nb::cast<shard_plan const&>(self).tasks(), 8, self); },
          "Attention that is not computed where its tokens are, as \"distca\" plans it: rows of a rank, the number of its pass, sample,\n"
          "the rank that holds the queries, first query, query behind the last, and the same two of a second range, which may be empty.\n"
          "Queries attend to all keys up to their own. No rows: each rank computes the attention of its tokens.")
      .def("weights_of", &weights_of, "rank"_a, "counts"_a, "preset"_a = "hf", nb::kw_only(), "length"_a = 0,
           "What the sum of the token losses of each piece is multiplied by, an array for each pass of the rank, so that the optimiser\n"
           "gets the gradient of the preset's loss over the whole batch. `counts` are the labels of each sample that count.")
      .def(
          "hash", [](shard_plan const& s) { return ballast::hash(s.plan()); },
          "A number of 64 bits that is equal for equal plans, on every machine, and equals that of the C++ library.")
      .def("__repr__", [](shard_plan const& s) {
        return "<Shards: " + ballast_cli::counted(s.plan().ranks(), "rank") + ", " + ballast_cli::counted(s.plan().passes(), "pass") +
               ", " + ballast_cli::counted(s.plan().rank_groups.size(), "group") + ">";
      });
}

void bind_degree_cost(nb::module_& m) {
  nb::class_<shared_cost>(m, "DegreeCost", "What a sample costs that several ranks share, in nanoseconds. A cost is called: cost(4096, 8).")
      .def(
          "__call__",
          [](shared_cost const& c, std::int64_t length, std::int64_t ranks) {
            require(length >= 0 && c.of.fits(length, ranks), [&] {
              return "length = " + std::to_string(length) + " on ranks = " + std::to_string(ranks) + " has no time in 63 bits";
            });
            return c.of(length, ranks);
          },
          "length"_a, "ranks"_a = 1, "The time of a sample of that many tokens on that many ranks.")
      .def_ro("cost_per_pass", &shared_cost::per_pass, "Nanoseconds of a pass beside its samples.")
      .def("__eq__",
           [](shared_cost const& a, nb::object const& b) {
             if (!nb::isinstance<shared_cost>(b)) return false;
             auto const& other = nb::cast<shared_cost const&>(b);
             return a.of == other.of && a.per_pass == other.per_pass && a.model == other.model;
           })
      .def("__hash__", [](shared_cost const& c) { return c.of.linear ^ c.of.square ^ c.per_pass; })
      .def("__repr__", [](shared_cost const& c) {
        return "DegreeCost(" + std::to_string(c.of.linear) + " ps per token, " + std::to_string(c.of.square) + " per squared token, " +
               std::to_string(c.per_pass) + " ns per pass)";
      });
  m.def(
      "degree_cost",
      [](nb::object const& model, std::uint64_t ranks, std::string const& device, std::int64_t capacity, std::uint32_t recomputed_layers) {
        auto const shape = shape_of(model);
        require(shape.has_value(), [] { return "model is no name of a model, no config of one, and no Transformer"; });
        return cost_of_model(*shape, ranks, capacity, device, recomputed_layers);
      },
      "model"_a, nb::kw_only(), "ranks"_a, "device"_a = "h100", "capacity"_a = ballast::sample_time_options{}.capacity,
      "recomputed_layers"_a = 0,
      nb::sig("def degree_cost(model: str | Transformer, *, ranks: int, device: str = 'h100', capacity: int = 16384, "
              "recomputed_layers: int = 0) -> DegreeCost"),
      "The time of a sample in a model on a device, on 1 to `ranks` ranks that gather keys and values, in passes of `capacity` tokens.\n"
      "It is what cost=\"llama-3.1-8b\" means to `plan_shards`, and what `ballast schedule --model llama-3.1-8b` plans with.");
  m.def(
      "degree_cost",
      [](std::int64_t linear, std::int64_t square, std::vector<std::int64_t> const& exchange, std::int64_t cost_per_pass) {
        auto const positive = [](std::int64_t value, char const* name) {
          require(value >= 0, [&] { return std::string(name) + " = " + std::to_string(value) + " must not be negative"; });
        };
        positive(linear, "linear");
        positive(square, "square");
        for (auto const e : exchange) positive(e, "exchange");
        positive(cost_per_pass, "cost_per_pass");
        return shared_cost{.of = {.linear = linear, .square = square, .exchange = exchange}, .per_pass = cost_per_pass};
      },
      nb::kw_only(), "linear"_a, "square"_a = 0, "exchange"_a = std::vector<std::int64_t>{}, "cost_per_pass"_a = 0,
      "A cost of your own: (linear * n + square * n * n) / ranks + exchange * n for a sample of n tokens, in picoseconds. `exchange` has\n"
      "an entry for 1, 2, 4, ... ranks, of which the last holds for larger groups. `cost_per_pass` is in nanoseconds.");
}

/// Costs of samples, checked.
std::vector<std::int64_t> nanoseconds_of(optional_array const& costs, std::vector<std::int64_t> const& lengths,
                                         ballast_cli::scheduler const& by) {
  if (costs.is_none()) return {};
  require(by.by_costs != nullptr, [&] {
    return "method = \"" + std::string(by.word) + "\" goes by lengths, and takes no costs; those that do are " +
           ballast_cli::methods_by_costs();
  });
  auto out = integers(costs, "costs").copy();
  require(out.size() == lengths.size(), [&] {
    return "costs has " + std::to_string(out.size()) + " entries for " + std::to_string(lengths.size()) +
           " lengths; it takes one for each: nanoseconds of the sample on one rank";
  });
  for (std::size_t i = 0; i < out.size(); ++i)
    require(out[i] > 0 && out[i] < std::int64_t{1} << 53,
            [&] { return "costs[" + std::to_string(i) + "] = " + std::to_string(out[i]) + " must be in 1 ... 2^53 - 1"; });
  return out;
}

shard_plan planned(array_like const& lengths, std::uint64_t ranks, std::optional<std::int64_t> capacity, shared_cost_argument const& cost,
                   optional_array const& costs, std::string const& method, std::uint64_t seed, std::int64_t longest, bool deep) {
  auto const given = integers(lengths, "lengths").copy();
  require(!given.empty(), [] { return "lengths is empty: there are no samples to plan"; });
  auto const most = std::max_element(given.begin(), given.end());
  require_positive(given);
  auto const all = ballast_cli::schedulers();
  auto const by = std::find_if(all.begin(), all.end(), [&](auto const& s) { return s.word == method; });
  require(by != all.end() && by->start != nullptr, [&] {
    if (by != all.end())
      return "method = \"" + method + "\" plans the samples of all batches, in steps of their own: ballast.levels does so";
    auto sentence = "method = \"" + method + "\" is not one of";
    for (auto const& s : all)
      if (s.start != nullptr) sentence += (&s == all.data() ? " " : ", ") + std::string(s.word);
    return sentence;
  });
  require(longest == 0 || longest >= *most, [&] {
    return "longest = " + std::to_string(longest) + " is below lengths[" + std::to_string(most - given.begin()) +
           "] = " + std::to_string(*most) + "; it is the longest sample of all data";
  });
  ballast_cli::scheduling_setting on;
  on.options.capacity = capacity.value_or(longest > 0 ? longest : *most);
  on.options.ranks = ranks;
  ballast::detail::require_valid(on.options);
  auto work = shared_cost_of(cost, ranks, on.options.capacity);
  on.options.cost_per_pass = work.per_pass;
  on.cost = std::move(work.of);
  auto const own = nanoseconds_of(costs, given, *by);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto const time = own.empty() ? ballast::detail::sample_time(on.cost, i, given[i], 1) : own[i];
    ballast::detail::add_time(sum, time, i, given[i]);
  }
  require(work.model || method != "distca",
          [] { return "method = \"distca\" needs the shape of a model: cost must be its name or degree_cost(model, ...)"; });
  if (work.model) on.model = *work.model;
  on.longest = longest > 0 ? longest : *most;
  on.seed = seed;
  on.batch = given.size();
  on.planned = deep ? given.size() : std::uint64_t{1} << 62;  // of a run of many batches, none is searched deeply
  return interruptible(given.size(), [=, by = *by, top = *most] {
    auto setting = on;
    setting.data = given;
    ballast_cli::timed_samples const timed(own.empty() ? std::span<std::int64_t const>{} : given, own, setting.cost);
    ballast_cli::scheduled of;
    auto& plan = of.shards;
    auto const began = std::chrono::steady_clock::now();
    try {
      of = own.empty() ? by.start(setting)(given) : by.by_costs(given, timed.cost(), setting);
    } catch (ballast_cli::bad_input const& why) {
      throw ballast::invalid_input("ranks: " + std::string(why.what()));
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    require(plan.status == ballast::status::feasible, [&] {
      return "method = \"" + method + "\" finds no plan for " + std::to_string(given.size()) + " samples, the longest of " +
             std::to_string(by.for_longest ? on.longest : top) + " tokens" +
             (plan.status == ballast::status::infeasible ? ", which has no room; a larger capacity or more ranks make room"
                                                         : "; another method or capacity may have one");
    });
    if (auto const verdict = check_shards(plan, given, on.options); !verdict.valid()) throw std::logic_error(describe(verdict));
    auto const fixed = on.options.cost_per_pass;
    plan.time.value = own.empty() ? time_shards(plan, on.cost, fixed).makespan : time_shards(plan, timed.cost(), fixed).makespan;
    return shard_plan(std::move(plan), given, took.count(), of.attention);
  });
}

inline constexpr word<ballast::share_layout> layout_words[] = {{"zigzag", ballast::share_layout::zigzag},
                                                               {"contiguous", ballast::share_layout::contiguous}};
inline constexpr word<ballast::share_cut> cut_words[] = {{"per_document", ballast::share_cut::per_document},
                                                         {"per_sequence", ballast::share_cut::per_sequence}};

}  // namespace

ballast::shards<> shards_of_packs(shared_packs const& packs, std::uint64_t ranks, std::string const& layout) {
  ballast::pass_list<> list;
  for (std::size_t p = 0; p < packs.first.size(); ++p) {
    std::int64_t tokens = 0;
    for (auto i = packs.offsets[p]; i < packs.offsets[p + 1]; ++i) {
      list.placements.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p), list.all_ranks});
      tokens += packs.lengths[i];
    }
    std::vector<std::uint32_t> on(std::cmp_less(tokens, packs.degree) ? 1 : packs.degree);  // few tokens are on the first rank
    std::iota(on.begin(), on.end(), static_cast<std::uint32_t>(packs.first[p]));
    list.ranks.push_back(on);
  }
  return make_shards(packs.lengths, list, ranks, value_named(layout_words, layout, "layout"));
}

nb::object passes_of(nb::object const& plan, std::int64_t rank) {
  auto const& of = nb::cast<shard_plan const&>(plan);
  auto const r = checked(rank, of.plan().ranks(), "rank");
  nb::list out;
  for (std::size_t pass = 0; pass < of.plan().passes(r); ++pass) out.append(shard_pass{plan, &of, r, pass});
  return out;
}

void bind_shards(nb::module_& m) {
  bind_pass(m);
  bind_plan(m);
  bind_degree_cost(m);
  m.def(
      "plan_shards", &planned, "lengths"_a, nb::kw_only(), "ranks"_a, "capacity"_a = nb::none(), "cost"_a = nb::none(),
      "costs"_a = nb::none(), "method"_a = "ballast", "seed"_a = 0, "longest"_a = 0, "deep"_a = true,
      "Plans one global batch of long and short samples on `ranks` ranks: which of them share a sample, and what each holds in each\n"
      "pass of at most `capacity` tokens (by default those of the longest sample). The plan is that of `ballast schedule`.\n\n"
      "`cost` has no default: the name of a model, on H100s, a Transformer, or ballast.degree_cost(...). `costs`, where a sample's\n"
      "time is no function of its length (sparse attention, images of several sizes), are nanoseconds of each sample on one rank;\n"
      "exchanges and passes take what `cost` says. The methods of ballast take them. `method` is \"ballast\",\n"
      "\"ballast-lockstep\" where ranks wait after every pass (ZeRO-3), \"ballast-pure\", \"ballast-any\" where groups may have any\n"
      "number of ranks (so do those of \"ballast\" if `ranks` is no power of two), or the name of a published system, as\n"
      "\"flexsp\", \"skrull\", \"verl\". Methods with one setting for all batches plan for `longest`, the longest sample of all data.\n"
      "\"wlb\" begins anew with each call. `seed` is for methods that draw. Without `deep`, the methods of ballast plan in a fraction of\n"
      "the time, and nearly as well.");
  m.def(
      "share_pack",
      [](array_like const& lengths, std::uint64_t ranks, std::string const& cut) {
        auto given = integers(lengths, "lengths").copy();
        require_positive(given);
        auto plan = ballast::cut_documents(given, ranks, value_named(cut_words, cut, "cut"));
        return shard_plan(std::move(plan), std::move(given));
      },
      "lengths"_a, nb::kw_only(), "ranks"_a, "cut"_a = "per_document",
      "Cuts the samples of one pack over all ranks, of which each gets an early and a late chunk: of each sample (\"per_document\"), so\n"
      "that ranks compute the same number of pairs, or of the packed row (\"per_sequence\"), so that pieces are long.");
  m.def(
      "share_packs",
      [](nb::typed<nb::iterable, array_like> const& packs, array_like const& first, std::uint64_t degree, std::uint64_t ranks,
         std::string const& layout) {
        require(ranks > 0 && ranks < std::uint64_t{1} << 20,
                [&] { return "ranks = " + std::to_string(ranks) + " must be in 1 ... 2^20 - 1"; });
        require(degree > 0 && degree <= ranks,
                [&] { return "degree = " + std::to_string(degree) + " must be in 1 ... ranks = " + std::to_string(ranks); });
        shared_packs all{.offsets = {0}, .degree = degree};
        for (nb::handle const pack : packs) {
          auto const name = "packs[" + std::to_string(all.offsets.size() - 1) + "]";
          auto const here = integers(pack, name.c_str()).copy();
          require(!here.empty(), [&] { return name + " is empty"; });
          all.lengths.insert(all.lengths.end(), here.begin(), here.end());
          all.offsets.push_back(all.lengths.size());
        }
        require_positive(all.lengths);
        auto const places = integers(first, "first").copy();
        require(places.size() + 1 == all.offsets.size(), [&] {
          return "first has " + std::to_string(places.size()) + " entries for " + std::to_string(all.offsets.size() - 1) + " packs";
        });
        for (std::size_t i = 0; i < places.size(); ++i) {
          require(places[i] >= 0 && std::cmp_less_equal(places[i], ranks - degree), [&] {
            return "first[" + std::to_string(i) + "] = " + std::to_string(places[i]) + " and the " + std::to_string(degree) +
                   " ranks from there on are not among " + std::to_string(ranks);
          });
          all.first.push_back(static_cast<std::uint64_t>(places[i]));
        }
        auto plan = shards_of_packs(all, ranks, layout);
        return shard_plan(std::move(plan), std::move(all.lengths));
      },
      "packs"_a, nb::kw_only(), "first"_a, "degree"_a, "ranks"_a, "layout"_a = "zigzag",
      "The packs of a step as shards: pack i, the lengths of its samples, is a pass of the ranks first[i] ... first[i] + degree - 1,\n"
      "which cut each sample as the passes of `Levels.shards_of` do. Samples are numbered from 0 over all packs.");
  m.def(
      "zigzag_indices",
      [](array_like const& cu, std::int64_t ranks, std::int64_t rank) {
        return array_of(ballast::zigzag_indices<std::int64_t>(integers(cu, "cu").copy(), {.ranks = ranks}, rank));
      },
      "cu"_a, nb::kw_only(), "ranks"_a, "rank"_a,
      "The tokens of a packed row that a rank of context parallelism holds, int64, in the layout of Transformer Engine. `cu` are\n"
      "cumulative lengths that are padded: `cu_seqlens(pack, lengths, multiple=2 * ranks)`.");
  m.def(
      "zigzag_inverse",
      [](array_like const& cu, std::int64_t ranks) {
        return array_of(ballast::zigzag_inverse<std::int64_t>(integers(cu, "cu").copy(), {.ranks = ranks}));
      },
      "cu"_a, nb::kw_only(), "ranks"_a, "The place of each token of the packed row in the rows of all ranks, one behind the other.");
}

}  // namespace ballast_python
