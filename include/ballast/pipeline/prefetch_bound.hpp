// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The lower bound on the time of a training step whose layers keep states in host memory.

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

}  // namespace ballast::inline v0_2
