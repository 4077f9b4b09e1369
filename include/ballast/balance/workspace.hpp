// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/detail/winner_tree.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/classes.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Scratch memory that balancers keep between calls.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the balancers. A caller who plans every step keeps one: calls after the first then allocate nothing as long as
/// the input does not grow.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct balance_workspace {
  detail::deal<Index> deal;        ///< private
  balanced_sets<Index> candidate;  ///< private: the plan that `balance` compares
};

/// @brief Scratch memory of `bulk_longest_processing_time`, kept between calls.
struct bulk_balance_workspace {
  histogram classes;                     ///< private
  fold_workspace folds;                  ///< private
  std::vector<std::int64_t> costs;       ///< private: by class
  std::vector<std::uint64_t> order;      ///< private: classes, most expensive first
  std::vector<std::uint64_t> ends;       ///< private: number of items up to and including each class of `order`
  std::vector<std::int64_t> prefix;      ///< private: cost of these items
  std::vector<std::uint64_t> given;      ///< private: by set, items of the current class
  std::vector<std::uint32_t> touched;    ///< private: sets that got items of the current class
  detail::winner_tree<> tree;            ///< private
  std::vector<std::uint32_t> class_of;   ///< private: by length
  std::vector<std::uint64_t> first_run;  ///< private: by class, the run that takes its next sample
  std::vector<std::uint64_t> next;       ///< private: by run, position of its next member
  std::vector<std::uint64_t> last;       ///< private: by run, end of its members
  std::vector<std::uint64_t> used;       ///< private: by set, members of the runs so far
};

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
