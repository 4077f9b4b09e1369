// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_evictions`: which operators could make a tensor again, found once, before the dimensions of batches are known.

namespace ballast::inline v0_2 {

/// @brief A step of a run of a graph. Memory is named by the tensor that owns it (`graph_uses::memory`).
struct memory_event {
  /// @brief What is done.
  enum class action : std::uint8_t {
    run,    ///< the operator runs for the first time and makes its outputs
    rerun,  ///< the operator runs again and makes its outputs that are not in memory; who makes all frees the others first
    drop,   ///< the memory is freed
    store,  ///< the memory is copied to the host and freed
    load,   ///< the memory is allocated and copied from the host
  };
  action what = action::run;  ///< what is done
  std::uint32_t index = 0;    ///< index of an operator (run, rerun) or of the tensor that owns the memory

  friend constexpr bool operator==(memory_event const&, memory_event const&) = default;
};

namespace detail {

/// A graph in an order, without its sizes: when memory is made, read and overwritten. Steps count the operators of the order; memory is
/// named by the tensor that owns it.
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
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      std::vector<std::uint32_t> read, made;
      auto until = never;
      for (auto const t : g.inputs[v]) {
        read.push_back(found.memory[t]);
        until = (std::min)(until, lost[found.content[t]]);
        auto const by = found.maker[t];
        require(by == graph_uses::none || step[by] < step[v],
                [&] { return sentence("order runs operator ", v, " before operator ", by, ", whose tensor it reads"); });
        require(lost[found.content[t]] >= step[v],
                [&] { return sentence("order runs operator ", v, " after what it reads is overwritten"); });
      }
      for (auto const t : g.outputs[v]) {
        if (found.memory[t] == t) made.push_back(t);
        until = g.tensors[t].in_place ? 0 : (std::min)(until, lost[t]);  // nor may it undo a change in place of what it made
      }
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      reads.push_back(read);
      makes.push_back(made);
      valid_until.push_back(until);
    }
    groups<std::uint32_t> in_steps;
    for (auto const v : order) in_steps.push_back(reads[v]);
    uses = transposed(in_steps, count);
    for (std::uint32_t m = 0; m < count; ++m) maker.push_back(found.memory[m] == m ? found.maker[m] : graph_uses::none);
  }
  [[nodiscard]] std::size_t memories() const noexcept { return maker.size(); }
  /// Whether a memory is there before the first step, and somebody needs it.
  [[nodiscard]] bool at_start(std::uint32_t m) const { return maker[m] == graph_uses::none && (kept[m] != 0 || !uses[m].empty()); }

 private:
  void place(std::size_t operators) {
    require(order.size() == operators, [&] { return sentence("order has ", order.size(), " entries for ", operators, " operators"); });
    step.assign(operators, never);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      require(order[i] < operators && step[order[i]] == never,
              [&] { return entry("order", i, order[i]) + " is no operator, or runs twice"; });
      step[order[i]] = i;
    }
  }
};

}  // namespace detail

/// @brief A way to make a memory again for its next reader.
struct recompute_subgraph {
  std::uint32_t memory = 0;                ///< the tensor that owns the memory
  std::uint32_t next = 0;                  ///< step of the reader for which it is made again
  std::vector<std::uint32_t> operators{};  ///< operators that run again, in the order of their steps
  std::vector<std::uint32_t> held{};       ///< memories that must stay longer than without it, ascending
  symbolic time{};                         ///< time of the operators
  symbolic benefit{};                      ///< bytes of the memory less those of `held`

  friend bool operator==(recompute_subgraph const&, recompute_subgraph const&) = default;
};

/// @brief How subgraphs are grown.
struct subgraph_options {
  std::uint32_t operators = 16;  ///< most operators in one, at least 1

  friend constexpr bool operator==(subgraph_options const&, subgraph_options const&) = default;
};

/// @brief A graph in an order, with the subgraphs that make its memories again. `plan_evictions` makes one, `evict` uses it for each batch.
struct eviction_plan {
  std::vector<dimension> dimensions{};          ///< ranges of the dimensions
  std::vector<recompute_subgraph> subgraphs{};  ///< by memory, next reader and number of operators
  std::vector<symbolic> bytes{};                ///< of each tensor
  std::vector<symbolic> workspace{};            ///< of each operator
  std::vector<symbolic> time{};                 ///< of each operator
  detail::eviction_rows rows;                   ///< makers and readers in the order
};

namespace detail {

/// Grows the subgraphs of one memory and one reader.
template <class = when_called>
class subgraph_grower {
 public:
  subgraph_grower(eviction_plan const& plan, std::span<std::int64_t const> most_bytes, std::uint32_t memory, std::uint32_t next,
                  std::uint32_t most)
      : p_(plan), r_(plan.rows), most_bytes_(most_bytes), m_(memory), next_(next), most_(most) {}

