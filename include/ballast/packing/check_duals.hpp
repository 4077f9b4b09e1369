// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of lower bounds from linear programs. It computes in integers and shares no code with the solver.

namespace ballast::inline v0_2 {

namespace detail {

/// Whether samples of total value `value` cannot fit into `packs - 1` packs.
[[nodiscard]] inline bool needs(std::uint64_t value, std::int64_t dual_capacity, std::int64_t packs) {
  if (packs == 0) return true;
  auto const held = multiply(static_cast<std::uint64_t>(packs - 1), static_cast<std::uint64_t>(dual_capacity));
  return held.high == 0 && value > held.low;
}

}  // namespace detail

/// @brief Checks a proof by dual values that no plan has fewer than `packs` packs.
///
/// The proof gives each length a value. If no pack can hold more value than `dual_capacity`, and the values of all samples sum to more than
/// `(packs - 1) * dual_capacity`, then `packs - 1` packs cannot hold all samples.
///
/// @param lengths        a valid histogram, with no length above `capacity`
/// @param capacity       tokens of one pack, at least 1
/// @param duals          value of a sample of each length, not negative
/// @param dual_capacity  claimed upper bound on the value in one pack
/// @param packs          claimed lower bound on the number of packs
/// @param max_samples    most samples in a pack; 0 = no limit
/// @return whether both claims are true
/// @throws invalid_input unless there is one value for each length, the capacity is positive, and no value and neither claim is negative
/// @par Complexity
/// O(distinct values * capacity) time, O(capacity) memory; with a limit, the time is `max_samples` times that.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations Research 38 (1990).
[[nodiscard]] inline bool check_duals(histogram const& lengths, std::int64_t capacity, std::vector<std::int32_t> const& duals,
                                      std::int64_t dual_capacity, std::int64_t packs, std::uint64_t max_samples = 0) {
  require(duals.size() == lengths.lengths.size(),
          [&] { return sentence(duals.size(), " duals for ", lengths.lengths.size(), " lengths"); });
  require(packs >= 0 && dual_capacity >= 0, [] { return std::string("dual_capacity and packs must not be negative"); });
  require(capacity > 0, [&] { return sentence("capacity = ", capacity, " must be positive"); });
  std::vector<std::int64_t> most(static_cast<std::size_t>(capacity) + 1, 0), fewer;  // by room: the largest value in a pack of that room
  std::vector<std::size_t> used;  // lengths that are worth more than all shorter ones; packs of most value need no others
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < duals.size(); ++k) {
    require(duals[k] >= 0, [&] { return entry("duals", k, duals[k]) + " must not be negative"; });
    if (duals[k] > (used.empty() ? 0 : duals[used.back()])) used.push_back(k);
    all += lengths.counts[k] * static_cast<std::uint64_t>(duals[k]);
  }
  auto const add = [&](std::vector<std::int64_t> const& from) {
    for (auto const k : used) {
      auto const length = static_cast<std::size_t>(lengths.lengths[k]);
      for (auto room = length; room < most.size(); ++room) most[room] = (std::max)(most[room], from[room - length] + duals[k]);
    }
  };
  for (auto samples = (std::max)(max_samples, std::uint64_t{1}); samples > 0; --samples) {  // with a limit, from one sample fewer
    fewer = most;
    add(max_samples == 0 ? most : fewer);
    if (most == fewer) break;
  }
  return most.back() <= dual_capacity && detail::needs(all, dual_capacity, packs);
}

/// @brief Checks a proof by dual values that no plan of samples with several measures has fewer than `packs` packs.
///
/// @param classes        valid classes, with no measure above its capacity
/// @param capacity       capacity of one pack in each measure; the product of all `capacity[m] + 1` must be at most 2^28
/// @param duals          value of a sample of each class, not negative
/// @param dual_capacity  claimed upper bound on the value in one pack
/// @param packs          claimed lower bound on the number of packs
/// @return whether both claims are true
/// @throws invalid_input unless there is one value for each class, no value and neither claim is negative, and the capacities are small
/// enough
/// @par Complexity
/// O(classes * P) time and O(P) memory, where P is the product of all `capacity[m] + 1`.
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline bool check_duals(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                      std::span<std::int32_t const> duals, std::int64_t dual_capacity, std::int64_t packs) {
  require(duals.size() == classes.size(), [&] { return sentence(duals.size(), " duals for ", classes.size(), " classes"); });
  require(packs >= 0 && dual_capacity >= 0, [] { return std::string("dual_capacity and packs must not be negative"); });
  auto const k = classes.measures;
  require(capacity.size() == k, [&] { return sentence(capacity.size(), " capacities for ", k, " measures"); });
  std::vector<std::size_t> unit(k);
  std::size_t places = 1;
  for (auto m = k; m-- > 0;) {
    require(capacity[m] >= 0, [&] { return entry("capacity", m, capacity[m]) + " must not be negative"; });
    require(capacity[m] < (std::int64_t{1} << 28) / static_cast<std::int64_t>(places),
            [&] { return entry("capacity", m, capacity[m]) + " makes a table of more than 2^28 entries"; });
    unit[m] = places;
    places *= static_cast<std::size_t>(capacity[m]) + 1;
  }
  std::vector<std::int64_t> most(places, 0), room;  // by room in each measure: the largest value in a pack of that room
  std::uint64_t all = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    require(duals[c] >= 0, [&] { return entry("duals", c, duals[c]) + " must not be negative"; });
    auto const row = classes[c];
    std::size_t step = 0;
    for (std::size_t m = 0; m < k; ++m) step += unit[m] * static_cast<std::size_t>(row[m]);
    room.assign(row.begin(), row.end());
    for (auto more = true; more;) {  // all rooms that hold a sample of the class, ascending
      auto at = static_cast<std::size_t>(row[k - 1]);
      for (std::size_t j = 0; j + 1 < k; ++j) at += unit[j] * static_cast<std::size_t>(room[j]);
      for (auto last = row[k - 1]; last <= capacity[k - 1]; ++last, ++at) most[at] = (std::max)(most[at], most[at - step] + duals[c]);
      auto m = k - 1;
      for (; m > 0 && ++room[m - 1] > capacity[m - 1]; --m) room[m - 1] = row[m - 1];
      more = m > 0;
    }
    all += classes.counts[c] * static_cast<std::uint64_t>(duals[c]);
  }
  return most.back() <= dual_capacity && detail::needs(all, dual_capacity, packs);
}

}  // namespace ballast::inline v0_2
