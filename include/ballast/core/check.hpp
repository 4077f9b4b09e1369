// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/verdict.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief What validators of many kinds of results check alike: offsets, members that occur once, certificates. No solver includes this.

namespace ballast::inline v0_2 {

/// @brief Checks that entries rise from 0 to a number without decreasing, as offsets of groups and boundaries of stages do.
/// @tparam Offsets  a range of unsigned integers with `operator[]` and `size()`
/// @param offsets  may hold any values; no entry at all is as good as a 0
/// @param end      the last entry
/// @param broken   the rule that is broken otherwise
/// @return the first entry that is out of place
template <class Offsets>
[[nodiscard]] verdict check_offsets(Offsets const& offsets, std::uint64_t end, rule broken = common_fault::bad_offsets) {
  std::uint64_t before = 0;
  for (std::size_t k = 0; k < offsets.size(); before = offsets[k++])
    if ((k == 0 && offsets[k] != 0) || offsets[k] < before || offsets[k] > end) return {broken, k, offsets[k], end};
  if (before != end) return {broken, offsets.size() - (offsets.size() == 0 ? 0 : 1), before, end};
  return {};
}

/// @brief Checks the value of a certificate, and that its lower bound does not exceed it.
/// @tparam Value  an integer
/// @param stated  the certificate of a result
/// @param value   what the result achieves
/// @return `wrong_value` or `wrong_bound`
template <std::integral Value>
[[nodiscard]] constexpr verdict check_certificate(certificate const& stated, Value value) {
  if (std::cmp_not_equal(stated.value, value)) return {common_fault::wrong_value, 0, stated.value, value};
  if (stated.lower_bound > stated.value) return {common_fault::wrong_bound, 0, stated.lower_bound, stated.value};
  return {};
}

/// @brief Which of a number of items have occurred, each at most once.
class occurrences {
 public:
  /// @brief Starts with no item. @param items number of items @param out_of_range, twice, missing the rules to report
  occurrences(std::size_t items, rule out_of_range, rule twice, rule missing)
      : seen_(items), out_of_range_(out_of_range), twice_(twice), missing_(missing) {}

  /// @brief Marks an item. @param item its index @param place where its index stands @param group the group that it is in
  /// @return `out_of_range` at the place, or `twice` at the item with the group
  template <std::integral Index>
  [[nodiscard]] verdict add(Index item, std::uint64_t place, std::uint64_t group) {
    if (std::cmp_less(item, 0) || std::cmp_greater_equal(item, seen_.size())) return {out_of_range_, place, item, seen_.size()};
    if (seen_[static_cast<std::size_t>(item)]) return {twice_, item, group};
    seen_[static_cast<std::size_t>(item)] = true;
    return {};
  }
  /// @brief Checks that every item has occurred. @return `missing` at the first that has not
  [[nodiscard]] verdict complete() const {
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i]) return {missing_, i, 0, 1};
    return {};
  }

 private:
  std::vector<bool> seen_;
  rule out_of_range_, twice_, missing_;
};

}  // namespace ballast::inline v0_2
