// SPDX-License-Identifier: Apache-2.0
#include "report/weight_layouts.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/weights/check.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_cli {

namespace {

using ballast::tap::sharded_model;

[[nodiscard]] double step_ms(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e9; }

/// How often each of the different layouts is used.
[[nodiscard]] std::vector<std::uint64_t> uses_of_layouts(sharded_model const& made) {
  std::vector<std::uint64_t> out(made.plan.layouts.size(), 0);
  for (auto const& r : made.plan.runs) out[r.block] += r.count;
  return out;
}

/// "layers.0.qkv" is "qkv" of any layer.
[[nodiscard]] std::string plain_name(std::string const& name) { return name.substr(name.rfind('.') + 1); }

/// Calls `visit` with each weight of layouts that is not a vector: its operator, itself and its place.
template <class Visit>
void for_each_weight(sharded_model const& made, ballast::block_layouts const& layouts, Visit const& visit) {
  auto const& block = made.chain.blocks[layouts.block];
  for (std::size_t v = 0; v < block.size(); ++v)
    for (std::size_t i = 0; i < block[v].weights.size(); ++i)
      if (block[v].weights[i].kind != ballast::weight_kind::vector) visit(block[v], block[v].weights[i], layouts.operators[v].weights[i]);
}

/// The layouts of the activations between a block's operators, which the weights do not say.
[[nodiscard]] nlohmann::ordered_json operators_of_layouts(sharded_model const& made, ballast::block_layouts const& layouts) {
  auto out = nlohmann::ordered_json::array();
  auto const& block = made.chain.blocks[layouts.block];
  for (std::size_t v = 0; v < block.size(); ++v) {
    auto const& at = layouts.operators[v];
    out.push_back({{"operator", plain_name(block[v].name)}});
    if (block[v].opens) out.back()["residual"] = to_string(at.residual);
    if (block[v].rule != ballast::layout_rule::weights) out.back()["reads"] = to_string(at.reads);
    out.back()["makes"] = to_string(at.makes);
  }
  return out;
}

[[nodiscard]] nlohmann::ordered_json exchanges_of_layouts(sharded_model const& made, ballast::block_layouts const& layouts) {
  static constexpr std::array names{"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send"};  // as of `collective`
  auto out = nlohmann::ordered_json::array();
  auto const& block = made.chain.blocks[layouts.block];
  for (auto const& e : ballast::exchanges_of(block, layouts, made.on))
    out.push_back({{"operator", e.at < block.size() ? plain_name(block[e.at].name) : "exit"},
                   {"pass", to_string(e.pass)},
                   {"collective", names[static_cast<std::size_t>(e.how)]},
                   {"bytes", e.bytes},
                   {"ranks", e.ranks}});
  return out;
}

[[nodiscard]] std::string row(std::string const& name, std::string const& step, std::string const& bytes, std::string const& about) {
  return formatted("%-15s %12s %17s", name.c_str(), step.c_str(), bytes.c_str()) + (about.empty() ? "" : "  " + about) + "\n";
}
[[nodiscard]] std::string row_of(std::string const& name, sharded_model const& made, sharded_model const& planned) {
  auto const& p = made.plan;
  if (p.status != ballast::status::feasible)
    return row(name, "-", "-", p.shortage > 0 ? many_bytes(p.shortage) + " are missing" : "something cannot be split by the ranks");
  auto const more = 100 * (step_ms(p.time.value) / step_ms(planned.plan.time.value) - 1);
  auto const about = &made != &planned  ? formatted("%+.2f %%", more)
                     : p.time.optimal() ? std::string("no layouts are faster")
                                        : formatted("at most %.3f %% above the fastest layouts", 100 * p.time.gap());
  return row(name, formatted("%.1f ms", step_ms(p.time.value)), grouped(static_cast<std::uint64_t>(p.bytes)), about);
}

[[nodiscard]] nlohmann::ordered_json figures_of_plan(sharded_model const& made) {
  auto const& p = made.plan;
  if (p.status != ballast::status::feasible) return {{"feasible", false}, {"missing_bytes", p.shortage}};
  return {{"feasible", true}, {"step_ps", p.time.value}, {"lower_bound_ps", p.time.lower_bound}, {"bytes", p.bytes}};
}

}  // namespace

