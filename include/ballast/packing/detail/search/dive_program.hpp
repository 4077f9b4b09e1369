// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/band_master.hpp>
#include <ballast/packing/detail/search/length_bands.hpp>
#include <ballast/packing/detail/search/pack_drawer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// One linear program of a dive, over the remaining samples. Sizes have a coarser resolution if there are many, and a band lies within one
/// slice. Patterns are lists of positions.
template <class Shape>
class dive_program {
 public:
  using knapsack_type = pack_knapsack<Shape>;
  using master = band_master<knapsack_type>;
  static constexpr std::uint32_t none = 0xffffffffU;

  /// How sizes are rounded to the resolution; `down` makes every valid pack a pattern of the program.
  enum class rounding : std::uint8_t { nearest, down };

  /// `of` are the remaining positions, ascending, and `left` is the number of samples of each position.
  dive_program(Shape const& slices, std::span<std::uint32_t const> of, std::span<std::uint64_t const> left, std::int64_t resolution,
               rounding how)
      : shape_(slices), of_(of), resolution_(resolution), how_(how), class_of_(slices.positions(), none) {
    for (auto const p : of) {
      auto const size = scaled(slices.size_of(p));
      auto const slice = static_cast<std::uint32_t>(slices.slice_of(p));
      if (slice_.empty() || slice_.back() != slice || classes_.size.back() != size) {
        classes_.size.push_back(size);
        classes_.count.push_back(0);
        slice_.push_back(slice);
        first_.push_back(p);
      }
      classes_.count.back() += left[p];
      class_of_[p] = static_cast<std::uint32_t>(slice_.size() - 1);
    }
  }

  [[nodiscard]] std::size_t classes() const noexcept { return slice_.size(); }
  [[nodiscard]] knapsack_type knapsack() const { return {shape_, slice_, classes_.size, resolution_}; }
  [[nodiscard]] master program(knapsack_type& knapsack, band_borders borders) const { return {classes_, knapsack, std::move(borders)}; }

  /// Cuts the classes into about `parts` bands, distributed over the slices by their samples, volume and classes. There are also borders at
  /// the sizes `natural` (above a half and a third of the capacity if `natural` is empty) and at the positions `bends`, where the values of
  /// an earlier program jumped or bent.
  [[nodiscard]] band_borders cut(std::size_t parts, std::span<std::int64_t const> natural, std::span<std::uint32_t const> bends) const {
    pooled_vector<std::int64_t> at;
    for (auto const size : natural) at.push_back(scaled(size));
    if (natural.empty()) at = {resolution_ / 3 + 1, resolution_ / 2 + 1};
    std::uint64_t samples = 0, volume = 0;
    for (std::size_t c = 0; c < classes(); ++c) {
      samples += classes_.count[c];
      volume += classes_.count[c] * static_cast<std::uint64_t>(classes_.size[c]);
    }
    band_borders out;
    if (parts >= classes()) {
      for (std::uint32_t c = 0; c <= classes(); ++c) out.push_back(c);
      return out;
    }
    for (std::size_t begin = 0, end = 0; begin < classes(); begin = end) {
      class_table slice;
      std::uint64_t slice_samples = 0, slice_volume = 0;
      for (; end < classes() && slice_[end] == slice_[begin]; ++end) {
        slice.size.push_back(classes_.size[end]);
        slice.count.push_back(classes_.count[end]);
        slice_samples += classes_.count[end];
        slice_volume += classes_.count[end] * static_cast<std::uint64_t>(classes_.size[end]);
      }
      auto const share = permille(slice_samples, samples) + permille(slice_volume, volume) + permille(end - begin, classes());
      auto const slice_parts = (std::max)(static_cast<std::size_t>(share) * parts / 3000, std::size_t{1});
      for (auto const border : cut_bands(slice, slice_parts, at))
        if (border != end - begin) out.push_back(static_cast<std::uint32_t>(begin) + border);
    }
    out.push_back(static_cast<std::uint32_t>(classes()));
    pooled_vector<std::uint32_t> more;
    for (auto const bend : bends)
      if (auto const next = std::lower_bound(of_.begin(), of_.end(), bend); next != of_.end()) more.push_back(class_of_[*next]);
    add_borders(out, more);
    return out;
  }

