// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief The works of all micro-batches on all virtual stages, checked once. Private.

namespace ballast::inline v0_2::detail {

// Ordered by micro-batch: the simulator follows each one through the virtual stages. The sum of all times and the sum of all bytes are
// below 2^63, so no partial sum overflows.
struct work_table {
  std::vector<stage_work> works;
  std::size_t virtual_stages = 0;
  std::size_t micro_batches = 0;

  template <stage_work_model Work>
  void load(std::size_t stages, std::size_t micros, Work const& work) {
    virtual_stages = stages;
    micro_batches = micros;
    works.resize(stages * micros);
    constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    std::uint64_t time = 0, bytes = 0;
    // Checks that the sums stay below 2^63. Most members are far below, so one test of all of them together is usually enough.
    auto const add = [](std::uint64_t& sum, std::uint64_t all, auto... terms) {
      if (all >> 59 == 0) return (sum += (static_cast<std::uint64_t>(terms) + ...)) <= most;
      auto ok = true;
      ((ok = ok && static_cast<std::uint64_t>(terms) <= most - sum, sum += ok ? static_cast<std::uint64_t>(terms) : 0), ...);
      return ok;
    };
    std::size_t cell = 0;
    for (std::size_t m = 0; m < micros; ++m) {
      for (std::size_t s = 0; s < stages; ++s) {
        auto const w = static_cast<stage_work>(work(std::uint64_t{s}, std::uint64_t{m}));
        auto const all = w.forward | w.backward | w.weight | w.recompute | w.transfer | w.kept | w.recomputed | w.residue;
        auto const any = static_cast<std::uint64_t>(all);
        require(
            all >= 0 && add(time, any, w.forward, w.backward, w.weight, w.recompute, w.transfer, w.transfer) &&
                add(bytes, any, w.kept, w.recomputed, w.residue),
            [&] { return sentence("work(", s, ", ", m, ") has ", all < 0 ? "a negative member" : "members that bring a sum to 2^63"); });
        works[cell++] = w;
      }
    }
  }
};

}  // namespace ballast::inline v0_2::detail
