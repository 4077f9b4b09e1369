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
/// @brief `evaluate_recompute`: live bytes and time of a training step for a choice of kept tensors, dependencies included.
///
/// A knapsack counts each tensor by itself. But to compute a tensor again, its inputs must exist, and their inputs, and everything that is
/// live meanwhile adds up. Peak memory can therefore rise when the budget falls. This evaluator follows the dependencies.

namespace ballast::inline v0_2 {

/// @brief Memory and time of one training step in which some outputs are kept.
struct recompute_peak {
  std::int64_t forward = 0;          ///< largest number of live bytes in the forward pass
  std::int64_t backward = 0;         ///< largest number of live bytes after it
  std::size_t at = 0;                ///< operator whose backward, or a recomputation for it, reaches `backward`
  std::int64_t recomputed_time = 0;  ///< time of all recomputations
  std::uint64_t recomputed = 0;      ///< number of operators that are computed again

  /// @brief The largest number of live bytes at any time.
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return (std::max)(forward, backward); }
  friend constexpr bool operator==(recompute_peak const&, recompute_peak const&) = default;
};

/// @brief Simulates a training step: forward in order, backward in reverse; missing outputs are computed again when they are first read.
///
/// A kept output is live from when it is made until its last use. Any other output is freed after its last reader in the forward pass. If
/// the backward pass needs it, it is computed again once, after its missing inputs, and is live until its last use. A gradient is live from
/// the earliest backward of an operator that reads the output until the backward of the operator that made the output.
///
/// @param operators  operators in an order in which they can run
/// @param kept       for each operator, whether its output is kept; as many entries as `operators`
/// @return the peaks, and what was computed again
/// @throws invalid_input if an operator reads a later one, a number is negative or a sum reaches 2^62
/// @par Complexity
/// O(operators + inputs + needs).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline recompute_peak evaluate_recompute(std::span<forward_operator const> operators, std::span<bool const> kept) {
  auto const n = operators.size();
  require(kept.size() == n, [&] { return std::to_string(kept.size()) + " kept entries for " + std::to_string(n) + " operators"; });
  detail::require_valid(operators);
  detail::step_events<> const step(operators, kept);
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
