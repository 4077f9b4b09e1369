// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/recompute/memory_option.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

/// @file
/// @brief Validators of plans of stages and memory, with a dynamic programme that proves their lower bound. They share no code with the
/// planners.

namespace ballast::inline v0_2 {

namespace detail {

/// The chain layer by layer.
[[nodiscard]] inline std::vector<stage_layer const*> unfolded(layer_chain const& chain) {
  std::vector<stage_layer const*> out;
  for (std::size_t r = 0; r < chain.runs.size(); ++r)
    out.insert(out.end(), static_cast<std::size_t>(chain.runs.counts[r]), &chain.classes[static_cast<std::size_t>(chain.runs.values[r])]);
  return out;
}
[[nodiscard]] inline std::int64_t hidden_part(std::int64_t time, std::int64_t percent) {
  return time / 100 * percent + time % 100 * percent / 100;  // no product that could overflow
}

/// All selections for the layers of a stage that no other selection dominates, by memory.
template <class = when_called>
class stage_selections {
 public:
  stage_selections(std::int64_t largest_room, std::int64_t hidden_percent) : largest_room_(largest_room), percent_(hidden_percent) {}
  /// Whether some selection fits the largest room.
  [[nodiscard]] bool any() const noexcept { return !front_.empty(); }
  void add(stage_layer const& layer) {
    time_ += layer.time;
    grown_.clear();
    for (auto const& o : layer.options)
      for (auto const& f : front_) {
        memory_option sum{f.memory + o.memory, f.time + o.time, f.transfer + o.transfer};
        if (percent_ == 0) sum = {sum.memory, sum.time + sum.transfer, 0};
        if (sum.memory <= largest_room_) grown_.push_back(sum);
      }
    std::sort(grown_.begin(), grown_.end(), [](auto const& a, auto const& b) {
      return a.memory != b.memory ? a.memory < b.memory : a.time != b.time ? a.time < b.time : a.transfer < b.transfer;
    });
    front_.clear();
    for (auto const& g : grown_) {
      auto const worse = [&](memory_option const& f) { return f.time <= g.time && f.transfer <= g.transfer; };
      if (percent_ == 0 ? front_.empty() || !worse(front_.back()) : std::none_of(front_.begin(), front_.end(), worse)) front_.push_back(g);
    }
  }
  /// Time of the stage if its layers may hold `room` bytes; nothing if no selection fits.
  [[nodiscard]] std::optional<std::int64_t> least_time(std::int64_t room) const {
    std::optional<std::int64_t> least;
    for (auto f = std::upper_bound(front_.begin(), front_.end(), room, [](auto r, auto const& way) { return r < way.memory; });
         f != front_.begin();) {
      --f;
      auto const time = time_ + f->time + (std::max)(f->transfer - hidden_part(time_, percent_), std::int64_t{0});
      least = least ? (std::min)(*least, time) : time;
      if (percent_ == 0) break;  // the selection with most memory is the fastest
    }
    return least;
  }

