// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief The validator of a linear-programming bound, in integers; it shares no code with the solver.

namespace ballast::inline v0_1 {

/// @brief Checks the proof that no plan has fewer than `packs` packs.
///
/// The proof gives each length a value. If no pack can hold more value than `dual_capacity`, and all samples together are worth more than
/// `packs - 1` times that, then `packs - 1` packs cannot hold them.
///
/// @param lengths        a valid histogram, no length above `capacity`
/// @param capacity       tokens of one pack, at least 1
/// @param duals          value of a sample of each length, none negative
/// @param dual_capacity  most value that one pack can hold, as claimed
/// @param packs          the bound, as claimed
/// @return whether both claims are true
/// @throws invalid_input if there are not as many values as lengths, or a value or the claimed bound is negative
/// @par Complexity
/// O(distinct lengths * capacity) time, O(capacity) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations Research 38 (1990).
[[nodiscard]] inline bool check_duals(histogram const& lengths, std::int64_t capacity, std::vector<std::int32_t> const& duals,
                                      std::int64_t dual_capacity, std::int64_t packs) {
  require(duals.size() == lengths.lengths.size(),
          [&] { return std::to_string(duals.size()) + " duals for " + std::to_string(lengths.lengths.size()) + " lengths"; });
  require(packs >= 0 && dual_capacity >= 0, [] { return std::string("dual_capacity and packs must not be negative"); });
  std::vector<std::int64_t> most(static_cast<std::size_t>(capacity) + 1, 0);  // value of a pack with so much room
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < duals.size(); ++k) {
    require(duals[k] >= 0, [&] { return "duals[" + std::to_string(k) + "] = " + std::to_string(duals[k]) + " must not be negative"; });
    auto const length = static_cast<std::size_t>(lengths.lengths[k]);
    for (auto room = length; room < most.size(); ++room) most[room] = (std::max)(most[room], most[room - length] + duals[k]);
    all += lengths.counts[k] * static_cast<std::uint64_t>(duals[k]);
  }
  if (most.back() > dual_capacity) return false;
  if (packs == 0) return true;
  auto const needed = multiply(static_cast<std::uint64_t>(packs - 1), static_cast<std::uint64_t>(dual_capacity));
  return needed.high == 0 && all > needed.low;
}

}  // namespace ballast::inline v0_1
