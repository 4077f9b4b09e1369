// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/group_master.hpp>
#include <ballast/packing/detail/pack_drawer.hpp>
#include <ballast/packing/detail/run_patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_1::detail {

/// A pattern of lengths, which outlives the classes it was found with: length and copies.
using length_pattern = std::vector<std::pair<std::int64_t, std::uint32_t>>;

/// One linear program of the dive: the samples that are left, at a coarser resolution where there are many lengths, in groups.
class dive_stage {
 public:
  /// `lengths` are the samples left; `of[i]` is the stock's class of entry i.
  dive_stage(histogram const& lengths, std::vector<std::uint32_t> const& of, std::int64_t capacity, std::int64_t resolution)
      : lengths_(lengths), of_(of), capacity_(capacity), resolution_(resolution) {
    for (std::size_t i = 0; i < lengths.lengths.size(); ++i) {
      auto const size = scaled(lengths.lengths[i]);
      if (classes_.size.empty() || classes_.size.back() != size) {
        classes_.size.push_back(size);
        classes_.count.push_back(0);
        first_entry_.push_back(static_cast<std::uint32_t>(i));
      }
      classes_.count.back() += lengths.counts[i];
      class_of_.push_back(static_cast<std::uint32_t>(classes_.size.size() - 1));
    }
    first_entry_.push_back(static_cast<std::uint32_t>(lengths.lengths.size()));
  }

  /// Solves with about `parts` groups, splits those that fit worst, and solves again.
  template <class Visit>
  void solve(std::size_t parts, std::size_t splits, std::span<std::int64_t const> natural, std::vector<length_pattern> const& known,
             best_fit_patterns& best_fit, search_budget& budget, Visit const& use) {
    length_knapsack knapsack(classes_.size, resolution_);
    std::vector<std::int64_t> borders;
    for (auto const border : natural) borders.push_back(scaled(border));
    group_master first(classes_, knapsack, cut_groups(classes_, parts, borders));
    first.add_uniform_patterns(40);
    add_best_fit(first, best_fit);
    for (auto const& pattern : known) add_known(first, pattern);
    first.solve(60, budget);
    auto const more = worst_fits(first, splits);
    if (more.empty()) return use(first);
    auto finer = first.borders();
    add_borders(finer, more);
    group_master second(classes_, knapsack, std::move(finer));
    second.add_uniform_patterns(40);
    copy_tight(first, 0.02, [&](auto pattern) { second.add(pattern); });
    second.solve(60, budget);
    use(second);
  }

  /// The patterns that the plan uses or nearly does.
  template <class Master>
  [[nodiscard]] std::vector<length_pattern> tight_patterns(Master const& master) const {
    std::vector<length_pattern> out;
    copy_tight(master, 1e-3, [&](std::span<pattern_item const> pattern) {
      auto& items = out.emplace_back();
      for (auto const& [c, copies] : pattern) items.emplace_back(lengths_.lengths[first_entry_[c]], copies);
    });
    return out;
  }

  /// The stock's classes of each group.
  template <class Master>
  [[nodiscard]] std::vector<class_range> ranges(Master const& master) const {
    std::vector<class_range> out;
    for (std::size_t g = 0; g < master.groups(); ++g)
      out.push_back({of_[first_entry_[master.borders()[g]]], std::size_t{of_[first_entry_[master.borders()[g + 1]] - 1]} + 1});
    return out;
  }
  /// What a sample of each of the stock's classes is worth; 0 for those of which none is left.
  template <class Master>
  [[nodiscard]] std::vector<std::int64_t> worths(Master const& master, std::size_t classes) const {
    std::vector<std::int64_t> out(classes, 0);
    for (std::size_t i = 0; i < of_.size(); ++i) {
      auto const g = master.group_of(class_of_[i]);
      auto const above = lengths_.lengths[i] * resolution_ - classes_.size[master.borders()[g]] * capacity_;
      auto const value = master.value_at(g, static_cast<double>(above), static_cast<double>(capacity_));
      auto const volume = lengths_.lengths[i] * (value_one >> 8) / capacity_;
      out[of_[i]] = value - (value >> 8) + volume;
    }
    return out;
  }

 private:
  static constexpr std::ptrdiff_t most_tight = 400;

