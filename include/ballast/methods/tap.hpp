// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/repeated_subgraphs.hpp>
#include <ballast/graph/subgraphs.hpp>
#include <ballast/weights/layout_model.hpp>
#include <ballast/weights/layouts.hpp>
#include <ballast/weights/plan_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// @brief TAP (Shi et al., 2023): weights are split over devices by planning one of each kind of repeated subgraph.

namespace ballast::inline v0_2::tap {

/// @brief The operators as a graph: activations from one to the next, those that are added later, and weights.
/// @param operators  a chain
/// @return the graph, with an operator for each
/// @par Complexity
/// O(operators + weights).
template <class = when_called>
[[nodiscard]] graph graph_of(std::span<layout_operator const> operators) {
  graph out;
  auto x = out.add({.bytes = operators.empty() ? 0 : operators[0].width});
  auto added = x;
  for (auto const& o : operators) {
    if (o.opens) added = x;
    std::vector<std::uint32_t> reads{x};
    for (auto const& w : o.weights)
      reads.push_back(out.add({.kind = tensor_kind::parameter, .bytes = w.in * w.out * w.matrices + w.router, .kept = true}));
    if (o.closes && added != x) reads.push_back(added);
    auto const y = out.add({.bytes = o.makes});
    out.add({.name = o.name, .time = o.flops, .workspace = o.kept}, reads, std::span(&y, 1));
    x = y;
  }
  return out;
}

/// @brief Folds a chain of operators: equal parts become one block.
///
/// Repeated subgraphs of `graph_of` that stand one behind the other are cut off, and so is what is between them. A cut inside of what is
/// added later is left out. Parts whose operators are equal but for their names are the same block.
///
/// @param operators  the chain
/// @param limits     which subgraphs count; `names` is used only if all operators have one
/// @return blocks, and how they follow each other
/// @post written out, the runs are the operators
/// @par Complexity
/// That of `find_repeated_subgraphs`, and O(operators x different operators).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] layout_chain fold(std::span<layout_operator const> operators, subgraph_limits limits = {.names = true}) {
  limits.names = limits.names && std::none_of(operators.begin(), operators.end(), [](auto const& o) { return o.name.empty(); });
  std::vector<bool> cut(operators.size() + 1, false);
  cut.front() = cut.back() = true;
  for (auto const& c : find_repeated_subgraphs(graph_of(operators), limits).classes)
    for (auto const copy : c.copies) {
      auto const [first, last] = std::minmax_element(copy.begin(), copy.end());
      if (*last - *first + 1 == copy.size()) cut[*first] = cut[*last + 1] = true;
    }
  std::vector<layout_operator> different;  // without names
  std::map<std::vector<std::uint32_t>, std::uint32_t> blocks;
  std::vector<std::uint32_t> key;
  layout_chain out;
  bool open = false;
  for (std::size_t v = 0, begin = 0; v < operators.size(); ++v) {
    auto plain = operators[v];
    plain.name.clear();
    auto const known = std::find(different.begin(), different.end(), plain);
    key.push_back(static_cast<std::uint32_t>(known - different.begin()));
    if (known == different.end()) different.push_back(std::move(plain));
    open = (open || operators[v].opens) && !operators[v].closes;
    if (!cut[v + 1] || (open && v + 1 < operators.size())) continue;
    auto const [at, added] = blocks.emplace(std::move(key), static_cast<std::uint32_t>(blocks.size()));
    key.clear();
    if (added)
      out.blocks.emplace_back(operators.begin() + static_cast<std::ptrdiff_t>(begin),
                              operators.begin() + static_cast<std::ptrdiff_t>(v) + 1);
    if (!out.runs.empty() && out.runs.back().block == at->second)
      ++out.runs.back().count;
    else
      out.runs.push_back({at->second, 1});
    begin = v + 1;
  }
  return out;
}

/// @brief A model that was folded, and the layouts of its weights.
struct sharded_model {
  layout_chain chain{};             ///< the blocks
  layout_setting on{};              ///< what it was planned for
  layout_plan plan{};               ///< their layouts
  std::int64_t weights = 0;         ///< matrices of the model: an enumeration would try 3^weights plans
  std::int64_t folded_weights = 0;  ///< matrices of the different blocks: enumerating these would try 3^folded_weights
};

/// @brief Folds a model, plans each of its blocks once, and repeats them.
///
/// The published system enumerates the splits of one copy of each repeated subgraph, takes the one that exchanges least, and copies it.
/// Here a copy is planned for each layout of its input and output, exactly, with its memory beside its time, and copies may differ: where
/// memory allows some of the layers to be faster, some are.
///
/// @param operators  the model, such as `operators_of` writes it
/// @param options    devices, tokens, memory and links
/// @return the layouts of all weights
/// @post `check_layouts(chain, plan, on)` accepts the plan
/// @throws invalid_input as `plan_layouts`
/// @par Complexity
/// That of `fold` and `plan_layouts`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Shi et al., "TAP: accelerating large-scale DNN training through tensor automatic parallelisation", arXiv 2302.00247.
template <class = when_called>
[[nodiscard]] sharded_model shard(std::span<layout_operator const> operators, layout_setting const& options) {
  sharded_model out{.chain = fold(operators), .on = options};
  auto const matrices = [](std::span<layout_operator const> of) {
    std::int64_t sum = 0;
    for (auto const& o : of)
      if (o.rule == layout_rule::weights) sum += static_cast<std::int64_t>(o.weights.size());
    return sum;
  };
  out.weights = matrices(operators);
  for (auto const& b : out.chain.blocks) out.folded_weights += matrices(b);
  out.plan = plan_layouts(out.chain, options);
  return out;
}