  /// Adds a pattern of positions, descending; a class without remaining samples is replaced by the next lower class of its slice. A pattern
  /// of several measures that does not fit once its sizes are rounded is left out; otherwise the program would over-value a pattern that
  /// fits only thanks to rounding.
  void add(master& program, std::span<pattern_item const> positions) {
    pattern_.clear();
    auto room = resolution_;
    for (auto const [p, copies] : positions) {
      auto const c = class_of_[p] != none ? class_of_[p] : class_below(p);
      if (c == none) continue;
      room -= classes_.size[c] * copies;
      add_copies(pattern_, c, copies);
    }
    if (!pattern_.empty() && (Shape::one_slice || room >= 0)) program.add(pattern_);
  }

  /// The patterns that the solution uses, and a limited number of patterns of small reduced cost.
  [[nodiscard]] pooled_patterns tight_patterns(master const& program, double margin) const {
    pooled_patterns out;
    pooled_vector<pattern_item> positions;
    auto const columns = program.patterns().size();
    pooled_vector<char> wanted(columns, 0);
    pooled_vector<std::pair<double, std::size_t>> tight;
    program.program().for_each_basic([&](std::size_t j, double) { wanted[j] = 1; });
    for (std::size_t j = 0; j < columns; ++j)
      if (auto const cost = program.program().reduced_cost(j); wanted[j] == 0 && cost < margin) tight.emplace_back(cost, j);
    if (tight.size() > most_tight) std::nth_element(tight.begin(), tight.begin() + most_tight, tight.end());
    for (std::size_t i = 0; i < (std::min)(tight.size(), std::size_t{most_tight}); ++i) wanted[tight[i].second] = 1;
    for (std::size_t j = 0; j < columns; ++j) {
      if (wanted[j] == 0) continue;
      positions.clear();
      for (auto const& [c, copies] : program.patterns()[j]) positions.push_back({first_[c], copies});
      out.push_back(positions, 1);
    }
    return out;
  }

  /// The positions of each band.
  [[nodiscard]] pooled_vector<class_range> ranges(master const& program) const {
    pooled_vector<class_range> out;
    for (std::size_t g = 0; g < program.bands(); ++g) {
      auto const end = program.borders()[g + 1];
      auto const last = end < classes() ? *(std::lower_bound(of_.begin(), of_.end(), first_[end]) - 1) : of_.back();
      out.push_back({first_[program.borders()[g]], std::size_t{last} + 1});
    }
    return out;
  }
  /// The dual value of a sample of each position, in units of `1 / value_one`; 0 for positions without remaining samples.
  [[nodiscard]] pooled_vector<std::int64_t> values(master const& program) const {
    pooled_vector<std::int64_t> out(shape_.positions(), 0);
    for (auto const p : of_) {
      auto const g = program.band_of(class_of_[p]);
      auto const lowest = classes_.size[program.borders()[g]] * shape_.capacity;
      auto const size = how_ == rounding::down ? classes_.size[class_of_[p]] * shape_.capacity : shape_.size_of(p) * resolution_;
      auto const above = size - lowest;
      out[p] = program.value_at(g, static_cast<double>(above), static_cast<double>(shape_.capacity));
    }
    return out;
  }
  /// The positions of borders within a slice at which the values jump or bend.
  [[nodiscard]] pooled_vector<std::uint32_t> bends(master const& program) const {
    pooled_vector<std::uint32_t> out;
    for (auto const c : bent_borders(program, classes_, 3e-2, [&](auto b) { return slice_[b] != slice_[b - 1]; }))
      if (c != 0 && c < classes() && slice_[c] == slice_[c - 1]) out.push_back(first_[c]);
    return out;
  }
  /// The borders of the next program; see `zoomed_borders`.
  [[nodiscard]] band_borders zoomed(master const& program, knapsack_type const& knapsack, int rule) const {
    return zoomed_borders(program, classes_, knapsack, rule, 160, 12, [&](auto c) { return slice_[c] != slice_[c - 1]; });
  }
  /// New borders at which the solution covers the classes of a band most unevenly.
  [[nodiscard]] pooled_vector<std::uint32_t> worst_fits(master const& program, knapsack_type const& knapsack, std::size_t most) const {
    return uneven_points(program, classes_, knapsack, 2, most);
  }

