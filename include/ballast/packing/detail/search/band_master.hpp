// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/knapsack.hpp>
#include <ballast/packing/detail/search/length_bands.hpp>
#include <ballast/packing/detail/search/simplex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// The master problem of column generation: a linear program over all patterns whose dual values are piecewise linear in the size. Each
/// band of classes has a row that counts its samples and, if the band has several classes, a row that sums their positions t = (size -
/// lowest) / (highest - lowest). `Knapsack` finds the patterns; this class knows neither the capacity nor which packs are valid.
template <class Knapsack>
class band_master {
 public:
  band_master(class_table const& classes, Knapsack& knapsack, band_borders borders)
      : classes_(classes), knapsack_(knapsack), borders_(std::move(borders)), band_of_(classes.size.size()), value_(band_of_.size()) {
    pooled_vector<double> demand, artificial;
    for (std::size_t g = 0; g + 1 < borders_.size(); ++g) {
      auto const low = borders_[g], high = borders_[g + 1] - 1;
      band_row_.push_back(static_cast<std::uint32_t>(demand.size()));
      std::uint64_t samples = 0;
      std::int64_t excess = 0;
      for (auto c = low; c <= high; ++c) {
        band_of_[c] = static_cast<std::uint32_t>(g);
        samples += classes.count[c];
        excess += static_cast<std::int64_t>(classes.count[c]) * (classes.size[c] - classes.size[low]);
      }
      demand.push_back(static_cast<double>(samples));
      artificial.push_back(1.0 / static_cast<double>(knapsack.most_copies(low)));
      if (high == low) continue;
      demand.push_back(static_cast<double>(excess) / static_cast<double>(span(g)));
      artificial.push_back(1.0 / static_cast<double>(knapsack.most_copies(high)));
    }
    count_.assign(classes.count.begin(), classes.count.end());
    lp_.start(std::move(demand), std::move(artificial));
    set_values();
  }

  [[nodiscard]] band_borders const& borders() const noexcept { return borders_; }
  [[nodiscard]] std::size_t bands() const noexcept { return borders_.size() - 1; }
  [[nodiscard]] std::size_t band_of(std::size_t c) const { return band_of_[c]; }
  [[nodiscard]] pooled_patterns const& patterns() const noexcept { return patterns_; }
  [[nodiscard]] simplex<> const& program() const noexcept { return lp_; }
  /// Values of the classes at the last pricing; no pack holds more value than the best pack of the knapsack.
  [[nodiscard]] pooled_vector<std::int32_t> const& values() const noexcept { return value_; }

  /// Adds a pattern that fits a pack; its classes ascend or descend.
  void add(std::span<pattern_item const> pattern) {
    patterns_.push_back(pattern, 1);
    entries_.clear();
    for (auto const& [c, copies] : pattern) {
      auto const g = band_of_[c];
      if (entries_.empty() || entries_.back().band != g) entries_.push_back({g, 0, 0});
      entries_.back().copies += copies;
      entries_.back().excess += static_cast<std::int64_t>(copies) * (classes_.size[c] - classes_.size[borders_[g]]);
    }
    rows_.clear();
    coefficients_.clear();
    for (auto const& e : entries_) {
      rows_.push_back(band_row_[e.band]);
      coefficients_.push_back(static_cast<double>(e.copies));
      if (e.excess == 0) continue;
      rows_.push_back(band_row_[e.band] + 1);
      coefficients_.push_back(static_cast<double>(e.excess) / static_cast<double>(span(e.band)));
    }
    lp_.add(rows_, coefficients_);
  }

  /// Adds patterns of one class each, for both ends of each band, with as many copies as fit a pack: this keeps the values bounded.
  void add_uniform_patterns(std::uint64_t most_copies) {
    for (std::size_t g = 0; g < bands(); ++g)
      for (auto const c : {borders_[g], borders_[g + 1] - 1}) {
        pattern_item const item{c, static_cast<std::uint32_t>((std::min)(knapsack_.most_copies(c), most_copies + 1))};
        if (item.copies <= most_copies) add(std::span(&item, 1));
        if (borders_[g + 1] - borders_[g] == 1) break;
      }
  }

