// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/search.cuh>

#include <cstddef>
#include <cstdint>

// The passes of bulk.cuh over sorted samples.

namespace ballast::inline v0_2::gpu::detail {

// Writes the set of the sample at position p of the order. The last position also finds that the plan has places left; without samples,
// position 0 does.
template <class Index>
struct balance_name_sets {
  std::uint32_t const* keys;
  Index const* order;
  std::uint64_t count;
  set_run const* runs;
  std::uint64_t run_count;
  std::uint32_t* set_of;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t p) const {
    if (p + 1 >= count && run_count != 0 && runs[run_count - 1].first != count) atomic_min(*bad, count);
    if (p >= count) return;
    auto const behind = first_where(run_count, [&](std::uint64_t r) { return runs[r].first > p; });
    auto const sample = order[p];
    if (behind == 0 || runs[behind - 1].length != static_cast<std::int64_t>(keys[p]))
      atomic_min(*bad, std::uint64_t{sample});
    else
      set_of[sample] = runs[behind - 1].set;
  }
};

// Counts the samples that are longer than each length, from length 0 on.
struct balance_count_above {
  std::uint32_t const* keys;
  std::uint64_t count;
  std::uint64_t* above;
  BALLAST_HD void operator()(std::size_t length) const {
    above[length] = first_where(count, [&](std::uint64_t p) { return keys[p] <= length; });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