 private:
  std::int64_t largest_room_, percent_, time_ = 0;
  std::vector<memory_option> front_{{}}, grown_;
};

}  // namespace detail

/// @brief The rule that a plan of stages and memory breaks.
struct staging_fault : common_fault {
  static constexpr rule plan_refused{"the result says that there is no plan, and has one"};
  static constexpr rule wrong_size{"there are not stages + 1 boundaries, one figure a stage and one option a layer"};
  static constexpr rule bad_boundaries{"boundaries[{index}] = {found}: boundaries must rise from 0 to the number of layers, {expected}"};
  static constexpr rule too_few_layers{"stage {index} has fewer layers than the minimum"};
  static constexpr rule bad_option{"layer {index} has no such option"};
  static constexpr rule wrong_figures{"stage {index}: the figures are not those of its layers"};
  static constexpr rule over_capacity{"stage {index} holds more than its capacity"};
  static constexpr rule false_bound{"bottleneck.lower_bound is above what some plan costs"};
  static constexpr rule needless_refusal{"the result says that there is no plan, but there is one"};
};

namespace detail {

/// Checks a plan of virtual stages, layer by layer; `held` says what its stages hold at once.
template <index_type Index>
[[nodiscard]] verdict check_staged(joint_stages<Index> const& plan, std::span<stage_layer const* const> layers,
                                   chunks_in_flight const& held, std::span<std::int64_t const> capacity, std::uint64_t min_layers,
                                   std::int64_t hidden_percent) {
  auto const& cuts = plan.partition.boundaries;
  auto const chunks = held.stage_of.size(), stages = capacity.size(), n = layers.size();
  if (plan.partition.status != status::feasible)
    return {cuts.empty() && plan.figures.empty() && plan.option.empty() ? staging_fault::none : staging_fault::plan_refused, 0};
  if (cuts.size() != chunks + 1 || plan.figures.size() != stages || plan.option.size() != n) return {staging_fault::wrong_size, 0};
  if (auto const v = check_offsets(cuts, n, staging_fault::bad_boundaries); !v.valid()) return v;
  for (std::size_t k = 0; k < chunks; ++k)
    if (cuts[k + 1] - cuts[k] < min_layers) return {staging_fault::too_few_layers, k};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.option[i] >= layers[i]->options.size()) return {staging_fault::bad_option, i};
  std::vector<std::vector<std::size_t>> chunks_of(stages);
  for (std::size_t k = 0; k < chunks; ++k) chunks_of[held.stage_of[k]].push_back(k);
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    staged_figures own;
    std::vector<std::int64_t> bytes;  // of one micro-batch, by chunk
    for (auto const k : chunks_of[s]) {
      bytes.push_back(0);
      for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
        auto const& taken = layers[i]->options[plan.option[i]];
        own.time += layers[i]->time;
        own.added += taken.time;
        own.transfer += taken.transfer;
        own.state += layers[i]->state;
        own.working = (std::max)(own.working, layers[i]->working);
        bytes.back() += taken.memory;
      }
      own.activations += bytes.back();
    }
    own.added += (std::max)(own.transfer - hidden_part(own.time, hidden_percent), std::int64_t{0});
    for (std::size_t at = 0; at < held.held[s].size(); at += bytes.size()) {
      checked sum(own.state + own.working);
      for (std::size_t c = 0; c < bytes.size(); ++c)
        sum = sum + checked(static_cast<std::int64_t>(held.held[s][at + c])) * checked(bytes[c]);
      if (!sum.fits() || sum.value > capacity[s]) return {staging_fault::over_capacity, s};
      own.memory = (std::max)(own.memory, sum.value);
    }
    if (own != plan.figures[s]) return {staging_fault::wrong_figures, s};
    slowest = (std::max)(slowest, own.time + own.added);
  }
  return check_certificate(plan.partition.bottleneck, slowest);
}

}  // namespace detail

/// @brief Checks a plan against the definition, layer by layer. It does not prove the lower bound again; `prove_stages` does.
///
/// @tparam Index  type of the boundaries
/// @param plan     the plan; may hold any values
/// @param chain    the chain that was planned
/// @param options  the options of the request
/// @return the first broken rule; its index is the boundary, the stage or, for `bad_option`, the layer
/// @throws invalid_input as `require_valid` of the chain and of the options
/// @par Complexity
/// O(layers + stages).
template <index_type Index>
[[nodiscard]] verdict check_stages(joint_stages<Index> const& plan, layer_chain const& chain, staging_options const& options) {
  require_valid(chain);
  require_valid(options);
  auto const layers = detail::unfolded(chain);
  chunks_in_flight held;  // one chunk a stage
  held.stage_of.resize(options.capacity.size());
  std::iota(held.stage_of.begin(), held.stage_of.end(), 0U);
  for (auto const most : options.in_flight) held.held.push_back({most});
  return detail::check_staged(plan, layers, held, options.capacity, options.min_layers, options.hidden_percent);
}

