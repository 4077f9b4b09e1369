// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

/// @file
/// @brief What a stage costs at least, as the probe asks for it.

namespace ballast::inline v0_1::detail {

/// Sums over layers, or over all layers before a position.
struct stage_sums {
  std::int64_t time = 0, state = 0;
  std::int64_t least = 0;  // bytes if each layer holds as little as it can
  std::int64_t free = 0;   // bytes if each layer takes the smallest option that costs nothing
  std::int64_t bound = 0;  // layers without such an option

  void add(stage_sums const& o, std::int64_t times) {
    time += times * o.time;
    state += times * o.state;
    least += times * o.least;
    free += times * o.free;
    bound += times * o.bound;
  }
};

/// Costs of stages. Selections are remembered by what they select from, so a stage that slides along a run is solved once.
class stage_oracle {
 public:
  stage_oracle(layer_chain const& chain, staging_options const& options) : chain_(chain), options_(options), counts_(chain.classes.size()) {
    std::vector<stage_sums> of;
    for (auto const& layer : chain.classes) {
      stage_sums one{.time = layer.time, .state = layer.state, .least = layer.options[0].memory, .bound = 1};
      for (auto const& o : layer.options) {
        one.least = (std::min)(one.least, o.memory);
        if (o.time != 0 || o.transfer != 0) continue;
        one.free = one.bound == 1 ? o.memory : (std::min)(one.free, o.memory);
        one.bound = 0;
      }
      of.push_back(one);
    }
    stage_sums sum;
    for (std::size_t r = 0; r < chain.runs.size(); ++r) {
      before_.push_back(sum);
      first_.push_back(layers_);
      each_.push_back(of[static_cast<std::size_t>(chain.runs.values[r])]);
      sum.add(each_.back(), static_cast<std::int64_t>(chain.runs.counts[r]));
      layers_ += chain.runs.counts[r];
    }
  }
  [[nodiscard]] std::uint64_t layers() const { return layers_; }
  /// Whether every selection that was asked for was solved to the end.
  [[nodiscard]] bool exact() const { return exact_; }

  [[nodiscard]] stage_sums sums(std::uint64_t begin, std::uint64_t end) const {
    auto out = at(end);
    out.add(at(begin), -1);
    return out;
  }
  /// Bytes that a stage's layers may hold for one micro-batch; negative if the states alone do not fit.
  [[nodiscard]] std::int64_t room(stage_sums const& of, std::uint64_t stage) const {
    auto const left = options_.capacity[static_cast<std::size_t>(stage)] - of.state;
    return left < 0 ? -1 : left / static_cast<std::int64_t>(options_.in_flight[static_cast<std::size_t>(stage)]);
  }
  /// Whether a stage fits at all.
  [[nodiscard]] bool fits(std::uint64_t begin, std::uint64_t end, std::uint64_t stage) const {
    auto const of = sums(begin, end);
    return of.least <= room(of, stage);
  }
  /// Time of a stage with the cheapest selection that fits.
  [[nodiscard]] std::int64_t cost(std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {
    auto const of = sums(begin, end);
    auto const space = room(of, stage);
    if (of.least > space) return unaffordable;
    if (of.bound == 0 && of.free <= space) return of.time;
    count(begin, end);
    auto const [entry, fresh] = known_.try_emplace({space, counts_}, 0);
    if (fresh) {
      auto const chosen = select(of, space).first;
      exact_ = exact_ && chosen.time.optimal();
      entry->second = chosen.time.value;
    }
    return of.time + entry->second;
  }
  /// Fills the figures of a stage that fits, and the options of its layers.
  void fill(std::uint64_t begin, std::uint64_t end, std::uint64_t stage, staged_figures& figures, std::vector<std::uint32_t>& option) {
    if (begin == end) return;
    count(begin, end);
    auto const of = sums(begin, end);
    auto [chosen, offsets] = select(of, room(of, stage));
    figures = {of.time,         chosen.time.value,
               chosen.transfer, of.state,
               chosen.memory,   of.state + static_cast<std::int64_t>(options_.in_flight[static_cast<std::size_t>(stage)]) * chosen.memory};
    each_run(begin, end, [&](std::size_t k, std::uint64_t layers) {
      std::uint32_t j = 0;
      for (; layers > 0; --layers) {  // within a class the first layers take the first options
        while (chosen.copies[offsets[k] + j] == 0) ++j;
        --chosen.copies[offsets[k] + j];
        option.push_back(j);
      }
    });
  }

 private:
  [[nodiscard]] std::size_t run_of(std::uint64_t position) const {
    return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), position) - first_.begin()) - 1;
  }
  [[nodiscard]] stage_sums at(std::uint64_t position) const {
    if (position == 0) return {};
    auto const r = run_of(position - 1);
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
  /// The selection for the classes that were counted, and where the options of each begin.
  [[nodiscard]] std::pair<selection, std::vector<std::size_t>> select(stage_sums const& of, std::int64_t space) const {
    option_classes items;
    std::vector<std::size_t> offsets(counts_.size());
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      offsets[k] = items.options.size();
      if (counts_[k] > 0) items.add(chain_.classes[k].options, counts_[k]);
    }
    auto const percent = options_.hidden_percent;
    auto const window = of.time / 100 * percent + of.time % 100 * percent / 100;
    return {choose_options(items, {.budget = space, .hidden_transfer = window, .work = options_.work}), std::move(offsets)};
  }

  layer_chain const& chain_;
  staging_options const& options_;
  std::vector<std::uint64_t> counts_;      // of each class, for the stage in hand
  std::vector<stage_sums> before_, each_;  // by run: all layers before it, and one of its own
  std::vector<std::uint64_t> first_;       // by run: its first layer
  std::uint64_t layers_ = 0;
  bool exact_ = true;
  std::map<std::pair<std::int64_t, std::vector<std::uint64_t>>, std::int64_t> known_;
};

/// Figures and options for boundaries of which every stage fits.
template <index_type Index>
void fill_stages(stage_oracle& oracle, joint_stages<Index>& out) {
  auto const& cuts = out.plan.boundaries;
  out.stages.resize(cuts.size() - 1);
  out.option.reserve(static_cast<std::size_t>(oracle.layers()));
  out.plan.bottleneck.value = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    oracle.fill(cuts[s], cuts[s + 1], s, out.stages[s], out.option);
    out.plan.bottleneck.value = (std::max)(out.plan.bottleneck.value, out.stages[s].time + out.stages[s].added);
  }
}

}  // namespace ballast::inline v0_1::detail
