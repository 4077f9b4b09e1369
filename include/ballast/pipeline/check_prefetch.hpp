// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of timelines of offloaded layers. It shares no code with the simulation.

namespace ballast::inline v0_2 {

/// @brief The rule that a timeline breaks.
struct prefetch_fault : common_fault {
  static constexpr rule unknown_layer{"events[{index}] is of no such layer, or of a task that the layer does not have"};
  static constexpr rule wrong_time{"events[{index}] begins before 0, or does not take the time of its task"};
  static constexpr rule not_once{"layer {index}: a task is missing, or there twice"};
  static constexpr rule too_early{"layer {index}: a task begins too early"};
  static constexpr rule overlap{"events[{index}] begins while another task of its device, host or channel runs"};
  static constexpr rule over_buffers{"layer {index}: no buffer is free"};
};

namespace detail {

/// The events of one layer by task; an event without a place has index `absent`.
template <class = when_called>
struct layer_events {
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  std::size_t at[7] = {absent, absent, absent, absent, absent, absent, absent};
};

/// Time of a task of a layer; -1 if the layer does not have it.
[[nodiscard]] constexpr std::int64_t time_of(prefetch_layer const& l, prefetch_task task) noexcept {
  auto const if_any = [](std::int64_t time) { return time > 0 ? time : -1; };
  switch (task) {
    case prefetch_task::load_forward:
    case prefetch_task::load_backward: return l.loaded ? l.load : -1;
    case prefetch_task::forward: return l.forward;
    case prefetch_task::backward: return l.backward;
    case prefetch_task::store: return if_any(l.store);
    case prefetch_task::update: return if_any(l.update);
    case prefetch_task::give_back: return if_any(l.give_back);
  }
  return -1;
}

/// The first event that overlaps one of the same resource.
template <class = when_called>
[[nodiscard]] inline verdict check_resources(std::vector<prefetch_event> const& events) {
  std::array<std::vector<std::size_t>, 4> by;  // to the device, computation, to the host, the host
  constexpr std::size_t resource[] = {0, 1, 0, 1, 2, 3, 0};
  for (std::size_t e = 0; e < events.size(); ++e) by[resource[static_cast<std::size_t>(events[e].task)]].push_back(e);
  for (auto& list : by) {
    std::sort(list.begin(), list.end(), [&](auto a, auto b) {
      auto const &x = events[a], &y = events[b];
      return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end < y.end : a < b;
    });
    for (std::size_t k = 1; k < list.size(); ++k)
      if (events[list[k]].begin < events[list[k - 1]].end) return {prefetch_fault::overlap, list[k]};
  }
  return {};
}

/// Whether there are buffers for all uses. A change is a time, and 1 + layer for a buffer that is taken, or 0 for one that is released.
template <class = when_called>
[[nodiscard]] inline verdict check_buffers(std::vector<std::pair<std::int64_t, std::int64_t>> changes, std::uint64_t buffers) {
  std::sort(changes.begin(), changes.end());  // a buffer that is released at a time is free for a use that begins then
  std::int64_t in_use = 0;
  for (auto const& [time, layer] : changes) {
    in_use += layer == 0 ? -1 : 1;
    if (layer != 0 && in_use > static_cast<std::int64_t>(buffers)) return {prefetch_fault::over_buffers, layer - 1, in_use, buffers};
  }
  return {};
}

}  // namespace detail

/// @brief Checks a timeline against the definition: every task once, in its time, after what it waits for; one task at a time on the
/// device, the host and each channel; never more buffers in use than there are.
///
/// @param timeline  the timeline with its events; may hold any values
/// @param layers    the layers
/// @param buffers   number of buffers
/// @return the first broken rule
/// @throws invalid_input as `require_valid` of the layers
/// @par Complexity
/// O(events log events).
template <class = when_called>
[[nodiscard]] inline verdict check_prefetch(prefetch_timeline const& timeline, std::span<prefetch_layer const> layers,
                                            std::uint64_t buffers) {
  using enum prefetch_task;
  require_valid(layers, buffers);
  auto const& events = timeline.events;
  std::vector<detail::layer_events<>> of(layers.size());
  std::int64_t last = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    auto const& v = events[e];
    auto const task = static_cast<std::size_t>(v.task);
    if (v.layer >= layers.size() || task > 6 || detail::time_of(layers[v.layer], v.task) < 0) return {prefetch_fault::unknown_layer, e};
    if (v.begin < 0 || v.end - v.begin != detail::time_of(layers[v.layer], v.task)) return {prefetch_fault::wrong_time, e};
    if (of[v.layer].at[task] != detail::layer_events<>::absent) return {prefetch_fault::not_once, v.layer};
    of[v.layer].at[task] = e;
    last = (std::max)(last, v.end);
  }
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t task = 0; task < 7; ++task)
      if ((of[i].at[task] == detail::layer_events<>::absent) != (detail::time_of(layers[i], static_cast<prefetch_task>(task)) < 0))
        return {prefetch_fault::not_once, i};
  auto const event = [&](std::size_t i, prefetch_task task) -> prefetch_event const* {
    auto const e = of[i].at[static_cast<std::size_t>(task)];
    return e == detail::layer_events<>::absent ? nullptr : &events[e];
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  auto const uses = [&](std::size_t i, std::int64_t from, std::int64_t to) {
    changes.emplace_back(from, static_cast<std::int64_t>(i) + 1);
    changes.emplace_back(to, 0);
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const* const f = event(i, forward);
    auto const* const b = event(i, backward);
    std::int64_t earliest_b = i + 1 < layers.size() ? event(i + 1, backward)->end : f->end;
    if (i > 0 && f->begin < event(i - 1, forward)->end) return {prefetch_fault::too_early, i};
    if (auto const* const l = event(i, load_forward)) {
      if (f->begin < l->end) return {prefetch_fault::too_early, i};
      uses(i, l->begin, f->end);
    }
    auto const* const l = event(i, load_backward);
    if (l != nullptr) earliest_b = (std::max)(earliest_b, l->end);
    if (b->begin < earliest_b) return {prefetch_fault::too_early, i};
    auto ready = b->end;
    if (auto const* const s = event(i, store)) {
      if (s->begin < ready) return {prefetch_fault::too_early, i};
      ready = s->end;
    }
    if (l != nullptr || layers[i].spilled) uses(i, l != nullptr ? l->begin : b->begin, layers[i].spilled ? ready : b->end);
    for (auto const task : {update, give_back})
      if (auto const* const t = event(i, task)) {
        if (t->begin < ready) return {prefetch_fault::too_early, i};
        ready = t->end;
      }
  }
  if (auto const v = detail::check_resources(events); !v.valid()) return v;
  if (auto const v = detail::check_buffers(std::move(changes), buffers); !v.valid()) return v;
  return check_certificate(timeline.makespan, last);
}

}  // namespace ballast::inline v0_2