std::string in_words(weight_plans const& plans) {
  auto const& made = plans.planned;
  auto const number = [](std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)); };
  auto out = plans.model + " on " + std::to_string(made.on.devices * made.on.data) + " ranks, " + plans.device + "; " +
             number(made.on.tokens * made.on.data) + " tokens in a pass, sequences of " + number(plans.length) + "\n";
  if (made.on.data > 1)
    out += std::to_string(made.on.data) + " groups of " + counted(static_cast<std::uint64_t>(made.on.devices), "rank") +
           ", each with tokens of its own\n";
  out += "\n" + row("", "step", "bytes of a rank", "");
  out += row_of("planned", made, made) + row_of("Megatron-LM", plans.megatron, made) + row_of("data parallel", plans.data_parallel, made);
  auto const uses = uses_of_layouts(made);
  for (std::size_t l = 0; l < uses.size(); ++l) {
    auto const& layouts = made.plan.layouts[l];
    out += "\n" + counted(uses[l], "block") + ", " + std::string(to_string(layouts.entry)) + " to " + std::string(to_string(layouts.exit)) +
           "\n";
    for_each_weight(made, layouts, [&](ballast::layout_operator const&, ballast::layout_weight const& w, ballast::weight_place const& at) {
      out += formatted("  %-10s %-11s reads %-11s %-12s %s\n", w.name.c_str(), std::string(to_string(at.layout)).c_str(),
                       std::string(to_string(at.reads)).c_str(), std::string(ballast::tap::dtensor_word(w.kind, at.layout)).c_str(),
                       std::string(ballast::tap::megatron_word(w.kind, at.layout)).c_str());
    });
  }
  return out + "\n" + grouped(made.plan.evaluated) + " layouts of operators were evaluated. All " + number(made.weights) +
         " matrices by columns, by rows or replicated would be 3^" + std::to_string(made.weights) + " plans. Times are modelled.\n";
}

nlohmann::ordered_json to_json(weight_plans const& plans) {
  auto const& made = plans.planned;
  auto layouts = nlohmann::ordered_json::array(), runs = nlohmann::ordered_json::array();
  for (auto const& l : made.plan.layouts) {
    auto weights = nlohmann::ordered_json::array();
    for_each_weight(made, l, [&](ballast::layout_operator const& o, ballast::layout_weight const& w, ballast::weight_place const& at) {
      weights.push_back({{"operator", plain_name(o.name)},
                         {"weight", w.name},
                         {"layout", to_string(at.layout)},
                         {"reads", to_string(at.reads)},
                         {"dtensor", ballast::tap::dtensor_word(w.kind, at.layout)},
                         {"megatron", ballast::tap::megatron_word(w.kind, at.layout)}});
    });
    layouts.push_back({{"reads", to_string(l.entry)},
                       {"makes", to_string(l.exit)},
                       {"step_ps", l.time},
                       {"bytes", l.bytes},
                       {"weights", weights},
                       {"operators", operators_of_layouts(made, l)},
                       {"exchanges", exchanges_of_layouts(made, l)}});
  }
  for (auto const& r : made.plan.runs) runs.push_back({{"layouts", r.block}, {"blocks", r.count}});
  return {{"model", plans.model},
          {"ranks", made.on.devices * made.on.data},
          {"group", made.on.devices},
          {"tokens", made.on.tokens * made.on.data},
          {"length", plans.length},
          {"passes", made.on.passes},
          {"memory", made.on.memory},
          {"planned", figures_of_plan(made)},
          {"megatron", figures_of_plan(plans.megatron)},
          {"data_parallel", figures_of_plan(plans.data_parallel)},
          {"evaluated", made.plan.evaluated},
          {"matrices", made.weights},
          {"layouts", layouts},
          {"runs", runs}};
}

}  // namespace ballast_cli
