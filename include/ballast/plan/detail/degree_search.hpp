// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/timed_layers.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/plan/detail/counted_stages.hpp>
#include <ballast/plan/detail/degree_space.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/searched_settings.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/chunks.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// The search over degrees. Private.

namespace ballast::inline v0_2::detail {

[[nodiscard]] constexpr transformer language_of(transformer const& model) noexcept { return model; }
[[nodiscard]] constexpr transformer language_of(vision_language_model const& model) noexcept { return model.language; }

/// Query heads of the parts of a model.
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> heads_of(transformer const& model) {
  return {model.query_heads};
}
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> heads_of(vision_language_model const& model) {
  return {model.language.query_heads, model.vision.body.query_heads};
}

/// A number of packs as one.
[[nodiscard]] constexpr batch_shape times(batch_shape const& pack, std::int64_t packs) {
  auto const product = [&](std::int64_t value) {
    auto const all = checked(value) * checked(packs);
    require(all.fits(), [] { return std::string("a micro-batch has 2^63 tokens, squares or tiles"); });
    return all.value;
  };
  return {.tokens = product(pack.tokens), .squares = product(pack.squares), .tiles = product(pack.tiles)};
}

/// The time of some packs where `of` packs take `time`, rounded up.
[[nodiscard]] constexpr std::int64_t in_packs(std::int64_t time, std::int64_t packs, std::int64_t of) {
  if (packs == of) return time;
  return static_cast<std::int64_t>(
      multiply_divide_up(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(packs), static_cast<std::uint64_t>(of)));
}

/// Indices of samples, drawn at random until they fill a number of packs, by their tokens or by their number.
template <class = when_called>
[[nodiscard]] inline std::vector<std::size_t> drawn_samples(std::span<std::int64_t const> tokens, search_options const& o) {
  auto const steps = divide_up((std::max)(o.packs, o.global_batch), o.global_batch);
  auto const packs = checked(o.global_batch) * checked(steps), wanted = packs * checked(o.sequence);
  std::vector<std::size_t> out;
  std::int64_t sum = 0;
  for (auto const i : random_permutation<std::uint64_t>(tokens.size(), 0)) {
    auto const more = tokens[static_cast<std::size_t>(i)];
    if (wanted.fits() && more > wanted.value - sum) break;
    if (o.max_samples != 0 && packs.fits() && out.size() / o.max_samples >= static_cast<std::uint64_t>(packs.value)) break;
    sum += more;
    out.push_back(static_cast<std::size_t>(i));
  }
  return out;
}
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> drawn_of(std::span<std::int64_t const> values, std::vector<std::size_t> const& drawn) {
  std::vector<std::int64_t> out;
  out.reserve(drawn.size());
  for (auto const i : drawn) out.push_back(values[i]);
  return out;
}

/// Visits settings by lower bounds on their steps, plans them, and keeps the best of each family.
template <class Model>
class degree_search {
 public:
  degree_search(Model const& model, pack_sizes const& packs, search_options const& o, cluster const& on, model_setting by)
      : model_(model), mean_(packs.mean), largest_(packs.largest), o_(o), on_(on), by_(by) {
    using field = std::pair<char const*, std::int64_t>;
    for (auto const& of : {field{"gpus", o.gpus}, field{"memory", o.memory}, field{"sequence", o.sequence},
                           field{"global_batch", o.global_batch}, field{"keep", static_cast<std::int64_t>(o.keep)}})
      require(of.second >= 1, [&] { return sentence(of.first, " = ", of.second, " must be at least 1"); });
    require(o.gpus <= 1 << 20, [&] { return "gpus = " + std::to_string(o.gpus) + " must be at most 2^20"; });
    require(o.global_batch <= 1 << 20, [&] { return "global_batch = " + std::to_string(o.global_batch) + " must be at most 2^20"; });
    require(!o.zero.empty() && !o.schedules.empty(), [] { return std::string("zero and schedules must not be empty"); });
    by_.spread = {};
    by_.expert = 1;
    by_.vision_tensor = 0;
    if (!on.mfu) times_ = times_of(on, by_);
  }

