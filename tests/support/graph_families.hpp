// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Random graphs of operators for tests and benchmarks of memory/.

namespace ballast_test {

using graph_row = std::vector<std::uint32_t>;

inline std::int64_t random_bytes(std::int64_t most, ballast::splitmix64& generator) {
  return 1 + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(most), generator));
}
inline std::size_t draw_below(std::size_t bound, ballast::splitmix64& generator) {
  return static_cast<std::size_t>(ballast::uniform_below(bound, generator));
}
inline bool one_in(std::uint64_t n, ballast::splitmix64& generator) { return ballast::uniform_below(n, generator) == 0; }

/// What a small random graph has beside operators that read and make tensors.
struct graph_extras {
  bool shared = true;     ///< views and changes in place
  bool workspace = true;  ///< a third of the operators
  bool kept = true;       ///< a sixth of the tensors, and updates of weights that are kept
};

/// A small random graph of n operators: tensors of 0 to 20 bytes, up to three inputs and two outputs.
inline ballast::graph random_graph(std::size_t n, graph_extras const& extras, ballast::splitmix64& generator) {
  using ballast::uniform_below;
  ballast::graph g;
  std::vector<std::uint32_t> source;  // of each tensor, the one whose content it has
  std::vector<bool> lost;
  auto const add = [&](ballast::graph_tensor<> t, std::uint32_t of) {
    auto const i = g.add(std::move(t));
    source.push_back(of == ballast::graph_tensor<>::own ? i : of);
    lost.push_back(false);
    return i;
  };
  auto const bytes = [&] { return static_cast<std::int64_t>(uniform_below(21, generator)); };
  auto const kept = [&](std::uint64_t one_of) { return extras.kept && one_in(one_of, generator); };
  for (auto left = 1 + uniform_below(3, generator); left > 0; --left)
    add({.bytes = bytes(), .kept = kept(2)}, ballast::graph_tensor<>::own);
  for (std::size_t v = 0; v < n; ++v) {
    graph_row reads, makes;
    for (auto left = uniform_below(4, generator); left > 0; --left) {
      auto const among = one_in(2, generator) ? (std::min)(g.tensors.size(), std::size_t{5}) : g.tensors.size();
      auto const t = static_cast<std::uint32_t>(g.tensors.size() - 1 - uniform_below(among, generator));
      if (!lost[source[t]] && std::find(reads.begin(), reads.end(), t) == reads.end()) reads.push_back(t);
    }
    auto kind = ballast::operator_kind::forward;
    bool const shares = extras.shared && !reads.empty() && one_in(3, generator);
    if (shares && one_in(2, generator)) {
      makes.push_back(add({.bytes = bytes(), .kept = kept(6), .shares = reads[0]}, source[reads[0]]));
    } else if (shares) {
      lost[source[reads[0]]] = true;
      makes.push_back(add({.kept = kept(6), .shares = reads[0], .in_place = true}, ballast::graph_tensor<>::own));
      kind = ballast::operator_kind::update;
    }
    for (auto left = uniform_below(shares ? 2 : 3, generator); left > 0; --left)
      makes.push_back(add({.bytes = bytes(), .kept = kept(6)}, ballast::graph_tensor<>::own));
    auto const workspace = extras.workspace && one_in(3, generator) ? bytes() : 0;
    g.add({.kind = kind, .workspace = workspace}, reads, makes);
  }
  return g;
}

/// A graph whose operators make one tensor each, which all that follow them read; tensors of 1 to `most` bytes.
inline ballast::graph graph_of_edges(std::vector<graph_row> const& before, std::int64_t most, ballast::splitmix64& generator) {
  ballast::graph g;
  for (auto const& reads : before) {
    auto const t = g.add({.bytes = random_bytes(most, generator)});
    g.add({}, reads, graph_row{t});
  }
  return g;
}

