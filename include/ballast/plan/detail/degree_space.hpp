// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/searched_settings.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

// The settings that a search over degrees chooses from, and lower bounds on their steps. Private.

namespace ballast::inline v0_2::detail {

/// One setting of the space.
struct degrees {
  std::int64_t tensor = 1, context = 1, expert = 1, data = 1, micro_batch = 1, micro_batches = 1, vision = 0;
  std::uint64_t stages = 1;
  int zero = 1;
  any_schedule schedule{};
  std::size_t family = 0;  // number of the choice of TP, CP, EP and stages

  [[nodiscard]] std::uint64_t chunks() const {
    return std::visit([](auto const& s) { return s.chunks_per_stage(); }, schedule);
  }
  /// Packs of a step.
  [[nodiscard]] std::int64_t packs() const noexcept { return data / context * micro_batch * micro_batches; }
  [[nodiscard]] training_setting setting(model_setting by, search_options const& o) const {
    by.spread = {.tensor = tensor, .context = context, .data = data, .sequence_parallel = tensor > 1, .zero = zero};
    by.expert = expert;
    by.vision_tensor = vision;
    by.expert_tensor = (std::min)(by.expert_tensor, tensor);
    if (tensor * data % (expert * by.experts().expert_tensor) != 0) by.expert_tensor = 1;
    if (data % by.kernels.instances != 0) by.kernels.instances = 1;
    return {.model = by,
            .pipeline = {.stages = stages, .memory = o.memory, .schedule = schedule},
            .sequence = o.sequence,
            .micro_batch = micro_batch,
            .micro_batches = micro_batches};
  }
};

/// The values of a list that divide a number and that `suits` accepts; without a list, all such divisors.
template <class Value, class Suits>
[[nodiscard]] std::vector<Value> divisors_in(std::vector<Value> list, std::int64_t of, Suits const& suits) {
  auto const divides = [&](Value v) { return v > 0 && of % static_cast<std::int64_t>(v) == 0 && suits(static_cast<std::int64_t>(v)); };
  if (list.empty()) {
    for (std::int64_t d = 1; d <= of / d; ++d) {
      if (of % d != 0) continue;
      list.push_back(static_cast<Value>(d));
      list.push_back(static_cast<Value>(of / d));
    }
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  std::erase_if(list, [&](Value v) { return !divides(v); });
  return list;
}

/// All settings of the space for a model with a chain of `layers` layers. With Ulysses, context parallelism splits the heads too.
class degree_space {
 public:
  degree_space(search_options const& o, transformer const& language, std::size_t layers, std::int64_t per_node,
               std::vector<std::int64_t> ulysses_heads)
      : o_(o),
        model_(language),
        layers_(static_cast<std::int64_t>(layers)),
        per_node_(per_node),
        ulysses_heads_(std::move(ulysses_heads)) {}

  template <class Take>
  void each(Take const& take) const {
    degrees at;
    auto const kv_heads = model_.kv_rank > 0 ? model_.query_heads : model_.kv_heads;
    auto const attends = model_.attention_layers.count(model_.layers) > 0;  // else state-space layers are split by their heads
    auto const heads = [&](std::int64_t n) {
      auto const divides = attends ? model_.query_heads % n == 0 && kv_heads % n == 0 : model_.space.heads % n == 0;
      return divides && (!o_.tensor.empty() || n <= per_node_);
    };
    for (auto const tensor : divisors_in(o_.tensor, o_.gpus, heads)) {
      at.tensor = tensor;
      for (auto const stages : divisors_in(o_.stages, o_.gpus / tensor, [&](std::int64_t n) { return n <= layers_; })) {
        at.stages = stages;
        auto const left = o_.gpus / tensor / static_cast<std::int64_t>(stages);
        auto const cuts = [&](std::int64_t n) { return n == 1 || (o_.sequence % (2 * n) == 0 && splits_heads(tensor, n)); };
        for (auto const context : divisors_in(o_.context, left, cuts)) {
          at.context = context;
          at.data = left;
          auto const ranks = left / context;
          if (ranks > o_.global_batch) continue;
          auto const experts = [&](std::int64_t n) { return n == 1 || (model_.experts > 0 && model_.experts % n == 0); };
          for (auto const expert : divisors_in(o_.expert, tensor * left, experts)) {
            at.expert = expert;
            each_of_family(at, ranks, take);
            ++at.family;
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] bool splits_heads(std::int64_t tensor, std::int64_t context) const {
    return std::all_of(ulysses_heads_.begin(), ulysses_heads_.end(),
                       [&](std::int64_t heads) { return divide_up(heads, tensor) % context == 0; });
  }
  template <class Take>
  void each_of_family(degrees at, std::int64_t ranks, Take const& take) const {
    auto of_towers = o_.vision_tensor;  // the whole group is what 0 says
    if (of_towers.empty()) {
      of_towers = divisors_in(std::vector<std::int64_t>{}, at.tensor, [&](std::int64_t n) { return n < at.tensor; });
      of_towers.push_back(0);
    }
    std::erase_if(of_towers, [&](std::int64_t n) { return n < 0 || (n > 0 && at.tensor % n != 0); });
    auto sizes = o_.micro_batch;
    if (sizes.empty())
      for (std::int64_t n = 1; n <= o_.global_batch / ranks; n *= 2) sizes.push_back(n);
    for (auto const size : sizes) {
      if (size < 1 || size > o_.global_batch / ranks) continue;
      at.micro_batch = size;
      at.micro_batches = divide_up(o_.global_batch, ranks * size);
      for (auto const& schedule : o_.schedules) {
        if (at.stages == 1 && &schedule != &o_.schedules.front()) break;
        at.schedule = at.stages == 1 ? any_schedule{one_f_one_b_schedule{}} : schedule;
        for (auto const chunks : chunks_of(at)) {
          if (std::holds_alternative<interleaved_schedule>(at.schedule)) at.schedule = interleaved_schedule{.chunks = chunks};
          for (auto const zero : o_.zero) {
            if (at.data == 1 && zero != o_.zero.front()) break;  // nothing is shared
            at.zero = at.data == 1 ? 0 : zero;
            if (at.zero == 2 && at.stages > 1) continue;
            for (auto const vision : of_towers) {
              at.vision = vision;
              take(at);
            }
          }
        }
      }
    }
  }
  /// The numbers of chunks that are tried under the schedule of a setting.
  [[nodiscard]] std::vector<std::uint64_t> chunks_of(degrees const& at) const {
    auto const most = static_cast<std::uint64_t>(layers_) / at.stages;
    if (!std::holds_alternative<interleaved_schedule>(at.schedule)) {
      if (at.chunks() > most) return {};
      return {at.chunks()};
    }
    if (static_cast<std::uint64_t>(at.micro_batches) % at.stages != 0) return {};
    std::vector<std::uint64_t> out;
    for (std::uint64_t v = 2; v <= most; ++v) {
      auto const virtual_stages = static_cast<std::int64_t>(at.stages * v);
      auto const even = model_.layers % virtual_stages == 0 || layers_ % virtual_stages == 0;
      if (o_.chunks.empty() ? even : std::find(o_.chunks.begin(), o_.chunks.end(), v) != o_.chunks.end()) out.push_back(v);
    }
    return out;
  }

  search_options const& o_;
  transformer model_;
  std::int64_t layers_, per_node_;
  std::vector<std::int64_t> ulysses_heads_;  // query heads of the parts of the model; none: context parallelism is a ring
};

/// Whether backward passes are split under the schedule of a setting.
[[nodiscard]] constexpr bool splits(degrees const& at) {
  return std::visit([](auto const& s) { return s.splits_backward; }, at.schedule);
}

/// A lower bound on the time of M equal micro-batches, each of which takes `time` on all stages together. Some stage takes its share of
/// all. Unless passes are split or stages have several chunks, stage s also waits for the forward passes of the first micro-batch on the
/// stages before it, and the backward passes of the last micro-batch follow there: it takes M t_s + t_0 + ... + t_(s-1) for all s.
[[nodiscard]] inline std::int64_t least_step(std::int64_t time, degrees const& at) {
  auto const m = static_cast<std::uint64_t>(at.micro_batches), all = static_cast<std::uint64_t>(time);
  auto const share = static_cast<std::int64_t>(multiply_divide_up(all, m, at.stages));
  if (at.stages == 1 || at.chunks() > 1 || splits(at)) return share;
  auto const sum_of = [&](std::int64_t step) {  // of the longest stages with which a step takes no longer, at most about `time`
    std::int64_t sum = 0;
    for (std::uint64_t s = 0; s < at.stages && sum < time; ++s) sum += divide_up(step - sum, at.micro_batches);
    return sum;
  };
  auto const reached = [&](std::int64_t step) { return sum_of(step) >= time; };
  auto low = share, high = (std::max)(share, time) * 2;
  while (!reached(high)) high *= 2;
  if (auto const sum = sum_of(low); sum > 0 && sum < time) {  // but for rounding, sums are in proportion to steps
    auto const guess = static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(low), all, static_cast<std::uint64_t>(sum)));
    auto const apart = at.micro_batches + static_cast<std::int64_t>(at.stages);
    if (guess - apart > low && !reached(guess - apart)) low = guess - apart;
    if (guess + apart < high && reached(guess + apart)) high = guess + apart;
  }
  return first_where(low, high, reached);
}

}  // namespace ballast::inline v0_2::detail