  [[nodiscard]] searched_settings run() {
    std::vector<bounded> all;
    layers_ = layers_of(model_, degrees{}.setting(by_, o_).model).size();
    degree_space const space(o_, language_of(model_), layers_, on_.mfu ? rates_of(on_).links.per_node : on_.device.per_node,
                             by_.method == context_method::ring ? std::vector<std::int64_t>{} : heads_of(model_));
    std::size_t families = 0;
    std::vector<degrees> divide, others;
    space.each([&](degrees const& at) {
      families = (std::max)(families, at.family + 1);
      (at.packs() == o_.global_batch ? divide : others).push_back(at);
    });
    auto const per_pack = divide.empty() && !others.empty();
    for (auto const& at : per_pack ? others : divide) all.push_back({of_step(bound_of(at), at), all.size(), at});
    std::sort(all.begin(), all.end(),
              [](bounded const& a, bounded const& b) { return a.step != b.step ? a.step < b.step : a.number < b.number; });
    best_.assign(families, never);
    found_.resize(families);
    searched_settings out{.settings = all.size(), .indivisible = others.size(), .per_pack = per_pack};
    search_watch watch({.work = all.size(), .stop = o_.stop, .progress = o_.progress});
    auto unseen = never;  // the bound of the first setting that a stop left out, which is the least of theirs
    std::uint64_t judged = 0;
    for (auto const& [bound, number, at] : all) {
      if (watch.interrupted(judged++)) {
        out.complete = false;
        unseen = bound;
        break;
      }
      if (bound >= limit(at)) {
        ++out.excluded;
        continue;
      }
      visit(at, out);
    }
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t f = 0; f < families; ++f)
      if (best_[f] != never) order.emplace_back(best_[f], f);
    if (order.empty()) {
      if (!out.complete) out.status = status::unknown;
      return out;
    }
    std::sort(order.begin(), order.end());
    if (order.size() > o_.keep) order.resize(o_.keep);
    for (auto const& [step, family] : order) out.ranked.push_back(std::move(found_[family]));
    out.status = status::feasible;
    out.step = {out.ranked.front().step, (std::min)(out.ranked.front().step, unseen)};
    return out;
  }

 private:
  static constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
  struct bounded {
    std::int64_t step;
    std::size_t number;
    degrees at;
  };

  /// The part of a step's time that the packs asked for take; all of it, unless no setting divides their number.
  [[nodiscard]] std::int64_t of_step(std::int64_t time, degrees const& at) const { return in_packs(time, o_.global_batch, at.packs()); }
  /// Times from which a setting is not among the best.
  [[nodiscard]] std::int64_t limit(degrees const& at) const { return (std::min)(best_[at.family], worst_kept_); }