/// @brief Checks a plan of stages with several chunks against the definition, layer by layer. It does not prove the lower bound again.
///
/// @tparam Index  type of the boundaries
/// @param plan     the plan; may hold any values
/// @param layers   the layers that were planned
/// @param held     the virtual stages of the request
/// @param options  the options of the request
/// @return the first broken rule; its index is the boundary, the stage, for `too_few_layers` the virtual stage, or for `bad_option` the
/// layer
/// @throws invalid_input as `plan_chunks` of the same arguments
/// @par Complexity
/// O(layers + virtual stages + all rows of `held`).
template <index_type Index>
[[nodiscard]] verdict check_chunks(joint_stages<Index> const& plan, std::span<stage_layer const> layers, chunks_in_flight const& held,
                                   chunk_options const& options) {
  require_valid(fold_layers(layers), held, options);
  std::vector<stage_layer const*> each;
  for (auto const& layer : layers) each.push_back(&layer);
  return detail::check_staged(plan, each, held, options.capacity, options.min_layers, options.hidden_percent);
}

/// @brief Returns the least bottleneck of any plan, by the full dynamic programme: every stage, every begin, every end, and all selections
/// that no other selection dominates.
///
/// This textbook method is slow, but needs no property of the costs. The joint plan is compared with it.
///
/// @param chain    the layers
/// @param options  the options of the request
/// @return the least bottleneck; nothing if no plan exists
/// @throws invalid_input as `require_valid` of the chain and of the options
/// @par Complexity
/// O(layers^2 * (stages log k + options * k)) for k selections that no other dominates; k^2 instead of k if transfers are hidden.
template <class = when_called>
[[nodiscard]] inline std::optional<std::int64_t> least_stage_bottleneck(layer_chain const& chain, staging_options const& options) {
  require_valid(chain);
  require_valid(options);
  constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
  auto const layers = detail::unfolded(chain);
  auto const n = layers.size(), p = static_cast<std::size_t>(options.stages);
  std::int64_t largest_room = 0;
  for (std::size_t s = 0; s < p; ++s)
    largest_room = (std::max)(largest_room, options.capacity[s] / static_cast<std::int64_t>(options.in_flight[s]));
  std::vector<std::vector<std::int64_t>> best(p + 1, std::vector<std::int64_t>(n + 1, never));  // by stages used and layers placed
  best[0][0] = 0;
  auto const reach = [&](std::size_t s, std::size_t begin, std::size_t end, std::int64_t cost) {
    if (best[s][begin] != never) best[s + 1][end] = (std::min)(best[s + 1][end], (std::max)(best[s][begin], cost));
  };
  for (std::size_t begin = 0; begin <= n; ++begin) {
    if (options.min_layers == 0)
      for (std::size_t s = 0; s < p; ++s) reach(s, begin, begin, 0);
    detail::stage_selections<> selections(largest_room, options.hidden_percent);
    std::int64_t state = 0, working = 0;
    for (auto end = begin + 1; end <= n && selections.any(); ++end) {
      state += layers[end - 1]->state;
      working = (std::max)(working, layers[end - 1]->working);
      selections.add(*layers[end - 1]);
      if (end - begin < options.min_layers) continue;
      for (std::size_t s = 0; s < p; ++s) {
        auto const room = options.capacity[s] - state - working;
        if (best[s][begin] == never || room < 0) continue;
        auto const time = selections.least_time(room / static_cast<std::int64_t>(options.in_flight[s]));
        if (time) reach(s, begin, end, *time);
      }
    }
  }
  return best[p][n] == never ? std::nullopt : std::optional(best[p][n]);
}

/// @brief Checks a plan and proves its certificate again: that no plan is faster than the lower bound, or that no plan exists.
/// @tparam Index  type of the boundaries
/// @param plan     the plan; may hold any values
/// @param chain    the chain that was planned
/// @param options  the options of the request
/// @return the first broken rule
/// @throws invalid_input as `check_stages`
/// @par Complexity
/// As `least_stage_bottleneck`.
template <index_type Index>
[[nodiscard]] verdict prove_stages(joint_stages<Index> const& plan, layer_chain const& chain, staging_options const& options) {
  if (auto const verdict = check_stages(plan, chain, options); !verdict.valid()) return verdict;
  auto const least = least_stage_bottleneck(chain, options);
  if (plan.partition.status != status::feasible) return {least ? staging_fault::needless_refusal : staging_fault::none, 0};
  return {!least || plan.partition.bottleneck.lower_bound > *least ? staging_fault::false_bound : staging_fault::none, 0};
}

}  // namespace ballast::inline v0_2
