// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/graph.hpp>
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Who waits for whom, and who uses which memory, in a graph whose tensors may share memory. Private.

namespace ballast::inline v0_2::detail {

/// The parts of a graph that a list of operators needs, whatever the sizes are. A memory is named by the tensor that owns it.
struct list_rows {
  groups<std::uint32_t> next;           // operators that wait for one, each once
  groups<std::uint32_t> reads;          // memories that an operator reads, each once
  groups<std::uint32_t> makes;          // memories that begin with an operator
  groups<std::uint32_t> readers;        // operators that read a memory, ascending
  std::vector<std::uint32_t> waits;     // number of operators for which one waits
  std::vector<std::uint32_t> users;     // number of operators that read a memory
  std::vector<char> kept;               // whether a memory is needed at the end
  std::vector<std::uint32_t> at_start;  // memories that are there before the first operator, and that somebody reads or that are kept

  template <class Number>
  explicit list_rows(basic_graph<Number> const& g) {
    auto const uses = uses_of(g);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sharing;  // a memory and a tensor that uses it
    sharing.reserve(g.tensors.size());
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t) sharing.emplace_back(uses.memory[t], t);
    std::sort(sharing.begin(), sharing.end());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> before;  // the second waits for the first
    std::vector<std::vector<std::uint32_t>> readers_of(g.tensors.size());
    kept.assign(g.tensors.size(), 0);
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      std::vector<std::uint32_t> read, made;
      for (auto const t : g.inputs[v]) {
        read.push_back(uses.memory[t]);
        if (uses.maker[t] != graph_uses::none) before.emplace_back(uses.maker[t], v);
      }
      for (auto const t : g.outputs[v]) {
        if (uses.memory[t] == t) made.push_back(t);
        if (g.tensors[t].in_place) add_readers(g, uses, sharing, t, v, before);
      }
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      for (auto const m : read) readers_of[m].push_back(v);
      reads.push_back(read);
      makes.push_back(made);
    }
    for (auto const& row : readers_of) {
      users.push_back(static_cast<std::uint32_t>(row.size()));
      readers.push_back(row);
    }
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].kept) kept[uses.memory[t]] = 1;
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
      if (uses.memory[t] == t && uses.maker[t] == graph_uses::none && (users[t] > 0 || kept[t] != 0)) at_start.push_back(t);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    waits.assign(g.size(), 0);
    for (auto at = before.begin(); next.size() < g.size();) {
      std::vector<std::uint32_t> row;
      for (; at != before.end() && at->first == next.size(); ++at) row.push_back(at->second);
      for (auto const w : row) ++waits[w];
      next.push_back(row);
    }
  }

 private:
  // The readers of what tensor t overwrites run before its maker v: those of the tensor whose memory it takes and of all that this one is
  // a view of, and the readers of their views.
  template <class Number>
  static void add_readers(basic_graph<Number> const& g, graph_uses const& uses,
                          std::vector<std::pair<std::uint32_t, std::uint32_t>> const& sharing, std::uint32_t t, std::uint32_t v,
                          std::vector<std::pair<std::uint32_t, std::uint32_t>>& before) {
    constexpr auto own = graph_tensor<Number>::own;
    auto const content = [&](std::uint32_t x) {  // the tensor of which x is a view
      while (g.tensors[x].shares != own && !g.tensors[x].in_place) x = g.tensors[x].shares;
      return x;
    };
    auto const lost = content(g.tensors[t].shares);
    auto at = std::lower_bound(sharing.begin(), sharing.end(), std::pair(uses.memory[t], std::uint32_t{0}));
    for (; at != sharing.end() && at->first == uses.memory[t]; ++at)
      if (content(at->second) == lost)
        for (auto const reader : uses.readers[at->second])
          if (reader != v) before.emplace_back(reader, v);
  }
};

/// The largest number of bytes that are in use while an order runs, for sizes of one batch.
[[nodiscard]] inline std::int64_t peak_of(list_rows const& rows, std::span<std::uint32_t const> order, std::span<std::int64_t const> bytes,
                                          std::span<std::int64_t const> workspace) {
  auto users = rows.users;
  std::int64_t live = 0, peak = 0;
  for (auto const m : rows.at_start) live += bytes[m];
  for (auto const v : order) {
    for (auto const m : rows.makes[v]) live += bytes[m];
    peak = (std::max)(peak, live + workspace[v]);
    for (auto const m : rows.makes[v])
      if (users[m] == 0 && rows.kept[m] == 0) live -= bytes[m];
    for (auto const m : rows.reads[v])
      if (--users[m] == 0 && rows.kept[m] == 0) live -= bytes[m];
  }
  return peak;
}

}  // namespace ballast::inline v0_2::detail