 private:
  static constexpr std::ptrdiff_t most_tight = 400;

  [[nodiscard]] static std::uint64_t permille(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : whole < std::uint64_t{1} << 53 ? part * 1000 / whole : part / (whole / 1000);
  }
  // The class that replaces a position without remaining samples: that of its rounded size, the next lower one of its slice, or none.
  [[nodiscard]] std::uint32_t class_below(std::uint32_t p) const {
    auto c = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), p) - first_.begin());
    auto const is_slice = [&](std::size_t at) { return slice_[at] == shape_.slice_of(p); };
    if (c < classes() && is_slice(c) && classes_.size[c] == scaled(shape_.size_of(p))) return static_cast<std::uint32_t>(c);
    return c > 0 && is_slice(c - 1) ? static_cast<std::uint32_t>(c - 1) : none;
  }
  // Rounds a size to the resolution. The result is above a half or a third of the capacity exactly if the size is; otherwise the program
  // would put two samples above a half into one pack.
  [[nodiscard]] std::int64_t scaled(std::int64_t size) const {
    if (resolution_ == shape_.capacity || size == 0) return size;
    if (how_ == rounding::down) return size * resolution_ / shape_.capacity;
    auto out = (std::max)((size * resolution_ + shape_.capacity / 2) / shape_.capacity, std::int64_t{1});
    if (size > shape_.capacity / 2)
      out = (std::max)(out, resolution_ / 2 + 1);
    else if (size > shape_.capacity / 3)
      out = (std::max)(out, resolution_ / 3 + 1);
    return (std::min)(out, resolution_);
  }

  Shape const& shape_;
  std::span<std::uint32_t const> of_;
  std::int64_t resolution_;
  rounding how_;
  class_table classes_;
  pooled_vector<std::uint32_t> slice_, first_, class_of_;  // slice and first position of each class; class of each position
  pooled_vector<pattern_item> pattern_;
};

/// The result of the linear program with one row for each position: a plan of its integer part, the remaining samples and the lower bound.
struct exact_start {
  pooled_patterns whole;               ///< patterns of positions: the solution, rounded down
  pooled_vector<std::uint64_t> rest;   ///< remaining samples of each position
  pooled_vector<std::int64_t> worths;  ///< dual value of a sample of each position, in units of `1 / value_one`
  pooled_patterns tight;               ///< patterns that the solution uses or nearly uses
  dual_proof proof;
};

/// Solves the linear program for few positions, no two equal in all measures. `known` are patterns of a plan, which save most pivots.
template <class Shape>
[[nodiscard]] exact_start start_from_exact_classes(Shape const& samples, pooled_patterns const& known, search_budget& budget) {
  pooled_vector<std::uint32_t> all(samples.positions());
  std::iota(all.begin(), all.end(), 0U);
  dive_program<Shape> lp(samples, all, samples.counts(), samples.capacity, dive_program<Shape>::rounding::down);
  auto knapsack = lp.knapsack();
  auto program = lp.program(knapsack, lp.cut(all.size(), {}, {}));
  program.add_uniform_patterns(static_cast<std::uint64_t>(samples.capacity));
  for (std::size_t p = 0; p < known.size(); ++p) lp.add(program, known[p]);
  program.solve(200, budget);

  exact_start out;
  out.rest.assign(samples.counts().begin(), samples.counts().end());
  program.program().for_each_basic([&](std::size_t j, double x) {
    auto const pattern = program.patterns()[j];
    auto packs = x <= 0 ? 0 : static_cast<std::uint64_t>((std::min)(x + 1e-6, 1e15));
    for (auto const& [p, copies] : pattern) packs = (std::min)(packs, out.rest[p] / copies);
    if (packs == 0) return;
    for (auto const& [p, copies] : pattern) out.rest[p] -= packs * copies;
    out.whole.push_back(pattern, packs);
  });
  out.worths.assign(program.values().begin(), program.values().end());
  out.tight = lp.tight_patterns(program, 0.01);
  out.proof = prove(knapsack, samples.counts(), program.values(), budget);
  return out;
}

}  // namespace ballast::inline v0_2::detail
