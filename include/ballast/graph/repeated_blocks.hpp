// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

/// @file
/// @brief `find_repeats`: the layers of a model, found in its graph; `without_layers`: the same graph with fewer of them.

namespace ballast::inline v0_2 {

/// @brief Operators in program order that repeat: one block for each layer.
struct repeated_run {
  std::uint32_t begin = 0;   ///< first operator
  std::uint32_t period = 0;  ///< operators of a block
  bool descending = false;   ///< whether the first block belongs to the last layer, as in a backward pass

  friend bool operator==(repeated_run const&, repeated_run const&) = default;
};

/// @brief The place of an operator in a graph with layers.
struct block_place {
  static constexpr auto outside = (std::numeric_limits<std::uint32_t>::max)();  ///< `run` of an operator that belongs to no layer

  std::uint32_t run = outside;  ///< which run
  std::uint32_t layer = 0;      ///< 0 … layers - 1
  std::uint32_t position = 0;   ///< in the block, 0 … period - 1
};

/// @brief The layers of a graph. All runs have one block for each of them.
struct repeated_blocks {
  std::uint32_t layers = 0;          ///< number of layers; 0 if the graph does not repeat
  std::vector<repeated_run> runs{};  ///< by program order: commonly forward, backward and update

  /// @brief Finds the place of an operator. @param v its index @return its run, layer and position
  [[nodiscard]] block_place place_of(std::uint32_t v) const {
    for (std::uint32_t r = 0; r < runs.size(); ++r)
      if (v >= runs[r].begin && v - runs[r].begin < layers * runs[r].period) {
        auto const at = v - runs[r].begin, block = at / runs[r].period;
        return {r, runs[r].descending ? layers - 1 - block : block, at % runs[r].period};
      }
    return {};
  }
  /// @brief Finds the operator at a place. @param p a place in a run @return its index
  [[nodiscard]] std::uint32_t at(block_place const& p) const {
    auto const& r = runs[p.run];
    return r.begin + (r.descending ? layers - 1 - p.layer : p.layer) * r.period + p.position;
  }

