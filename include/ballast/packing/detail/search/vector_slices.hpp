// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Number of ways to use up leading capacities, or `limit + 1` if there are more than that.
[[nodiscard]] inline std::size_t lead_states(std::span<std::int64_t const> lead_capacity, std::size_t limit) {
  std::size_t states = 1;
  for (auto const c : lead_capacity) {
    if (static_cast<std::uint64_t>(c) >= limit / states) return limit + 1;
    states *= static_cast<std::size_t>(c) + 1;
  }
  return states;
}

/// Classes of several measures in slices: those of a slice agree in all measures but the inner one, the size, and ascend in it. Measures
/// that never bind are left out, and the leading measures are divided by their common divisor. If too many combinations of them occur, they
/// are rounded: the linear programs then see the leads of the slice, and packs are drawn by the needs of each sample. See `length_shape`
/// for what a shape must offer.
struct vector_slices {
  static constexpr bool one_slice = false;
  static constexpr std::int64_t least_size = 0;
  std::vector<std::uint32_t> item_class;  // class of each position
  std::vector<std::uint32_t> position;    // position of each class
  std::vector<std::uint32_t> slice;       // by position
  std::vector<std::int64_t> size;         // by position
  std::vector<std::uint64_t> count;       // by position
  std::vector<std::uint32_t> begin;       // first position of each slice, then their number
  std::vector<std::int64_t> lead;         // leading measures, slice after slice
  std::vector<std::int64_t> lead_capacity;
  std::int64_t capacity = 0;
  bool rounded = false;
  std::vector<std::int64_t> need;  // exact leading measures, position after position
  std::vector<std::int64_t> need_capacity;

