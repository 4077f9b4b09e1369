// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/range_maximum.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Lower bounds on the cost of a stage, for the probe.

namespace ballast::inline v0_2::detail {

/// Costs of stages of a valid chain. Selections are remembered by their counts of classes, so a stage that slides along a run is evaluated
/// once; few selections are solved exactly.
template <class = when_called>
class stage_oracle {
 public:
  stage_oracle(layer_chain const& chain, staging_options const& options, search_limits const& limits)
      : chain_(chain), options_(options), limits_(limits), budget_(limits, 1 << 14), counts_(chain.classes.size()) {
    require_valid(chain);
    require_valid(options);
    std::vector<stage_sums> of;
    for (auto const& layer : chain.classes) {
      most_options_ = (std::max)(most_options_, std::uint64_t{layer.options.size()});
      of.emplace_back(layer);
    }
    stage_sums sum;
    std::vector<std::int64_t> working;
    for (std::size_t r = 0; r < chain.runs.size(); ++r) {
      before_.push_back(sum);
      first_.push_back(layers_);
      each_.push_back(of[static_cast<std::size_t>(chain.runs.values[r])]);
      working.push_back(chain.classes[static_cast<std::size_t>(chain.runs.values[r])].working);
      sum.add(each_.back(), static_cast<std::int64_t>(chain.runs.counts[r]));
      layers_ += chain.runs.counts[r];
    }
    working_ = range_maximum(std::span<std::int64_t const>(working));
  }
  [[nodiscard]] std::uint64_t layers() const { return layers_; }
  [[nodiscard]] partition_options cut() const { return {.stages = options_.stages, .min_layers = options_.min_layers}; }

  [[nodiscard]] stage_sums sums(std::uint64_t begin, std::uint64_t end) const {
    if (begin == end) return {};
    auto const last = run_of(end - 1);
    auto out = at(end, last);
    auto const first = begin == 0 ? 0 : begin >= first_[last] ? last : run_of(begin);
    out.add(at(begin, first), -1);
    out.working = working_(first, last + 1);
    return out;
  }
  /// Bytes that a stage's layers may hold for one micro-batch; negative if the states and the working set alone do not fit. Does not grow
  /// if the stage does.
  [[nodiscard]] std::int64_t room(stage_sums const& of, std::uint64_t stage) const {
    auto const left = options_.capacity[static_cast<std::size_t>(stage)] - of.state - of.working;
    return left < 0 ? -1 : left / static_cast<std::int64_t>(options_.in_flight[static_cast<std::size_t>(stage)]);
  }
  /// Whether a stage fits with any selection.
  [[nodiscard]] bool fits(stage_sums const& of, std::uint64_t stage) const { return of.least <= room(of, stage); }
  /// Lower bound on the cost of a stage with any selection that fits: what the prices of a greedy selection prove, or the exact cost if it
  /// was solved. Values above `most` may be too low.
  [[nodiscard]] std::int64_t at_least(std::uint64_t begin, std::uint64_t end, std::uint64_t stage, std::int64_t most) {
    auto const of = sums(begin, end);
    auto const space = room(of, stage);
    if (of.least > space) return unaffordable;
    if (of.time > most || (of.bound == 0 && of.free <= space)) return of.time;
    count(begin, end);
    auto const entry = known_.find({space, counts_});
    if (entry == known_.end() && !budget_.allows()) return of.time;
    return of.time + (entry == known_.end() ? greedy(of, space) : entry->second).chosen.time.lower_bound;
  }
  /// Time of a stage that fits, with the best selection known; solves it exactly if work is left, unless its time is at most `enough`.
  [[nodiscard]] std::int64_t settle(std::uint64_t begin, std::uint64_t end, std::uint64_t stage, std::int64_t enough) {
    if (begin == end) return 0;
    auto const of = sums(begin, end);
    auto& known = entry_of(of, begin, end, stage);
    if (of.time + known.chosen.time.value > enough && !known.solved && budget_.allows()) {
      known.solved = true;
      learned_ = true;
      if (!known.chosen.time.optimal()) {
        auto better = select(of, room(of, stage), [&](option_classes const& items, selection_options const& asked) {
          auto left = limits_;
          left.work = (limits_.work - budget_.spent()) / most_options_, left.progress = {};
          return choose_options(items, asked, left);
        });
        if (better.time.value <= known.chosen.time.value) known.chosen = std::move(better);
      }
    }
    return of.time + known.chosen.time.value;
  }
  /// Whether a stage was solved since the last call of this function.
  [[nodiscard]] bool learned() { return std::exchange(learned_, false); }
  [[nodiscard]] search_budget const& budget() const { return budget_; }
  /// Fills the figures of a stage that fits, and the options of its layers.
  void fill(std::uint64_t begin, std::uint64_t end, std::uint64_t stage, staged_figures& figures, std::vector<std::uint32_t>& option) {
    if (begin == end) return;
    auto const of = sums(begin, end);
    auto chosen = entry_of(of, begin, end, stage).chosen;
    auto const held = options_.in_flight[static_cast<std::size_t>(stage)];
    figures = {.time = of.time,
               .added = chosen.time.value,
               .transfer = chosen.transfer,
               .state = of.state,
               .working = of.working,
               .activations = chosen.memory,
               .memory = stage_bytes(of.state, of.working, chosen.memory, held)};
    std::vector<std::size_t> at(counts_.size());  // for each class with layers here, where its options begin
    for (std::size_t k = 0, next = 0; k < at.size(); ++k) {
      at[k] = next;
      if (counts_[k] > 0) next += chain_.classes[k].options.size();
    }
    each_run(begin, end, [&](std::size_t k, std::uint64_t layers) {
      std::uint32_t j = 0;
      for (; layers > 0; --layers) {  // within a class the first layers take the first options
        while (chosen.copies[at[k] + j] == 0) ++j;
        --chosen.copies[at[k] + j];
        option.push_back(j);
      }
    });
  }

