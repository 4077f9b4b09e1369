// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/plan/detail/stage_layers.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Stages that fit by `memory_of`, where a framework's tensors are counted. Private.

namespace ballast::inline v0_2::detail {

/// What each layer of a chain recomputes.
template <class = when_called>
[[nodiscard]] inline std::vector<layer_choice> choices_of(std::span<layer const> layers, std::span<std::uint32_t const> option) {
  std::vector<layer_choice> out;
  out.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& taken = layers[i].options[option[i]];
    out.push_back({.full = taken.recomputed == recomputation::full, .modules = taken.modules});
  }
  return out;
}

/// What stages with one chunk hold, as stages with several say it.
template <class = when_called>
[[nodiscard]] inline chunks_in_flight one_chunk(std::span<std::uint64_t const> in_flight) {
  chunks_in_flight out;
  for (auto const held : in_flight) {
    out.stage_of.push_back(static_cast<std::uint32_t>(out.held.size()));
    out.held.push_back({held});
  }
  return out;
}

/// Stages with a given cut, in which each layer takes a given option; without the bytes that they hold. The bound on the slowest is the
/// mean of what layers take at least.
template <class = when_called>
[[nodiscard]] inline joint_stages<> given_stages(std::span<stage_layer const> each, std::span<std::uint32_t const> stage_of,
                                                 std::uint64_t stages, std::span<std::uint32_t const> cuts,
                                                 std::vector<std::uint32_t> option) {
  joint_stages<> out;
  out.partition.status = status::feasible;
  out.partition.boundaries.assign(cuts.begin(), cuts.end());
  out.figures.resize(static_cast<std::size_t>(stages));
  auto& bottleneck = out.partition.bottleneck;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < stage_of.size(); ++k) {
    auto& figures = out.figures[stage_of[k]];
    for (std::size_t i = cuts[k]; i < cuts[k + 1]; ++i) {
      auto const& of = each[i];
      auto const& taken = of.options[option[i]];
      figures.time += of.time;
      figures.added += taken.time;
      figures.state += of.state;
      figures.working = (std::max)(figures.working, of.working);
      figures.activations += taken.memory;
      sum += of.time + taken.time;
    }
    bottleneck.value = (std::max)(bottleneck.value, figures.time + figures.added);
  }
  bottleneck.lower_bound = divide_up(sum, static_cast<std::int64_t>(stages));
  out.option = std::move(option);
  return out;
}

/// Stages, the bytes of each that its layers were planned for, and what it holds; no bytes unless the stages are feasible.
struct fitted_stages {
  joint_stages<> stages;
  std::vector<std::int64_t> capacity;
  std::vector<stage_memory> memory;
};

/// Plans stages with a planner of chains, such that each stage fits by `memory_of`.
///
/// A planner of chains adds up layers; `memory_of` knows what a stage holds beside them, what its layers share, and what does not exist at
/// the same moment. The difference is nearly the same for all plans of a setting. So it is taken from a plan that is given, and planners
/// get the memory less that difference. The plan that they make is judged; while a stage is over, its memory is lowered to what would have
/// forbidden that, and planned again.
template <class = when_called>
class counted_stages {
 public:
  /// Takes a setting with its stages, memory, cut and sizes of batches; `held` is what the stages hold at once.
  counted_stages(transformer const& model, training_setting by, batch_shape const& largest, bool hopper, std::span<layer const> layers,
                 std::vector<stage_layer>& each, chunks_in_flight const& held)
      : by_(unrecomputed(std::move(by))), count_(model, by_, largest, hopper), layers_(layers), each_(each), held_(held) {
    if (count_.gathers_all())
      for (std::size_t i = 0; i < each.size(); ++i) {
        each[i].state = count_.states_of_layer(i);
        each[i].working -= layers[i].buffers;
      }
    if (layers.size() >= held.stage_of.size()) cuts_ = boundaries_of(by_, model);
  }

  /// The stages of `plan(capacity)`; if none fit, those of the setting's cut with nothing or everything recomputed, if they do. Plans once
  /// unless `again`.
  template <class Plan>
  [[nodiscard]] fitted_stages fit(Plan const& plan, bool again = true) {
    auto const budget = by_.pipeline.memory;
    fitted_stages out{.stages = {}, .capacity = std::vector<std::int64_t>(held_.held.size(), budget), .memory = {}};
    std::vector<std::uint32_t> option(layers_.size());
    if (!cuts_.empty()) {
      out.memory = judge(cuts_, option);
      if (!fits(out.memory)) {
        for (std::size_t i = 0; i < option.size(); ++i) option[i] = least_of(each_[i].options);
        out.memory = judge(cuts_, option);
      }
      auto const planned = by_layers(option);
      for (std::size_t s = 0; s < planned.size(); ++s) out.capacity[s] = less(budget, out.memory[s].bytes(), planned[s]);
    }
    auto given = std::move(out.memory);
    auto const settle = [&](joint_stages<> stages, std::vector<stage_memory> memory) {
      out.stages = std::move(stages);
      out.memory = std::move(memory);
      for (std::size_t s = 0; s < out.memory.size(); ++s) out.stages.figures[s].memory = out.memory[s].bytes();
      out.stages.partition.bottleneck.lower_bound = least_bottleneck();
    };
    for (std::int64_t lower = 1; *std::min_element(out.capacity.begin(), out.capacity.end()) >= 0; lower *= 2) {
      auto stages = plan(out.capacity);
      if (stages.partition.status != status::feasible) {
        out.stages = std::move(stages);
        break;
      }
      auto memory = judge(stages.partition.boundaries, stages.option);
      if (fits(memory)) {
        settle(std::move(stages), std::move(memory));
        return out;
      }
      if (!again) break;
      for (std::size_t s = 0; s < memory.size(); ++s) {
        if (memory[s].bytes() <= budget) continue;
        auto const over = checked(lower) * checked(memory[s].bytes() - budget);
        out.capacity[s] = less(stages.figures[s].memory, over.fits() ? over.value : checked::most, 0);
      }
    }
    if (!given.empty() && fits(given))
      settle(given_stages<>(each_, held_.stage_of, held_.held.size(), cuts_, std::move(option)), std::move(given));
    return out;
  }

