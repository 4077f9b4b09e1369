// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/dive_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// A dive: packs in rounds. In each round, a linear program over bands of samples says which mixes of bands to pack, and real packs are
/// drawn for about half of its solution; the next round works on the remaining samples. `Rest` holds the remaining samples and packs them
/// by simpler packers.
template <class Rest>
class guided_dive {
 public:
  using shape = typename Rest::shape;
  struct settings {
    std::size_t bands = 32;  // more bands are more accurate and slower
    std::uint64_t seed = 1;
    std::uint64_t most = ~std::uint64_t{0} - 1;  // largest useful number of packs
  };

  guided_dive(Rest rest, pooled_vector<std::int64_t> natural_borders, search_budget& budget)
      : rest_(std::move(rest)),
        natural_(std::move(natural_borders)),
        budget_(budget),
        stock_(rest_.samples().line(), rest_.samples().line_capacity()),
        drawer_(rest_.samples(), stock_) {}

  /// Starts again after the samples have changed.
  void restart() { stock_.restart(rest_.samples().line(), rest_.samples().line_capacity()); }

  /// Packs `counts` samples of each position; returns no pattern if that takes more than `how.most` packs. `known` are patterns of
  /// positions to start from, and `bends` are positions at which a band should begin. If the work is spent early, the remaining samples are
  /// packed by best fit.
  [[nodiscard]] pooled_patterns run(std::span<std::uint64_t const> counts, settings const& how, pooled_patterns const& known = {},
                                    std::span<std::uint32_t const> bends = {}) {
    stock_.reset(counts);
    generator_ = splitmix64(how.seed);
    done_.clear();
    placed_ = 0;
    known_ = known;
    bends_.assign(bends.begin(), bends.end());
    best_packs_ = how.most + 1;
    found_ = false;
    first_worths_.clear();
    double patience = 1;
    sharper_ = 0;
    rest_.collect(stock_);
    for (int idle = 0;;) {
      auto const over = rest_.packs() < 10 || idle == 3 || !budget_.allows();
      if (over || rest_.work() < Rest::little_work) note_best_fit();
      if (over || !round(how.bands, patience)) break;
      auto const before = rest_.volume();
      rest_.collect(stock_);
      auto const share = before - rest_.volume();
      patience = share < before / 20 ? patience * 4 : share < before / 5 ? patience * 3 : (std::max)(patience / 2, 0.1);
      idle = share == 0 ? idle + 1 : 0;
      sharper_ += share < before / 20 && sharper_ < 2 ? 1 : 0;
    }
    if constexpr (Rest::finishes)
      if (pooled_patterns last; placed_ < best_packs_ && rest_.finish(best_packs_ - placed_ - 1, last, budget_)) {
        done_.append(last);
        return std::move(done_);
      }
    return complete_best();
  }

  /// The value of a sample of each position in the first round of the last call, in units of `1 / value_one`.
  [[nodiscard]] pooled_vector<std::int64_t> const& worths() const noexcept { return first_worths_; }

 private:
  // Keeps the current plan, completed by best fit, if it is the best so far.
  void note_best_fit() {
    auto const packs = placed_ + rest_.plan();
    budget_.spend(rest_.work());
    if (packs >= best_packs_) return;
    found_ = true;
    best_packs_ = packs;
    best_patterns_ = done_.size();
    best_rest_ = stock_.counts();
  }

