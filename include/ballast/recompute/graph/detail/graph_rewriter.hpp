// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Graphs in which some tensors of the forward pass are dropped after it and computed again.

namespace ballast::inline v0_2::detail {

// An operator that runs again, just before another one.
struct repeated_operator {
  std::uint32_t before;  // operator that waits for it
  std::uint32_t again;   // operator that runs again
};

// A rewritten graph with, for each operator, the one that it runs, and for each added tensor the one that it is a copy of; a tensor without
// bytes that says that an operator has run is a copy of none.
struct rewritten_graph {
  graph changed;
  std::vector<std::uint32_t> operator_of, tensor_of;
};

using drop_set = std::vector<std::uint8_t>;  // for each tensor with memory of its own, whether it is dropped

template <class = when_called>
class graph_rewriter {
 public:
  static constexpr auto none = graph_uses::none;

  explicit graph_rewriter(graph const& g)
      : g_(g), uses_(uses_of(g)), count_(static_cast<std::uint32_t>(g.size())), first_other_(count_), nameless_(g) {
    for (auto& t : nameless_.tensors) t.name.clear();
    for (auto& o : nameless_.operators) o.name.clear();
    for (auto v = count_; v-- > 0;)
      if (!is_forward(v)) first_other_ = v;
    find_overwrites();
    held_until_.assign(g.tensors.size(), -1);
    for (std::size_t t = 0; t < g.tensors.size(); ++t) {
      auto& until = held_until_[uses_.memory[t]];
      if (g.tensors[t].kept) until = count_;
      for (auto const v : uses_.readers[t]) until = (std::max)(until, static_cast<std::int64_t>(v));
    }
    find_candidates();
  }

  [[nodiscard]] std::vector<std::uint32_t> const& candidates() const noexcept { return candidates_; }
  [[nodiscard]] graph const& original() const noexcept { return g_; }
  [[nodiscard]] graph_uses const& uses() const noexcept { return uses_; }
  [[nodiscard]] bool is_forward(std::uint32_t v) const { return g_.operators[v].kind == operator_kind::forward; }
  [[nodiscard]] bool is_candidate(std::uint32_t root) const { return candidate_[root] != 0; }

  // Whether a tensor is computed again wherever it is read for a recomputation: no operator but forward ones reads its memory, and all of
  // them run before the others.
  [[nodiscard]] bool gone(std::uint32_t t) const {
    return uses_.maker[t] != none && repeatable(uses_.maker[t]) && !is_candidate(uses_.memory[t]) &&
           held_until_[uses_.memory[t]] < first_other_;
  }

  // The operators that run again if some tensors are dropped, in order; nothing if one of them would read what is overwritten by then.
  [[nodiscard]] std::optional<std::vector<repeated_operator>> repeated(drop_set const& dropped) const {
    std::vector<repeated_operator> out;
    std::vector<std::uint8_t> done(count_);
    std::vector<std::uint32_t> open, found;
    for (auto v = first_other_; v < count_; ++v) {
      if (is_forward(v)) continue;
      found.clear();
      auto const need = [&](std::uint32_t t) {
        auto const maker = uses_.maker[t];
        if (done[maker]) return;
        done[maker] = 1;
        open.push_back(maker);
        found.push_back(maker);
      };
      for (auto const t : g_.inputs[v])
        if (dropped[uses_.memory[t]]) need(t);
      while (!open.empty()) {
        auto const o = open.back();
        open.pop_back();
        for (auto const t : g_.inputs[o]) {
          if (from_copy(t, v, dropped))
            need(t);
          else if (destroyed_at_[t] < v)
            return std::nullopt;
        }
      }
      std::sort(found.begin(), found.end());
      for (auto const o : found) out.push_back({v, o});
    }
    return out;
  }
  [[nodiscard]] std::int64_t time_of(std::vector<repeated_operator> const& repeated) const {
    std::int64_t time = 0;
    for (auto const& r : repeated) time += g_.operators[r.again].time;
    return time;
  }

  // The graph in which they run again, with names only if that is asked for: most graphs are judged and thrown away.
  [[nodiscard]] rewritten_graph rewrite(drop_set const& dropped, std::vector<repeated_operator> const& repeated, bool names) const {
    auto const& g = names ? g_ : nameless_;
    auto const named = [&](std::string const& name, char const* suffix) { return names ? name + suffix : std::string(); };
    rewritten_graph out;
    auto& h = out.changed;
    h.tensors.reserve(g.tensors.size() + 3 * repeated.size());
    h.tensors = g.tensors;
    h.operators.reserve(g.size() + repeated.size());
    auto const tokens = add_tokens(h, repeated);
    if (names)
      for (std::uint32_t o = 0; o < count_; ++o)
        if (tokens[o] != none) h.tensors[tokens[o]].name = g.operators[o].name + " (done)";
    out.tensor_of.assign(h.tensors.size() - g_.tensors.size(), none);
    std::vector<std::uint32_t> copy(g_.tensors.size(), none), reads, makes;
    auto next = repeated.begin();
    for (std::uint32_t v = 0; v < count_; ++v) {
      for (; next != repeated.end() && next->before == v; ++next) {
        reads.clear();
        for (auto const t : g_.inputs[next->again]) reads.push_back(from_copy(t, v, dropped) ? copy[t] : t);
        reads.push_back(tokens[next->again]);
        makes.clear();
        for (auto const t : g_.outputs[next->again]) {
          auto made = g.tensors[t];
          made.name = named(made.name, " (again)");
          made.kept = false;
          if (made.shares != graph_tensor<>::own && from_copy(made.shares, v, dropped)) made.shares = copy[made.shares];
          makes.push_back(copy[t] = h.add(std::move(made)));
          out.tensor_of.push_back(t);
        }
        auto again = g.operators[next->again];
        again.name = named(again.name, " (again)");
        again.kind = operator_kind::backward;
        h.add(std::move(again), std::span<std::uint32_t const>(reads), std::span<std::uint32_t const>(makes));
        out.operator_of.push_back(next->again);
      }
      reads.clear();
      for (auto const t : g_.inputs[v]) reads.push_back(!is_forward(v) && dropped[uses_.memory[t]] ? copy[t] : t);
      add_original(h, g.operators[v], v, reads, tokens[v]);
      out.operator_of.push_back(v);
    }
    return out;
  }