 private:
  [[nodiscard]] std::size_t run_of(std::uint64_t position) const {
    return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), position) - first_.begin()) - 1;
  }
  /// Sums over all layers before a position in run r or at its end.
  [[nodiscard]] stage_sums at(std::uint64_t position, std::size_t r) const {
    auto out = before_[r];
    out.add(each_[r], static_cast<std::int64_t>(position - first_[r]));
    return out;
  }
  void each_run(std::uint64_t begin, std::uint64_t end, auto const& visit) const {
    for (auto r = run_of(begin); begin < end; ++r) {
      auto const stop = (std::min)(end, first_[r] + chain_.runs.counts[r]);
      visit(static_cast<std::size_t>(chain_.runs.values[r]), stop - begin);
      begin = stop;
    }
  }
  void count(std::uint64_t begin, std::uint64_t end) {
    std::fill(counts_.begin(), counts_.end(), std::uint64_t{0});
    each_run(begin, end, [&](std::size_t k, std::uint64_t layers) { counts_[k] += layers; });
  }
  struct answer {
    selection chosen;
    bool solved = false;  // to optimality, or as far as the work allowed
  };
  /// The selection that `choose` makes for the counted classes.
  [[nodiscard]] selection select(stage_sums const& of, std::int64_t space, auto const& choose) {
    option_classes items;
    for (std::size_t k = 0; k < counts_.size(); ++k)
      if (counts_[k] > 0) items.add(chain_.classes[k].options, counts_[k]);
    auto chosen = choose(items, {.budget = space, .hidden_transfer = of.hidden(options_.hidden_percent)});
    budget_.spend(chosen.operations);
    return chosen;
  }
  answer& greedy(stage_sums const& of, std::int64_t space) {
    return known_[{space, counts_}] = {.chosen = select(of, space, choose_options_greedily<>)};
  }
  answer& entry_of(stage_sums const& of, std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {
    count(begin, end);
    auto const space = room(of, stage);
    auto const found = known_.find({space, counts_});
    return found == known_.end() ? greedy(of, space) : found->second;
  }

  layer_chain const& chain_;
  staging_options const& options_;
  search_limits const& limits_;
  search_budget budget_;
  std::vector<std::uint64_t> counts_;      // number of layers of each class in the current stage
  std::vector<stage_sums> before_, each_;  // for each run: all layers before it, and one of its layers
  std::vector<std::uint64_t> first_;       // first layer of each run
  range_maximum<std::int64_t> working_;    // by run
  std::uint64_t layers_ = 0;
  std::uint64_t most_options_ = 1;
  bool learned_ = false;
  std::map<std::pair<std::int64_t, std::vector<std::uint64_t>>, answer> known_;
};

/// Fills figures and options for boundaries whose stages all fit.
template <index_type Index>
void fill_stages(stage_oracle<>& oracle, joint_stages<Index>& out) {
  auto const& cuts = out.partition.boundaries;
  out.figures.resize(cuts.size() - 1);
  out.option.reserve(static_cast<std::size_t>(oracle.layers()));
  out.partition.bottleneck.value = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    oracle.fill(cuts[s], cuts[s + 1], s, out.figures[s], out.option);
    out.partition.bottleneck.value = (std::max)(out.partition.bottleneck.value, out.figures[s].time + out.figures[s].added);
  }
  out.work = oracle.budget().spent();
  out.complete = !oracle.budget().interrupted();
}

}  // namespace ballast::inline v0_2::detail
