// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief What every balancer returns.

namespace ballast::inline v0_2 {

/// @brief Which argument proves that no smaller largest load can be, or that there is no plan at all.
enum class balance_bound : std::uint8_t {
  none,          ///< nothing to balance
  mean,          ///< the total cost over the number of sets
  largest_item,  ///< one item alone
  pigeonhole,    ///< of the j k + 1 largest items, j + 1 share a set; on sizes where infeasible
  item_counts,   ///< every set must hold several items, so a large one has company; too many items where infeasible
  capacity,      ///< the other sets cannot hold the rest, so a large item has company; total size above all capacities where infeasible
  item_size,     ///< infeasible: one item exceeds the capacity
};

/// @brief The bound's name as users know it. @param bound any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(balance_bound bound) noexcept {
  switch (bound) {
    case balance_bound::none: return "none";
    case balance_bound::mean: return "mean";
    case balance_bound::largest_item: return "largest-item";
    case balance_bound::pigeonhole: return "pigeonhole";
    case balance_bound::item_counts: return "item-counts";
    case balance_bound::capacity: return "capacity";
    case balance_bound::item_size: return "item-size";
  }
  return "none";
}

/// @brief A load that some set reaches in every plan.
struct load_bound {
  std::int64_t load = 0;                      ///< no plan's largest load is below
  balance_bound bound = balance_bound::none;  ///< the argument
  friend constexpr bool operator==(load_bound const&, load_bound const&) = default;
};

/// @brief A fixed number of sets, with the proof of how balanced they are.
///
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct balanced_sets {
  ballast::status status = ballast::status::feasible;  ///< whether `sets` is a plan
  groups<Index> sets;                                  ///< as many as were asked for, largest item first; none without a plan
  /// The largest load (sum of costs) of a set, and what no plan for the items in the sets can go below.
  /// Where infeasible: what the constraint named by `bound` allows (`value`), and what the items need (`lower_bound`).
  certificate load;
  balance_bound bound = balance_bound::none;  ///< what proves `load.lower_bound`
  std::vector<Index> set_aside;               ///< items without room, ascending; empty unless the policy allows it
  friend bool operator==(balanced_sets const&, balanced_sets const&) = default;
};

/// @brief `count` equal items in one set.
struct balance_run {
  std::uint64_t item_class = 0;  ///< entry of the histogram
  std::uint32_t set = 0;         ///< number of the set
  std::uint64_t count = 0;       ///< items, at least 1
  friend constexpr bool operator==(balance_run const&, balance_run const&) = default;
};

/// @brief A balance that was decided on classes of equal items.
struct balance_runs {
  std::vector<balance_run> runs;              ///< most expensive class first; of a class, lower set first
  std::vector<std::int64_t> loads;            ///< sum of costs of each set
  certificate load;                           ///< the largest of the loads, and what no plan can go below
  balance_bound bound = balance_bound::none;  ///< what proves `load.lower_bound`
};

}  // namespace ballast::inline v0_2
