// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/band_master.hpp>
#include <ballast/packing/detail/search/length_bands.hpp>
#include <ballast/packing/detail/search/length_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

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
      if (size != 0 && (classes.size.empty() || classes.size.back() != size)) {
        classes.size.push_back(size);
        classes.count.push_back(0);
      }
      if (size != 0) classes.count.back() += lengths.counts[i];
      class_of.push_back(size == 0 ? none : static_cast<std::uint32_t>(classes.size.size() - 1));
    }
  }
};

/// The lower bound of the linear program. Bands of lengths are refined where the dual values bend, since optimal dual values have few break
/// points.
template <class = when_called>
class bound_zoom {
 public:
  bound_zoom(histogram const& lengths, std::int64_t capacity, std::int64_t unit)
      : all_{lengths, capacity},
        coarse_(lengths, capacity, unit),
        unit_(unit),
        knapsack_(all_, {}, coarse_.classes.size, coarse_.capacity) {}

  /// Refines in rounds until the bound is `enough`, nothing changes, or the spent work reaches `end`. `known` are patterns of a plan.
  [[nodiscard]] dual_proof run(std::span<std::int64_t const> natural, pooled_patterns const& known, std::int64_t enough,
                               search_budget& budget, std::uint64_t end) {
    dual_proof best;
    pooled_vector<std::int64_t> borders;
    for (auto const border : natural) borders.push_back((border - 1) / unit_ + 1);
    auto bands = cut_bands(coarse_.classes, 32, borders);
    patterns_.clear();
    for (std::size_t p = 0; p < known.size(); ++p) keep(known[p]);
    double highest = 0;
    for (int round = 0, since = 0; since < 60 && budget.allows(end); ++round, ++since) {
      auto const rough = round < 9;  // later rounds use more bands, for a bound that is still far from `enough`
      band_master master(coarse_.classes, knapsack_, bands);
      master.add_uniform_patterns(40);
      for (std::size_t p = 0; p < patterns_.size(); ++p) master.add(patterns_[p]);
      master.solve(60, budget, end, rough ? 2e-5 : 1e-6);
      auto proof = prove(knapsack_, coarse_.classes.count, master.values(), budget);
      if (proof.packs > best.packs) best = std::move(proof);
      if (best.packs >= enough || (round >= 8 && enough - best.packs <= enough / 10'000)) break;
      if (master.bound() > highest * (1 + 1e-7)) since = 0;
      highest = (std::max)(highest, master.bound());
      bands = zoomed_borders(master, coarse_.classes, knapsack_, round % 3, 16, rough ? 6 : 30, [](auto) { return false; });
      pooled_patterns tight;
      for (std::size_t j = 0; j < master.patterns().size(); ++j)
        if (master.program().reduced_cost(j) < 0.01) tight.push_back(master.patterns()[j], 1);
      patterns_ = std::move(tight);
    }
    pooled_vector<std::int32_t> value;  // by length
    for (auto const c : coarse_.class_of) value.push_back(c == coarse_lengths::none || best.value.empty() ? 0 : best.value[c]);
    best.value = std::move(value);
    return best;
  }

 private:
  // Stores a pattern of lengths as a pattern of classes.
  void keep(std::span<pattern_item const> pattern) {
    pooled_vector<pattern_item> out;
    for (auto const& [k, copies] : pattern)
      if (auto const c = coarse_.class_of[k]; c != coarse_lengths::none) add_copies(out, c, copies);
    if (!out.empty()) patterns_.push_back(out, 1);
  }

  length_shape all_;
  coarse_lengths coarse_;
  std::int64_t unit_;
  pack_knapsack<length_shape> knapsack_;
  pooled_patterns patterns_;
};

}  // namespace ballast::inline v0_2::detail
