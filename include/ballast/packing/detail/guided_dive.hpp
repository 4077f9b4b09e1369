// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/dive_stage.hpp>
#include <ballast/packing/detail/subset_sum_fill.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_1::detail {

/// Packs in stages: a linear program over groups of lengths says which mixes of groups to pack, real packs are drawn for about half of
/// what it says, and the next stage sees what is left.
class guided_dive {
 public:
  struct settings {
    std::size_t groups = 32;  // accuracy against time
    std::uint64_t seed = 1;
  };

  guided_dive(histogram const& all, std::int64_t capacity, std::vector<std::int64_t> natural_borders, search_budget& budget)
      : all_(all),
        capacity_(capacity),
        natural_(std::move(natural_borders)),
        budget_(budget),
        stock_(all, capacity),
        drawer_(stock_, capacity),
        filler_(capacity) {}

  /// Packs so many samples of each class of `all`. Where the work ends first, the rest is packed by best fit.
  [[nodiscard]] pack_patterns run(std::vector<std::uint64_t> const& counts, settings const& how) {
    stock_.reset(counts);
    generator_ = splitmix64(how.seed);
    done_.clear();
    placed_ = 0;
    known_.clear();
    best_packs_ = ~std::uint64_t{0};
    double patience = 1;
    int idle = 0;
    first_worths_.clear();
    while (stock_.tokens() / capacity_ >= 10 && idle < 3) {
      rest_.clear();
      stock_.remaining(rest_, of_);
      note_best_fit();
      if (!budget_.allows()) break;
      auto const before = stock_.tokens();
      stage(how.groups, patience);
      auto const share = before - stock_.tokens();
      patience = share < before / 20 ? patience * 4 : share < before / 5 ? patience * 3 : (std::max)(patience / 2, 0.1);
      idle = share == 0 ? idle + 1 : 0;
    }
    stock_.remaining(rest_, of_);
    note_best_fit();
    if (stock_.tokens() / capacity_ < 10) finish();
    return complete_best();
  }

  /// What a sample of each class was worth in the first stage of the last run, in `value_one`.
  [[nodiscard]] std::vector<std::int64_t> const& worths() const noexcept { return first_worths_; }

 private:
  // The plan so far, completed by best fit, if that is better than any before.
  void note_best_fit() {
    auto const packs = placed_ + best_fit_.plan(rest_, capacity_);
    budget_.spend(best_fit_.work() + 4 * all_.lengths.size());
    if (packs >= best_packs_) return;
    best_packs_ = packs;
    best_patterns_ = done_.size();
    best_rest_ = stock_.counts();
  }

  // Exact lengths where the knapsack can afford them, else as fine as it can.
  [[nodiscard]] std::int64_t resolution(std::int64_t distinct) const {
    if (capacity_ <= 3'000'000 / distinct) return capacity_;
    return (std::min)(capacity_, (std::max)(std::int64_t{4096}, 2'048'000 / distinct));
  }

  void stage(std::size_t parts, double patience) {
    auto const volume = stock_.tokens() / capacity_;
    auto const samples = stock_.samples();
    auto const distinct = of_.size();
    auto const few = samples < 2000;
    auto const groups = few ? (std::min)(parts, (std::max)(std::size_t{6}, static_cast<std::size_t>(samples / 25))) : parts;
    auto const alone = distinct <= 100 && samples > 4 * distinct;
    dive_stage lp(rest_, of_, capacity_, resolution(static_cast<std::int64_t>(distinct)));
    lp.solve(alone ? distinct : groups, few ? 8 : 16, natural_, known_, best_fit_, budget_, [&](auto const& master) {
      known_ = lp.tight_patterns(master);
      auto worths = lp.worths(master, stock_.classes());
      if (first_worths_.empty()) first_worths_ = worths;
      drawer_.prepare(lp.ranges(master), std::move(worths));
      auto const slack = (volume > 400 ? 3e-4 : volume > 60 ? 2e-3 : 1.0) * patience;
      auto const least = slack >= 1 ? std::int64_t{0} : value_one - static_cast<std::int64_t>(slack * value_one);
      realise(master, volume < 60, least);
    });
  }

  struct wanted_mix {
    std::vector<group_share> mix;
    std::uint64_t packs = 0;  // to be drawn yet
    std::uint64_t at_once = 1;
  };

