// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/repeated_blocks.hpp>
#include <ballast/graph/subgraphs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ballast::inline v0_2 {

namespace detail {

// Numbers pairs of numbers from 0 in the order in which they are first asked for.
class pair_numbers {
 public:
  [[nodiscard]] std::uint32_t operator()(std::uint32_t a, std::uint32_t b) {
    return known_.emplace(std::uint64_t{a} << 32 | b, static_cast<std::uint32_t>(known_.size())).first->second;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(known_.size()); }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

// Numbers operators by their names without digits, and returns their scopes.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> split_by_names(graph const& g, std::vector<std::uint32_t>& labels) {
  std::unordered_map<std::string, std::uint32_t> words, scopes;
  std::vector<std::uint32_t> out;
  pair_numbers numbers;
  for (std::size_t v = 0; v < g.size(); ++v) {
    auto const& name = g.operators[v].name;
    std::string word;
    for (auto const c : name)
      if (c < '0' || c > '9') word += c;
    labels[v] = numbers(labels[v], words.emplace(std::move(word), static_cast<std::uint32_t>(words.size())).first->second);
    auto const end = name.find_last_of("0123456789");
    auto scope = end == std::string::npos ? std::string() : name.substr(0, end + 1);
    out.push_back(scopes.emplace(std::move(scope), static_cast<std::uint32_t>(scopes.size())).first->second);
  }
  return out;
}

// Refines classes of operators by the edges that they share, and joins classes whose operators belong together one by one.
template <class = when_called>
class subgraph_finder {
 public:
  subgraph_finder(graph const& g, subgraph_limits const& limits) : limits_(limits), labels_(classes_of<>(g)) {
    if (limits.names) scopes_ = split_by_names<>(g, labels_);
    list_edges(g);
    number_members();
  }

  [[nodiscard]] repeated_subgraphs find() {
    repeated_subgraphs out{.complete = false};
    while (!out.complete && out.rounds < limits_.rounds) {
      ++out.rounds;
      out.complete = !refine();
    }
    count_types();
    join();
    collect(out);
    return out;
  }