  // Rounded to the resolution, but above a half or a third exactly where the length is: else the guide would pair what cannot be paired.
  [[nodiscard]] std::int64_t scaled(std::int64_t length) const {
    if (resolution_ == capacity_) return length;
    auto size = (std::max)((length * resolution_ + capacity_ / 2) / capacity_, std::int64_t{1});
    if (length > capacity_ / 2)
      size = (std::max)(size, resolution_ / 2 + 1);
    else if (length > capacity_ / 3)
      size = (std::max)(size, resolution_ / 3 + 1);
    return (std::min)(size, resolution_);
  }

  template <class Master>
  void add_best_fit(Master& master, best_fit_patterns& best_fit) {
    pack_patterns patterns;
    best_fit.append(lengths_, class_of_, patterns, 1500);
    std::vector<pattern_item> pattern;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      pattern.clear();
      for (auto const& item : patterns[p])
        if (!pattern.empty() && pattern.back().item_class == item.item_class)
          pattern.back().copies += item.copies;
        else
          pattern.push_back(item);
      master.add(pattern);
    }
  }

  // A class that is used up is replaced by the next lower one.
  template <class Master>
  void add_known(Master& master, length_pattern const& known) {
    std::vector<pattern_item> pattern;
    for (auto const& [length, copies] : known) {
      auto const above = std::upper_bound(classes_.size.begin(), classes_.size.end(), scaled(length)) - classes_.size.begin();
      if (above == 0) continue;
      auto const c = static_cast<std::uint32_t>(above - 1);
      if (!pattern.empty() && pattern.back().item_class == c)
        pattern.back().copies += copies;
      else
        pattern.push_back({c, copies});
    }
    if (!pattern.empty()) master.add(pattern);
  }

  // The patterns in the plan, and a number of those of which the duals say that they nearly pay.
  template <class Master, class Use>
  static void copy_tight(Master const& master, double margin, Use const& use) {
    auto const columns = master.patterns().size();
    std::vector<char> wanted(columns, 0);
    std::vector<std::pair<double, std::size_t>> tight;
    master.program().for_each_basic([&](std::size_t j, double) { wanted[j] = 1; });
    for (std::size_t j = 0; j < columns; ++j)
      if (auto const cost = master.program().reduced_cost(j); wanted[j] == 0 && cost < margin) tight.emplace_back(cost, j);
    if (tight.size() > most_tight) std::nth_element(tight.begin(), tight.begin() + most_tight, tight.end());
    for (std::size_t i = 0; i < (std::min)(tight.size(), std::size_t{most_tight}); ++i) wanted[tight[i].second] = 1;
    for (std::size_t j = 0; j < columns; ++j)
      if (wanted[j] != 0) use(master.patterns()[j]);
  }

  // New borders where the plan covers the classes of a group most unevenly.
  template <class Master>
  [[nodiscard]] std::vector<std::uint32_t> worst_fits(Master const& master, std::size_t most) const {
    std::vector<double> excess(classes_.count.begin(), classes_.count.end());
    master.program().for_each_basic([&](std::size_t j, double x) {
      for (auto const& [c, copies] : master.patterns()[j]) excess[c] = plus_product(excess[c], -x, copies);
    });
    std::vector<std::pair<double, std::uint32_t>> found;
    auto const& borders = master.borders();
    for (std::size_t g = 0; g < master.groups(); ++g) {
      double sum = 0, worst = 0;
      std::uint32_t at = 0;
      for (auto c = borders[g]; c + 1 < borders[g + 1]; ++c) {
        sum += excess[c];
        auto const off = sum < 0 ? -sum : sum;
        if (off > worst) {
          worst = off;
          at = c + 1;
        }
      }
      if (at != 0) found.emplace_back(-worst * static_cast<double>(classes_.size[borders[g + 1] - 1] - classes_.size[borders[g]]), at);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < (std::min)(most, found.size()); ++i) out.push_back(found[i].second);
    return out;
  }

  histogram const& lengths_;
  std::vector<std::uint32_t> const& of_;
  std::int64_t capacity_, resolution_;
  class_table classes_;
  std::vector<std::uint32_t> first_entry_, class_of_;
};

}  // namespace ballast::inline v0_1::detail
