// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief The result of every balancer.

namespace ballast::inline v0_2 {

/// @brief The argument that proves a lower bound on the largest load, or that there is no plan.
enum class balance_bound : std::uint8_t {
  none,          ///< nothing to balance
  mean,          ///< total cost over number of sets
  largest_item,  ///< cost of the largest item
  pigeonhole,    ///< of the j k + 1 largest items, j + 1 share one of k sets; applied to sizes if infeasible
  item_counts,   ///< every set must hold several items, also the set with the largest item; if infeasible: there are too many items
  capacity,      ///< the other sets cannot hold all other items, so the set with the largest item holds some; if infeasible: the total size
                 ///< exceeds all capacities
  item_size,     ///< one item exceeds the capacity; only if infeasible
};

/// @brief The name of a bound. @param bound any enumerator @return a word for reports, such as "largest-item"
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

/// @brief A lower bound on the largest load of a set.
struct load_bound {
  std::int64_t load = 0;                      ///< lower bound on the largest load of any plan
  balance_bound bound = balance_bound::none;  ///< the argument that proves it
  friend constexpr bool operator==(load_bound const&, load_bound const&) = default;
};

/// @brief A fixed number of sets, with the largest load beside a proven lower bound.
///
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct balanced_sets {
  ballast::status status = ballast::status::feasible;  ///< whether `sets` is a plan
  groups<Index> sets;                                  ///< item indices of each set, largest item first; no sets without a plan
  /// The largest load (sum of costs) of a set, and a lower bound on it for the items in the sets. If infeasible: `value` is what the
  /// constraint named by `bound` allows, and `lower_bound` what the items need.
  certificate load;
  balance_bound bound = balance_bound::none;  ///< what proves `load.lower_bound`
  std::vector<Index> set_aside;               ///< items that no set had room for, ascending; empty unless `misfit` is `set_aside`
  friend bool operator==(balanced_sets const&, balanced_sets const&) = default;
};

/// @brief A run: `count` equal items in one set.
struct balance_run {
  std::uint64_t item_class = 0;  ///< index of the class in the histogram
  std::uint32_t set = 0;         ///< number of the set
  std::uint64_t count = 0;       ///< number of items, at least 1
  friend constexpr bool operator==(balance_run const&, balance_run const&) = default;
};

/// @brief A plan on classes of equal items.
struct balance_runs {
  std::vector<balance_run> runs;              ///< runs by class, most expensive class first, then by set, ascending
  std::vector<std::int64_t> loads;            ///< sum of costs of each set
  certificate load;                           ///< the largest load, and its lower bound
  balance_bound bound = balance_bound::none;  ///< what proves `load.lower_bound`
};

}  // namespace ballast::inline v0_2