 private:
  struct edge {
    std::uint32_t from = 0, to = 0, ports = 0;  // the reader `to` takes as its i-th input what is the j-th output of `from`
  };
  struct edge_type {
    std::uint32_t from = 0, to = 0;                       // classes
    std::uint32_t edges = 0, makers = 0, readers = 0;     // how many, and how many different operators
    std::uint32_t last_maker = none, last_reader = none;  // counted last
    [[nodiscard]] bool one_to_one() const { return edges == makers && edges == readers; }
  };
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  void list_edges(graph const& g) {
    auto const sources = sources_of<>(g);
    pair_numbers ports;
    for (std::uint32_t v = 0; v < g.size(); ++v)
      for (std::uint32_t i = 0; i < g.inputs[v].size(); ++i)
        if (auto const& s = sources[g.inputs[v][i]]; s.made && (!limits_.names || scopes_[s.op] == scopes_[v]))
          edges_.push_back({s.op, v, ports(s.slot, i)});
    by_maker_.resize(edges_.size());
    for (std::uint32_t e = 0; e < edges_.size(); ++e) by_maker_[e] = e;
    std::sort(by_maker_.begin(), by_maker_.end(),
              [&](auto a, auto b) { return edges_[a].from != edges_[b].from ? edges_[a].from < edges_[b].from : a < b; });
  }
  void number_members() {
    std::uint32_t classes = 0;
    for (auto const l : labels_) classes = (std::max)(classes, l + 1);
    members_.assign(classes, {});
    for (std::uint32_t v = 0; v < labels_.size(); ++v) members_[labels_[v]].push_back(v);
  }
  void count_types() {
    types_.clear();
    type_of_.clear();
    pair_numbers ends, all;
    for (auto const& e : edges_) {  // all edges of a reader follow each other
      auto const t = all(ends(labels_[e.from], labels_[e.to]), e.ports);
      if (t == types_.size()) types_.push_back({.from = labels_[e.from], .to = labels_[e.to]});
      type_of_.push_back(t);
      auto& type = types_[t];
      ++type.edges;
      if (std::exchange(type.last_reader, e.to) != e.to) ++type.readers;
    }
    for (auto const i : by_maker_) {
      auto& type = types_[type_of_[i]];
      if (std::exchange(type.last_maker, edges_[i].from) != edges_[i].from) ++type.makers;
    }
  }
  // An edge that all operators at its one end have, but not all at its other end, tells those at the other end apart. It does so only where
  // each of them has such an edge, and two kinds of edges occur often: an edge from a layer to the next one is missing at both ends, so the
  // first layer and the last one stay like the others. Within scopes there are no such edges, and every edge counts.
  [[nodiscard]] bool refine() {
    count_types();
    std::vector<std::uint32_t> often[2];  // of each class, by what reads it and by what it reads: kinds of edges with enough copies
    std::vector<std::vector<std::uint32_t>> marks[2];
    std::vector<bool> seldom[2];  // whether an operator has an edge with fewer copies: that is enough to have one
    for (std::size_t side = 0; side < 2; ++side) {
      often[side].assign(members_.size(), 0);
      marks[side].resize(labels_.size());
      seldom[side].resize(labels_.size());
      for (auto const& t : types_)
        if (tells(t, side) && t.edges >= limits_.repeats) ++often[side][side == 0 ? t.from : t.to];
      for (std::size_t e = 0; e < edges_.size(); ++e) {
        auto const& t = types_[type_of_[e]];
        auto const v = side == 0 ? edges_[e].from : edges_[e].to;
        if (!tells(t, side)) continue;
        if (limits_.names || t.edges >= limits_.repeats)
          marks[side][v].push_back(2 * type_of_[e] + static_cast<std::uint32_t>(side));
        else
          seldom[side][v] = true;
      }
    }
    auto const before = members_.size();
    std::vector<std::uint32_t> paths(labels_.size(), none);
    pair_numbers steps, finals;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t c = 0; c < members_.size(); ++c) {
        auto const& m = members_[c];
        auto const bare = [&](auto v) { return marks[side][v].empty() && !seldom[side][v]; };
        if (!limits_.names && (often[side][c] < 2 || std::any_of(m.begin(), m.end(), bare))) continue;
        for (auto const v : m) {
          std::sort(marks[side][v].begin(), marks[side][v].end());
          for (auto const mark : marks[side][v]) paths[v] = steps(paths[v], mark);
        }
      }
    for (std::size_t v = 0; v < labels_.size(); ++v) labels_[v] = finals(labels_[v], paths[v]);
    number_members();
    return members_.size() != before;
  }
  // Whether an edge may tell the operators at its end `side` apart (0: those that make): all at its other end have one.
  [[nodiscard]] bool tells(edge_type const& t, std::size_t side) const {
    return limits_.names || (t.one_to_one() && t.edges == members_[side == 0 ? t.to : t.from].size());
  }
  // Classes with as many operators, joined one to one by an edge, become parts of one subgraph: its copies are numbered alike.
  void join() {
    copy_.assign(labels_.size(), 0);
    for (auto const& m : members_)
      for (std::uint32_t i = 0; i < m.size(); ++i) copy_[m[i]] = i;
    group_of_.resize(members_.size());
    parts_.resize(members_.size());
    for (std::uint32_t c = 0; c < members_.size(); ++c) parts_[group_of_[c] = c] = {c};
    std::vector<std::vector<std::uint32_t>> edges_of(types_.size());
    for (std::uint32_t e = 0; e < edges_.size(); ++e) edges_of[type_of_[e]].push_back(e);
    for (std::uint32_t t = 0; t < types_.size(); ++t) {
      auto const& type = types_[t];
      auto const count = members_[type.from].size();
      if (!type.one_to_one() || type.edges < limits_.repeats || type.edges != count || count != members_[type.to].size()) continue;
      auto keep = group_of_[type.from], move = group_of_[type.to];
      if (keep == move) continue;
      auto const swap = parts_[keep].size() < parts_[move].size();
      if (swap) std::swap(keep, move);
      std::vector<std::uint32_t> becomes(count);
      for (auto const e : edges_of[t]) {
        auto const a = copy_[edges_[e].from], b = copy_[edges_[e].to];
        (swap ? becomes[a] : becomes[b]) = swap ? b : a;
      }
      for (auto const c : parts_[move]) {
        for (auto const v : members_[c]) copy_[v] = becomes[copy_[v]];
        group_of_[c] = keep;
      }
      parts_[keep].insert(parts_[keep].end(), parts_[move].begin(), parts_[move].end());
      parts_[move].clear();
    }
  }
  void collect(repeated_subgraphs& out) const {
    auto const shapes = inner_shapes();
    for (auto const& parts : parts_) {
      if (parts.empty()) continue;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> by_shape;  // of the copies
      for (std::uint32_t i = 0; i < members_[parts[0]].size(); ++i) by_shape.emplace_back(shapes[members_[parts[0]][i]], i);
      for (auto& [shape, i] : by_shape) i = copy_[members_[parts[0]][i]];
      std::sort(by_shape.begin(), by_shape.end());
      for (std::size_t begin = 0, end = 0; begin < by_shape.size(); begin = end) {
        while (end < by_shape.size() && by_shape[end].first == by_shape[begin].first) ++end;
        std::vector<std::uint32_t> place(by_shape.size(), none);
        for (auto k = begin; k < end; ++k) place[by_shape[k].second] = static_cast<std::uint32_t>(k - begin);
        std::vector<std::vector<std::uint32_t>> rows(end - begin, std::vector<std::uint32_t>(parts.size()));
        for (std::size_t p = 0; p < parts.size(); ++p)
          for (auto const v : members_[parts[p]])
            if (auto const r = place[copy_[v]]; r != none) rows[r][p] = v;
        if (end - begin < limits_.repeats || parts.size() < limits_.operators || parts.size() < limits_.kinds)
          for (auto const& row : rows) out.alone.insert(out.alone.end(), row.begin(), row.end());
        else
          out.classes.push_back(ordered(rows));
      }
    }
    std::sort(out.alone.begin(), out.alone.end());
    std::sort(out.classes.begin(), out.classes.end(),
              [](auto const& a, auto const& b) { return a.copies.members[0] < b.copies.members[0]; });
  }
  // Numbers copies by the edges within them, for each of their operators: those with the same number are the same subgraph.
  [[nodiscard]] std::vector<std::uint32_t> inner_shapes() const {
    std::vector<std::vector<std::vector<std::uint32_t>>> inner(members_.size());  // of each group and copy: types of edges
    for (std::uint32_t c = 0; c < parts_.size(); ++c)
      if (!parts_[c].empty()) inner[c].resize(members_[c].size());
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      auto const from = edges_[e].from, to = edges_[e].to, group = group_of_[labels_[from]];
      if (group == group_of_[labels_[to]] && copy_[from] == copy_[to]) inner[group][copy_[from]].push_back(type_of_[e]);
    }
    std::vector<std::uint32_t> out(labels_.size());
    pair_numbers steps;
    for (auto& group : inner)
      for (auto& types : group) {
        std::sort(types.begin(), types.end());
        std::uint32_t path = none;
        for (auto const t : types) path = steps(path, t);
        types.assign(1, path);
      }
    for (std::size_t v = 0; v < labels_.size(); ++v) out[v] = inner[group_of_[labels_[v]]][copy_[v]][0];
    return out;
  }
  [[nodiscard]] static repeated_subgraph ordered(std::vector<std::vector<std::uint32_t>>& rows) {
    auto const least = [](auto const& row) { return *std::min_element(row.begin(), row.end()); };
    std::sort(rows.begin(), rows.end(), [&](auto const& a, auto const& b) { return least(a) < least(b); });
    std::vector<std::pair<std::uint32_t, std::size_t>> places;
    places.reserve(rows[0].size());
    for (std::size_t p = 0; p < rows[0].size(); ++p) places.emplace_back(rows[0][p], p);
    std::sort(places.begin(), places.end());
    repeated_subgraph out{.kinds = static_cast<std::uint32_t>(places.size())};
    std::vector<std::uint32_t> sorted(places.size());
    for (auto const& row : rows) {
      for (std::size_t p = 0; p < places.size(); ++p) sorted[p] = row[places[p].second];
      out.copies.push_back(sorted);
    }
    return out;
  }

  subgraph_limits const& limits_;
  std::vector<std::uint32_t> labels_;                // the class of each operator
  std::vector<std::uint32_t> scopes_;                // of each operator, if names count
  std::vector<std::vector<std::uint32_t>> members_;  // of each class, ascending
  std::vector<edge> edges_;                          // by reader
  std::vector<std::uint32_t> by_maker_;              // the edges in another order
  std::vector<edge_type> types_;
  std::vector<std::uint32_t> type_of_;             // of each edge
  std::vector<std::uint32_t> copy_;                // of each operator
  std::vector<std::uint32_t> group_of_;            // of each class
  std::vector<std::vector<std::uint32_t>> parts_;  // the classes of each group
};

}  // namespace detail

}  // namespace ballast::inline v0_2
