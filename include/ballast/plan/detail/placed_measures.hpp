// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/plan_data.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The samples of several measures that planners of steps see. Private.

namespace ballast::inline v0_2::detail {

/// The measures of the samples that have a place, renumbered if some have none: number k is sample `kept[k]`. `kept` is empty if all
/// samples are kept. The view of them needs the plan.
template <index_type Index>
struct placed_measures {
  std::vector<Index> kept;

  explicit placed_measures(data_plan<Index> const& plan) {
    for (auto const& column : plan.others) columns_.emplace_back(column);
    columns_.emplace_back(plan.samples.tokens);
    if (plan.samples.set_aside.empty()) return;
    kept = kept_of(plan.samples.tokens.size(), plan.samples.set_aside);
    chosen_.resize(columns_.size());
    for (std::size_t m = 0; m < columns_.size(); ++m) {
      for (auto const i : kept) chosen_[m].push_back(columns_[m][static_cast<std::size_t>(i)]);
      columns_[m] = chosen_[m];
    }
  }
  placed_measures(placed_measures const&) = delete;
  placed_measures& operator=(placed_measures const&) = delete;
  [[nodiscard]] sample_measures view() const { return sample_measures(columns_); }

 private:
  std::vector<std::span<std::int64_t const>> columns_;
  std::vector<std::vector<std::int64_t>> chosen_;
};

}  // namespace ballast::inline v0_2::detail
