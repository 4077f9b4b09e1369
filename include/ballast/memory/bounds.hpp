// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/layout_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Lower bounds on the height of any layout of buffers.

namespace ballast::inline v0_2 {

/// @brief The largest sum of sizes in use at one time, called max load: a lower bound on the height of every layout.
/// @param buffers  the buffers; may be empty
/// @return the max load in bytes; 0 without buffers
/// @throws invalid_input if a buffer is not as its definition says, or sizes, alignments and addresses together reach 2^62
/// @par Complexity
/// O(n log n) time, O(n) memory.
template <class = when_called>
[[nodiscard]] std::int64_t max_load(std::span<buffer const> buffers) {
  detail::check_buffers(buffers);
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  changes.reserve(2 * buffers.size());
  for (auto const& b : buffers) {
    changes.emplace_back(b.lower, b.size);
    changes.emplace_back(b.upper, -b.size);  // at equal times, memory is freed before it is taken
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t load = 0, most = 0;
  for (auto const& c : changes) most = (std::max)(most, load += c.second);
  return most;
}

/// @brief Lower bound on the height of every layout: the greatest of three arguments.
///
/// The buffers in use at one time stand side by side, where nothing can start in the bytes from the end of one to the next multiple of the
/// greatest common divisor of all alignments. Each buffer ends above its size and its fixed address. Two buffers that overlap at their
/// fixed addresses rule out every layout.
///
/// @param buffers  the buffers; may be empty
/// @return the greatest bound; where it is `fixed_addresses`, the height is that of the other two
/// @throws invalid_input as `max_load`
/// @par Complexity
/// O(n log n) time, O(n) memory.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] height_bound layout_lower_bound(std::span<buffer const> buffers) {
  height_bound out{max_load(buffers), layout_bound::max_load};
  detail::layout_problem<> const problem(buffers);
  std::int64_t pad = 0;
  for (auto const& p : problem.pieces) pad = (std::max)(pad, p.pad);
  for (auto const load : problem.loads)
    out.height = (std::max)(out.height, load * problem.unit - pad);  // the highest buffer ends without its padding
  for (auto const& b : buffers)
    if (auto const end = b.size + (std::max)(b.fixed, std::int64_t{0}); end > out.height) out = {end, layout_bound::one_buffer};
  if (detail::fixed_overlap(problem)) out.bound = layout_bound::fixed_addresses;
  return out;
}

}  // namespace ballast::inline v0_2
