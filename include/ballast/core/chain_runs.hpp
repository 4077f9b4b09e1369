// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief `chain_runs`: a chain whose equal neighbours are folded into runs. Planners then take time that grows with the number of runs,
/// not of layers.

namespace ballast::inline v0_2 {

/// @brief Run-length encoding of a chain: runs of equal neighbours, in the order of the chain.
///
/// Neighbouring runs may have equal values: a chain written by hand need not be folded completely.
struct chain_runs {
  std::vector<std::int64_t> values;   ///< common value of the items of each run: their cost, their class, or the index of the first item
  std::vector<std::uint64_t> counts;  ///< number of items in each run, positive; as many entries as `values`

  /// @brief Number of runs.
  [[nodiscard]] std::size_t size() const noexcept { return values.size(); }
  friend bool operator==(chain_runs const&, chain_runs const&) = default;
};

/// @brief Throws unless runs are valid: counts must be positive, as many as values, with a sum below 2^63.
/// @param runs  the runs
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(chain_runs const& runs) {
  require(runs.values.size() == runs.counts.size(),
          [&] { return sentence("runs: ", runs.values.size(), " values but ", runs.counts.size(), " counts"); });
  auto left = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  for (std::size_t r = 0; r < runs.counts.size(); ++r) {
    auto const here = [&] { return entry("runs.counts", r, runs.counts[r]); };
    require(runs.counts[r] > 0, [&] { return here() + " must be positive"; });
    require(runs.counts[r] <= left, [&] { return here() + " brings the number of items to 2^63 or more"; });
    left -= runs.counts[r];
  }
}

/// @brief Folds a chain of arbitrary items, given a relation between neighbours.
///
/// @tparam Same  a predicate on two indices
/// @param count  number of items
/// @param same   `same(i, i + 1)` says whether items `i` and `i + 1` are equal
/// @return the runs; the value of a run is the index of its first item
/// @par Complexity
/// O(count).
template <std::predicate<std::uint64_t, std::uint64_t> Same>
[[nodiscard]] chain_runs fold_runs(std::uint64_t count, Same const& same) {
  chain_runs out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i == 0 || !same(i - 1, i)) {
      out.values.push_back(static_cast<std::int64_t>(i));
      out.counts.push_back(0);
    }
    ++out.counts.back();
  }
  return out;
}

}  // namespace ballast::inline v0_2
