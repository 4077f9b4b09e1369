// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast_test {

/// A chain of equal layers: each backward operator reads what its forward operator reads, and the gradient of what that one makes.
[[nodiscard]] inline ballast::graph chain_graph(int layers, std::int64_t bytes, std::int64_t time) {
  ballast::graph g;
  std::vector<std::uint32_t> x{g.add({.name = "input", .bytes = bytes})};
  for (int i = 0; i < layers; ++i) {
    x.push_back(g.add({.name = std::string("x").append(std::to_string(i + 1)), .bytes = bytes}));
    g.add({.name = std::string("layer ").append(std::to_string(i)), .time = time}, {x[x.size() - 2]}, {x.back()});
  }
  auto d = g.add({.name = "d", .kind = ballast::tensor_kind::gradient, .bytes = bytes});
  g.add({.name = "loss", .kind = ballast::operator_kind::backward}, {x.back()}, {d});
  for (auto i = x.size() - 1; i-- > 0;) {
    auto const next = g.add({.name = "d", .kind = ballast::tensor_kind::gradient, .bytes = bytes});
    g.add({.name = std::string("backward ").append(std::to_string(i)), .kind = ballast::operator_kind::backward, .time = 2 * time},
          {d, x[i]}, {next});
    d = next;
  }
  return g;
}

