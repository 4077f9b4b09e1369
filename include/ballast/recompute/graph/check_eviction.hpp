// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief The validator of runs within a memory limit. It shares no code with `evict`.

namespace ballast::inline v0_2 {

/// @brief The rule that a run of a graph breaks. `index` is an event, or an operator or a tensor where it says so.
struct eviction_fault : common_fault {
  static constexpr rule no_such_index{"event {index} names {found}, which is no operator, or no tensor with memory of its own"};
  static constexpr rule not_here{"event {index} reads or frees tensor {found}, which is not in memory"};
  static constexpr rule wrong_content{"event {index} reads tensor {found}, but its memory holds tensor {expected}"};
  static constexpr rule ran_before{"event {index} runs operator {found} for the first time, but it has run"};
  static constexpr rule not_run_yet{"event {index} runs operator {found} again, but it has not run"};
  static constexpr rule run_again{"event {index} runs operator {found} again, which would undo or repeat a change in place"};
  static constexpr rule not_on_host{"event {index} loads tensor {found}, which is not on the host, or already in memory"};
  static constexpr rule over_limit{"event {index} brings the memory in use to {found} bytes, above {expected}"};
  static constexpr rule never_run{"operator {index} does not run"};
  static constexpr rule not_kept{"tensor {index} is not in memory at the end"};
};

namespace detail {

// Carries out the events of a run on what the memories hold.
template <class = when_called>
class event_replay {
 public:
  event_replay(graph const& g, std::int64_t limit) : g_(g), limit_(limit), uses_(uses_of(g)), has_run_(g.size(), 0) {
    holds_.assign(g.tensors.size(), nothing);
    host_ = last_ = holds_;
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t) {
      auto const m = uses_.memory[t];
      bool const needed = g.tensors[t].kept || !uses_.readers[t].empty();
      if (uses_.maker[m] == graph_uses::none && needed) holds_[m] = m;
      if (m == t) last_[m] = t;
    }
    for (std::size_t v = 0; v < g.size(); ++v)
      for (auto const t : g.outputs[v])
        if (g.tensors[t].in_place) last_[uses_.memory[t]] = t;
    for (std::uint32_t m = 0; m < g.tensors.size(); ++m) live_ += holds_[m] == nothing ? 0 : g.tensors[m].bytes;
  }
  [[nodiscard]] verdict replay(std::span<memory_event const> events) {
    if (live_ > limit_) return {eviction_fault::over_limit, 0, live_, limit_};
    for (i_ = 0; i_ < events.size(); ++i_)
      if (auto const v = carry_out(events[i_]); !v.valid()) return v;
    for (std::size_t v = 0; v < g_.size(); ++v)
      if (has_run_[v] == 0) return {eviction_fault::never_run, v};
    for (std::size_t t = 0; t < g_.tensors.size(); ++t)
      if (g_.tensors[t].kept && holds_[uses_.memory[t]] != last_[uses_.memory[t]]) return {eviction_fault::not_kept, t};
    return {};
  }

 private:
  static constexpr auto nothing = (std::numeric_limits<std::uint32_t>::max)();

  [[nodiscard]] verdict carry_out(memory_event const& e) {
    using enum memory_event::action;
    auto const x = e.index;
    if (e.what == run || e.what == rerun)
      return x < g_.size() ? run_operator(x, e.what == rerun) : verdict{eviction_fault::no_such_index, i_, x};
    if (x >= g_.tensors.size() || uses_.memory[x] != x) return {eviction_fault::no_such_index, i_, x};
    if (e.what == load) {
      if (holds_[x] != nothing || host_[x] == nothing) return {eviction_fault::not_on_host, i_, x};
      return put(x, host_[x], 0);
    }
    if (holds_[x] == nothing) return {eviction_fault::not_here, i_, x};
    if (e.what == store) host_[x] = holds_[x];
    holds_[x] = nothing;
    live_ -= g_.tensors[x].bytes;
    return {};
  }
  [[nodiscard]] verdict run_operator(std::uint32_t v, bool again) {
    if (!again && has_run_[v] != 0) return {eviction_fault::ran_before, i_, v};
    if (again && has_run_[v] == 0) return {eviction_fault::not_run_yet, i_, v};
    has_run_[v] = 1;
    for (auto const t : g_.inputs[v]) {
      auto const held = holds_[uses_.memory[t]];
      if (held == nothing) return {eviction_fault::not_here, i_, t};
      if (held != uses_.content[t]) return {eviction_fault::wrong_content, i_, t, held};
    }
    for (auto const t : g_.outputs[v]) {
      auto const m = uses_.memory[t];
      if (again && (g_.tensors[t].in_place || (m == t && holds_[m] != nothing && holds_[m] != t)))
        return {eviction_fault::run_again, i_, v};
      if (g_.tensors[t].in_place) holds_[m] = t;
      if (m != t || holds_[m] == t) continue;
      if (auto const full = put(t, t, 0); !full.valid()) return full;
    }
    return put(nothing, nothing, g_.operators[v].workspace);
  }
  // Puts a tensor's content into memory, with a workspace beside it.
  [[nodiscard]] verdict put(std::uint32_t m, std::uint32_t content, std::int64_t workspace) {
    if (m != nothing) {
      holds_[m] = content;
      live_ += g_.tensors[m].bytes;
    }
    if (live_ + workspace > limit_) return {eviction_fault::over_limit, i_, live_ + workspace, limit_};
    return {};
  }

  graph const& g_;
  std::int64_t limit_, live_ = 0;
  graph_uses uses_;
  std::vector<char> has_run_;
  std::vector<std::uint32_t> holds_, host_, last_;  // the tensor whose content a memory has: now, on the host, at the end
  std::size_t i_ = 0;
};

}  // namespace detail

/// @brief Checks a run of a graph within a memory limit against the definition: what is read is in memory and has not been overwritten,
/// every operator runs once for the first time, what is kept is there at the end, and the limit is kept after every event.
/// @param g       a valid graph, with the sizes of the batch
/// @param events  the run
/// @param limit   bytes that may be in use
/// @return the first broken rule
/// @par Complexity
/// O(graph + inputs and outputs of the events).
template <class = when_called>
[[nodiscard]] verdict check_eviction(graph const& g, std::span<memory_event const> events, std::int64_t limit) {
  return detail::event_replay(g, limit).replay(events);
}

}  // namespace ballast::inline v0_2
