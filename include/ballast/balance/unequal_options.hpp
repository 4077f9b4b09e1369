// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Sets of unequal speed and memory: options and results of `share_units` and `balance_unequal`.

namespace ballast::inline v0_2 {

/// @brief Sets that differ: devices of several kinds. A vector that is empty sets no limit.
struct unequal_options {
  std::vector<std::int64_t> unit_time{};  ///< by set: time that it takes for a unit of cost, from 1 to 2^31; as many as there are sets
  std::vector<std::int64_t> capacity{};   ///< by set: largest total size, not negative
  std::vector<std::int64_t> largest{};    ///< by set: largest size of one item, not negative
  refinement refine{};                    ///< how long `balance_unequal` improves its sets
};

/// @brief Equal units (tokens, samples, heads) shared among sets.
struct unit_shares {
  ballast::status status = ballast::status::feasible;  ///< infeasible if the capacities hold fewer units than there are
  std::vector<std::int64_t> units{};                   ///< by set: its number of units; empty if infeasible
  certificate time{};                                  ///< time of the slowest set, which is the least possible one
  std::int64_t shortage = 0;                           ///< if infeasible: units that no set has room for
  friend bool operator==(unit_shares const&, unit_shares const&) = default;
};

/// @brief Items in sets of unequal speed.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct unequal_sets {
  ballast::status status = ballast::status::feasible;  ///< infeasible if proven, unknown if the planner found no sets within the limits
  groups<Index> sets{};                                ///< item indices of each set, most expensive first; no sets without a plan
  certificate time{};                                  ///< time of the slowest set (cost times `unit_time`), and its lower bound
  friend bool operator==(unequal_sets const&, unequal_sets const&) = default;
};

namespace detail {

template <class = when_called>
void require_valid(unequal_options const& o) {
  require(!o.unit_time.empty(), [] { return std::string("unit_time is empty: it needs one entry for each set"); });
  for (std::size_t s = 0; s < o.unit_time.size(); ++s)
    require(o.unit_time[s] >= 1 && o.unit_time[s] <= std::int64_t{1} << 31,
            [&] { return entry("unit_time", s, o.unit_time[s]) + " must be in 1 ... 2^31"; });
  auto const limits = [&](char const* name, std::vector<std::int64_t> const& of) {
    require(of.empty() || of.size() == o.unit_time.size(),
            [&] { return sentence(name, " has ", of.size(), " entries for ", o.unit_time.size(), " sets"); });
    for (std::size_t s = 0; s < of.size(); ++s) require(of[s] >= 0, [&] { return entry(name, s, of[s]) + " must not be negative"; });
  };
  limits("capacity", o.capacity);
  limits("largest", o.largest);
}

/// Throws if the slowest set could not take the whole cost within 2^62 units of time.
template <class = when_called>
void require_countable(unequal_options const& o, std::int64_t total, char const* what) {
  for (std::size_t s = 0; s < o.unit_time.size(); ++s)
    require(total <= (std::int64_t{1} << 62) / o.unit_time[s],
            [&] { return sentence(entry("unit_time", s, o.unit_time[s]), " times all ", what, ", ", total, ", exceeds 2^62"); });
}

}  // namespace detail

}  // namespace ballast::inline v0_2