  // The graph in which dropped tensors have memory only up to their last forward readers and, as workspace, while each other operator runs
  // that reads them. Nothing runs again; other operators wait for the makers of what they read. No rewritten graph that drops no more
  // tensors needs less memory.
  [[nodiscard]] graph relaxed(drop_set const& dropped) const {
    graph h;
    h.tensors = nameless_.tensors;
    h.operators.reserve(count_);
    std::vector<repeated_operator> makers;
    for (auto v = first_other_; v < count_; ++v)
      if (!is_forward(v))
        for (auto const t : g_.inputs[v])
          if (dropped[uses_.memory[t]]) makers.push_back({v, uses_.maker[t]});
    auto const tokens = add_tokens(h, makers);
    std::vector<std::uint32_t> reads, roots;
    for (std::uint32_t v = 0; v < count_; ++v) {
      reads.clear();
      roots.clear();
      auto original = nameless_.operators[v];
      for (auto const t : g_.inputs[v]) {
        auto const root = uses_.memory[t];
        auto const late = !is_forward(v) && dropped[root];
        auto const read = late ? tokens[uses_.maker[t]] : t;
        if (std::find(reads.begin(), reads.end(), read) == reads.end()) reads.push_back(read);
        if (!late || std::find(roots.begin(), roots.end(), root) != roots.end()) continue;
        roots.push_back(root);
        original.workspace += g_.tensors[root].bytes;
      }
      add_original(h, original, v, reads, tokens[v]);
    }
    return h;
  }

 private:
  // Whether an operator can run twice: it is of the forward pass and changes nothing in place.
  [[nodiscard]] bool repeatable(std::uint32_t v) const {
    return is_forward(v) && std::none_of(g_.outputs[v].begin(), g_.outputs[v].end(), [&](auto t) { return g_.tensors[t].in_place; });
  }
  // Whether an operator that runs again just before operator v reads a copy of tensor t, rather than the tensor itself.
  [[nodiscard]] bool from_copy(std::uint32_t t, std::uint32_t v, drop_set const& dropped) const {
    auto const root = uses_.memory[t], maker = uses_.maker[t];
    if (dropped[root]) return true;
    if (maker == none || !repeatable(maker)) return false;
    return held_until_[root] < v || destroyed_at_[t] < v;
  }

  void find_overwrites() {
    std::vector<std::uint32_t> overwritten(g_.tensors.size(), count_);  // of a content, its first overwriter
    for (auto v = count_; v-- > 0;)
      for (auto const t : g_.outputs[v])
        if (g_.tensors[t].in_place && g_.tensors[t].shares != graph_tensor<>::own) overwritten[uses_.content[g_.tensors[t].shares]] = v;
    destroyed_at_.clear();
    for (auto const of : uses_.content) destroyed_at_.push_back(overwritten[of]);
  }

  // Tensors that can be dropped: activations with memory of their own that forward operators alone make and view, and others read.
  void find_candidates() {
    candidate_.assign(g_.tensors.size(), 0);
    std::vector<std::uint8_t> fixed(g_.tensors.size());
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t) {
      auto const root = uses_.memory[t], maker = uses_.maker[t];
      if (maker == none || !repeatable(maker) || g_.tensors[t].kept || g_.tensors[root].kind != tensor_kind::activation) fixed[root] = 1;
      for (auto const v : uses_.readers[t])
        if (!is_forward(v)) candidate_[root] = 1;
    }
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t)
      if (fixed[t]) candidate_[t] = 0;
    for (std::uint32_t v = 0; v < count_; ++v)
      for (auto const t : g_.outputs[v])
        if (candidate_[t]) candidates_.push_back(t);
  }

  // One tensor without bytes for each operator that runs again: it does so after its first run, in every order.
  [[nodiscard]] std::vector<std::uint32_t> add_tokens(graph& h, std::vector<repeated_operator> const& repeated) const {
    std::vector<std::uint32_t> tokens(count_, none);
    for (auto const& r : repeated)
      if (tokens[r.again] == none) tokens[r.again] = h.add({.kind = tensor_kind::temporary});
    return tokens;
  }
  void add_original(graph& h, graph_operator<> const& original, std::uint32_t v, std::vector<std::uint32_t> const& reads,
                    std::uint32_t token) const {
    std::vector<std::uint32_t> makes(g_.outputs[v].begin(), g_.outputs[v].end());
    if (token != none) makes.push_back(token);
    h.add(original, std::span<std::uint32_t const>(reads), std::span<std::uint32_t const>(makes));
  }

  graph const& g_;
  graph_uses uses_;
  std::uint32_t count_, first_other_;  // operators; the first that is not of the forward pass
  graph nameless_;
  std::vector<std::uint32_t> destroyed_at_;
  std::vector<std::int64_t> held_until_;  // by the tensor whose memory it is: the last operator that reads it
  std::vector<std::uint8_t> candidate_;
  std::vector<std::uint32_t> candidates_;  // in the order in which they are made
};

}  // namespace ballast::inline v0_2::detail
