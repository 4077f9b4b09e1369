// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// What the order of operators decides. All tensors that share memory are one storage, live from when its first tensor is made until the
// last operator that makes or reads one of them has run. Storages whose life no order changes are part of `start`.
struct order_problem {
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  std::int64_t start = 0;              // memory before the first operator
  std::vector<std::int64_t> need;      // of each operator: what it allocates, and its workspace
  std::vector<std::uint8_t> update;    // whether each operator is an update; empty in a part of the steps, which is no longer listed
  groups<std::uint32_t> before;        // of each operator, those that must run before; each once
  groups<std::uint32_t> after;         // the same, read from the other side
  std::vector<std::int64_t> bytes;     // of each storage, positive
  std::vector<std::uint32_t> maker;    // of each storage, or `none` if it is there from the start
  std::vector<std::uint8_t> kept;      // whether it is still needed behind the last operator
  groups<std::uint32_t> users;         // of each storage: its maker and its readers, each once; only the maker if it is kept
  groups<std::uint32_t> touched;       // of each operator, the storages that it uses
  std::vector<std::uint32_t> storage;  // of each tensor; `none` if its life is not for an order to decide

  [[nodiscard]] std::size_t size() const noexcept { return need.size(); }
};

// Makes an order_problem of a valid graph.
template <class = when_called>
class order_lowering {
 public:
  explicit order_lowering(graph const& g) : g_(g), uses_(uses_of(g)) {}

  [[nodiscard]] order_problem lower() {
    for (auto const& o : g_.operators) {
      p_.need.push_back(o.workspace);
      p_.update.push_back(o.kind == operator_kind::update ? 1 : 0);
    }
    find_precedence();
    find_storages();
    p_.touched = transposed(p_.users, g_.size());
    return std::move(p_);
  }

 private:
  static constexpr auto none = order_problem::none;

  void find_precedence() {
    groups<std::uint32_t> contents;  // that each operator reads
    bool changed = false;
    for (auto const& t : g_.tensors) changed = changed || (t.in_place && t.shares != graph_tensor<>::own);
    if (changed) {
      contents.offsets = g_.inputs.offsets;
      for (auto const t : g_.inputs.members) contents.members.push_back(uses_.content[t]);
    }
    auto const readers = transposed(contents, g_.tensors.size());
    std::vector<std::uint32_t> seen(g_.size(), none);
    for (std::uint32_t v = 0; v < g_.size(); ++v) {
      auto const add = [&](std::uint32_t u) {
        if (u == none || u == v || std::exchange(seen[u], v) == v) return;
        p_.before.members.push_back(u);
      };
      for (auto const t : g_.inputs[v]) add(uses_.maker[t]);
      for (auto const t : g_.outputs[v])
        if (g_.tensors[t].in_place && g_.tensors[t].shares != graph_tensor<>::own)
          for (auto const u : readers[uses_.content[g_.tensors[t].shares]]) add(u);
      p_.before.offsets.push_back(p_.before.members.size());
    }
    p_.after = transposed(p_.before, g_.size());
  }
  void find_storages() {
    auto const tensors = g_.tensors.size();
    std::vector<std::uint8_t> kept(tensors, 0), used(tensors, 0);
    for (std::size_t t = 0; t < tensors; ++t) kept[uses_.memory[t]] |= static_cast<std::uint8_t>(g_.tensors[t].kept);
    groups<std::uint32_t> roots;  // whose memory each operator uses, each once
    std::vector<std::uint32_t> seen(tensors, none);
    for (std::uint32_t v = 0; v < g_.size(); ++v) {
      for (auto const* rows : {&g_.outputs, &g_.inputs})
        for (auto const t : (*rows)[v])
          if (auto const root = uses_.memory[t]; std::exchange(seen[root], v) != v) roots.members.push_back(root), used[root] = 1;
      roots.offsets.push_back(roots.members.size());
    }
    auto const users = transposed(roots, tensors);
    std::vector<std::uint32_t> number(tensors, none);
    for (std::uint32_t t = 0; t < tensors; ++t) {
      auto const bytes = g_.tensors[t].bytes;
      if (uses_.memory[t] != t || bytes == 0) continue;
      auto const maker = uses_.maker[t];
      if (maker != none)
        p_.need[maker] += bytes;
      else if (kept[t] != 0 || used[t] != 0)
        p_.start += bytes;
      if (maker == none && (kept[t] != 0 || used[t] == 0)) continue;
      number[t] = static_cast<std::uint32_t>(p_.bytes.size());
      p_.bytes.push_back(bytes);
      p_.maker.push_back(maker);
      p_.kept.push_back(kept[t]);
      if (kept[t] != 0)
        p_.users.push_back(std::span(&maker, 1));
      else
        p_.users.push_back(users[t]);
    }
    for (auto const root : uses_.memory) p_.storage.push_back(number[root]);
  }

