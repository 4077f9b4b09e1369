// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/level.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/result.hpp>
#include <ballast/packing/oversize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Throws unless capacities strictly ascend and all options are in range.
inline void require_valid(std::span<level const> levels, level_packing_options const& o) {
  require(!levels.empty(), [] { return std::string("levels is empty"); });
  for (std::size_t i = 0; i < levels.size(); ++i) {
    auto const name = [&] { return "levels[" + std::to_string(i) + "]"; };
    require(levels[i].capacity > 0, [&] { return name() + ".capacity = " + std::to_string(levels[i].capacity) + " must be positive"; });
    require(levels[i].sp > 0, [&] { return name() + ".sp = 0 must be positive"; });
    require(i == 0 || levels[i - 1].capacity < levels[i].capacity,
            [&] { return name() + ".capacity = " + std::to_string(levels[i].capacity) + " must be above its predecessor's"; });
  }
  require(o.price_per_token >= 0, [&] { return "price_per_token = " + std::to_string(o.price_per_token) + " must not be negative"; });
  if (o.fill != level_fill::where_it_pays) return;
  require(o.times.size() == levels.size(),
          [&] { return std::to_string(o.times.size()) + " times for " + std::to_string(levels.size()) + " levels"; });
  for (std::size_t i = 0; i < o.times.size(); ++i)
    require(o.times[i].per_pack >= 0 && o.times[i].per_token >= 0, [&] { return "times[" + std::to_string(i) + "] is negative"; });
}

/// Applies the over-size policy: writes the length of each member, 0 for a sample that was set aside.
template <index_type Index, length_range R>
void take_members(R const& lengths, std::int64_t longest, oversize policy, level_packing<Index>& out) {
  require(policy != oversize::alone, [] { return std::string("oversize = alone: a pack above the longest level belongs to no level"); });
  auto const at = read_by_position(lengths);
  if (policy == oversize::reject && extent_of(lengths).longest > longest)
    for (std::size_t i = 0;; ++i)
      require(std::cmp_less_equal(at[i], longest), [&] {
        return entry("lengths", i, at[i]) + " exceeds the longest level, " + std::to_string(longest) + " (see oversize policy)";
      });
  auto trained = apply_oversize<Index>(lengths, {.capacity = longest, .oversize = policy});
  for (auto const i : trained.set_aside) trained.tokens[static_cast<std::size_t>(i)] = 0;
  require_index<Index>(trained.tokens.size() + 1, "members");
  out.lengths = std::move(trained.tokens);
  out.set_aside = std::move(trained.set_aside);
  out.pieces = std::move(trained.pieces);
}

}  // namespace ballast::inline v0_2::detail