  /// Solves and prices in turn until the objective is within `accuracy` of the optimum, no pattern improves it, or the work is spent.
  void solve(int most_pricings, search_budget& budget, std::uint64_t end = ~std::uint64_t{0}, double accuracy = 2e-5) {
    pooled_vector<pattern_item> pattern;
    for (int pricing = 0;; ++pricing) {
      lp_.solve(budget);
      set_values();
      budget.spend(knapsack_.solve(value_));
      objective_ = lp_.objective();
      auto const most = static_cast<double>(knapsack_.best()) / static_cast<double>(value_one);
      bound_ = paid_ / ((std::max)(most, 1e-9));
      if (pricing >= most_pricings || !budget.allows(end) || objective_ - bound_ <= accuracy * objective_) return;
      if (static_cast<double>(static_cast<std::int64_t>(bound_ - 1e-6)) + 1 >= objective_) return;  // no integer lies between
      bool improves = false;
      for (std::size_t g = 0; g < bands(); ++g) {
        auto best = borders_[g];
        for (auto c = best + 1; c < borders_[g + 1]; ++c)
          if (knapsack_.best_with(c) > knapsack_.best_with(best)) best = c;
        if (knapsack_.best_with(best) <= value_one + value_one / 1'000'000) continue;
        budget.spend(knapsack_.pattern_with(best, pattern));
        add(pattern);
        improves = true;
      }
      if (!improves) return;
    }
  }
  [[nodiscard]] double objective() const noexcept { return objective_; }
  /// The lower bound of the linear program, up to rounding errors of doubles.
  [[nodiscard]] double bound() const noexcept { return bound_; }

  /// The value of a sample of this band, in units of `1 / value_one`; its size is `numerator / denominator` above the smallest size of the
  /// band.
  [[nodiscard]] std::int64_t value_at(std::size_t g, double numerator, double denominator) const {
    auto const& dual = lp_.duals();
    auto value = dual[band_row_[g]];
    if (borders_[g + 1] - borders_[g] > 1) {
      auto const position = numerator / denominator / static_cast<double>(span(g));
      value = plus_product(value, dual[band_row_[g] + 1], position);
    }
    return value <= 0 ? 0 : static_cast<std::int64_t>((std::min)(value, 4.0) * value_one);
  }

 private:
  struct entry {
    std::uint32_t band;
    std::uint32_t copies;
    std::int64_t excess;  // sum over its samples of size minus the smallest size of the band
  };
  [[nodiscard]] std::int64_t span(std::size_t g) const { return classes_.size[borders_[g + 1] - 1] - classes_.size[borders_[g]]; }

  void set_values() {
    for (std::size_t g = 0; g < bands(); ++g)
      for (auto c = borders_[g]; c < borders_[g + 1]; ++c) {
        auto const excess = static_cast<double>(classes_.size[c] - classes_.size[borders_[g]]);
        auto const most = value_one / 4 * 5 / static_cast<std::int32_t>((std::min)(knapsack_.most_copies(c), std::uint64_t{value_one}));
        value_[c] = static_cast<std::int32_t>((std::min)(value_at(g, excess, 1.0), std::int64_t{most}));
      }
    paid_ = 0;
    for (std::size_t c = 0; c < value_.size(); ++c) paid_ = plus_product(paid_, count_[c], static_cast<double>(value_[c]) / value_one);
  }

  class_table const& classes_;
  Knapsack& knapsack_;
  band_borders borders_;
  pooled_vector<std::uint32_t> band_of_, band_row_;
  pooled_vector<double> count_;
  pooled_vector<std::int32_t> value_;
  simplex<> lp_;
  pooled_patterns patterns_;
  double objective_ = 0, bound_ = 0, paid_ = 0;
  pooled_vector<entry> entries_;
  pooled_vector<std::uint32_t> rows_;
  pooled_vector<double> coefficients_;
};

/// A lower bound from integer values of the lengths: the values in one pack sum to at most `capacity`.
struct dual_proof {
  std::int64_t packs = 0;
  pooled_vector<std::int32_t> value;  // value of each class of the knapsack
  std::int64_t capacity = 0;
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