  graph const& g_;
  graph_uses uses_;
  order_problem p_;
};

// The memory and the ready operators while operators run one by one, or while the last ones are undone one by one.
template <class = when_called>
class order_sweep {
 public:
  order_sweep(order_problem const& p, bool backwards) : p_(p), backwards_(backwards), memory_(p.start) {
    auto const& waits = backwards ? p.after : p.before;
    for (std::size_t v = 0; v < p.size(); ++v) waiting_.push_back(static_cast<std::uint32_t>(waits[v].size()));
    for (std::size_t s = 0; s < p.bytes.size(); ++s) {
      users_.push_back(static_cast<std::uint32_t>(p.users[s].size()) + p.kept[s]);
      left_.push_back(users_[s] - (backwards ? p.kept[s] : 0));
      if (backwards && p.kept[s] != 0) memory_ += p.bytes[s];
      if (backwards && p.maker[s] == order_problem::none) memory_ -= p.bytes[s];
    }
  }
  // How much more memory is in use after operator v than before, in the direction of the sweep.
  [[nodiscard]] std::int64_t change(std::uint32_t v) const {
    std::int64_t up = 0, down = 0;
    for (auto const s : p_.touched[v]) {
      if (p_.maker[s] == v) up += p_.bytes[s];
      if (left_[s] == (backwards_ ? users_[s] : 1)) down += p_.bytes[s];
    }
    return backwards_ ? down - up : up - down;
  }
  // Memory while operator v, the next one, runs.
  [[nodiscard]] std::int64_t running(std::uint32_t v) const { return memory_ + p_.need[v] + (backwards_ ? change(v) : 0); }
  [[nodiscard]] std::int64_t memory() const noexcept { return memory_; }
  [[nodiscard]] bool ready(std::uint32_t v) const { return waiting_[v] == 0; }
  [[nodiscard]] std::uint32_t left(std::uint32_t s) const { return left_[s]; }
  [[nodiscard]] auto next(std::uint32_t v) const { return (backwards_ ? p_.before : p_.after)[v]; }

  // Runs or undoes a ready operator; `released` is called with each operator that is ready now.
  template <class Released>
  void step(std::uint32_t v, Released&& released) {
    memory_ += change(v);
    for (auto const s : p_.touched[v]) --left_[s];
    for (auto const u : next(v))
      if (--waiting_[u] == 0) released(u);
  }
  // Takes the last step back.
  template <class Hidden>
  void step_back(std::uint32_t v, Hidden&& hidden) {
    for (auto const u : next(v))
      if (waiting_[u]++ == 0) hidden(u);
    for (auto const s : p_.touched[v]) ++left_[s];
    memory_ -= change(v);
  }

 private:
  order_problem const& p_;
  bool backwards_;
  std::int64_t memory_;
  std::vector<std::uint32_t> waiting_, users_, left_;
};

}  // namespace ballast::inline v0_2::detail