  [[nodiscard]] std::vector<recompute_subgraph> grow() {
    std::vector<recompute_subgraph> out;
    for (auto from = m_; add(r_.maker[from]);) {
      recompute_subgraph made{m_, next_, operators_, {}, time_, p_.bytes[m_]};
      for (auto const v : operators_)
        for (auto const s : r_.reads[v])
          if (ends_before_next(s) && !makes(s)) made.held.push_back(s);
      std::sort(made.held.begin(), made.held.end());
      made.held.erase(std::unique(made.held.begin(), made.held.end()), made.held.end());
      std::optional<std::uint32_t> largest;
      for (auto const s : made.held) {
        made.benefit = made.benefit - p_.bytes[s];
        auto const growable = r_.maker[s] != graph_uses::none && r_.valid_until[r_.maker[s]] >= next_;
        if (growable && (!largest || most_bytes_[s] > most_bytes_[*largest])) largest = s;
      }
      auto const useful = std::none_of(
          out.begin(), out.end(), [&](auto const& shorter) { return (shorter.benefit - made.benefit).bounds(p_.dimensions).low >= 0; });
      if (useful) out.push_back(std::move(made));
      if (!largest) break;
      from = *largest;
    }
    return out;
  }

 private:
  bool add(std::uint32_t v) {
    if (operators_.size() >= most_ || r_.valid_until[v] < next_) return false;
    auto const by_step = [&](auto a, auto b) { return r_.step[a] < r_.step[b]; };
    time_ = time_ + p_.time[v];
    operators_.insert(std::lower_bound(operators_.begin(), operators_.end(), v, by_step), v);
    return true;
  }
  [[nodiscard]] bool makes(std::uint32_t s) const {
    return std::find(operators_.begin(), operators_.end(), r_.maker[s]) != operators_.end();
  }
  [[nodiscard]] bool ends_before_next(std::uint32_t s) const { return r_.kept[s] == 0 && r_.uses[s].back() < next_; }

  eviction_plan const& p_;
  eviction_rows const& r_;
  std::span<std::int64_t const> most_bytes_;  // upper bound on the bytes of each tensor
  std::uint32_t m_, next_, most_;
  symbolic time_;
  std::vector<std::uint32_t> operators_;
};

}  // namespace detail

/// @brief Finds the operators that could make each memory of a graph again, as polynomials over the dimensions of a batch.
///
/// For each memory and each of its readers that does not run right after the reader before (or the maker), a subgraph is grown backwards
/// from the maker. What the subgraph reads must stay in memory until then; if it would have been freed before, that reduces the benefit,
/// and the subgraph grows over the largest of these. A subgraph is kept if no smaller one has at least its benefit for every batch. The
/// benefit may be negative: such a subgraph frees memory at once and costs more later. Memory that is kept, or that an operator changes in
/// place, is never evicted, and an operator is not run again after what it reads is overwritten.
///
/// @param g           a valid graph
/// @param dimensions  ranges of all dimensions
/// @param order       the operators in the order in which they run
/// @param options     largest subgraph
/// @return the plan
/// @throws invalid_input if the graph, a range or the order is not valid, or a size or a time uses a dimension without a range or may be
/// negative
/// @par Complexity
/// O(inputs * largest subgraph^2) sums of polynomials.
/// @par Determinism
/// A pure function of the arguments.
/// @par Source
/// The recompute subgraphs of BladeDISC++, arXiv 2412.16985, section 4.
template <class = when_called>
[[nodiscard]] eviction_plan plan_evictions(basic_graph<symbolic> const& g, std::span<dimension const> dimensions,
                                           std::span<std::uint32_t const> order, subgraph_options const& options = {}) {
  require_valid(g);
  require(options.operators > 0, [] { return "plan_evictions: a subgraph has at least 1 operator"; });
  eviction_plan out{{dimensions.begin(), dimensions.end()}, {}, {}, {}, {}, detail::eviction_rows(g, order)};
  auto const add = [&](std::vector<symbolic>& to, symbolic const& p, char const* what, std::size_t i) {
    require(p.bounds(dimensions).low >= 0,
            [&] { return sentence(what, "[", i, "] holds ", to_string(p, dimensions), ", which may be negative"); });
    to.push_back(p);
  };
  for (std::size_t t = 0; t < g.tensors.size(); ++t) add(out.bytes, g.tensors[t].bytes, "tensors", t);
  for (std::size_t v = 0; v < g.size(); ++v) {
    add(out.workspace, g.operators[v].workspace, "operators", v);
    add(out.time, g.operators[v].time, "operators", v);
  }
  std::vector<std::int64_t> most_bytes;
  most_bytes.reserve(out.bytes.size());
  for (auto const& b : out.bytes) most_bytes.push_back(b.bounds(dimensions).high);
  auto const& rows = out.rows;
  for (std::uint32_t m = 0; m < rows.memories(); ++m) {
    if (rows.fixed[m] != 0 || rows.maker[m] == graph_uses::none) continue;
    auto before = rows.step[rows.maker[m]];
    for (auto const next : rows.uses[m]) {
      if (next > before + 1)
        for (auto& s : detail::subgraph_grower(out, most_bytes, m, next, options.operators).grow()) out.subgraphs.push_back(std::move(s));
      before = next;
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