  friend bool operator==(repeated_blocks const&, repeated_blocks const&) = default;
};

namespace detail {

// Numbers the operators so that those with the same number look alike: kind, time, workspace, and their tensors.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> classes_of(graph const& g) {
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  for (std::size_t v = 0; v < g.size(); ++v) {
    auto const& o = g.operators[v];
    std::vector<std::int64_t> key{static_cast<std::int64_t>(o.kind), o.time, o.workspace, static_cast<std::int64_t>(g.inputs[v].size())};
    for (auto const* rows : {&g.inputs, &g.outputs})
      for (auto const t : (*rows)[v]) {
        auto const& x = g.tensors[t];
        key.push_back(x.bytes);
        key.push_back(static_cast<std::int64_t>(x.kind) * 8 + (x.kept ? 4 : 0) + (x.in_place ? 2 : 0) +
                      (x.shares == graph_tensor<>::own ? 1 : 0));
      }
    out.push_back(numbers.emplace(std::move(key), static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return out;
}

// Distances at which operators of classes[begin, end) repeat. A class may come several times in a block, but a window of enough operators
// comes once: windows of 1, 2, 4, ... operators are numbered, and the most frequent distances between equal ones are taken.
template <class = when_called>
[[nodiscard]] std::set<std::uint32_t> likely_periods(std::vector<std::uint32_t> const& classes, std::uint32_t begin, std::uint32_t end) {
  std::set<std::uint32_t> out;
  std::vector<std::uint32_t> windows(classes.begin() + begin, classes.begin() + end);
  for (std::size_t width = 1; 2 * width < windows.size() && width <= 64; width *= 2) {
    std::map<std::uint32_t, std::uint32_t> last, count;  // of a window: where it was; of a distance between equal windows: how often
    for (std::uint32_t i = 0; i < windows.size(); ++i) {
      if (auto const [found, added] = last.emplace(windows[i], i); !added) {
        ++count[i - found->second];
        found->second = i;
      }
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> distances;  // most frequent first, then shortest
    distances.reserve(count.size());
    for (auto const& [d, n] : count) distances.emplace_back(~n, d);
    std::sort(distances.begin(), distances.end());
    for (std::size_t k = 0; k < distances.size() && k < 2; ++k) out.insert(distances[k].second);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::size_t i = 0; i + width < windows.size(); ++i)
      windows[i] = numbers.emplace(std::pair(windows[i], windows[i + width]), static_cast<std::uint32_t>(numbers.size())).first->second;
    windows.resize(windows.size() - width);
  }
  return out;
}

// The longest repetition in classes[begin, end): the run and the number of its blocks.
template <class = when_called>
[[nodiscard]] std::pair<repeated_run, std::uint32_t> longest_repetition(std::vector<std::uint32_t> const& classes, std::uint32_t begin,
                                                                        std::uint32_t end) {
  repeated_run best;
  std::uint32_t covered = 0;
  for (auto const d : likely_periods<>(classes, begin, end))  // ascending: of equal coverage, the shortest
    for (auto i = begin; i + d < end; ++i) {
      auto const from = i;
      while (i + d < end && classes[i] == classes[i + d]) ++i;
      if (i == from || i - from + d <= covered) continue;
      covered = i - from + d;
      best = {.begin = from, .period = d};
    }
  return {best, best.period == 0 ? 0 : covered / best.period};
}

// Where a tensor comes from: the operator that makes it or, without one, its first reader; and its place among the tensors of that.
struct tensor_source {
  std::uint32_t op = graph_uses::none;
  std::uint32_t slot = 0;
  bool made = false;
};
template <class = when_called>
[[nodiscard]] std::vector<tensor_source> sources_of(graph const& g) {
  std::vector<tensor_source> out(g.tensors.size());
  for (std::uint32_t v = 0; v < g.size(); ++v) {
    for (std::uint32_t i = 0; i < g.inputs[v].size(); ++i)
      if (auto& s = out[g.inputs[v][i]]; s.op == graph_uses::none) s = {v, i, false};
    for (std::uint32_t i = 0; i < g.outputs[v].size(); ++i) out[g.outputs[v][i]] = {v, i, true};
  }
  return out;
}

// Whether inner layers read the same of their neighbours, one layer further; finds out on the way which runs descend.
template <class = when_called>
class layer_shift {
 public:
  layer_shift(graph const& g, repeated_blocks& blocks) : g_(g), blocks_(blocks), sources_(sources_of<>(g)) {}

  [[nodiscard]] bool holds() {
    for (std::uint32_t r = 1; r < blocks_.runs.size(); ++r) {
      blocks_.runs[r].descending = false;
      if (shifts(r)) continue;
      blocks_.runs[r].descending = true;
      if (!shifts(r)) return false;
    }
    return shifts(0);
  }

 private:
  [[nodiscard]] bool shifts(std::uint32_t r) const {
    for (std::uint32_t layer = 1; layer + 2 < blocks_.layers; ++layer)
      for (std::uint32_t p = 0; p < blocks_.runs[r].period; ++p) {
        auto const a = g_.inputs[blocks_.at({r, layer, p})], b = g_.inputs[blocks_.at({r, layer + 1, p})];
        for (std::size_t i = 0; i < a.size(); ++i)
          if (!shifted(a[i], b[i])) return false;
      }
    return true;
  }
  [[nodiscard]] bool shifted(std::uint32_t a, std::uint32_t b) const {
    auto const &s = sources_[a], &t = sources_[b];
    auto const x = blocks_.place_of(s.op), y = blocks_.place_of(t.op);
    if (x.run == block_place::outside || y.run == block_place::outside) return a == b;
    if (a == b) return !s.made;  // data that all layers read
    return x.run == y.run && x.position == y.position && s.slot == t.slot && s.made == t.made && x.layer + 1 == y.layer;
  }

  graph const& g_;
  repeated_blocks& blocks_;
  std::vector<tensor_source> sources_;
};

}  // namespace detail

/// @brief Finds the layers of a graph: blocks of operators that look alike and read the same of their neighbours.
///
/// Each part of the program order with operators of one kind (forward, backward, update) has one run of blocks. All runs have as many
/// blocks, at least four, so that there are layers with neighbours like themselves. What comes before, between and behind belongs to no
/// layer.
///
/// @param g  a valid graph
/// @return the layers; none if the graph does not repeat in this way
/// @par Complexity
/// O((operators + inputs + outputs) log operators).
/// @par Determinism
/// A pure function of the graph.
/// @par Source
/// Folding of repeated subgraphs: Shi et al., "TAP", arXiv 2302.00247; Shu et al., "ROAM", arXiv 2310.19295.
template <class = when_called>
[[nodiscard]] repeated_blocks find_repeats(graph const& g) {
  auto const classes = detail::classes_of<>(g);
  repeated_blocks out;
  for (std::uint32_t begin = 0, end = 0; begin < g.size(); begin = end) {
    while (end < g.size() && g.operators[end].kind == g.operators[begin].kind) ++end;
    auto const [run, layers] = detail::longest_repetition<>(classes, begin, end);
    if (layers < 4) continue;
    if (out.layers != 0 && layers != out.layers) return {};
    out.layers = layers;
    out.runs.push_back(run);
  }
  if (out.layers == 0 || !detail::layer_shift<>(g, out).holds()) return {};
  return out;
}

/// @brief A graph with fewer layers, and what its operators are in the original.
struct shorter_graph {
  graph reduced{};                        ///< the graph without the layers that were left out
  repeated_blocks blocks{};               ///< its layers
  std::vector<std::uint32_t> original{};  ///< for each of its operators, that of the original; layers behind the gap are the last ones
};

/// @brief Leaves out some layers of a graph, and joins those before and behind them.
/// @param g       a valid graph
/// @param blocks  its layers, as `find_repeats` returns them
/// @param first   first layer to leave out, at least 2
/// @param count   how many; at least two remain behind them
/// @return the shorter graph, which is valid
/// @throws invalid_input if too many layers are left out
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
template <class = when_called>
[[nodiscard]] shorter_graph without_layers(graph const& g, repeated_blocks const& blocks, std::uint32_t first, std::uint32_t count) {
  require(first >= 2 && first + count + 2 <= blocks.layers, [&] {
    return sentence("layers ", first, " ... ", first + count, " cannot be left out of ", blocks.layers,
                    ": two must remain before and behind them");
  });
  auto const sources = detail::sources_of<>(g);
  constexpr auto none = graph_tensor<>::own;
  auto const removed = [&](block_place const& p) { return p.run != block_place::outside && p.layer >= first && p.layer < first + count; };
  // The tensor that takes the place of t for a reader: the same one of a layer that remains, as far away from the reader as t is.
  auto const stand_in = [&](std::uint32_t t, block_place const& reader) {
    auto const& s = sources[t];
    auto p = blocks.place_of(s.op);
    if (p.run == block_place::outside) return t;
    if (reader.run == block_place::outside) return removed(p) ? none : t;
    if (reader.layer >= first && p.layer < first + count)
      p.layer -= count;
    else if (reader.layer < first && p.layer >= first)
      p.layer += count;
    else
      return t;
    return (s.made ? g.outputs : g.inputs)[blocks.at(p)][s.slot];
  };
  shorter_graph out;
  std::vector<std::uint32_t> number(g.tensors.size(), none);
  auto const numbered = [&](std::uint32_t t) {
    if (number[t] == none) {
      number[t] = out.reduced.add(g.tensors[t]);
      if (auto const shared = g.tensors[t].shares; shared != none) out.reduced.tensors[number[t]].shares = number[shared];
    }
    return number[t];
  };
  for (std::uint32_t v = 0; v < g.size(); ++v) {
    auto const place = blocks.place_of(v);
    if (removed(place)) continue;
    std::vector<std::uint32_t> reads, makes;
    for (auto const t : g.inputs[v])
      if (auto const x = stand_in(t, place); x != none) reads.push_back(numbered(x));
    for (auto const t : g.outputs[v]) makes.push_back(numbered(t));
    out.reduced.add(g.operators[v], reads, makes);
    out.original.push_back(v);
  }
  out.blocks = {blocks.layers - count, blocks.runs};
  for (auto& r : out.blocks.runs)
    r.begin = static_cast<std::uint32_t>(std::lower_bound(out.original.begin(), out.original.end(), r.begin) - out.original.begin());
  return out;
}

}  // namespace ballast::inline v0_2