/// @brief Plans a model on a mesh: each divisor of the devices as the size of a group, and groups that train tokens of their own.
/// @param operators  the model
/// @param options    `devices`, `tokens` and `sequences` are those of all groups together; `data` is not read
/// @return the fastest of the meshes, smaller groups first if equal; if none is feasible, the one with the least shortage. Its bound holds
/// for all meshes
/// @throws invalid_input as `plan_layouts`
/// @par Complexity
/// That of `shard` for each divisor.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] sharded_model shard_mesh(std::span<layout_operator const> operators, layout_setting const& options) {
  sharded_model best;
  std::int64_t bound = -1;
  require(options.devices >= 1, [&] { return sentence("devices = ", options.devices, " must be at least 1"); });
  for (std::int64_t group = 1; group <= options.devices; ++group) {
    auto const groups = options.devices / group;
    if (options.devices % group != 0 || options.tokens % groups != 0 || options.sequences % groups != 0) continue;
    auto each = options;
    each.devices = group;
    each.data = groups;
    each.tokens = options.tokens / groups;
    each.sequences = options.sequences / groups;
    auto made = shard(operators, each);
    auto const feasible = made.plan.status == status::feasible, had = best.plan.status == status::feasible;
    if (feasible && (bound < 0 || made.plan.time.lower_bound < bound)) bound = made.plan.time.lower_bound;
    auto const missing = [](layout_plan const& p) { return p.shortage == 0 ? (std::int64_t{1} << 62) : p.shortage; };
    auto const better = feasible ? !had || made.plan.time.value < best.plan.time.value
                                 : !had && (best.chain.blocks.empty() || missing(made.plan) < missing(best.plan));
    if (better) best = std::move(made);
  }
  if (best.plan.status == status::feasible) best.plan.time.lower_bound = bound;
  return best;
}

/// @brief Plans a model as Megatron-LM does, to compare: all matrices are split, those that close by rows and the others by columns,
/// embedding and head by vocabulary; experts are whole, with activations split by sequence where a model has any.
/// @param operators  the model
/// @param options    devices, tokens, memory and links; which layouts may be used is not read
/// @return the plan; infeasible without a shortage if something, such as heads, cannot be split by the devices
/// @throws invalid_input as `plan_layouts`
/// @par Complexity
/// That of `shard`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Shoeybi et al., "Megatron-LM", arXiv 1909.08053.
template <class = when_called>
[[nodiscard]] sharded_model shard_as_megatron(std::span<layout_operator const> operators, layout_setting options) {
  std::vector<layout_operator> own(operators.begin(), operators.end());
  options.replicate = options.devices == 1;
  options.split = options.replicated = true;
  options.sequence = options.batch = false;
  for (auto& o : own)
    for (auto& w : o.weights) {
      options.sequence = options.sequence || w.kind == weight_kind::experts;
      if (w.kind == weight_kind::embedding || (w.kind == weight_kind::matrix && o.closes)) w.column_units = 1;
      if (w.kind == weight_kind::head || (w.kind == weight_kind::matrix && !o.closes)) w.row_units = 1;
    }
  return shard(own, options);
}

/// @brief Plans a model by data parallelism alone, to compare: all weights are replicated, activations are split by batch.
/// @param operators  the model
/// @param options    devices, tokens, memory and links; which layouts may be used is not read
/// @return the plan
/// @throws invalid_input as `plan_layouts`
/// @par Complexity
/// That of `shard`.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] sharded_model shard_as_data_parallel(std::span<layout_operator const> operators, layout_setting options) {
  options.split = options.replicated = options.sequence = false;
  options.replicate = options.batch = true;
  return shard(operators, options);
}

/// @brief What PyTorch's DTensor calls the layout of a weight. Linear layers keep columns first, so columns are `Shard(0)`.
/// @param kind    what the weight is
/// @param layout  its layout
/// @return "Replicate()", "Shard(0)" or "Shard(1)"
[[nodiscard]] constexpr std::string_view dtensor_word(weight_kind kind, weight_layout layout) noexcept {
  if (layout == weight_layout::replicated) return "Replicate()";
  auto const second = layout == weight_layout::rows || (layout == weight_layout::columns && kind == weight_kind::embedding);
  return second ? "Shard(1)" : "Shard(0)";
}
/// @brief The module of Megatron-LM that holds a weight in a layout.
/// @param kind    what the weight is
/// @param layout  its layout
/// @return "ColumnParallelLinear", "RowParallelLinear", "VocabParallelEmbedding", "expert parallel", "replicated"; "none" for the columns
/// of an embedding, which Megatron-LM does not split
[[nodiscard]] constexpr std::string_view megatron_word(weight_kind kind, weight_layout layout) noexcept {
  using enum weight_layout;
  if (layout == weight_layout::replicated) return "replicated";
  if (layout == weight_layout::experts) return "expert parallel";
  if (kind == weight_kind::embedding) return layout == vocabulary ? "VocabParallelEmbedding" : "none";
  return layout == rows ? "RowParallelLinear" : "ColumnParallelLinear";
}

}  // namespace ballast::inline v0_2::tap
