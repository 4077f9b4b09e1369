// SPDX-License-Identifier: Apache-2.0
#include "costs.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/sample_time.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "binders.hpp"
#include "readers/preset_names.hpp"
#include "report/output.hpp"
#include "words.hpp"

namespace ballast_python {

using ballast::require;
using ballast::transformer;
using ballast::transformer_cost;

bool operator==(any_cost const& a, any_cost const& b) {
  auto const table_of = [](any_cost const& cost) {
    auto const* const costs = std::get_if<sample_costs>(&cost.model);
    return costs != nullptr ? &costs->of : std::get_if<length_table>(&cost.model);
  };
  auto const* const one = table_of(a);
  auto const* const other = table_of(b);
  if (a.model.index() != b.model.index()) return false;
  return one == nullptr ? a.model == b.model : **one == **other;
}

std::optional<transformer> shape_of(nb::handle model, bool images) {
  if (nb::isinstance<transformer>(model)) return nb::cast<transformer>(model);
  auto const is_known = nb::isinstance<nb::str>(model) || nb::isinstance<nb::dict>(model) || nb::hasattr(model, "__fspath__") ||
                        nb::hasattr(model, "model_type") || (nb::hasattr(model, "config") && !nb::hasattr(model, "__array__"));
  if (!is_known) return std::nullopt;
  return nb::cast<transformer>(nb::module_::import_("ballast.models").attr("shape_of")(model, "images"_a = images));
}

std::string in_a_line(transformer const& t) {
  return ballast_cli::counted(static_cast<std::uint64_t>(t.layers), "layer") + " of width " +
         ballast_cli::grouped(static_cast<std::uint64_t>(t.hidden)) + ", " +
         ballast_cli::counted(static_cast<std::uint64_t>(ballast::parameters(t)), "parameter");
}

namespace {

any_cost time_of_samples(transformer const& model, std::string const& device, std::int64_t capacity) {
  auto const& on = entry_named(ballast::devices, device, "device");
  return {ballast::coarse_cost{.fine = ballast::sample_time(model, on, {.rates = ballast::kernels_for(on)}, {}, {.capacity = capacity})}};
}

/// What a callable says of a length. An error of its own has a note that names the length, from Python 3.11 on.
nb::object asked(nb::object const& cost, std::size_t length) {
  try {
    return cost(length);
  } catch (nb::python_error const& error) {
    if (nb::hasattr(error.value(), "add_note")) error.value().attr("add_note")("cost was asked for length " + std::to_string(length));
    throw;
  }
}

/// The table of a callable, which is asked once for each length. Numbers that are not whole are scaled, so that the largest is 2^40.
any_cost tabulated(nb::object const& cost, std::int64_t longest) {
  require(longest < 1 << 24,
          [&] { return "cost is a function, which is asked for every length up to 2^24, and there is one of " + std::to_string(longest); });
  std::vector<std::int64_t> table(static_cast<std::size_t>(longest) + 1);
  std::vector<double> values(table.size());
  auto whole = true;
  for (std::size_t n = 1; n < table.size(); ++n) {
    auto const value = asked(cost, n);
    auto const is_whole = nb::try_cast(value, table[n]);
    if (is_whole) values[n] = static_cast<double>(table[n]);
    require((is_whole || nb::try_cast(value, values[n])) && values[n] >= 0 && std::isfinite(values[n]), [&] {
      return "cost(" + std::to_string(n) + ") = " + nb::cast<std::string>(nb::repr(value)) + " must be a number that is not negative";
    });
    whole = whole && is_whole;
  }
  auto const most = *std::max_element(values.begin(), values.end());
  if (!whole && most > 0)
    for (std::size_t n = 1; n < table.size(); ++n) table[n] = static_cast<std::int64_t>(std::llround(std::ldexp(values[n] / most, 40)));
  return {std::make_shared<std::vector<std::int64_t> const>(std::move(table))};
}

bool is_function(nb::object const& cost) {  // a module is called, too, but has a config
  return nb::isinstance<nb::callable>(cost) && !nb::isinstance<any_cost>(cost) && !nb::hasattr(cost, "config");
}

}  // namespace

any_cost cost_of(cost_argument const& argument, std::int64_t capacity, char const* name) {
  require(!argument.is_none(), [&] {
    return std::string(name) +
           " is missing, and no cost is assumed: say what a sample costs, by the name, the config or the module of a model, as in "
           "\"llama-3.1-8b\", ballast.sample_time(...), ballast.token_cost(), or an array of integers with the cost of each length; "
           "where costs is an argument, it takes one number for each sample";
  });
  if (nb::isinstance<any_cost>(argument)) return nb::cast<any_cost>(argument);
  if (auto const model = shape_of(argument)) return time_of_samples(*model, "h100", capacity);
  if (is_function(argument)) return tabulated(argument, capacity);
  integers const table(argument, name);
  return {std::make_shared<std::vector<std::int64_t> const>(table.copy())};
}

void price_micro_batches(ballast::batching_options& options, any_cost& cost, integers const& lengths) {
  if (auto* const time = std::get_if<ballast::coarse_cost>(&cost.model); time != nullptr && options.cost_per_step == 0)
    *time = ballast::coarse_cost_of(time->fine, lengths.range(), options);
  options.cost_per_micro_batch = cost.per_micro_batch();
}

any_cost cost_of(cost_argument const& argument, integers const& lengths, std::int64_t capacity) {
  std::int64_t longest = 0;
  for (auto const l : lengths.range()) longest = (std::max)(longest, l);
  auto cost = cost_of(argument, is_function(argument) ? (std::max)(longest, capacity) : capacity);
  if (auto const* const table = std::get_if<length_table>(&cost.model); table != nullptr) {
    require(std::cmp_less(longest, (*table)->size()), [&] {
      return "cost has " + std::to_string((*table)->size()) + " entries, the costs of lengths from 0: it lacks that of length " +
             std::to_string(longest);
    });
    require((*table)->size() != lengths.size() || is_function(argument), [&] {
      return "cost has " + std::to_string(lengths.size()) +
             " entries, as many as there are samples, but an array gives the costs of the lengths 0, 1, 2, ...: if these are costs of the "
             "samples, pass them as costs=; if they are costs of lengths, append one more";
    });
  }
  return cost;
}

any_cost cost_of(cost_argument const& argument, optional_array const& costs, integers const& lengths, std::int64_t capacity) {
  if (costs.is_none()) return cost_of(argument, lengths, capacity);
  require(argument.is_none(), [] { return "cost prices a length and costs each sample: give one of them"; });
  integers const known(costs, "costs");
  require(known.size() == lengths.size(), [&] {
    return "costs has " + std::to_string(known.size()) + " entries for " + std::to_string(lengths.size()) +
           " lengths: give one for each sample";
  });
  return {sample_costs{std::make_shared<std::vector<std::int64_t> const>(known.copy())}};
}

namespace {

/// What a cost is made of, for pickle: which kind, and its numbers.
using parts = std::tuple<std::size_t, std::vector<std::int64_t>>;

parts parts_of(any_cost const& cost) {
  std::vector<std::int64_t> numbers;
  if (auto const* const t = std::get_if<transformer_cost>(&cost.model))
    numbers = {t->per_token, t->per_pair, t->per_windowed_pair, t->window, t->causal ? 1 : 0, t->chunked ? 1 : 0, t->flops_per_unit};
  if (auto const* const q = std::get_if<ballast::quadratic_cost>(&cost.model)) numbers = {q->linear, q->quadratic};
  if (auto const* const table = std::get_if<length_table>(&cost.model)) numbers = **table;
  if (auto const* const k = std::get_if<ballast::coarse_cost>(&cost.model))
    numbers = {k->fine.tokens.linear, k->fine.tokens.quadratic, k->fine.per_micro_batch, k->units};
  return {cost.model.index(), numbers};
}

any_cost made_of(parts const& from) {
  auto const& [kind, n] = from;
  require(kind <= 4 && (kind != 1 || n.size() == 2) && (kind != 2 || n.size() == 7) && (kind != 4 || n.size() == 4),
          [] { return "this is not the state of a cost"; });
  if (kind == 1) return {ballast::quadratic_cost{.linear = n[0], .quadratic = n[1]}};
  if (kind == 2)
    return {transformer_cost{.per_token = n[0],
                             .per_pair = n[1],
                             .per_windowed_pair = n[2],
                             .window = n[3],
                             .causal = n[4] != 0,
                             .chunked = n[5] != 0,
                             .flops_per_unit = n[6]}};
  if (kind == 3) return {std::make_shared<std::vector<std::int64_t> const>(n)};
  if (kind == 4)
    return {ballast::coarse_cost{.fine = {.tokens = {.linear = n[0], .quadratic = n[1]}, .per_micro_batch = n[2]}, .units = n[3]}};
  return {};
}

std::int64_t checked(any_cost const& cost, std::int64_t length) {
  return ballast::checked_cost(length, cost, "cost", [&] { return "length = " + std::to_string(length); });
}

std::string name_of(any_cost const& cost) {
  auto const& [kind, n] = parts_of(cost);
  if (kind == 1) return "Cost(" + std::to_string(n[0]) + " per token, " + std::to_string(n[1]) + " per squared token)";
  if (kind == 2)
    return "Cost(" + std::to_string(n[0]) + " per token, " + std::to_string(n[1]) + " per pair, " + std::to_string(n[2]) +
           " per pair in windows of " + std::to_string(n[3]) + ")";
  if (kind == 3) return "Cost(of " + std::to_string(n.size()) + " lengths)";
  if (kind == 4)
    return "Cost(" + std::to_string(n[0]) + " ps per token, " + std::to_string(n[1]) + " per squared token, " + std::to_string(n[2]) +
           " per micro-batch" + (n[3] == 1 ? "" : ", in units of " + std::to_string(n[3])) + ")";
  return "Cost(1 per token)";
}

void bind_transformer(nb::module_& m) {
  nb::class_<transformer>(
      m, "Transformer",
      "The shape of a transformer. Make it by ballast.transformer(...), or by name: ballast.transformer(\"llama-3.1-8b\").")
      .def_prop_ro(
          "parameters", [](transformer const& t) { return ballast::parameters(t); }, "Number of parameters.")
      .def_ro("layers", &transformer::layers, "Number of layers.")
      .def_ro("hidden", &transformer::hidden, "Width of the residual stream.")
      .def("__repr__", [](transformer const& t) { return "<Transformer: " + in_a_line(t) + ">"; });
  m.def(
      "transformer", [](std::string const& name) { return ballast::transformer_preset(ballast_cli::preset_of(name).value_or(name)); },
      "name"_a, "The shape of a published model, by one of the names in ballast.presets() or its name on a hub.");
  m.def(
      "transformer",
      [](std::int64_t layers, std::int64_t hidden, std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_width,
         std::int64_t ffn, std::int64_t vocabulary, bool gated, bool causal, std::int64_t window, std::int64_t experts,
         std::int64_t active_experts, std::int64_t expert_ffn, std::int64_t shared_ffn, bool norm_bias, std::int64_t qk_norm, bool tied,
         std::int64_t positions, bool qkv_bias, bool output_bias, bool ffn_bias) {
        transformer const shape{.layers = layers,
                                .hidden = hidden,
                                .query_heads = query_heads,
                                .kv_heads = kv_heads,
                                .head_width = head_width,
                                .ffn = ffn,
                                .gated = gated,
                                .vocabulary = vocabulary,
                                .tied = tied,
                                .positions = positions,
                                .causal = causal,
                                .window = window,
                                .experts = experts,
                                .active_experts = active_experts,
                                .expert_ffn = expert_ffn,
                                .shared_ffn = shared_ffn,
                                .qkv_bias = qkv_bias,
                                .output_bias = output_bias,
                                .ffn_bias = ffn_bias,
                                .norm_bias = norm_bias,
                                .qk_norm = qk_norm};
        ballast::require_valid(shape);
        return shape;
      },
      nb::kw_only(), "layers"_a, "hidden"_a, "query_heads"_a, "kv_heads"_a, "head_width"_a, "ffn"_a = 0, "vocabulary"_a = 0,
      "gated"_a = true, "causal"_a = true, "window"_a = 0, "experts"_a = 0, "active_experts"_a = 0, "expert_ffn"_a = 0, "shared_ffn"_a = 0,
      "norm_bias"_a = false, "qk_norm"_a = 0, "tied"_a = false, "positions"_a = 0, "qkv_bias"_a = false, "output_bias"_a = false,
      "ffn_bias"_a = false,
      "The shape of a model.\n\n`ffn` is the inner width of a dense feed-forward block, `gated` whether it has three matrices. With\n"
      "`window`, every layer sees that many keys. With `experts`, every layer sends a token to `active_experts` of them.\n"
      "`norm_bias` says that norms are LayerNorms; `qk_norm` is the number of weights of the norms of queries and keys; `tied` says that "
      "the\n"
      "head has the embedding's matrix; `positions` is the number of rows of a learned embedding of positions.");
  m.def(
      "presets",
      [] {
        nb::list names;
        for (auto const& p : ballast::transformer_presets) names.append(std::string(p.name));
        return names;
      },
      nb::sig("def presets() -> list[str]"), "The names of published models, each of which is a cost: cost=\"llama-3.1-8b\".");
}

}  // namespace

void bind_costs(nb::module_& m) {
  bind_transformer(m);
  nb::class_<any_cost>(m, "Cost", "What a sample costs, by its length, in integers. A cost is called: cost(4096).")
      .def("__call__", &checked, "length"_a, "The cost of a sample of that many tokens.")
      .def_prop_ro("per_micro_batch", &any_cost::per_micro_batch, "What a micro-batch takes beside its samples; 0 unless it is known.")
      .def("__repr__", &name_of)
      .def("__eq__", [](any_cost const& a, nb::object const& b) { return nb::isinstance<any_cost>(b) && a == nb::cast<any_cost>(b); })
      .def("__hash__", [](any_cost const& a) { return std::hash<std::string>()(name_of(a)); })
      .def("__getstate__", &parts_of)
      .def("__setstate__", [](any_cost& cost, parts const& from) { new (&cost) any_cost(made_of(from)); });
  m.def("token_cost", [] { return any_cost{}; }, "A cost of 1 for each token: right where attention costs little.");
  m.def(
      "quadratic_cost",
      [](std::int64_t linear, std::int64_t quadratic) {
        return any_cost{ballast::quadratic_cost{.linear = linear, .quadratic = quadratic}};
      },
      "linear"_a, "quadratic"_a, "A cost of linear * length + quadratic * length * length.");
  m.def(
      "sample_time",
      [](nb::object const& model, std::string const& device, std::int64_t capacity) {
        auto const shape = shape_of(model);
        require(shape.has_value(), [] { return "model is no name of a model, no config of one, and no Transformer"; });
        return time_of_samples(*shape, device, capacity);
      },
      "model"_a, "device"_a = "h100", "capacity"_a = ballast::sample_time_options{}.capacity,
      nb::sig("def sample_time(model: object, device: str = 'h100', capacity: int = 16384) -> Cost"),
      "The time of a sample in a model on a device, in picoseconds, by what its kernels reach; `per_micro_batch` is what a micro-batch\n"
      "takes beside its samples. This is what cost=\"llama-3.1-8b\" means, on an h100. It is made for micro-batches of about\n"
      "`capacity` tokens.");
  m.def(
      "sample_cost",
      [](cost_argument const& model) -> any_cost {
        if (auto const shape = shape_of(model)) return {ballast::sample_cost(*shape)};
        return cost_of(model, ballast::sample_time_options{}.capacity, "model");
      },
      "model"_a.none(),
      "The exact cost of a sample in a model, in units of its FLOPs: linear in the tokens, and attention by pairs.\n\n"
      "`model` is a name, a config or a module of a model, a Transformer, or an array of integers with the cost of each length.");
}

}  // namespace ballast_python