/// n operators in layers of 1 to `width`; each reads one to three tensors of the layer above it, and sometimes one of any layer above.
inline ballast::graph layered_graph(std::size_t n, std::size_t width, ballast::splitmix64& generator) {
  using ballast::uniform_below;
  std::vector<graph_row> before;
  std::size_t begin = 0, end = 0;  // the layer above
  while (before.size() < n) {
    auto const first = before.size(), size = (std::min)(n - first, 1 + draw_below(width, generator));
    for (std::size_t i = 0; i < size; ++i) {
      graph_row reads;
      auto const read = [&](std::uint64_t from, std::uint64_t count) {
        auto const u = static_cast<std::uint32_t>(from + uniform_below(count, generator));
        if (std::find(reads.begin(), reads.end(), u) == reads.end()) reads.push_back(u);
      };
      for (auto left = end == begin ? 0 : 1 + uniform_below(3, generator); left > 0; --left) read(begin, end - begin);
      if (first > 0 && one_in(5, generator)) read(0, first);
      before.push_back(reads);
    }
    begin = first;
    end = before.size();
  }
  return graph_of_edges(before, 100, generator);
}

/// n operators; each reads each tensor made before it with probability `mean` / n.
inline ballast::graph random_dag(std::size_t n, std::uint64_t mean, ballast::splitmix64& generator) {
  std::vector<graph_row> before(n);
  for (std::uint32_t v = 0; v < n; ++v)
    for (std::uint32_t u = 0; u < v; ++u)
      if (ballast::uniform_below(n, generator) < mean) before[v].push_back(u);
  return graph_of_edges(before, 100, generator);
}

/// About n operators that begin as one edge between two; an edge is replaced, again and again, by two in series or by two to four beside
/// one another, each with an operator inside.
inline ballast::graph series_parallel_graph(std::size_t n, ballast::splitmix64& generator) {
  using ballast::uniform_below;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{{0, 1}};
  std::uint32_t count = 2;
  while (count < n) {
    auto const e = static_cast<std::size_t>(uniform_below(edges.size(), generator));
    auto const [from, to] = edges[e];
    edges[e] = edges.back();
    edges.pop_back();
    for (auto branches = one_in(2, generator) ? 1 : 2 + uniform_below(3, generator); branches > 0 && count < n; --branches, ++count) {
      edges.emplace_back(from, count);
      edges.emplace_back(count, to);
    }
  }
  std::vector<graph_row> after(count), before;  // renumbered so that every edge leads upwards
  std::vector<std::uint32_t> waits(count, 0), ready{0}, number(count, 0);
  for (auto const& [from, to] : edges) {
    if (std::find(after[from].begin(), after[from].end(), to) != after[from].end()) continue;
    after[from].push_back(to);
    ++waits[to];
  }
  before.resize(count);
  for (std::uint32_t i = 0; i < ready.size(); ++i) {
    number[ready[i]] = i;
    for (auto const to : after[ready[i]])
      if (--waits[to] == 0) ready.push_back(to);
  }
  for (std::uint32_t v = 0; v < count; ++v)
    for (auto const to : after[v]) before[number[to]].push_back(number[v]);
  return graph_of_edges(before, 100, generator);
}

/// n operators in forks and joins inside of one another: what reads a fork's tensor are two to four branches, each a series of operators
/// and forks, and a join reads what the branches make.
class nested_forks {
 public:
  nested_forks(std::size_t n, ballast::splitmix64& generator) : generator_(generator) { fork(add({}), (std::max)(n, std::size_t{5}) - 1); }
  [[nodiscard]] std::vector<graph_row> const& before() const { return before_; }

 private:
  std::uint32_t add(graph_row reads) {
    before_.push_back(std::move(reads));
    return static_cast<std::uint32_t>(before_.size() - 1);
  }
  // At least 1, about the mean, and at least one each is left for the others.
  [[nodiscard]] std::size_t share(std::size_t budget, std::size_t parts) {
    auto const drawn = 1 + draw_below(2 * budget / parts, generator_);
    return parts == 1 ? budget : (std::min)(drawn, budget - (parts - 1));
  }
  std::uint32_t series(std::uint32_t from, std::size_t budget) {
    for (auto parts = (std::min)(budget, 2 + draw_below(2, generator_)); parts > 0; --parts) {
      auto const part = share(budget, parts);
      from = part < 5 ? chain(from, part) : fork(from, part);
      budget -= part;
    }
    return from;
  }
  std::uint32_t chain(std::uint32_t from, std::size_t count) {
    for (; count > 0; --count) from = add({from});
    return from;
  }
  std::uint32_t fork(std::uint32_t from, std::size_t budget) {
    from = add({from});
    budget -= 2;
    graph_row ends;
    for (auto parts = (std::min)(budget, 2 + draw_below(3, generator_)); parts > 0; --parts) {
      auto const part = share(budget, parts);
      ends.push_back(series(from, part));
      budget -= part;
    }
    return add(ends);
  }
  ballast::splitmix64& generator_;
  std::vector<graph_row> before_;
};
inline ballast::graph nested_graph(std::size_t n, ballast::splitmix64& generator) {
  auto const forks = nested_forks(n, generator);
  return graph_of_edges(forks.before(), 100, generator);
}

