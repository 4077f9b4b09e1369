// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/recompute/detail/step_events.hpp>
#include <ballast/recompute/forward_operator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief What a choice of kept tensors really holds and costs: live bytes through forward, recomputation and backward.
///
/// A knapsack counts a tensor by itself. To compute it again, though, its inputs must be there, and those of its inputs; and all that is
/// alive meanwhile adds up. So memory can rise while the budget falls. This evaluator follows the dependencies.

namespace ballast::inline v0_2 {

/// @brief Memory and time of one training step with some outputs kept.
struct recompute_peak {
  std::int64_t forward = 0;          ///< most bytes alive in the forward pass
  std::int64_t backward = 0;         ///< most bytes alive after it
  std::size_t at = 0;                ///< the operator whose backward, or a recomputation for it, holds `backward`
  std::int64_t recomputed_time = 0;  ///< time spent on computing again
  std::uint64_t recomputed = 0;      ///< operators computed again

  /// @brief Most bytes alive at any time.
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return (std::max)(forward, backward); }
  friend constexpr bool operator==(recompute_peak const&, recompute_peak const&) = default;
};

/// @brief Follows a training step: forward in order, backward in reverse, what is missing computed again when it is first read.
///
/// A kept output lives from its making to its last use. Any other is freed after its last reader in the forward pass; if the backward pass
/// needs it, it is computed again once, its missing inputs before it, and lives to its last use. A gradient lives from the
/// backward pass of its first reader to that of its maker.
///
/// @param operators  in an order in which they can run
/// @param kept       for each, whether its output stays; as many as `operators`
/// @return the peaks and what was computed again
/// @throws invalid_input if an operator reads what comes later, a number is negative or a sum reaches 2^62
/// @par Complexity
/// O(operators + inputs + needs).
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline recompute_peak evaluate_recompute(std::span<forward_operator const> operators, std::span<bool const> kept) {
  auto const n = operators.size();
  require(kept.size() == n, [&] { return std::to_string(kept.size()) + " kept entries for " + std::to_string(n) + " operators"; });
  detail::require_valid(operators);
  detail::step_events const step(operators, kept);
  recompute_peak out;
  for (std::size_t i = 0; i < n; ++i)
    if (step.computed_again(i)) {
      out.recomputed_time += operators[i].time;
      ++out.recomputed;
    }
  std::int64_t now = 0;
  auto const changes = step.changes();
  for (std::size_t e = 0; e < step.events().size(); ++e) {
    now += changes[e];
    auto const total = now + operators[step.events()[e].of].workspace;
    if (e < n) {
      out.forward = (std::max)(out.forward, total);
    } else if (total > out.backward) {
      out.backward = total;
      out.at = step.events()[e].asked_by;
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