  /// With `most_states`, rounds until there are at most that many states, and not too many slices.
  vector_slices(measure_classes const& classes, std::span<std::int64_t const> full, std::size_t most_states = 0)
      : position(classes.size()) {
    auto leading = binding(classes, full);
    auto const inner = take_inner(classes, full, most_states != 0, leading);
    capacity = full[inner];
    item_class.resize(classes.size());
    std::iota(item_class.begin(), item_class.end(), 0U);
    std::vector<std::int64_t> unit;
    for (auto const m : leading) {
      std::int64_t common = 0;
      for (std::size_t c = 0; c < classes.size(); ++c) common = std::gcd(common, classes[c][m]);
      unit.push_back((std::max)(common, std::int64_t{1}));
      need_capacity.push_back(full[m]);
      lead_capacity.push_back(full[m] / unit.back());
    }
    auto const coarsen = [&] {
      auto const l = static_cast<std::size_t>(std::max_element(lead_capacity.begin(), lead_capacity.end()) - lead_capacity.begin());
      unit[l] *= 2;
      lead_capacity[l] = full[leading[l]] / unit[l];
      rounded = true;
    };
    while (most_states != 0 && lead_states(lead_capacity, most_states) > most_states) coarsen();
    auto const lead_of = [&](std::uint32_t c, std::size_t l) {
      auto const v = classes[c][leading[l]];
      return rounded ? (std::min)((v + unit[l] / 2) / unit[l], lead_capacity[l]) : v / unit[l];
    };
    auto const compare_leads = [&](std::uint32_t a, std::uint32_t b) {
      for (std::size_t l = 0; l < leading.size(); ++l)
        if (auto const x = lead_of(a, l), y = lead_of(b, l); x != y) return x < y ? -1 : 1;
      return 0;
    };
    std::sort(item_class.begin(), item_class.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (auto const order = compare_leads(a, b); order != 0) return order < 0;
      auto const x = classes[a][inner], y = classes[b][inner];
      return x != y ? x < y : a < b;
    });
    for (std::uint32_t p = 0; p < item_class.size(); ++p) {
      auto const c = item_class[p];
      position[c] = p;
      if (p == 0 || compare_leads(item_class[p - 1], c) != 0) {
        begin.push_back(p);
        for (std::size_t l = 0; l < leading.size(); ++l) lead.push_back(lead_of(c, l));
      }
      for (auto const m : leading) need.push_back(classes[c][m]);
      slice.push_back(static_cast<std::uint32_t>(begin.size() - 1));
      size.push_back(classes[c][inner]);
      count.push_back(classes.counts[c]);
    }
    begin.push_back(static_cast<std::uint32_t>(item_class.size()));
  }

  /// Whether some classes differ only in measures that were left out.
  [[nodiscard]] bool ambiguous() const {
    for (std::size_t p = 1; p < positions(); ++p)
      if (slice[p] == slice[p - 1] && size[p] == size[p - 1]) return true;
    return false;
  }
  [[nodiscard]] std::size_t positions() const noexcept { return size.size(); }
  [[nodiscard]] std::int64_t size_of(std::size_t p) const { return size[p]; }
  [[nodiscard]] std::vector<std::uint64_t> const& counts() const noexcept { return count; }
  [[nodiscard]] std::size_t slice_of(std::size_t p) const { return slice[p]; }
  [[nodiscard]] std::size_t slices() const noexcept { return begin.size() - 1; }
  [[nodiscard]] std::size_t slice_begin(std::size_t r) const { return begin[r]; }
  [[nodiscard]] std::size_t leads() const noexcept { return lead_capacity.size(); }
  [[nodiscard]] std::span<std::int64_t const> leads_of(std::size_t r) const noexcept { return {lead.data() + r * leads(), leads()}; }
  /// The leading measures of a sample, in the unit of `need_capacity`.
  [[nodiscard]] std::span<std::int64_t const> needs_of(std::size_t p) const noexcept { return {need.data() + p * leads(), leads()}; }
  /// Most samples of this size in a pack whose inner capacity is `inner_capacity`.
  [[nodiscard]] std::uint64_t most_copies(std::size_t r, std::int64_t inner_size, std::int64_t inner_capacity) const {
    auto most = rounded ? std::uint64_t{256} : ~std::uint64_t{0};  // any number of samples whose measures are rounded to 0 would fit
    for (std::size_t l = 0; l < leads(); ++l)
      if (auto const v = leads_of(r)[l]; v > 0) most = (std::min)(most, static_cast<std::uint64_t>(lead_capacity[l] / v));
    return inner_size > 0 ? (std::min)(most, static_cast<std::uint64_t>(inner_capacity / inner_size)) : most;
  }
  /// One number for each position, over all slices, ascending in size within each slice.
  [[nodiscard]] histogram line() const {
    histogram out;
    for (std::size_t p = 0; p < positions(); ++p) out.lengths.push_back(on_line(slice[p], size[p]));
    out.counts = count;
    return out;
  }
  [[nodiscard]] std::int64_t line_capacity() const { return on_line(slices(), -1); }
  [[nodiscard]] std::int64_t on_line(std::size_t r, std::int64_t inner_size) const {
    return static_cast<std::int64_t>(r) * (capacity + 1) + inner_size + 1;
  }

  /// The finest resolution at which one knapsack over these positions, ascending, takes no more than `cells`, or 0 if there is none.
  [[nodiscard]] std::int64_t resolution(std::span<std::uint32_t const> of, std::uint64_t cells = 4'000'000) const {
    auto const states = std::uint64_t{lead_states(lead_capacity, 1U << 14)};
    if (states > 1U << 14) return 0;
    for (auto resolution = capacity; resolution >= (std::min)(capacity, std::int64_t{128}); resolution /= 2) {
      std::uint64_t classes = 0;
      for (std::size_t i = 0; i < of.size(); ++i)
        if (i == 0 || slice[of[i]] != slice[of[i - 1]] || size[of[i]] * resolution / capacity != size[of[i - 1]] * resolution / capacity)
          ++classes;
      auto const allowed = resolution / 2 < 128 ? 16 * cells : cells;  // the coarsest may take more
      if (static_cast<std::uint64_t>(resolution) < allowed / states / classes) return resolution;
    }
    return 0;
  }

 private:
  // The measures, without those that another measure implies: every sample needs at least as large a share of the other measure.
  [[nodiscard]] static std::vector<std::size_t> binding(measure_classes const& classes, std::span<std::int64_t const> full) {
    std::vector<std::size_t> out(classes.measures);
    std::iota(out.begin(), out.end(), std::size_t{0});
    auto const implied = [&](std::size_t m, std::size_t other) {
      for (std::size_t c = 0; c < classes.size(); ++c)
        if (compare_products(classes[c][m], full[other], classes[c][other], full[m]) > 0) return false;
      return true;
    };
    for (auto i = out.size(); i-- > 0;)
      if (std::any_of(out.begin(), out.end(), [&](auto other) { return other != out[i] && implied(out[i], other); }))
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    return out;
  }
  // Takes the measure with most distinct values out of the list; with `by_volume`, of the measures with at least a quarter as many, the one
  // that needs most packs.
  [[nodiscard]] static std::size_t take_inner(measure_classes const& classes, std::span<std::int64_t const> full, bool by_volume,
                                              std::vector<std::size_t>& measures) {
    std::vector<std::size_t> distinct;
    std::vector<std::int64_t> values(classes.size());
    for (auto const m : measures) {
      for (std::size_t c = 0; c < classes.size(); ++c) values[c] = classes[c][m];
      std::sort(values.begin(), values.end());
      distinct.push_back(static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin()));
    }
    auto const most = *std::max_element(distinct.begin(), distinct.end());
    auto const volume = [&](std::size_t i) { return classes.total(measures[i]) / full[measures[i]]; };
    std::size_t at = 0;
    for (std::size_t i = 0; i < measures.size(); ++i) {
      if (by_volume ? 4 * distinct[i] < most : distinct[i] < most) continue;
      if (!by_volume || 4 * distinct[at] < most || volume(i) >= volume(at)) at = i;
    }
    auto const inner = measures[at];
    measures.erase(measures.begin() + static_cast<std::ptrdiff_t>(at));
    return inner;
  }
};

}  // namespace ballast::inline v0_2::detail
