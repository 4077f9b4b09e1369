// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Reduces many lengths to few: lengths are rounded *up* to multiples of a fraction of the capacity, so a pack of rounded lengths that fits
/// also fits with the exact lengths. The cost of a search on the rounded lengths does not depend on the capacity.
class coarse_classes {
 public:
  /// A length l becomes ceil(l * parts / capacity), for packs of capacity `parts <= capacity`.
  coarse_classes(histogram const& lengths, std::int64_t capacity, std::int64_t parts) : exact_(lengths) {
    std::int64_t part = 0;
    for (std::size_t k = 0, next = 0; k < lengths.lengths.size(); k = next) {
      // Finds the smallest rounded length without a product that could overflow.
      for (++part; up_to(part, capacity, parts) < lengths.lengths[k];)
        part += (std::max)((lengths.lengths[k] - up_to(part, capacity, parts)) / (capacity / parts + 1), std::int64_t{1});
      std::uint64_t samples = 0;
      auto const end = up_to(part, capacity, parts);
      for (next = k; next < lengths.lengths.size() && lengths.lengths[next] <= end; ++next) samples += lengths.counts[next];
      classes_.lengths.push_back(part);
      classes_.counts.push_back(samples);
      first_.push_back(k);
    }
    first_.push_back(lengths.lengths.size());
  }

  /// The rounded lengths.
  [[nodiscard]] histogram const& classes() const noexcept { return classes_; }

  /// Turns a plan of all rounded lengths into a plan of the exact lengths; each class uses its longest lengths first.
  [[nodiscard]] pooled_patterns unfold(pooled_patterns const& coarse) const {
    pooled_patterns out;
    auto left = exact_.counts;
    pooled_vector<std::size_t> at(first_.begin() + 1, first_.end());  // one past the length that a class uses next
    pooled_vector<pattern_item> pattern;
    for (std::size_t p = 0; p < coarse.size(); ++p)
      for (auto packs = coarse.repeats[p]; packs != 0;) {
        auto alike = packs;  // packs that take from one length of each class
        for (auto const& [c, copies] : coarse[p]) alike = (std::min)(alike, left[at[c] - 1] / copies);
        auto const repeats = (std::max)(alike, std::uint64_t{1});
        pattern.clear();
        for (auto const& [c, copies] : coarse[p])
          for (std::uint64_t wanted = repeats * copies; wanted != 0;) {
            auto& stock = left[at[c] - 1];
            auto const taken = (std::min)(wanted, stock);
            pattern.push_back({static_cast<std::uint32_t>(at[c] - 1), static_cast<std::uint32_t>(taken / repeats)});
            stock -= taken;
            wanted -= taken;
            if (stock == 0 && at[c] - 1 > first_[c]) --at[c];
          }
        out.push_back(pattern, repeats);
        packs -= repeats;
      }
    return out;
  }

 private:
  // The longest length that becomes `part`: floor(part * capacity / parts).
  [[nodiscard]] static std::int64_t up_to(std::int64_t part, std::int64_t capacity, std::int64_t parts) {
    return part * (capacity / parts) + part * (capacity % parts) / parts;
  }

  histogram const& exact_;
  histogram classes_;
  pooled_vector<std::size_t> first_;  // first exact class of each rounded class, then the number of exact classes
};

}  // namespace ballast::inline v0_2::detail
