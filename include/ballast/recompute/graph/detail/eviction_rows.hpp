// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

// When memory is made, read and overwritten if the operators of a graph run in an order. Private.

namespace ballast::inline v0_2::detail {

/// A graph in an order, without its sizes. Steps count the operators of the order; memory is named by the tensor that owns it.
struct eviction_rows {
  static constexpr auto never = (std::numeric_limits<std::uint32_t>::max)();

  std::vector<std::uint32_t> order, step;  // operators by step, and the step of each operator
  groups<std::uint32_t> reads, makes;      // memories, of each operator
  groups<std::uint32_t> uses;              // of each memory, the steps that read it, ascending
  std::vector<std::uint32_t> maker;        // of each memory, the operator that makes it, or `graph_uses::none`
  std::vector<char> kept;                  // whether a memory is needed at the end
  std::vector<char> fixed;                 // whether a memory is never evicted: it is kept or changed in place
  std::vector<std::uint32_t> valid_until;  // of each operator, the step of the first that overwrites what it reads; 0: it cannot run again

  template <class Number>
  eviction_rows(basic_graph<Number> const& g, std::span<std::uint32_t const> in) : order(in.begin(), in.end()) {
    auto const found = uses_of(g);
    place(g.size());
    auto const count = g.tensors.size();
    kept.assign(count, 0);
    fixed.assign(count, 0);
    std::vector<std::uint32_t> lost(count, never);  // step at which the content of a tensor is overwritten
    for (std::uint32_t t = 0; t < count; ++t) {
      auto const m = found.memory[t];
      if (g.tensors[t].kept) kept[m] = 1;
      if (g.tensors[t].kept || g.tensors[t].in_place) fixed[m] = 1;
      if (!g.tensors[t].in_place || g.tensors[t].shares == graph_tensor<Number>::own) continue;
      auto& at = lost[found.content[g.tensors[t].shares]];
      at = (std::min)(at, step[found.maker[t]]);
    }
    std::vector<std::vector<std::uint32_t>> readers(count);
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      std::vector<std::uint32_t> read, made;
      auto until = never;
      for (auto const t : g.inputs[v]) {
        read.push_back(found.memory[t]);
        until = (std::min)(until, lost[found.content[t]]);
        auto const by = found.maker[t];
        require(by == graph_uses::none || step[by] < step[v], [&] {
          return "order runs operator " + std::to_string(v) + " before operator " + std::to_string(by) + ", whose tensor it reads";
        });
        require(lost[found.content[t]] >= step[v],
                [&] { return "order runs operator " + std::to_string(v) + " after what it reads is overwritten"; });
      }
      for (auto const t : g.outputs[v]) {
        if (found.memory[t] == t) made.push_back(t);
        until = g.tensors[t].in_place ? 0 : (std::min)(until, lost[t]);  // nor may it undo a change in place of what it made
      }
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      for (auto const m : read) readers[m].push_back(step[v]);
      reads.push_back(read);
      makes.push_back(made);
      valid_until.push_back(until);
    }
    for (std::uint32_t m = 0; m < count; ++m) {
      std::sort(readers[m].begin(), readers[m].end());
      uses.push_back(readers[m]);
      maker.push_back(found.memory[m] == m ? found.maker[m] : graph_uses::none);
    }
  }
  [[nodiscard]] std::size_t memories() const noexcept { return maker.size(); }
  /// Whether a memory is there before the first step, and somebody needs it.
  [[nodiscard]] bool at_start(std::uint32_t m) const { return maker[m] == graph_uses::none && (kept[m] != 0 || !uses[m].empty()); }

 private:
  void place(std::size_t operators) {
    require(order.size() == operators,
            [&] { return "order has " + std::to_string(order.size()) + " entries for " + std::to_string(operators) + " operators"; });
    step.assign(operators, never);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      require(order[i] < operators && step[order[i]] == never,
              [&] { return entry("order", i, order[i]) + " is no operator, or runs twice"; });
      step[order[i]] = i;
    }
  }
};

}  // namespace ballast::inline v0_2::detail
