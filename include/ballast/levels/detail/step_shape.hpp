// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/levels/options.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace ballast::inline v0_2::detail {

[[nodiscard]] inline std::uint64_t ranks_of(level const& at, std::uint64_t devices) {
  require(devices > 0 && devices % at.sp == 0,
          [&] { return "sp = " + std::to_string(at.sp) + " does not divide devices = " + std::to_string(devices); });
  return devices / at.sp;
}
/// The shape of one level's steps.
[[nodiscard]] inline batching_options shape_of(level const& at, std::span<level const> levels, level_batching_options const& o) {
  require(o.tokens_per_step >= 0, [&] { return "tokens_per_step = " + std::to_string(o.tokens_per_step) + " must not be negative"; });
  require(o.devices < std::uint64_t{1} << 20, [&] { return "devices = " + std::to_string(o.devices) + " must be below 2^20"; });
  auto const tokens = [&](level const& l) {
    require(l.capacity < std::int64_t{1} << 40, [&] { return "capacity = " + std::to_string(l.capacity) + " must be below 2^40"; });
    return static_cast<std::int64_t>(ranks_of(l, o.devices)) * l.capacity;
  };
  auto whole = o.tokens_per_step;
  if (whole == 0)
    for (auto const& l : levels) whole = (std::max)(whole, tokens(l));
  auto const rounds = whole / tokens(at) + (whole % tokens(at) >= (tokens(at) + 1) / 2 ? 1 : 0);
  return {.capacity = at.capacity,
          .ranks = ranks_of(at, o.devices),
          .micro_batches = static_cast<std::uint64_t>((std::max)(rounds, std::int64_t{1})),
          .left_over = o.left_over,
          .seed = o.seed,
          .epoch = o.epoch};
}

}  // namespace ballast::inline v0_2::detail