  /// The time of all layers for one micro-batch, by TP, CP, EP, expert TP and micro-batch: whatever DP, ZeRO and stages are, it is not
  /// less.
  [[nodiscard]] std::int64_t bound_of(degrees const& at) {
    auto free = at;
    free.stages = 1;
    free.data = o_.gpus / at.tensor;
    free.zero = 1;
    auto const split = at.setting(by_, o_).model.experts().expert_tensor;
    if (free.setting(by_, o_).model.experts().expert_tensor != split) free.data = at.data;
    auto const [known, added] = time_.try_emplace({at.tensor, at.context, at.expert, split, at.micro_batch, at.vision});
    if (added) {
      auto const& of = counted_chain(free);
      kinds_ = of.kinds;
      if (!on_.mfu) put_times(kinds_, of, free);
      layer_evaluator const evaluate(rates_for(free));
      auto const batch = times(mean_, at.micro_batch);
      evaluate.require_fits(kinds_, times(largest_, at.micro_batch), of.counts);
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        auto const& l = kinds_[k];
        auto const waits = evaluate.waits(l, batch);
        known->second += of.counts[k] * (evaluate(l, l.options.front(), batch).time + waits.forward + waits.backward);
      }
      known->second = no_less(known->second);
    }
    auto const step = checked(2 * known->second) * checked(at.micro_batches);
    require(step.fits(), [&] { return "a step of " + std::to_string(at.micro_batches) + " micro-batches takes 2^62 nanoseconds or more"; });
    return least_step(known->second, at);
  }
  /// Times are rounded up by layer in bounds and by stage in plans, and tables of exchanges are interpolated there.
  [[nodiscard]] std::int64_t no_less(std::int64_t time) const {
    return (std::max)(time - time / 1000 - 4 * static_cast<std::int64_t>(layers_), std::int64_t{0});
  }

  /// The layers of a setting: of neighbours that are alike, the first one, its place in the chain, and how many there are.
  struct chain {
    std::vector<layer> kinds{};
    std::vector<std::size_t> first{};
    std::vector<std::int64_t> counts{};

    /// One value for each layer, of one for each kind.
    template <class Value>
    void each(std::vector<Value> const& of_kind, std::vector<Value>& out) const {
      out.resize(first.empty() ? 0 : first.back() + static_cast<std::size_t>(counts.back()));
      for (std::size_t k = 0; k < counts.size(); ++k)
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(first[k]), counts[k], of_kind[k]);
    }
  };
  [[nodiscard]] auto chain_at(degrees const& at, std::int64_t packs) {
    return chains_.try_emplace({at.tensor, at.context, at.expert, at.data, at.zero, at.stages > 1 ? -packs : packs, at.vision});
  }
  /// The chain in FLOPs, whatever the micro-batch.
  [[nodiscard]] chain const& counted_chain(degrees const& at) {
    auto const [counted, added] = chain_at(at, 0);
    auto& [kinds, first, counts] = counted->second;
    if (!added) return counted->second;
    auto layers = layers_of(model_, at.setting(by_, o_).model);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i == 0 || !layers[i].costs_as(layers[first.back()])) {
        first.push_back(i);
        counts.push_back(0);
      }
      ++counts.back();
    }
    for (auto const i : first) kinds.push_back(std::move(layers[i]));
    return counted->second;
  }
  /// Puts the times of kernels into the kinds of a chain.
  void put_times(std::vector<layer>& kinds, chain const& of, degrees const& at) {
    auto const by = at.setting(by_, o_).model;
    auto& kernels = kernels_[{at.tensor, at.context, at.expert, by.expert_tensor, at.vision}];
    if constexpr (std::same_as<Model, transformer>)
      kernels.matrices = &matrices_;
    else
      kernels[0].matrices = kernels[1].matrices = &matrices_;
    time_chain(kinds, of.first, model_, by, on_.device, times_, times(mean_, at.micro_batch), at.stages, kernels);
  }
  [[nodiscard]] chain const& chain_for(degrees const& at) {
    auto const& counted = counted_chain(at);
    if (on_.mfu) return counted;
    auto const [known, added] = chain_at(at, at.micro_batch);
    if (added) put_times((known->second = counted).kinds, counted, at);
    return known->second;
  }

  [[nodiscard]] layer_rates rates_for(degrees const& at) const {
    auto const by = at.setting(by_, o_).model;
    return on_.mfu ? rates_of(on_, at.tensor * at.data) : timed_rates(on_, by, times_, at.stages);
  }

  /// What stages with several chunks hold, by stages and schedule.
  [[nodiscard]] chunks_in_flight const& held_for(degrees const& at) {
    auto const many = (std::min)(static_cast<std::uint64_t>(at.micro_batches), 2 * at.stages);  // then it repeats itself
    auto const [known, added] = held_.try_emplace({at.schedule.index(), at.chunks(), at.stages, many});
    if (added) known->second = held_by_chunk(at.schedule, at.stages, many);
    return known->second;
  }

  /// Stages and recomputation; chunks of equal time if a stage has several.
  [[nodiscard]] joint_stages<> stages_of(std::vector<layer> const& layers, std::vector<stage_layer>& each, degrees const& at) {
    auto const setting = at.setting(by_, o_);
    auto const largest = times(largest_, at.micro_batch);
    auto const hopper = is_hopper(on_.device), counted = by_.framework.count != tensor_count::table;
    // `plan` gets no memory that is less than all states
    auto const fit = [&](chunks_in_flight const& held, auto const& plan) {
      auto const planned = [&](std::span<std::int64_t const> capacity) {
        auto room = checked(0);
        for (auto const bytes : capacity) room = room + checked(bytes);
        std::int64_t state = 0;
        for (auto const& l : each) state += l.state;
        return room.fits() && room.value < state ? joint_stages<>{} : plan(capacity);
      };
      if constexpr (std::same_as<Model, transformer>)
        if (counted) return counted_stages<>(model_, setting, largest, hopper, layers, each, held).fit(planned).stages;
      auto const memory = memory_for_stages(o_.memory, model_, setting.model, largest, hopper);
      return planned(std::vector<std::int64_t>(static_cast<std::size_t>(at.stages), memory));
    };
    using capacities = std::span<std::int64_t const>;
    if (at.chunks() > 1)
      return fit(held_for(at),
                 [&](capacities capacity) { return plan_chunks<>(each, held_for(at), {.capacity = capacity, .move_cuts = false}); });
    auto const held = held_by_stage(at.schedule, at.stages, static_cast<std::uint64_t>(at.micro_batches));
    return fit(counted ? one_chunk(held) : chunks_in_flight{},
               [&](capacities capacity) { return plan_stages<>(each, {.stages = at.stages, .capacity = capacity, .in_flight = held}); });
  }

  void visit(degrees const& at, searched_settings& out) {
    auto const& of = chain_for(at);
    auto const rates = rates_for(at);
    layer_evaluator const evaluate(rates);
    auto const mean = times(mean_, at.micro_batch), largest = times(largest_, at.micro_batch);
    auto const apart = std::holds_alternative<zbv_schedule>(at.schedule) ? 1 : at.stages;
    evaluate.require_fits(of.kinds, largest, of.counts);
    auto const kinds = stage_layers_of(of.kinds, mean, largest, rates, apart);
    std::int64_t time = 0, states = 0;
    step_end sum;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      time += of.counts[k] * kinds[k].time;
      states += of.counts[k] * of.kinds[k].state;
      auto const more = evaluate.end_of_step(of.kinds[k]);
      sum.exchange += of.counts[k] * more.exchange;
      sum.optimizer += of.counts[k] * more.optimizer;
    }
    auto const stages = static_cast<std::int64_t>(at.stages);
    auto const least = evaluate.behind({sum.exchange / stages, sum.optimizer / stages}, never);  // of a mean stage, which hides most
    auto const end = no_less(least.exchange + least.optimizer);
    auto const may_be_best = [&](std::int64_t bound) { return of_step(bound + end, at) < limit(at); };
    auto const may_be = may_be_best(least_step(no_less(time), at));
    if (may_be) of.each(kinds, each_);
    if (!may_be || (at.chunks() > 1 && !may_be_best(bound_of_chunks(each_, at)))) return (void)++out.excluded;
    // every cut has these states, of which each number is rounded up by layer here; PyTorch has no gradients at a stage's peak
    auto const room = checked(stages) * checked(o_.memory) + checked(16 * static_cast<std::int64_t>(layers_));
    auto const keeps = by_.framework.count == tensor_count::table || by_.framework.count == tensor_count::megatron;
    if (keeps && room.fits() && states > room.value) return (void)++out.unfit;
    of.each(of.kinds, chain_);
    auto const planned = stages_of(chain_, each_, at);
    if (planned.partition.status != status::feasible) return (void)++out.unfit;
    std::int64_t slowest = 0, before = 0;
    for (auto const& f : planned.figures) {
      auto const one = f.time + f.added;
      slowest = (std::max)(slowest, one * at.micro_batches + before);
      before += at.chunks() == 1 && !splits(at) ? one : 0;
    }
    if (!may_be_best(no_less(slowest))) return (void)++out.excluded;
    ++out.planned;
    auto const value =
        of_step(step_timer<>(joined_stages(chain_, planned), at.stages, evaluate, at.schedule, mean, largest, std::span(&mean, 1))
                    .time_of_equal(static_cast<std::uint64_t>(at.micro_batches)),
                at);
    if (value >= best_[at.family]) return;
    best_[at.family] = value;
    found_[at.family] = {.setting = at.setting(by_, o_), .step = value, .plan = {}};
    if (o_.keep > best_.size()) return;
    auto sorted = best_;
    auto const kept = sorted.begin() + static_cast<std::ptrdiff_t>(o_.keep - 1);
    std::nth_element(sorted.begin(), kept, sorted.end());
    worst_kept_ = *kept;
  }
  /// A stage runs its chunks for all micro-batches; before, the first micro-batch runs forward through the chunks in front of its first
  /// one, and at last the backward passes of one run there.
  [[nodiscard]] std::int64_t bound_of_chunks(std::vector<stage_layer> const& each, degrees const& at) const {
    std::vector<std::int64_t> time;
    time.reserve(each.size());
    for (auto const& l : each) time.push_back(l.time);
    auto const count = static_cast<std::size_t>(at.stages * at.chunks());
    auto const cut = min_max_partition(time, {.stages = count});
    std::vector<std::int64_t> of_stage(static_cast<std::size_t>(at.stages));
    std::int64_t most = 0, before = 0;
    for (std::size_t pass = 0; pass < 2; ++pass)  // sum the chunks of each stage, then bound each where it begins
      for (std::size_t k = 0; k < (pass == 0 ? count : of_stage.size()); ++k) {
        auto const of = std::accumulate(time.begin() + cut.boundaries[k], time.begin() + cut.boundaries[k + 1], std::int64_t{0});
        if (pass == 0) {
          of_stage[static_cast<std::size_t>(std::visit([&](auto const& s) { return s.stage_of(k, at.stages); }, at.schedule))] += of;
        } else {
          most = (std::max)(most, of_stage[k] * at.micro_batches + (splits(at) ? 0 : before));
          before += of;
        }
      }
    return no_less(most);
  }

  Model const& model_;
  batch_shape mean_, largest_;
  search_options const& o_;
  cluster const& on_;
  model_setting by_;
  time_setting times_;
  std::size_t layers_ = 0;
  using known_times = std::conditional_t<std::same_as<Model, transformer>, kernel_times, std::array<kernel_times, 2>>;
  known_matrices matrices_;
  std::map<std::array<std::int64_t, 5>, known_times> kernels_;
  std::map<std::array<std::int64_t, 6>, std::int64_t> time_;
  std::map<std::array<std::int64_t, 7>, chain> chains_;
  std::map<std::array<std::uint64_t, 4>, chunks_in_flight> held_;
  std::vector<layer> kinds_, chain_;   // of the setting at hand
  std::vector<stage_layer> each_;      // of `chain_`
  std::vector<std::int64_t> best_;     // of each family, in nanoseconds
  std::vector<ranked_setting> found_;  // of each family
  std::int64_t worst_kept_ = never;
};

}  // namespace ballast::inline v0_2::detail