 private:
  [[nodiscard]] static training_setting unrecomputed(training_setting by) {
    by.recompute = {};
    return by;
  }
  /// A bound on the slowest stage of any plan: what fits by `memory_of` may be over by the sums of its layers, so memory proves nothing.
  [[nodiscard]] std::int64_t least_bottleneck() const {
    std::vector<std::int64_t> time;
    time.reserve(each_.size());
    for (auto const& layer : each_) time.push_back(layer.time);
    auto const stages = held_.held.size();
    if (held_.stage_of.size() == stages) return min_max_partition(time, {.stages = stages}).bottleneck.value;
    return divide_up(std::accumulate(time.begin(), time.end(), std::int64_t{0}), static_cast<std::int64_t>(stages));
  }
  [[nodiscard]] static std::uint32_t least_of(std::vector<memory_option> const& options) {
    auto const least = std::min_element(options.begin(), options.end(), [](auto const& a, auto const& b) { return a.memory < b.memory; });
    return static_cast<std::uint32_t>(least - options.begin());
  }
  /// a - b + c for numbers that are not negative.
  [[nodiscard]] static std::int64_t less(std::int64_t a, std::int64_t b, std::int64_t c) {
    auto const sum = checked(a) + checked(c);
    return (sum.fits() ? sum.value : checked::most) - b;
  }
  [[nodiscard]] static bool fits(std::vector<stage_memory> const& memory) {
    return std::all_of(memory.begin(), memory.end(), [](auto const& m) { return m.bytes() <= m.budget; });
  }
  /// What stages hold by `memory_of`.
  [[nodiscard]] std::vector<stage_memory> judge(std::span<std::uint32_t const> cuts, std::span<std::uint32_t const> option) {
    auto const choices = choices_of<>(layers_, option);
    std::vector<stage_memory> out;
    out.reserve(held_.held.size());
    for (std::size_t s = 0; s < held_.held.size(); ++s) {
      auto const of = count_(s, cuts, choices);
      auto all = checked(0);
      for (auto const extra : of.extra) all = larger(all, of.held() + extra);
      auto const state = of.states.fits() ? of.states.value : 0;
      out.push_back({.state = state, .activations = (all.fits() ? all.value : checked::most) - state, .budget = by_.pipeline.memory});
    }
    return out;
  }
  /// What stages of the setting's cut hold by the sums of their layers.
  [[nodiscard]] std::vector<std::int64_t> by_layers(std::span<std::uint32_t const> option) const {
    std::vector<std::int64_t> out(held_.held.size()), working(out.size());
    std::vector<std::vector<std::int64_t>> kept(out.size());  // of each chunk of a stage
    for (std::size_t k = 0; k < held_.stage_of.size(); ++k) {
      auto const s = std::size_t{held_.stage_of[k]};
      auto& of_chunk = kept[s].emplace_back();
      for (std::size_t i = cuts_[k]; i < cuts_[k + 1]; ++i) {
        out[s] += each_[i].state;
        working[s] = (std::max)(working[s], each_[i].working);
        of_chunk += each_[i].options[option[i]].memory;
      }
    }
    for (std::size_t s = 0; s < out.size(); ++s) {
      auto const& rows = held_.held[s];
      auto most = checked(0);
      for (std::size_t r = 0; r < rows.size(); r += kept[s].size()) {
        auto row = checked(0);
        for (std::size_t c = 0; c < kept[s].size(); ++c) row = row + checked(kept[s][c]) * checked(static_cast<std::int64_t>(rows[r + c]));
        most = larger(most, row);
      }
      auto const all = checked(out[s]) + checked(working[s]) + most;
      out[s] = all.fits() ? all.value : checked::most;
    }
    return out;
  }

  training_setting by_;
  stage_counter<> count_;
  std::span<layer const> layers_;
  std::vector<stage_layer>& each_;
  chunks_in_flight const& held_;
  std::vector<std::uint32_t> cuts_;  // of the setting; empty if there are too few layers
};

}  // namespace ballast::inline v0_2::detail
