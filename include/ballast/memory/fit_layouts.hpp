// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/fit_space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief First fit and best fit of buffers: what most frameworks do, to compare with.

namespace ballast::inline v0_2 {

/// @brief The order in which buffers are placed. Equal ones are placed in the given order.
enum class fit_order : std::uint8_t {
  size,      ///< the largest first
  lifetime,  ///< the one that is in use for longest first
  area,      ///< the largest product of size and lifetime first
  given,     ///< as they are given
};

namespace detail {

template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> order_for_fit(std::span<buffer const> buffers, fit_order order) {
  std::vector<wide> keys(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto const& b = buffers[i];
    auto const time = static_cast<std::uint64_t>(b.upper) - static_cast<std::uint64_t>(b.lower), size = static_cast<std::uint64_t>(b.size);
    keys[i] = order == fit_order::size ? wide{0, size} : order == fit_order::lifetime ? wide{0, time} : multiply(size, time);
    if (order == fit_order::given) keys[i] = {};
  }
  std::vector<std::uint32_t> out(buffers.size());
  std::iota(out.begin(), out.end(), 0U);
  std::sort(out.begin(), out.end(), [&](auto a, auto b) {
    auto const a_fixed = buffers[a].fixed >= 0, b_fixed = buffers[b].fixed >= 0;
    if (a_fixed != b_fixed) return a_fixed;
    return keys[a] == keys[b] ? a < b : keys[b] < keys[a];
  });
  return out;
}

template <class = when_called>
[[nodiscard]] memory_layout fit(std::span<buffer const> buffers, fit_order order, bool smallest) {
  auto const bound = layout_lower_bound(buffers);
  memory_layout out{.status = status::infeasible, .height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
  if (bound.bound == layout_bound::fixed_addresses) return out;
  out.status = status::feasible;
  fit_space<> space(buffers);
  for (auto const i : order_for_fit(buffers, order)) {
    auto const& b = buffers[i];
    auto const at = b.fixed >= 0 ? b.fixed : b.size == 0 ? 0 : space.find(i, smallest);
    space.place(i, at);
    out.height.value = (std::max)(out.height.value, at + b.size);
  }
  out.offsets = std::move(space.offsets());
  return out;
}

}  // namespace detail

/// @brief Places buffers one after the other, each at the lowest address where it fits. Those with fixed addresses come first.
/// @param buffers  the buffers; may be empty
/// @param order    the order in which they are placed
/// @return the layout, with `layout_lower_bound`; infeasible if fixed addresses overlap
/// @throws invalid_input as `max_load`
/// @par Complexity
/// O(n log n + min(p log n, n^2)), where p counts the pairs of buffers that are in use at the same time.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout first_fit_layout(std::span<buffer const> buffers, fit_order order = fit_order::size) {
  return detail::fit(buffers, order, false);
}

/// @brief Places buffers one after the other, each in the smallest gap between placed ones where it fits, or else above all of them.
/// @param buffers  the buffers; may be empty
/// @param order    the order in which they are placed
/// @return the layout, with `layout_lower_bound`; infeasible if fixed addresses overlap
/// @throws invalid_input as `max_load`
/// @par Complexity
/// As `first_fit_layout`.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout best_fit_layout(std::span<buffer const> buffers, fit_order order = fit_order::size) {
  return detail::fit(buffers, order, true);
}

}  // namespace ballast::inline v0_2
