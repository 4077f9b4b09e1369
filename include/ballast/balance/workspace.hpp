// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/kept_memory.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Scratch memory that balancers keep between calls.

namespace ballast::inline v0_2 {

namespace detail {

template <index_type Index>
struct balance_memory {
  detail::deal<Index> deal;
  balanced_sets<Index> candidate;  ///< the plan that `balance` compares
};

struct bulk_balance_memory {
  histogram classes;
  fold_workspace folds;
  std::vector<std::int64_t> costs;     ///< by class
  std::vector<std::uint64_t> order;    ///< classes, most expensive first
  std::vector<std::uint64_t> ends;     ///< number of items up to and including each class of `order`
  std::vector<std::int64_t> prefix;    ///< cost of these items
  std::vector<std::uint64_t> given;    ///< by set, items of the current class
  std::vector<std::uint32_t> touched;  ///< sets that got items of the current class
  winner_tree<> tree;
  std::vector<std::uint32_t> class_of;   ///< by length
  std::vector<std::uint64_t> first_run;  ///< by class, the run that takes its next sample
  std::vector<std::uint64_t> next;       ///< by run, position of its next member
  std::vector<std::uint64_t> last;       ///< by run, end of its members
  std::vector<std::uint64_t> used;       ///< by set, members of the runs so far
};

}  // namespace detail

/// @brief Scratch memory of the balancers. A caller who plans every step keeps one: calls after the first then allocate nothing as long as
/// the input does not grow.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
using balance_workspace = kept_memory<detail::balance_memory<Index>>;

/// @brief Scratch memory of `bulk_longest_processing_time`, kept between calls.
using bulk_balance_workspace = kept_memory<detail::bulk_balance_memory>;

namespace detail {

/// The result that `method(workspace, out)` writes, by value.
template <index_type Index, class Method>
[[nodiscard]] balanced_sets<Index> by_value(Method const& method) {
  balance_workspace<Index> workspace;
  balanced_sets<Index> out;
  method(workspace, out);
  return out;
}

}  // namespace detail
}  // namespace ballast::inline v0_2
