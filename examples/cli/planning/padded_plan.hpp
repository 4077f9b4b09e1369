// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/degree_choice.hpp"
#include "planning/sample_cost.hpp"

#include <ballast/core/groups.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/plan_data.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// `--padded`: batches whose rows are padded to the longest one, so that a batch holds rows times longest row.

namespace ballast_cli {

/// Batches in input order: a row that does not fit closes the batch. Samples above the capacity are left out or cut, as the options say.
template <class Index>
[[nodiscard]] ballast::groups<Index> next_fit_padded(std::span<std::int64_t const> lengths, ballast::packing_options const& o);

/// A plan of padded batches, with the figures of it and of the two that it is compared with, each with its own padding.
struct padded_plan {
  ballast::data_plan<> made;  ///< whose samples have the tokens and the cost of their padded rows
  ballast::plan_comparison compared;
  std::vector<std::int64_t> usual_tokens, naive_tokens;  ///< padded rows of samples, as the batchings number them
  ballast::usual_batchings<> others;

  /// The plan with the rows of all three behind each other, and the others as members of these: what stages are simulated with.
  [[nodiscard]] std::pair<ballast::data_plan<>, ballast::usual_batchings<>> with_rows_of_all() const;
};

/// Plans the fewest batches, which share a step where they are similar in cost. The usual plan deals the same batches at random; the naive
/// one fills them in input order. `lengths` are those of the samples, and `multiple` is what rows are rounded up to.
[[nodiscard]] padded_plan plan_padded(std::span<std::int64_t const> lengths, ballast::data_plan_options const& options,
                                      std::int64_t multiple, timed_cost& cost);

/// The batches of samples, as a search over degrees sees them.
[[nodiscard]] padded_data padded_data_of(std::span<std::int64_t const> lengths, ballast::data_plan_options const& options,
                                         std::int64_t multiple);

}  // namespace ballast_cli