  // Makes one round. Returns false if the lower bound shows that no better plan is possible.
  [[nodiscard]] bool round(std::size_t parts, double patience) {
    auto const& samples = rest_.samples();
    auto const& of = rest_.positions();
    auto const volume = rest_.packs();
    auto const few = stock_.samples() < 2000;
    auto const bands = few ? (std::min)(parts, (std::max)(std::size_t{6}, static_cast<std::size_t>(stock_.samples() / 25))) : parts;
    auto const alone = of.size() <= 100 && stock_.samples() > 4 * of.size();
    budget_.spend(Rest::round_work);
    dive_program<shape> lp(samples, of, stock_.counts(), samples.resolution(of, Rest::round_cells << 2 * sharper_),
                           dive_program<shape>::rounding::nearest);
    auto knapsack = lp.knapsack();
    std::optional program(lp.program(knapsack, lp.cut(alone ? of.size() : bands, natural_, few ? pooled_vector<std::uint32_t>{} : bends_)));
    program->add_uniform_patterns(40);
    fit_.clear();
    rest_.append_columns(fit_);
    for (std::size_t p = 0; p < fit_.size(); ++p) lp.add(*program, fit_[p]);
    for (std::size_t p = 0; p < known_.size(); ++p) lp.add(*program, known_[p]);
    program->solve(60, budget_);
    if (auto const splits = lp.worst_fits(*program, knapsack, few ? 8 : 16); !splits.empty()) {
      auto borders = program->borders();
      add_borders(borders, splits);
      auto const tight = lp.tight_patterns(*program, 0.02);
      program.emplace(lp.program(knapsack, std::move(borders)));
      program->add_uniform_patterns(40);
      for (std::size_t p = 0; p < tight.size(); ++p) lp.add(*program, tight[p]);
      program->solve(60, budget_);
    }
    if (Rest::stops_at_bound && !samples.rounded &&
        placed_ + static_cast<std::uint64_t>((std::max)(program->bound() + 0.9999, 0.0)) >= best_packs_)
      return false;
    known_ = lp.tight_patterns(*program, 1e-3);
    auto worths = lp.values(*program);
    for (auto const p : of) worths[p] += samples.size_of(p) * (value_one >> 8) / samples.capacity - (worths[p] >> 8);
    if (first_worths_.empty()) first_worths_ = worths;
    drawer_.prepare(lp.ranges(*program), std::move(worths));
    auto const slack = (volume > 400 ? 3e-4 : volume > 60 ? 2e-3 : 1.0) * patience;
    auto const least = slack >= 1 ? std::int64_t{0} : value_one - static_cast<std::int64_t>(slack * value_one);
    realise(*program, volume < 60, least);
    return true;
  }

  struct wanted_mix {
    pooled_vector<band_share> mix;
    std::uint64_t packs = 0;  // packs still to be drawn
    std::uint64_t at_once = 1;
  };

  // Draws packs for the mixes of the solution in turn.
  void realise(typename dive_program<shape>::master const& master, bool careful, std::int64_t least) {
    constexpr std::uint64_t one = std::uint64_t{1} << 20;
    pooled_vector<wanted_mix> wanted;
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
        auto const g = static_cast<std::uint32_t>(master.band_of(c));
        if (!w.mix.empty() && w.mix.back().band == g)
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
        if (!budget_.bears()) return;
        if (!drawer_.draw(w.mix, least, generator_)) {
          w.packs = w.packs <= 8 ? 0 : w.packs / 2;
        } else {
          auto const again = drawer_.more();  // in addition to the pack that was drawn
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

  [[nodiscard]] pooled_patterns complete_best() {
    if (!found_) return {};
    done_.items.resize(static_cast<std::size_t>(done_.offsets[best_patterns_]));
    done_.offsets.resize(best_patterns_ + 1);
    done_.repeats.resize(best_patterns_);
    if (best_rest_ != stock_.counts()) {
      stock_.reset(best_rest_);
      rest_.collect(stock_);
      (void)rest_.plan();
    }
    rest_.append(done_);
    return std::move(done_);
  }

  Rest rest_;
  pooled_vector<std::int64_t> natural_;
  search_budget& budget_;
  stock stock_;
  pack_drawer<shape> drawer_;
  splitmix64 generator_{1};
  pooled_vector<std::uint32_t> bends_;
  pooled_patterns known_;  // patterns of the round before
  pooled_patterns fit_, done_;
  pooled_vector<std::int64_t> first_worths_;
  int sharper_ = 0;
  std::uint64_t placed_ = 0;
  bool found_ = false;  // the best plan: best_packs_ packs, the first best_patterns_ patterns of done_, and best fit for best_rest_
  std::uint64_t best_packs_ = 0;
  std::size_t best_patterns_ = 0;
  pooled_vector<std::uint64_t> best_rest_;
};

}  // namespace ballast::inline v0_2::detail
