// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/bin_completion.hpp>
#include <ballast/packing/detail/search_budget.hpp>
#include <ballast/packing/detail/vector_drawer.hpp>
#include <ballast/packing/detail/vector_stage.hpp>
#include <ballast/packing/vector_best_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_1::detail {

/// Packs in stages like `guided_dive`: a linear program says which mixes of groups to pack, real packs are drawn for about half of what it
/// says, and the next stage sees what is left.
class vector_dive {
 public:
  struct settings {
    std::size_t groups = 32;  // accuracy against time
    std::uint64_t seed = 1;
  };

  vector_dive(measure_classes const& classes, std::span<std::int64_t const> capacity, vector_rows const& rows, search_budget& budget)
      : classes_(classes),
        capacity_(capacity),
        rows_(rows),
        budget_(budget),
        line_(in_one_line(rows)),
        stock_(line_, static_cast<std::int64_t>(rows.rows()) * (rows.capacity + 1)),
        drawer_(rows, stock_) {}

  /// Packs so many samples of each position in at most `most` packs; returns no pattern where it cannot.
  /// `bends` are positions at which a group should begin, `known` are patterns of positions to start from. Where the work ends first, the
  /// rest is packed by best fit.
  [[nodiscard]] pack_patterns run(std::vector<std::uint64_t> const& counts, std::uint64_t most, settings const& how,
                                  pack_patterns const& known, std::vector<std::uint32_t> const& bends) {
    stock_.reset(counts);
    generator_ = splitmix64(how.seed);
    done_.clear();
    known_ = known;
    bends_ = bends;
    placed_ = 0;
    best_packs_ = most + 1;
    best_.clear();
    double patience = 1;
    collect_rest();
    auto volume = volume_packs(rest_, capacity_);
    for (int idle = 0; idle < 3;) {
      note_best_fit();
      if (volume < 10 || !budget_.allows()) break;
      if (!stage(how.groups, volume, patience)) break;
      collect_rest();
      auto const rest = volume_packs(rest_, capacity_), share = volume - rest;
      patience = share < volume / 20 ? patience * 4 : share < volume / 5 ? patience * 3 : (std::max)(patience / 2, 0.1);
      idle = share == 0 ? idle + 1 : 0;
      volume = rest;
    }
    if (rest_.size() != 0 && rest_.size() < 200) note(plan_bin_completion(rest_, capacity_), 14'000);
    return renamed(best_, rows_.item_class);
  }

  /// The finest resolution at which one knapsack over so many positions takes no more than `cells`, or 0 if there is none.
  [[nodiscard]] static std::int64_t resolution(vector_rows const& rows, std::size_t positions, std::uint64_t cells) {
    auto const states = std::uint64_t{lead_states(rows, 1U << 14)};
    auto const merged = [&](std::int64_t resolution) {  // classes at that resolution, at most
      return (std::min)(std::uint64_t{positions}, std::uint64_t{rows.rows()} * (static_cast<std::uint64_t>(resolution) + 1));
    };
    if (states > 1U << 14) return 0;
    for (auto resolution = rows.capacity; resolution >= (std::min)(rows.capacity, std::int64_t{128}); resolution /= 2)
      if (static_cast<std::uint64_t>(resolution) < cells / states / merged(resolution)) return resolution;
    return 0;
  }
  static constexpr std::uint64_t stage_cells = 16'000'000;

 private:
  // What is left, as classes; of_ lists its positions and rest_position_ those of its classes.
  void collect_rest() {
    rest_.measures = classes_.measures;
    rest_.values.clear();
    rest_.counts.clear();
    rest_position_.clear();
    of_.clear();
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      auto const p = rows_.position[c];
      if (stock_.left(p) == 0) continue;
      rest_.values.insert(rest_.values.end(), classes_[c].begin(), classes_[c].end());
      rest_.counts.push_back(stock_.left(p));
      rest_position_.push_back(p);
    }
    of_ = rest_position_;
    std::sort(of_.begin(), of_.end());
    budget_.spend(10 * classes_.size());
  }

