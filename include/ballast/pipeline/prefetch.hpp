// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// @file
/// @brief The timeline of a training step whose layers keep states in host memory: loads before use, stores after the backward pass,
/// updates by the host, one channel each way and a fixed number of buffers on the device; and its lower bound.

namespace ballast::inline v0_2 {

namespace detail {

/// Over all layers up to one: the least time between a backward pass and an update or new parameters, and after a store or an update.
struct least_beside {
  std::int64_t before_update = std::int64_t{1} << 60;
  std::int64_t before_back = std::int64_t{1} << 60;
  std::int64_t after_store = std::int64_t{1} << 60;
  std::int64_t after_update = std::int64_t{1} << 60;
};

}  // namespace detail

/// @brief Lower bound on the time of a step, for any order of the transfers and any number of buffers.
///
/// It is the greatest of these: computation behind the loads that must precede it, and before what must follow the last backward pass;
/// the channel to the device; the channel to the host, the host's optimiser, and the new parameters, each with no task before the backward
/// pass that it follows, and with the least that follows any of its tasks at the end.
///
/// @param layers  the layers, first to last
/// @return the bound
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(layers).
/// @par Determinism
/// A pure function of its argument.
template <class = when_called>
[[nodiscard]] inline std::int64_t prefetch_lower_bound(std::span<prefetch_layer const> layers) {
  require_valid(layers, 1);
  std::vector<detail::least_beside> upto(layers.size());
  std::int64_t loads = 0, computed = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& l = layers[i];
    computed = (std::max)(computed, loads += l.load) + l.forward;
    if (i > 0) upto[i] = upto[i - 1];
    auto& m = upto[i];
    if (l.store > 0) m.after_store = (std::min)(m.after_store, l.update + l.give_back);
    if (l.update > 0) m.before_update = (std::min)(m.before_update, l.store);
    if (l.update > 0) m.after_update = (std::min)(m.after_update, l.give_back);
    if (l.give_back > 0) m.before_back = (std::min)(m.before_back, l.store + l.update);
  }
  std::int64_t tail = 0, down = 0, host = 0, back = 0, given_back = 0;
  for (std::size_t i = layers.size(); i-- > 0;) {
    auto const& l = layers[i];
    computed = (std::max)(computed, loads += l.load) + l.backward;
    given_back += l.give_back;
    if (l.store > 0) down = (std::max)(down, computed) + l.store;
    if (l.update > 0) host = (std::max)(host, computed + upto[i].before_update) + l.update;
    if (l.give_back > 0) back = (std::max)(back, computed + upto[i].before_back) + l.give_back;
    tail = (std::max)(tail, computed + l.store + l.update + l.give_back);
  }
  if (down > 0) down += upto.back().after_store;
  if (host > 0) host += upto.back().after_update;
  return (std::max)({tail, loads + given_back, down, host, back});
}

namespace detail {

/// Places the tasks of a step one after another: nothing is placed before what it waits for, so one pass over the layers is enough.
template <class = when_called>
class prefetch_simulation {
 public:
  /// Time of the step; `see(task, layer, begin, end)` is called for every task that takes time or uses a buffer.
  template <class See>
  [[nodiscard]] std::int64_t operator()(std::span<prefetch_layer const> layers, std::uint64_t buffers, See const& see) {
    free_.assign(static_cast<std::size_t>((std::min)(buffers, std::uint64_t{2 * layers.size() + 1})), 0);
    waiting_.clear();
    next_ = 0;
    up_ = down_ = host_ = compute_ = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto const& l = layers[i];
      auto const at = static_cast<std::uint32_t>(i);
      if (l.loaded) compute_ = (std::max)(compute_, load(layers, at, prefetch_task::load_forward, see));
      compute_ += l.forward;
      see(prefetch_task::forward, at, compute_ - l.forward, compute_);
      if (l.loaded) release(compute_);
    }
    for (std::size_t i = layers.size(); i-- > 0;) backward(layers, static_cast<std::uint32_t>(i), see);
    while (next_ < waiting_.size()) give_back(layers, see);
    return (std::max)({compute_, up_, down_, host_});
  }

