// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/range_maximum.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `shortage_of`: how much memory a plan of stages needs at least, if no partition fits.

namespace ballast::inline v0_2 {

/// @brief The memory that devices lack if no partition fits.
///
/// Of all partitions, with all possible recomputation, take the one whose largest stage needs least memory. This is that stage.
struct memory_shortage {
  std::uint64_t stage = 0;  ///< number of that stage
  std::int64_t needed = 0;  ///< bytes that it needs: the least memory of a device with which there is a plan; where the tensors of a
                            ///< framework are counted, an estimate of it
  std::int64_t budget = 0;  ///< bytes that a device has
  friend constexpr bool operator==(memory_shortage const&, memory_shortage const&) = default;
};

/// @brief Finds the partition whose largest stage needs least memory: what devices of one size must have for a plan to exist.
/// @param layers     a chain of at least as many layers as stages, as for `plan_stages`
/// @param in_flight  for each stage, the most micro-batches that it holds, at least 1
/// @param budget     bytes of a device
/// @param capacity   bytes that the layers of each stage may take of these; all if there are no entries. The rest is needed by each stage
///                   beside its layers
/// @return the largest stage of that partition, and the bytes that it needs, capped below 2^63
/// @throws invalid_input if there are fewer layers than stages, no stages, or a layer without options
/// @par Complexity
/// O(layers log layers + stages log layers log bytes).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline memory_shortage shortage_of(std::span<stage_layer const> layers, std::span<std::uint64_t const> in_flight,
                                                 std::int64_t budget, std::span<std::int64_t const> capacity = {}) {
  require(capacity.empty() || capacity.size() == in_flight.size(),
          [&] { return sentence("capacity has ", capacity.size(), " entries for ", in_flight.size(), " stages"); });
  require(!in_flight.empty() && layers.size() >= in_flight.size(),
          [&] { return sentence(layers.size(), " layers cannot fill ", in_flight.size(), " stages"); });
  std::vector<std::int64_t> state{0}, least{0}, each;
  for (auto const& layer : layers) {
    require(!layer.options.empty(), [&] { return sentence("layers[", state.size() - 1, "] has no options"); });
    state.push_back(state.back() + layer.state);
    each.push_back(layer.working);
    auto const by_memory = [](auto const& a, auto const& b) { return a.memory < b.memory; };
    least.push_back(least.back() + std::min_element(layer.options.begin(), layer.options.end(), by_memory)->memory);
  }
  range_maximum const working{std::span<std::int64_t const>(each)};
  auto const bytes = [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
    auto const begin = static_cast<std::size_t>(b), end = static_cast<std::size_t>(e);
    auto const stage = static_cast<std::size_t>(s);
    auto const of_layers = stage_bytes(state[end] - state[begin], working(begin, end), least[end] - least[begin], in_flight[stage]);
    if (capacity.empty()) return of_layers;
    auto const beside = budget - capacity[stage];  // may be less than nothing
    return beside > unaffordable - 1 - of_layers ? unaffordable - 1 : (std::max)(of_layers + beside, std::int64_t{0});
  };
  auto const cut = min_max_partition(layers.size(), {.stages = in_flight.size()}, bytes);
  std::size_t stage = 0;
  while (bytes(cut.boundaries[stage], cut.boundaries[stage + 1], stage) != cut.bottleneck.value) ++stage;
  return {.stage = stage, .needed = cut.bottleneck.value, .budget = budget};
}

}  // namespace ballast::inline v0_2
