// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// A cost that is told which sample it weighs.
struct cost_by_sample {
  std::vector<std::int64_t> of;
  std::int64_t operator()(std::int64_t) const { return 0; }
  bool fits(std::int64_t) const { return false; }
  std::int64_t operator()(std::size_t sample, std::int64_t) const { return of[sample]; }
  bool fits(std::size_t sample, std::int64_t) const { return of[sample] > 0; }
};
static_assert(ballast::indexed_cost_model<cost_by_sample>);

}  // namespace ballast_test
