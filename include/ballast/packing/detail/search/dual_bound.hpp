// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/band_master.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::inline v0_2::detail {

/// A lower bound from integer values of the lengths: the values in one pack sum to at most `capacity`.
struct dual_proof {
  std::int64_t packs = 0;
  pooled_vector<std::int32_t> value;  // value of each class of the knapsack
  std::int64_t capacity = 0;
};

/// Lengths divided by a unit and rounded down. Lengths that become 0 are left out. Both only make packing easier, so lower bounds stay
/// valid.
struct coarse_lengths {
  class_table classes;
  pooled_vector<std::uint32_t> class_of;  // class of each length; `none` if it became 0
  std::int64_t capacity;
  static constexpr std::uint32_t none = 0xffffffffU;

  coarse_lengths(histogram const& lengths, std::int64_t full_capacity, std::int64_t unit) : capacity(full_capacity / unit) {
    for (std::size_t i = 0; i < lengths.lengths.size(); ++i) {
      auto const size = lengths.lengths[i] / unit;
      if (size == 0) {
        class_of.push_back(none);
        continue;
      }
      if (classes.size.empty() || classes.size.back() != size) {
        classes.size.push_back(size);
        classes.count.push_back(0);
      }
      classes.count.back() += lengths.counts[i];
      class_of.push_back(static_cast<std::uint32_t>(classes.size.size() - 1));
    }
  }
};

/// Turns dual values of a linear program into a proof: values are capped such that as many copies as a pack can hold are worth at most 1
/// (which loses nothing and keeps sums small), and the knapsack is solved again for the capped values. The bound is valid for any values.
/// @source Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations Research 38
/// (1990).
template <class Knapsack, class Worths>
[[nodiscard]] dual_proof prove(Knapsack& knapsack, std::span<std::uint64_t const> count, Worths const& worths, search_budget& budget) {
  dual_proof out;
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < worths.size(); ++c) {
    auto const copies = (std::min)(knapsack.most_copies(c), std::uint64_t{value_one});  // with this many, a sample is worth 0
    auto const most = copies == value_one ? 0 : value_one / static_cast<std::int32_t>(copies);
    out.value.push_back(static_cast<std::int32_t>((std::min)(worths[c], typename Worths::value_type{most})) & -(1 << knapsack.shift()));
    sum += static_cast<std::int64_t>(count[c]) * out.value.back();
  }
  budget.spend(knapsack.solve(out.value));
  out.capacity = (std::max)(knapsack.best(), std::int64_t{1});
  out.packs = divide_up(sum, out.capacity);
  return out;
}

}  // namespace ballast::inline v0_2::detail