/// The least peak of all orders of a graph of at most 20 operators, from the definition: a table over the sets that can have run.
class least_peak_of_all {
 public:
  explicit least_peak_of_all(ballast::graph const& g) : g_(g), uses_(uses_of(g)) {
    std::vector<set> readers(g.tensors.size(), 0);
    for (std::size_t v = 0; v < g.size(); ++v) {
      needs_.push_back(0);
      for (auto const t : g.inputs[v]) {
        if (uses_.maker[t] != ballast::graph_uses::none) needs_[v] |= bit(uses_.maker[t]);
        readers[content(t)] |= bit(v);
      }
    }
    for (std::size_t v = 0; v < g.size(); ++v)
      for (auto const t : g.outputs[v])
        if (g.tensors[t].in_place) needs_[v] |= readers[content(g.tensors[t].shares)] & ~bit(v);
    std::vector<set> users(g.tensors.size(), 0);
    for (std::size_t v = 0; v < g.size(); ++v)
      for (auto const* rows : {&g.inputs, &g.outputs})
        for (auto const t : (*rows)[v]) users[uses_.memory[t]] |= bit(v);
    for (std::size_t t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].kept) users[uses_.memory[t]] |= bit(63);  // never runs
    for (std::size_t t = 0; t < g.tensors.size(); ++t)
      if (uses_.memory[t] == t)
        lives_.push_back({g.tensors[t].bytes, uses_.maker[t] == ballast::graph_uses::none ? 0 : bit(uses_.maker[t]), users[t]});
  }
  [[nodiscard]] std::int64_t memory(std::uint64_t done) const {
    std::int64_t sum = 0;
    for (auto const& s : lives_)
      if ((s.maker & ~done) == 0 && (s.users & ~done) != 0) sum += s.bytes;
    return sum;
  }
  [[nodiscard]] std::int64_t value() const {
    auto const n = g_.size();
    std::vector<std::int64_t> best(std::size_t{1} << n, unreached);
    best[0] = memory(0);
    for (std::size_t d = 0; d < best.size(); ++d) {
      if (best[d] == unreached) continue;
      auto const now = memory(d);
      for (std::size_t v = 0; v < n; ++v) {
        if ((d >> v & 1) != 0 || (needs_[v] & ~d) != 0) continue;
        auto& next = best[d | std::size_t{1} << v];
        next = (std::min)(next, (std::max)(best[d], now + needed(v)));
      }
    }
    return best.back();
  }
  /// The least memory while an operator runs, over all sets of operators that can have run before it.
  [[nodiscard]] std::int64_t least_while(std::size_t v) const {
    auto least = unreached;
    for (std::size_t d = 0; d < std::size_t{1} << g_.size(); ++d) {
      bool possible = (d >> v & 1) == 0 && (needs_[v] & ~d) == 0;
      for (std::size_t u = 0; u < g_.size(); ++u) possible = possible && ((d >> u & 1) == 0 || (needs_[u] & ~d) == 0);
      if (possible) least = (std::min)(least, memory(d) + needed(v));
    }
    return least;
  }

 private:
  using set = std::uint64_t;
  struct life {
    std::int64_t bytes;
    set maker, users;
  };
  static constexpr auto unreached = (std::numeric_limits<std::int64_t>::max)();
  static set bit(std::size_t v) { return set{1} << v; }
  [[nodiscard]] std::uint32_t content(std::uint32_t t) const {
    while (g_.tensors[t].shares != ballast::graph_tensor<>::own && !g_.tensors[t].in_place) t = g_.tensors[t].shares;
    return t;
  }
  [[nodiscard]] std::int64_t needed(std::size_t v) const {
    auto sum = g_.operators[v].workspace;
    for (auto const t : g_.outputs[v])
      if (uses_.memory[t] == t) sum += g_.tensors[t].bytes;
    return sum;
  }

  ballast::graph const& g_;
  ballast::graph_uses uses_;
  std::vector<set> needs_;  // of each operator, those that run before it
  std::vector<life> lives_;
};

}  // namespace ballast_test
