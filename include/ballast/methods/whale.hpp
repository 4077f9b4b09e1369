// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `whale::share_units`: shares of a batch by the speed of the devices, corrected where a memory is too small, as Whale does.

namespace ballast::inline v0_2::whale {

/// @brief Shares units by speed, then takes from each set what exceeds its capacity and gives it, unit by unit, to the most idle.
///
/// A baseline, restated from public descriptions of the paper, with units and capacities in place of a batch and peak memories. Shares
/// by speed are rounded down, and what is left goes to the fastest sets. What exceeds capacities goes to the sets with room that would end
/// first. `ballast::share_units` is never slower, and takes no time for each unit.
///
/// @param units    number of units, samples of a batch; from 0 to 2^20
/// @param options  speed and capacity of each set; `largest` is not read
/// @return the units of each set, and the time of the slowest; no lower bound is claimed (it is 0)
/// @throws invalid_input naming the argument that is out of range
/// @par Complexity
/// O(units x sets).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Jia et al., "Whale: efficient giant model training over heterogeneous GPUs", USENIX ATC 2022, arXiv 2011.09208.
template <class = when_called>
[[nodiscard]] unit_shares share_units(std::int64_t units, unequal_options const& options) {
  ballast::detail::require_valid<>(options);
  require(units >= 0 && units <= std::int64_t{1} << 20, [&] { return sentence("units = ", units, " must be in 0 ... 2^20"); });
  auto const sets = options.unit_time.size();
  auto const capacity = [&](std::size_t s) { return options.capacity.empty() ? units : (std::min)(units, options.capacity[s]); };
  // Speeds as whole numbers that add up to less than 2^62.
  constexpr auto scale = std::int64_t{1} << 40;
  std::int64_t speeds = 0, left = units;
  for (auto const t : options.unit_time) speeds += scale / t;
  unit_shares out;
  for (auto const t : options.unit_time) {
    auto const share = static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(units), static_cast<std::uint64_t>(scale / t), static_cast<std::uint64_t>(speeds)));
    out.units.push_back((std::max)(share - 1, std::int64_t{0}));
    left -= out.units.back();
  }
  auto const fastest = order_by<std::size_t>(sets, [&](std::size_t s) { return options.unit_time[s]; });
  for (std::size_t at = 0; left > 0; at = (at + 1) % sets, --left) ++out.units[fastest[at]];
  for (std::size_t s = 0; s < sets; ++s) {
    left += (std::max)(out.units[s] - capacity(s), std::int64_t{0});
    out.units[s] = (std::min)(out.units[s], capacity(s));
  }
  for (; left > 0; --left) {
    auto idle = sets;
    auto const ends = [&](std::size_t s) { return (out.units[s] + 1) * options.unit_time[s]; };
    for (std::size_t s = 0; s < sets; ++s)
      if (out.units[s] < capacity(s) && (idle == sets || ends(s) < ends(idle))) idle = s;
    if (idle == sets) return {.status = status::infeasible, .shortage = left};
    ++out.units[idle];
  }
  for (std::size_t s = 0; s < sets; ++s) out.time.value = (std::max)(out.time.value, out.units[s] * options.unit_time[s]);
  return out;
}

}  // namespace ballast::inline v0_2::whale
