// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// Validation of a chain that a callable weighs.

namespace ballast::inline v0_2::detail {

/// The chain that a callable weighs. All that a stage may not be, the callable says.
template <index_type Index, stage_cost Cost>
[[nodiscard]] callable_chain<Cost> weighed_chain(std::uint64_t layers, partition_options const& o, Cost const& cost) {
  require_stages(o);
  require(o.min_weighted == 0 && o.unit_time.empty() && o.size.empty() && o.capacity.empty() && o.transfer.empty(),
          [] { return std::string("with a stage cost, of all options only stages and min_layers may be given"); });
  auto const n = static_cast<std::size_t>(layers);
  require_index<Index>(n, "layers");
  return {cost, n, static_cast<std::size_t>(o.stages), static_cast<std::size_t>(o.min_layers)};
}

template <class Chain, index_type Index>
[[nodiscard]] bool lacks_layers(Chain const& chain, staged<Index>& out) {
  chain_data d;
  d.layers = chain.layers();
  d.stages = chain.stages();
  d.min_layers = chain.min_layers;
  auto const reason = impossible(d, 0);
  if (reason.first == partition_bound::none) return false;
  refuse(reason, 1, out);
  return true;
}

}  // namespace ballast::inline v0_2::detail
