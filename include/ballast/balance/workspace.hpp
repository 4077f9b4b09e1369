// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/detail/winner_tree.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/classes.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief The memory that balancers keep between calls.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the balancers; a caller who plans every step keeps one, and nothing is allocated once it is warm.
/// @tparam Index  index type of the plans it is used for
template <index_type Index = std::uint32_t>
struct balance_workspace {
  detail::deal<Index> deal;        ///< private
  balanced_sets<Index> candidate;  ///< private: of `balance`
};

/// @brief Scratch memory of `bulk_longest_processing_time`, kept between calls.
struct bulk_balance_workspace {
  histogram classes;                     ///< private
  fold_workspace folds;                  ///< private
  std::vector<std::int64_t> costs;       ///< private: by class
  std::vector<std::uint64_t> order;      ///< private: classes, most expensive first
  std::vector<std::uint64_t> ends;       ///< private: items up to and with each class of the order
  std::vector<std::int64_t> prefix;      ///< private: and their cost
  std::vector<std::uint64_t> given;      ///< private: by set, items of the class in hand
  std::vector<std::uint32_t> touched;    ///< private: sets that got some
  detail::winner_tree tree;              ///< private
  std::vector<std::uint32_t> class_of;   ///< private: by length
  std::vector<std::uint64_t> first_run;  ///< private: by class, the run that takes its next sample
  std::vector<std::uint64_t> next;       ///< private: by run, where its next member goes
  std::vector<std::uint64_t> last;       ///< private: by run, where its members end
  std::vector<std::uint64_t> used;       ///< private: by set, members that its runs so far take
};

namespace detail {

/// What `method(workspace, out)` makes, by value.
template <index_type Index, class Method>
[[nodiscard]] balanced_sets<Index> by_value(Method const& method) {
  balance_workspace<Index> workspace;
  balanced_sets<Index> out;
  method(workspace, out);
  return out;
}

}  // namespace detail
}  // namespace ballast::inline v0_2