  // The plan so far and one of the rest, if that is better than any before.
  void note(pack_patterns const& plan, std::uint64_t work) {
    fit_ = renamed(plan, rest_position_);
    budget_.spend(work * rest_.size());
    auto const packs = placed_ + fit_.packs();
    if (packs >= best_packs_) return;
    best_packs_ = packs;
    best_ = done_;
    for (std::size_t p = 0; p < fit_.size(); ++p) best_.push_back(fit_[p], fit_.repeats[p]);
  }
  void note_best_fit() { note(plan_vector_best_fit(rest_, capacity_), 2000); }

  // Whether something was to be won.
  [[nodiscard]] bool stage(std::size_t parts, std::int64_t volume, double patience) {
    auto const samples = stock_.samples();
    auto const few = samples < 2000;
    budget_.spend(20'000);
    auto const groups = few ? (std::min)(parts, (std::max)(std::size_t{6}, static_cast<std::size_t>(samples / 25))) : parts;
    vector_stage lp(rows_, of_, stock_.counts(), resolution(rows_, of_.size(), stage_cells), vector_stage::rounding::nearest);
    auto knapsack = lp.knapsack();
    auto const alone = of_.size() <= 100 && samples > 4 * of_.size();
    auto coarse = lp.program(knapsack, lp.cut(alone ? of_.size() : groups, few ? std::vector<std::uint32_t>{} : bends_));
    coarse.add_uniform_patterns(40);
    for (std::size_t p = 0; p < fit_.size(); ++p) lp.add(coarse, fit_[p]);
    for (std::size_t p = 0; p < known_.size(); ++p) lp.add(coarse, known_[p]);
    coarse.solve(60, budget_);
    auto borders = coarse.borders();
    add_borders(borders, lp.worst_fits(coarse, few ? 8 : 16));
    auto fine = lp.program(knapsack, std::move(borders));
    fine.add_uniform_patterns(40);
    auto const tight = lp.tight_patterns(coarse, 0.02);
    for (std::size_t p = 0; p < tight.size(); ++p) lp.add(fine, tight[p]);
    fine.solve(60, budget_);
    if (placed_ + static_cast<std::uint64_t>((std::max)(fine.bound() + 0.9999, 0.0)) >= best_packs_) return false;
    known_ = lp.tight_patterns(fine, 1e-3);
    auto worths = lp.values(fine);
    for (auto const p : of_) worths[p] += rows_.size[p] * (value_one >> 8) / rows_.capacity - (worths[p] >> 8);
    drawer_.prepare(lp.ranges(fine), std::move(worths));
    auto const slack = (volume > 400 ? 3e-4 : volume > 60 ? 2e-3 : 1.0) * patience;
    auto const least = slack >= 1 ? std::int64_t{0} : value_one - static_cast<std::int64_t>(slack * value_one);
    realise(fine, volume < 60, least);
    return true;
  }

  struct wanted_mix {
    std::vector<group_share> mix;
    std::uint64_t packs = 0;  // to be drawn yet
    std::uint64_t at_once = 1;
  };

  // Draws packs for the mixes in turn.
  void realise(vector_stage::master const& master, bool careful, std::int64_t least) {
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

  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_;
  vector_rows const& rows_;
  search_budget& budget_;
  histogram line_;
  stock stock_;
  vector_drawer drawer_;
  splitmix64 generator_{1};
  measure_classes rest_;
  std::vector<std::uint32_t> rest_position_, of_, bends_;
  pack_patterns known_, fit_, done_;  // of positions
  pack_patterns best_;                // what is placed and a plan of the rest, in best_packs_ packs
  std::uint64_t placed_ = 0;
  std::uint64_t best_packs_ = 0;
};

}  // namespace ballast::inline v0_1::detail