/// A random training graph: operators that read one or two recent tensors and sometimes a weight, and make one or two, or a view, or change
/// one in place; their backward operators in reverse read the gradients that arrive and some of what the forward operators read or made.
[[nodiscard]] inline ballast::graph random_training_graph(int operators, ballast::splitmix64& generator) {
  using namespace ballast;
  graph g;
  auto const draw = [&](std::uint64_t n) { return static_cast<std::uint32_t>(uniform_below(n, generator)); };
  auto const bytes = [&] { return static_cast<std::int64_t>(uniform_below(20, generator)); };
  struct step {
    std::vector<std::uint32_t> reads, makes;
  };
  std::vector<std::uint32_t> values{g.add({.name = "input", .bytes = 5})};
  std::vector<std::uint8_t> changed{0};  // in place
  std::vector<step> steps;
  for (int i = 0; i < operators; ++i) {
    step s;
    for (auto k = 1 + draw(2); k > 0; --k) {
      auto const from = values.size() - 1 - std::min<std::size_t>(draw(4), values.size() - 1);
      if (!changed[from] && std::find(s.reads.begin(), s.reads.end(), values[from]) == s.reads.end()) s.reads.push_back(values[from]);
    }
    if (s.reads.empty()) continue;
    auto const first = s.reads[0];
    graph_tensor<> made{.name = "t" + std::to_string(i), .bytes = bytes()};
    auto const kind = draw(9);
    if (kind == 0 || ((kind == 1 || kind == 3) && first != 0)) made.shares = first;
    made.in_place = kind % 2 == 1 && kind < 4 && first != 0;
    if (made.in_place) {  // nobody reads it, nor what it is a view of, from now on
      auto root = first;
      while (g.tensors[root].shares != graph_tensor<>::own) root = g.tensors[root].shares;
      for (std::size_t k = 0; k < values.size(); ++k) {
        auto of = values[k];
        while (g.tensors[of].shares != graph_tensor<>::own) of = g.tensors[of].shares;
        changed[k] = changed[k] || of == root ? 1 : 0;
      }
    }
    s.makes.push_back(g.add(made));
    if (kind == 2) s.makes.push_back(g.add({.name = "u" + std::to_string(i), .bytes = bytes()}));
    for (auto const t : s.makes) {
      values.push_back(t);
      changed.push_back(0);
    }
    auto reads = s.reads;
    if (draw(3) == 0) reads.push_back(g.add({.name = "w", .kind = tensor_kind::parameter, .bytes = bytes(), .kept = true}));
    g.add({.name = "f" + std::to_string(i), .time = draw(20), .workspace = draw(5)}, reads, s.makes);
    steps.push_back(s);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> gradients;
  gradients[values.back()].push_back(g.add({.name = "d", .kind = tensor_kind::gradient, .bytes = bytes()}));
  g.add({.name = "loss", .kind = operator_kind::backward}, {values.back()}, {gradients[values.back()][0]});
  for (auto i = steps.size(); i-- > 0;) {
    std::vector<std::uint32_t> reads, makes;
    for (auto const t : steps[i].makes) reads.insert(reads.end(), gradients[t].begin(), gradients[t].end());
    for (auto const* list : {&steps[i].reads, &steps[i].makes})
      for (auto const t : *list) {
        auto const at = static_cast<std::size_t>(std::find(values.begin(), values.end(), t) - values.begin());
        if (!changed[at] && draw(2) == 0) reads.push_back(t);
      }
    for (auto const t : steps[i].reads) {
      makes.push_back(g.add({.name = "d", .kind = tensor_kind::gradient, .bytes = bytes(), .kept = t == 0}));
      gradients[t].push_back(makes.back());
    }
    g.add({.name = "b" + std::to_string(i), .kind = operator_kind::backward, .time = draw(20), .workspace = draw(5)}, reads, makes);
  }
  return g;
}

/// What a set of dropped tensors costs, by a simulation of the step that writes no graph: time of what runs again, and most bytes in use.
struct recompute_cost {
  std::int64_t time = 0, peak = 0;
};
class simulated_recompute {
 public:
  explicit simulated_recompute(ballast::graph const& g) : g_(g), uses_(ballast::uses_of(g)) {}

  [[nodiscard]] std::optional<recompute_cost> run(std::vector<std::uint8_t> const& dropped) {
    dropped_ = dropped;
    copies_.assign(g_.tensors.size(), 0);
    events_.clear();
    recompute_cost out;
    possible_ = true;
    for (now_ = 0; now_ < g_.size(); ++now_) {
      event e{now_, {}, {}};
      for (auto const t : g_.inputs[now_]) {
        auto const late = backward(now_) && dropped_[uses_.memory[t]] != 0;
        if (late) repeat(uses_.maker[t]);
        e.reads.push_back({t, late});
      }
      for (auto const t : g_.outputs[now_]) e.makes.push_back({t, false});
      events_.push_back(e);
    }
    if (!possible_) return std::nullopt;
    std::map<std::size_t, std::size_t> seen;
    for (auto const& e : events_)
      if (seen[e.op]++ > 0) out.time += g_.operators[e.op].time;
    out.peak = peak();
    return out;
  }

 private:
  struct value {
    std::uint32_t tensor;
    bool copy;
    friend auto operator<=>(value const&, value const&) = default;
  };
  struct event {
    std::size_t op;
    std::vector<value> reads, makes;
  };

  [[nodiscard]] bool backward(std::size_t v) const { return g_.operators[v].kind != ballast::operator_kind::forward; }
  [[nodiscard]] bool overwritten(std::uint32_t t) const {
    for (std::size_t v = 0; v < now_; ++v)
      for (auto const o : g_.outputs[v])
        if (g_.tensors[o].in_place && o != t && uses_.memory[o] == uses_.memory[t] && v > maker(t)) return true;
    return false;
  }
  [[nodiscard]] std::size_t maker(std::uint32_t t) const { return uses_.maker[t] == ballast::graph_uses::none ? 0 : uses_.maker[t]; }
  [[nodiscard]] bool gone(std::uint32_t t) const {
    if (dropped_[uses_.memory[t]]) return true;
    if (uses_.maker[t] == ballast::graph_uses::none || backward(uses_.maker[t])) return false;
    for (auto const o : g_.outputs[uses_.maker[t]])
      if (g_.tensors[o].in_place) return false;
    if (overwritten(t)) return true;
    for (std::uint32_t x = 0; x < g_.tensors.size(); ++x) {
      if (uses_.memory[x] != uses_.memory[t]) continue;
      if (g_.tensors[x].kept) return false;
      for (auto const v : uses_.readers[x])
        if (v >= now_) return false;
    }
    return true;
  }
  void repeat(std::size_t op) {
    if (copies_[g_.outputs[op][0]]) return;
    event e{op, {}, {}};
    for (auto const t : g_.inputs[op]) {
      auto const copy = gone(t);
      if (copy)
        repeat(uses_.maker[t]);
      else if (overwritten(t))
        possible_ = false;
      e.reads.push_back({t, copy});
    }
    for (auto const t : g_.outputs[op]) {
      e.makes.push_back({t, true});
      copies_[t] = 1;
    }
    events_.push_back(e);
  }
  [[nodiscard]] std::int64_t peak() const {
    std::map<value, value> memory;
    std::map<value, std::size_t> first, last;
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t)
      if (uses_.maker[t] == ballast::graph_uses::none) memory[{t, false}] = {t, false}, first[{t, false}] = 0;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      for (auto const& r : events_[k].reads) last[memory.at(r)] = k;
      for (auto const& m : events_[k].makes) {
        auto const shares = g_.tensors[m.tensor].shares;
        auto root = m;
        for (auto const& r : events_[k].reads)
          if (r.tensor == shares) root = memory.at(r);
        memory[m] = root;
        if (root == m) first[m] = k;
        last[root] = std::max(last[root], k);
        if (!m.copy && g_.tensors[m.tensor].kept) last[root] = events_.size();
      }
    }
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t)
      if (uses_.maker[t] == ballast::graph_uses::none && g_.tensors[t].kept) last[{t, false}] = events_.size();
    std::int64_t most = 0;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      auto sum = g_.operators[events_[k].op].workspace;
      for (auto const& [root, from] : first)
        if (auto const to = last.find(root); to != last.end() && from <= k && k <= std::max(to->second, from))
          sum += g_.tensors[root.tensor].bytes;
      most = std::max(most, sum);
    }
    return most;
  }

  ballast::graph const& g_;
  ballast::graph_uses uses_;
  std::vector<std::uint8_t> dropped_, copies_;
  std::vector<event> events_;
  std::size_t now_ = 0;
  bool possible_ = true;
};

}  // namespace ballast_test