  // Draws packs for the mixes in turn.
  template <class Master>
  void realise(Master const& master, bool careful, std::int64_t least) {
    constexpr std::uint64_t one = std::uint64_t{1} << 20;
    std::vector<wanted_mix> wanted;
    std::uint64_t largest = 0;
    std::size_t largest_at = 0;
    master.program().for_each_basic([&](std::size_t j, double x) {
      auto const packs = x <= 0 ? 0 : static_cast<std::uint64_t>((std::min)(x, 1e12) * static_cast<double>(one));
      auto& w = wanted.emplace_back();
      w.packs = careful ? packs / one : (packs / 10 * 6 + uniform_below(one, generator_)) / one;
      w.at_once = (std::max)(w.packs / 24, std::uint64_t{1});
      if (packs > largest) {
        largest = packs;
        largest_at = wanted.size() - 1;
      }
      for (auto const& [c, copies] : master.patterns()[j]) {
        auto const g = static_cast<std::uint32_t>(master.group_of(c));
        if (!w.mix.empty() && w.mix.back().group == g)
          w.mix.back().copies += copies;
        else
          w.mix.push_back({g, copies});
      }
    });
    if (careful && largest > 0 && std::all_of(wanted.begin(), wanted.end(), [](auto const& w) { return w.packs == 0; }))
      wanted[largest_at].packs = 1;
    for (bool more = true; more;) {
      more = false;
      for (auto& w : wanted) {
        if (w.packs == 0) continue;
        if (!drawer_.draw(w.mix, least, generator_)) {
          w.packs = w.packs <= 8 ? 0 : w.packs / 2;
        } else {
          auto const again = drawer_.more();  // beside the one that was drawn
          auto const copies = (std::min)({w.packs, w.at_once, (std::max)(again / 10, std::uint64_t{1}), again + 1});
          for (auto const& [k, n] : drawer_.pack()) stock_.take(k, n * (copies - 1));
          done_.push_back(drawer_.pack(), copies);
          placed_ += copies;
          w.packs -= copies;
        }
        budget_.spend(drawer_.take_work());
        more = more || w.packs != 0;
      }
    }
  }

  // The last packs: the best of a few random fillings.
  void finish() {
    auto const begin = stock_.counts();
    auto const patterns = done_.size();
    pack_patterns best;
    for (int attempt = 0; attempt < 8 && budget_.allows(); ++attempt) {
      pack_patterns filled;
      if (placed_ < best_packs_ && filler_.run(stock_, generator_, best_packs_ - placed_ - 1, filled)) {
        best_packs_ = placed_ + filled.packs();
        best_patterns_ = patterns;
        best_rest_.clear();
        best = std::move(filled);
      }
      budget_.spend(filler_.take_work());
      stock_.reset(begin);
    }
    if (best_rest_.empty())
      for (std::size_t p = 0; p < best.size(); ++p) done_.push_back(best[p], best.repeats[p]);
  }

  [[nodiscard]] pack_patterns complete_best() {
    if (best_rest_.empty()) return std::move(done_);
    done_.items.resize(static_cast<std::size_t>(done_.offsets[best_patterns_]));
    done_.offsets.resize(best_patterns_ + 1);
    done_.repeats.resize(best_patterns_);
    stock_.reset(best_rest_);
    stock_.remaining(rest_, of_);
    if (best_fit_.plan(rest_, capacity_) != 0) best_fit_.append(rest_, of_, done_);
    return std::move(done_);
  }

  histogram const& all_;
  std::int64_t capacity_;
  std::vector<std::int64_t> natural_;
  search_budget& budget_;
  stock stock_;
  pack_drawer drawer_;
  subset_sum_filler filler_;
  best_fit_patterns best_fit_;
  splitmix64 generator_{1};
  histogram rest_;                     // what is left, folded
  std::vector<std::uint32_t> of_;      // its classes in the stock
  std::vector<length_pattern> known_;  // of the stage before
  std::vector<std::int64_t> first_worths_;
  pack_patterns done_;
  std::uint64_t placed_ = 0;
  std::uint64_t best_packs_ = 0;  // with best_patterns_ of done_ and best_rest_ packed by best fit; nothing is left where that is empty
  std::size_t best_patterns_ = 0;
  std::vector<std::uint64_t> best_rest_;
};

}  // namespace ballast::inline v0_1::detail
