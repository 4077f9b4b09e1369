// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

// List scheduling by least net change where sizes are polynomials, one step at a time. Private.

namespace ballast::inline v0_2::detail {

/// Polynomials, each stored once and named by a number.
template <class = when_called>
class polynomial_pool {
 public:
  std::uint32_t number_of(symbolic const& p) {
    auto const [at, is_new] = numbers_.try_emplace(p, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back(p);
    return at->second;
  }
  [[nodiscard]] symbolic const& operator[](std::uint32_t i) const { return all_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  struct before {
    bool operator()(symbolic const& a, symbolic const& b) const {
      return std::lexicographical_compare(
          a.terms().begin(), a.terms().end(), b.terms().begin(), b.terms().end(),
          [](auto const& s, auto const& t) { return s.powers != t.powers ? s.powers < t.powers : s.coefficient < t.coefficient; });
    }
  };
  std::vector<symbolic> all_;
  std::map<symbolic, std::uint32_t, before> numbers_;
};

/// A list that was begun: which operators have run, and which are ready.
struct list_state {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> waits;                        // for each operator, how many must run before it and have not run
  std::vector<std::uint32_t> left;                         // for each storage, its users that have not run, and one more if it is kept
  std::vector<std::uint32_t> change;                       // for each operator, its net change of memory: a number of the pool
  std::map<std::uint32_t, std::set<std::uint32_t>> ready;  // by net change
};

template <class = when_called>
class symbolic_list {
 public:
  symbolic_list(basic_graph<symbolic> const& g, std::span<dimension const> dimensions) : never_zero_(dimensions.size()) {
    for (std::size_t d = 0; d < dimensions.size(); ++d) never_zero_[d] = dimensions[d].low > 0 ? 1 : 0;
    auto const unit = map_sizes(g, [](symbolic const&) { return std::int64_t{1}; });  // what an order decides does not depend on sizes
    rows_ = order_lowering<>(unit).lower();
    bytes_.resize(rows_.bytes.size());
    for (std::size_t t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].shares == graph_tensor<symbolic>::own && rows_.storage[t] != order_problem::none)
        bytes_[rows_.storage[t]] = g.tensors[t].bytes;
  }
  [[nodiscard]] list_state begin() {
    list_state out;
    for (std::size_t s = 0; s < bytes_.size(); ++s) out.left.push_back(static_cast<std::uint32_t>(rows_.users[s].size()) + rows_.kept[s]);
    for (std::uint32_t v = 0; v < rows_.size(); ++v) {
      symbolic net;
      for (auto const s : rows_.touched[v]) {
        if (rows_.maker[s] == v) net = net + bytes_[s];
        if (out.left[s] == 1) net = net - bytes_[s];
      }
      out.change.push_back(changes_.number_of(net));
      out.waits.push_back(static_cast<std::uint32_t>(rows_.before[v].size()));
      if (out.waits[v] == 0) out.ready[out.change[v]].insert(v);
    }
    return out;
  }
  /// Runs operators until all have run (then it returns nothing), or until `is_negative` does not know the sign of a polynomial (then it
  /// returns the number of that polynomial; calling again goes on). `is_negative(number)` returns an optional<bool>.
  template <class Sign>
  std::optional<std::uint32_t> run(list_state& state, Sign const& is_negative) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> first;  // of each net change, the ready operator of the least index
    while (!state.ready.empty()) {
      first.clear();
      for (auto const& [change, operators] : state.ready) first.emplace_back(*operators.begin(), change);
      std::sort(first.begin(), first.end());
      auto best = first[0];
      for (std::size_t i = 1; i < first.size(); ++i) {
        auto const number = difference(first[i].second, best.second);
        auto const less = is_negative(number);
        if (!less) return number;
        if (*less) best = first[i];
      }
      take(state, best.first);
    }
    return std::nullopt;
  }
  [[nodiscard]] symbolic const& question(std::uint32_t number) const { return differences_[number]; }
  [[nodiscard]] std::size_t questions() const noexcept { return differences_.size(); }

 private:
  // The difference of two net changes without positive factors, which do not change its sign.
  std::uint32_t difference(std::uint32_t a, std::uint32_t b) {
    auto const [at, is_new] = of_pair_.try_emplace(std::uint64_t{a} << 32 | b, 0);
    if (is_new) at->second = differences_.number_of(plain(changes_[a] - changes_[b]));
    return at->second;
  }
  [[nodiscard]] symbolic plain(symbolic const& p) const {
    std::int64_t divisor = 0;
    std::vector<std::uint16_t> shared(never_zero_.size(), 255);
    for (auto const& t : p.terms()) {
      divisor = std::gcd(divisor, t.coefficient);
      for (std::size_t d = 0; d < shared.size(); ++d)
        shared[d] = (std::min)(shared[d], d < t.powers.size() && never_zero_[d] != 0 ? t.powers[d] : std::uint16_t{0});
    }
    symbolic out;
    for (auto const& t : p.terms()) {
      auto powers = t.powers;
      for (std::size_t d = 0; d < powers.size(); ++d) powers[d] = static_cast<std::uint16_t>(powers[d] - shared[d]);
      out = out + symbolic::monomial(std::move(powers), t.coefficient / divisor);
    }
    return out;
  }
  void set_change(list_state& state, std::uint32_t v, symbolic const& net) {
    auto const number = changes_.number_of(net);
    if (state.waits[v] == 0) {
      auto const at = state.ready.find(state.change[v]);
      at->second.erase(v);
      if (at->second.empty()) state.ready.erase(at);
      state.ready[number].insert(v);
    }
    state.change[v] = number;
  }
  void take(list_state& state, std::uint32_t v) {
    state.order.push_back(v);
    auto const at = state.ready.find(state.change[v]);
    at->second.erase(v);
    if (at->second.empty()) state.ready.erase(at);
    constexpr auto has_run = order_problem::none;
    state.waits[v] = has_run;
    for (auto const s : rows_.touched[v])
      if (--state.left[s] == 1)
        for (auto const u : rows_.users[s])
          if (state.waits[u] != has_run) set_change(state, u, changes_[state.change[u]] - bytes_[s]);
    for (auto const w : rows_.after[v])
      if (--state.waits[w] == 0) state.ready[state.change[w]].insert(w);
  }

  order_problem rows_;
  std::vector<symbolic> bytes_;  // of each storage
  std::vector<char> never_zero_;
  polynomial_pool<> changes_, differences_;
  std::unordered_map<std::uint64_t, std::uint32_t> of_pair_;
};

}  // namespace ballast::inline v0_2::detail