 private:
  struct updated {
    std::uint32_t layer;
    std::int64_t ready;
  };

  template <class See>
  std::int64_t load(std::span<prefetch_layer const> layers, std::uint32_t at, prefetch_task task, See const& see) {
    // New parameters go first if the channel would otherwise wait for the buffer.
    while (next_ < waiting_.size() && (std::max)(up_, waiting_[next_].ready) < free_.front()) give_back(layers, see);
    auto const begin = (std::max)(up_, free_.front());
    up_ = begin + layers[at].load;
    see(task, at, begin, up_);
    return up_;
  }
  template <class See>
  void give_back(std::span<prefetch_layer const> layers, See const& see) {
    auto const [layer, ready] = waiting_[next_++];
    auto const begin = (std::max)(up_, ready);
    up_ = begin + layers[layer].give_back;
    see(prefetch_task::give_back, layer, begin, up_);
  }
  template <class See>
  void backward(std::span<prefetch_layer const> layers, std::uint32_t at, See const& see) {
    auto const& l = layers[at];
    if (l.loaded) compute_ = (std::max)(compute_, load(layers, at, prefetch_task::load_backward, see));
    if (!l.loaded && l.spilled) compute_ = (std::max)(compute_, free_.front());
    compute_ += l.backward;
    see(prefetch_task::backward, at, compute_ - l.backward, compute_);
    auto ready = compute_;
    if (l.store > 0) {
      auto const begin = (std::max)(down_, compute_);
      ready = down_ = begin + l.store;
      see(prefetch_task::store, at, begin, down_);
    }
    if (l.loaded || l.spilled) release(l.spilled ? ready : compute_);
    if (l.update > 0) {
      auto const begin = (std::max)(host_, ready);
      ready = host_ = begin + l.update;
      see(prefetch_task::update, at, begin, host_);
    }
    if (l.give_back > 0) waiting_.push_back({at, ready});
  }
  /// The buffer that was taken, the first free one, is free again at a time.
  void release(std::int64_t time) noexcept {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    free_.back() = time;
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }

  std::vector<std::int64_t> free_;  // when each buffer is free again: a heap, first the earliest
  std::vector<updated> waiting_;    // new parameters, in the order in which they are ready
  std::size_t next_ = 0;
  std::int64_t up_ = 0, down_ = 0, host_ = 0, compute_ = 0;
};

}  // namespace detail

/// @brief Computes the timeline of a step: forward passes first to last, then backward passes last to first.
///
/// Each channel, the device and the host's optimiser do one task at a time, and none is interrupted. Loads are in the order of their use,
/// as early as a buffer is free. Stores and updates are in the order of the backward pass. New parameters of
/// layers that stay on the device go up in that order too, while no load can begin, and at the end.
///
/// @param layers   layers, first to last
/// @param buffers  number of buffers on the device, at least 1; each holds what any one layer needs
/// @param events   whether to return all tasks
/// @return the timeline; the order of transfers is not searched, so the lower bound is not always reached
/// @throws invalid_input as `require_valid`
/// @post If all links are at least as fast as computation (`load` at most the time of every pass) and nothing is stored, two buffers hide
///       all loads but the first: the makespan is that load and the sum of the passes.
/// @par Complexity
/// O(layers).
/// @par Determinism
/// A pure function of its arguments; all arithmetic is in integers.
/// @par Source
/// Rajbhandari et al., "ZeRO-Infinity", arXiv 2104.07857, section 6.2 (prefetch); the fixed order is this library's.
template <class = when_called>
[[nodiscard]] inline prefetch_timeline simulate_prefetch(std::span<prefetch_layer const> layers, std::uint64_t buffers,
                                                         bool events = false) {
  require_valid(layers, buffers);
  prefetch_timeline out;
  out.makespan.value = detail::prefetch_simulation<>()(layers, buffers, [&](prefetch_task task, std::uint32_t layer, auto begin, auto end) {
    if (events) out.events.push_back({task, layer, begin, end});
  });
  out.makespan.lower_bound = prefetch_lower_bound(layers);
  return out;
}

}  // namespace ballast::inline v0_2
