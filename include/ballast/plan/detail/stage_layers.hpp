// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/footprint/vision_tensors.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/plan/detail/recomputed_layers.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

// The bytes of a pipeline stage, for memory_of. Private.

namespace ballast::inline v0_2::detail {

/// Bytes of a stage; a sum that reaches 2^63 is `checked::none`.
struct stage_parts {
  checked states{0}, workspace{0}, kept{0}, inputs{0}, gathered{0};
  std::array<checked, 4> extra{checked(0), checked(0), checked(0), checked(0)};  // by memory_moment

  [[nodiscard]] constexpr checked held() const noexcept { return states + workspace + kept + inputs + gathered; }
};

[[nodiscard]] constexpr checked larger(checked a, checked b) noexcept {
  return !a.fits() || !b.fits() ? checked(checked::none) : checked((std::max)(a.value, b.value));
}
/// The smaller one of those that fit.
[[nodiscard]] constexpr checked smaller(checked a, checked b) noexcept {
  return !a.fits() ? b : !b.fits() ? a : checked((std::min)(a.value, b.value));
}
[[nodiscard]] constexpr checked divided(checked whole, std::int64_t parts) noexcept {
  return whole.fits() ? checked(divide_up(whole.value, parts)) : whole;
}
/// a - b, where b is a part of a.
[[nodiscard]] constexpr checked without(checked a, checked b) noexcept {
  return a.fits() && b.fits() ? checked(a.value - b.value) : checked(checked::none);
}

/// What a plan recomputes of one layer: all, some modules, or nothing.
struct layer_choice {
  bool full = false;
  module_set modules{};
  friend constexpr bool operator==(layer_choice const&, layer_choice const&) = default;
};

/// Counts stages of a training, one after the other. Layers of one kind are counted once.
template <class = when_called>
class stage_counter {
 public:
  /// `whole` is the model of which `model` is the language model, if there is more.
  stage_counter(transformer const& model, training_setting const& by, batch_shape const& batch, bool hopper,
                vision_language_model const* whole = nullptr)
      : model_(model), by_(by), batch_(batch), hopper_(hopper), count_(by.model.framework.count), whole_(whole), kind_of_(model) {
    auto const& k = by.model.kernels;
    auto const embedding = embedding_parameter_groups(model);
    embedding_ = states_of(embedding, by.model.optimizer, outside());
    copy_ = states_of({.sharded = embedding.sharded}, by.model.optimizer, outside());
    head_ = states_of(head_parameter_groups(model), by.model.optimizer, outside());
    auto const h = model.hidden;
    merging_ = states_of({.sharded = 2 * h * h, .replicated = 3 * norm_vectors(model)}, by.model.optimizer, by.model.language);
    offloads_ = (megatron() && !k.moved.empty()) || (pytorch() && k.offload_all);
    reached_ = by.model.language.what != trained::none;
    if (whole) prepare_front(*whole);
  }

  /// The bytes of a stage, which has the chunks that its schedule gives it. Each layer of the chain recomputes what `choices` says, if they
  /// are given; the setting then recomputes nothing.
  [[nodiscard]] stage_parts operator()(std::size_t stage, std::span<std::uint32_t const> cuts, std::span<layer_choice const> choices = {}) {
    stage_parts out;
    auto const stages = static_cast<std::size_t>(by_.pipeline.stages);
    auto const chunks = cuts.size() - 1;
    auto const first_layer = front_ + (model_.vocabulary > 0 ? 1U : 0U);
    auto const last_layer = first_layer + static_cast<std::uint32_t>(model_.layers + model_.mtp_layers);
    grouped_states states, of_tower;  // those of a tower with degrees of its own
    work_ = {};
    auto pixels = checked(0);
    std::int64_t first_flight = 0, mtp = 0;
    bool has_embedding = false, has_head = false;
    stage_content has{.dense = false, .experts = false, .head = false, .scored = false, .linear = false, .space = false, .conv = false};
    for (std::size_t c = 0; c < chunks; ++c) {
      if (std::visit([&](auto const& s) { return s.stage_of(c, stages); }, by_.pipeline.schedule) != stage) continue;
      auto const flight = flight_of(stage, c / stages);
      if (cuts[c] <= front_ && front_ < cuts[c + 1] && model_.vocabulary > 0) {
        has_embedding = true;
        first_flight = flight;
        add(states, embedding_, 1);
      }
      auto const begin = (std::max)(cuts[c], first_layer), end = (std::min)(cuts[c + 1], last_layer);
      auto const found = chunk(begin, end, first_layer, choices);
      if (cuts[c] < front_) {
        out.kept =
            out.kept + front(cuts[c], (std::min)(cuts[c + 1], front_), found.kept, flight, tower_apart() ? of_tower : states, has.tower);
        if (cuts[c] == 0) pixels = pixel_bytes(whole_->vision, by_.model, batch_);
      }
      out.kept = out.kept + found.kept * checked(flight);
      work_.all_moved = work_.all_moved + found.moved * checked(flight);
      for (std::size_t i = 0; i < kinds_.size(); ++i) {
        if (found.number[i] == 0) continue;
        add(states, kinds_[i].states, found.number[i]);
        add_layer(has, model_, kind_of_.first(i));
      }
      mtp += found.mtp;
      if (found.mtp > 0) add(states, merging_, found.mtp);
      if (c + 1 == chunks && model_.vocabulary > 0) {
        has_head = has.head = true;
        add(states, head_, 1);
      }
    }
    auto const copied = !has_embedding && ((mtp > 0 && !model_.tied) || (has_head && shares_head(model_)));
    if (copied) add(states, copy_, 1);
    auto all_states = on(states);
    if (tower_apart()) all_states += device_states(of_tower, sharding(tower_), by_.model.experts(), by_.model.kernels.instances);
    auto const held = place(all_states, by_.model.moved).device;
    out.states = sum_fits(states) && sum_fits(of_tower) ? checked(held.total()) : checked(checked::none);
    auto gradients = checked(0);  // those that do not exist when the head runs
    if (pytorch() && !keeps_gradients()) {
      gradients = checked(held.gradient);
      out.states = without(out.states, gradients);
      if (by_.model.kernels.step_in_backward) {  // one at a time, of which that of the embedding is the largest
        auto const matrix = (std::max)(copy_.sharded.gradient, front_gradient_);
        auto const largest = device_states({.sharded = {.gradient = matrix}}, sharding(), by_.model.experts());
        out.states = out.states + checked((std::min)(largest.gradient, held.gradient));
        gradients = checked(0);
      }
    }
    out.workspace = checked(workspace_bytes(model_, by_.model, batch_, hopper_, has, whole_ ? &whole_->vision : nullptr));
    add_inputs(out, has_embedding ? first_flight : 0);
    out.inputs = out.inputs + pixels;
    add_gathered(out, states, of_tower, has_embedding, has_head, held.gradient);
    if (pytorch() && stages > 1) add_received(out, stage, cuts);
    add_moments(out, has_head, mtp);
    // gradients come as activations on the device go
    auto const there = out.kept + back_on_device();
    auto const rest = there.fits() && gradients.fits() ? checked((std::max)(gradients.value - there.value, std::int64_t{0})) : gradients;
    out.extra[1] = out.extra[1] + rest;
    out.extra[3] = out.extra[3] + rest;
    return out;
  }
  /// Whether a stage holds all parameters gathered: FSDP2 does in a pipeline, where its gradients are not sharded either.
  [[nodiscard]] bool gathers_all() const noexcept { return fsdp() && (by_.pipeline.stages > 1 || by_.model.spread.zero == 2); }
  /// What a layer of the chain adds to the states of a stage in the middle, with what `gathers_all` says.
  [[nodiscard]] std::int64_t states_of_layer(std::size_t at) {
    auto const layer = static_cast<std::int64_t>(at) - (model_.vocabulary > 0 ? 1 : 0), last = model_.layers + model_.mtp_layers;
    grouped_states states;
    std::size_t which = 0;
    if (layer < 0) add(states, embedding_, 1);
    if (layer >= 0 && layer < last) add(states, kind((std::min)(layer, model_.layers - 1), which).states, 1);
    if (layer >= model_.layers && layer < last) add(states, merging_, 1);
    if (layer >= last) add(states, head_, 1);
    if ((layer >= last && shares_head(model_)) || (layer == model_.layers && model_.mtp_layers > 0 && !model_.tied)) add(states, copy_, 1);
    auto const held = place(on(states), by_.model.moved).device;
    return (checked(held.total()) + gathered_beside(states, {}, held.gradient)).value;
  }

 private:
  /// What layers of one kind have: with or without experts, with or without linear attention.
  struct layer_kind {
    bool known = false;
    grouped_states states{};
    checked none{0}, chosen{0}, full{0},
        products{0};                         // kept: nothing, the modules of the setting, the layer, every second product recomputed
    checked moved{0}, chosen_moved{0};       // of `none` and `chosen`, what is in host memory
    module_set modules{};                    // what `chosen` recomputes
    std::optional<layer_tensors> tensors{};  // none if no backward pass reaches it
    checked gradients{0}, scores{0};         // while its backward pass runs; of stored scores
    checked buffers{0};                      // gathered parameters and their gradients, under ZeRO-3
    checked parameters{0};                   // gathered parameters of the layer, under FSDP2
  };
  /// The layers of a chunk.
  struct chunk_sum {
    checked kept{0}, moved{0};
    std::array<std::int64_t, kind_numbers::most> number{};  // of layers of each kind
    std::int64_t mtp = 0;
  };
  /// The largest layers of a stage, and what all of them have in host memory.
  struct at_work {
    checked backward{0}, kept{0}, moved{0}, scores{0}, parameters{0}, all_moved{0};
    checked root{0};   // gathered parameters of patch embedding and projector, under FSDP2
    checked front{0};  // as `backward`, of the tower and the projector, without what the language model has freed by then
  };

  [[nodiscard]] bool megatron() const noexcept { return count_ == tensor_count::megatron; }
  [[nodiscard]] bool pytorch() const noexcept { return count_ == tensor_count::eager || count_ == tensor_count::compiled; }
  /// Where FSDP2 does not gather parameters anew, as in a pipeline, it is ZeRO 2 to planners of time; its states are sharded all the same.
  [[nodiscard]] parallelism sharding() const noexcept { return sharding(by_.model); }
  [[nodiscard]] parallelism sharding(model_setting const& of) const noexcept {
    auto out = of.spread;
    if (pytorch() && out.zero == 2 && (by_.pipeline.stages > 1 || by_.model.kernels.kept_copies)) out.zero = 3;
    return out;
  }
  [[nodiscard]] bool fsdp() const noexcept { return pytorch() && sharding().zero >= 3 && by_.model.spread.data > 1; }
  /// Whether the tower has degrees of its own. Its states are then on other devices than those of the language model.
  [[nodiscard]] bool tower_apart() const noexcept { return whole_ && by_.model.tile_shares() > 1; }
  /// Whether gradients exist when the head runs: not if each step makes them anew and nothing else holds them.
  [[nodiscard]] bool keeps_gradients() const noexcept {
    auto const& k = by_.model.kernels;
    return !k.step_in_backward && (by_.micro_batches > 1 || by_.model.spread.data > 1 || by_.model.moved != offload::none);
  }
  [[nodiscard]] trainable outside() const noexcept {
    return {.what = by_.model.language.what == trained::all ? trained::all : trained::none};
  }
  [[nodiscard]] state_size on(grouped_states const& states) const {
    return device_states(states, sharding(), by_.model.experts(), by_.model.kernels.instances);
  }
  void add(grouped_states& to, grouped_states const& from, std::int64_t times) {
    auto const one = [&](std::int64_t& sum, std::int64_t value) {
      auto const next = checked(sum) + checked(value) * checked(times);
      fits_ = fits_ && next.fits();
      sum = next.fits() ? next.value : 0;
    };
    auto const group = [&](state_size& sum, state_size const& value) {
      one(sum.parameter, value.parameter);
      one(sum.gradient, value.gradient);
      one(sum.optimizer, value.optimizer);
    };
    group(to.sharded, from.sharded);
    group(to.replicated, from.replicated);
    group(to.experts, from.experts);
  }

  /// Whether no sum of states of a stage reaches 2^63.
  [[nodiscard]] bool sum_fits(grouped_states const& states) const noexcept {
    auto sum = checked(0);
    for (auto const* const group : {&states.sharded, &states.replicated, &states.experts})
      sum = sum + checked(group->parameter) + checked(group->gradient) + checked(group->optimizer);
    return fits_ && sum.fits();
  }

  /// Micro-batches of a chunk that a stage holds when its head, or its first backward pass, runs.
  [[nodiscard]] std::int64_t flight_of(std::size_t stage, std::size_t chunk) const {
    auto const stages = by_.pipeline.stages, micro = static_cast<std::uint64_t>(by_.micro_batches), v = by_.chunks();
    auto const groups = std::holds_alternative<interleaved_schedule>(by_.pipeline.schedule);
    auto const all = groups ? divide_up(micro, stages) * stages : micro;  // empty micro-batches fill the last group
    auto const held = std::visit([&](auto const& s) { return s.in_flight(stage, stages, all).held; }, by_.pipeline.schedule);
    if (!groups) return static_cast<std::int64_t>(divide_up(held, v));
    // groups of `stages` micro-batches pass through the chunks in turn
    auto const round = stages * v, rest = held % round, begin = chunk * stages;
    return static_cast<std::int64_t>((std::min)(held / round * stages + (rest > begin ? (std::min)(rest - begin, stages) : 0), micro));
  }

  /// Bytes of tensors for some tokens on one device.
  [[nodiscard]] checked bytes(tensor_bytes const& of, parallelism const& spread, checked tokens, checked squares) const {
    auto const t = spread.tensor, c = spread.context;
    auto const parts = checked(of.whole + of.rows * by_.model.experts().expert_tensor), split = checked(of.split);
    auto const by_token =
        spread.sequence_parallel ? divided((parts + split) * tokens, t * c) : divided(parts * tokens, c) + divided(split * tokens, t * c);
    return by_token + divided(checked(of.gathered) * tokens, c) + divided(checked(of.scores) * squares, t * c);
  }
  /// Bytes of tensors for the micro-batch on one device.
  [[nodiscard]] checked bytes(tensor_bytes const& of) const {
    return bytes(of, by_.model.spread, checked(batch_.tokens), checked(batch_.squares));
  }
  /// Bytes of tensors for the tiles on one device, each of which has some tokens and squares.
  [[nodiscard]] checked of_tiles(tensor_bytes const& of, std::int64_t tokens, std::int64_t squares = 0) const {
    auto const tiles = checked(divide_up(batch_.tiles, by_.model.tile_shares()));  // of the device with most
    return bytes(of, tower_.spread, checked(tokens) * tiles, checked(squares) * tiles);
  }
  /// Bytes in the framework: stored scores are as large in all.
  template <class Bytes>
  [[nodiscard]] checked in_framework(tensor_bytes of, Bytes const& bytes_of) const {
    auto const scores = bytes_of({.scores = of.scores});
    of.scores = 0;
    return divided(bytes_of(of) * checked(by_.model.framework.activations), 1000) + scores;
  }
  [[nodiscard]] checked in_framework(tensor_bytes const& of) const {
    return in_framework(of, [&](tensor_bytes const& some) { return bytes(some); });
  }
  [[nodiscard]] checked residual(std::int64_t values) const { return bytes({.whole = values}); }

  /// The kind of a layer, with what it keeps if some modules are recomputed.
  [[nodiscard]] layer_kind const& kind(std::int64_t layer, std::size_t& number, module_set modules) {
    auto& out = kind(layer, number);
    if (out.modules == modules || !out.tensors) return out;
    out.modules = modules;
    out.chosen = in_framework(out.tensors->kept(modules));
    if (megatron() && offloads_) out.chosen_moved = without(out.chosen, in_framework(out.tensors->kept(modules, by_.model.kernels.moved)));
    return out;
  }
  [[nodiscard]] layer_kind& kind(std::int64_t layer, std::size_t& number) {
    number = kind_of_(layer);
    auto& out = kinds_[number];
    if (out.known) return out;
    out.known = true;
    auto const& m = by_.model;
    out.states = layer_states(model_, layer, m.optimizer, m.language);
    if (fsdp()) out.parameters = whole_parameters(out.states);
    if (!megatron() && !pytorch()) out.buffers = buffers(out.states);
    if (!reached_) return out;  // no backward pass reaches it
    auto const& tensors = out.tensors.emplace(layer_tensors_of(model_, layer, m.activations(m.language, by_.micro_batch > 1)));
    out.none = in_framework(tensors.kept({}));
    out.full = residual((megatron() || pytorch() ? m.kernels.value : 2) * model_.hidden);
    if (megatron() && offloads_) out.moved = without(out.none, in_framework(tensors.kept({}, m.kernels.moved)));
    out.chosen = out.none, out.chosen_moved = out.moved;
    if (by_.recompute.what == recompute_setting::kind::products)
      out.products = checked(kept_products(model_, layer, m).bytes.per_token) * checked(batch_.tokens);
    if (megatron() || pytorch()) {
      auto const a = tensors.gradients(gradient_block::attention), f = tensors.gradients(gradient_block::feed_forward);
      // two gradients of the residual stream; PyTorch has them before they are scattered over a sequence-parallel group
      auto const two = 2 * m.kernels.value * model_.hidden;
      out.gradients = larger(bytes(a), bytes(f)) + bytes(pytorch() ? tensor_bytes{.gathered = two} : tensor_bytes{.whole = two});
      if (m.activations().stores_scores()) out.scores = bytes({.scores = 2 * model_.query_heads});
    } else {
      out.gradients = out.none;  // recomputed tensors, or the gradients of kept ones
    }
    return out;
  }
  /// States on a device, not sharded; `of_tower` are those of a tower that is apart.
  [[nodiscard]] state_size whole(grouped_states const& states, grouped_states const& of_tower = {}) const {
    auto const held = [&](grouped_states const& some, parallelism spread) {
      spread.zero = 0;
      return device_states(some, spread, by_.model.experts());
    };
    auto out = held(states, by_.model.spread);
    if (tower_apart()) out += held(of_tower, tower_.spread);
    return out;
  }
  /// Bytes of parameters on a device, gathered as they are computed with; none if the setting says that they take no memory.
  [[nodiscard]] checked whole_parameters(grouped_states const& states, grouped_states const& of_tower = {}) const {
    auto const stored = (std::max)(by_.model.optimizer.state.parameter, std::int64_t{1});
    return divided(checked(by_.model.kernels.value) * checked(whole(states, of_tower).parameter), stored);
  }
  /// The same of a part of the tower.
  [[nodiscard]] checked whole_of_tower(grouped_states const& states) const {
    return tower_apart() ? whole_parameters({}, states) : whole_parameters(states);
  }
  /// Gathered parameters, and as many values in float32 beside them.
  [[nodiscard]] checked with_floats(checked gathered) const {
    auto const e = by_.model.kernels.value;
    return divided(checked(4 + e) * gathered, e);
  }
  /// What `local_gradient` holds beside `sharded` bytes of gradients, which come as the others go.
  [[nodiscard]] checked local_gradients(grouped_states const& states, grouped_states const& of_tower, std::int64_t sharded) const {
    auto const& m = by_.model;
    auto const each = m.kernels.local_gradient, stored = m.optimizer.state.gradient;
    auto const over = m.spread.zero >= 2;
    if (!pytorch() || each == 0 || stored == 0 || m.spread.data == 1 || (over && by_.micro_batches == 1)) return checked(0);
    auto const all = divided(checked(each) * checked(whole(states, of_tower).gradient), stored);
    return over && all.fits() ? checked((std::max)(all.value - sharded, std::int64_t{0})) : all;
  }
  /// What a stage that `gathers_all` holds beside its states: in a pipeline, gradients in float32 that are not sharded until the last
  /// micro-batch.
  [[nodiscard]] checked gathered_beside(grouped_states const& states, grouped_states const& of_tower, std::int64_t sharded) const {
    auto const gathered = whole_parameters(states, of_tower);
    return by_.pipeline.stages > 1 ? with_floats(gathered) : gathered + local_gradients(states, of_tower, sharded);
  }
  /// The parameters of a layer and of the next one, gathered, and its gradients before they are scattered.
  [[nodiscard]] checked buffers(grouped_states const& states) const { return buffers(states, by_.model.spread); }
  [[nodiscard]] checked buffers(grouped_states const& states, parallelism spread) const {
    if (by_.model.moved != offload::parameters && (spread.zero < 3 || spread.data == 1)) return checked(0);
    spread.zero = 0;
    auto const whole = device_states(states, spread, by_.model.experts());
    return checked(2 * whole.parameter + whole.gradient);
  }

  /// What a layer keeps: all of it, and what of that is in host memory.
  struct kept_sum {
    checked all{0}, moved{0};
  };
  /// Where units of several layers are recomputed at once: what the layers of a unit have together, and what it keeps.
  struct unit_sum {
    checked whole{0}, input{0};
  };
  /// Layers of a chunk that are alike.
  struct alike_layers {
    std::int64_t layer = 0;   // one of them
    std::int64_t number = 0;  // how many there are
    bool full = false;        // whether they are recomputed in full
    module_set again{};       // or which modules are
    std::int64_t at = 0;      // where the layer is in its chunk, if that matters
  };

  [[nodiscard]] bool in_units() const noexcept {
    return by_.recompute.what == recompute_setting::kind::uniform && by_.recompute.layers > 1;
  }
  [[nodiscard]] kept_sum kept_by(layer_kind const& of, bool full, bool products) const {
    if (full) return {of.full, checked(0)};
    if (products && smaller(of.chosen, of.products).value != of.chosen.value) return {of.products, checked(0)};
    return {of.chosen, of.chosen_moved};
  }
  /// A layer at work: its backward pass has `whole`, of which `there` was kept.
  void add_work(layer_kind const& of, kept_sum const& kept, checked whole, checked there) {
    auto backward = of.gradients;
    if ((megatron() || pytorch()) && there.fits() && whole.fits())
      backward = backward + checked((std::max)(whole.value - there.value, std::int64_t{0}));
    if (count_ == tensor_count::table && by_.recompute.what == recompute_setting::kind::uniform) backward = larger(backward, whole);
    work_.backward = larger(work_.backward, backward + of.buffers);
    work_.kept = larger(work_.kept, kept.all);
    work_.moved = larger(work_.moved, kept.moved);
    work_.scores = larger(work_.scores, of.scores);
    work_.parameters = larger(work_.parameters, of.parameters);
  }
  void add_layers(chunk_sum& out, unit_sum& unit, alike_layers const& are) {
    auto const extra = are.layer >= model_.layers;  // for multi-token prediction
    std::size_t which = 0;
    auto const& of = kind(extra ? model_.layers - 1 : are.layer, which, are.again);
    out.number[which] += are.number;
    auto kept = kept_by(of, are.full, by_.recompute.what == recompute_setting::kind::products && !extra);
    auto whole = of.none, there = kept.all;  // of what the backward pass has, the part that was kept
    if (in_units() && !extra) {
      auto const starts = are.at % by_.recompute.layers == 0;
      unit = {starts ? whole : unit.whole + whole, starts ? kept.all : unit.input};
      if (!starts) kept.all = checked(0);
      whole = unit.whole;
      there = unit.input;
    }
    if (pytorch() && offloads_) kept.moved = kept.all;
    add_work(of, kept, whole, there);
    out.kept = out.kept + without(kept.all, kept.moved) * checked(are.number);
    out.moved = out.moved + kept.moved * checked(are.number);
    if (!extra) return;
    ++out.mtp;
    out.kept = out.kept + bytes(merging_inputs(model_, by_.model));
  }

  /// Layers of the chain in [begin, end), which are transformer layers and those for multi-token prediction. Layers of one kind that are
  /// recomputed alike are summed at once.
  [[nodiscard]] chunk_sum chunk(std::uint32_t begin, std::uint32_t end, std::uint32_t first_layer, std::span<layer_choice const> choices) {
    return choices.empty() ? chunk_of_setting(begin, end, first_layer) : chunk_of_choices(begin, end, first_layer, choices);
  }
  [[nodiscard]] chunk_sum chunk_of_choices(std::uint32_t begin, std::uint32_t end, std::uint32_t first_layer,
                                           std::span<layer_choice const> choices) {
    chunk_sum out;
    unit_sum unit;
    auto const layer = [&](std::uint32_t at) { return static_cast<std::int64_t>(at - first_layer); };
    for (auto i = begin, next = begin; i < end; i = next) {
      auto const alike = [&](std::uint32_t at) {
        return layer(at) < model_.layers && choices[at] == choices[i] && kind_of_(layer(at)) == kind_of_(layer(i));
      };
      for (++next; next < end && layer(i) < model_.layers && alike(next);) ++next;
      add_layers(out, unit, {.layer = layer(i), .number = next - i, .full = choices[i].full, .again = choices[i].modules});
    }
    return out;
  }
  /// Whether the n-th layer of its chunk is recomputed in full.
  [[nodiscard]] bool in_full(std::int64_t layer, std::int64_t n) const noexcept {
    using enum recompute_setting::kind;
    auto const& again = by_.recompute;
    if (layer >= model_.layers) return again.what == uniform;
    return again.what == uniform || (again.what == block && n < again.layers) ||
           (again.what == alternate && n % again.layers == again.layers - 1);
  }
  [[nodiscard]] chunk_sum chunk_of_setting(std::uint32_t begin, std::uint32_t end, std::uint32_t first_layer) {
    chunk_sum out;
    unit_sum unit;
    auto const again = by_.recompute.what == recompute_setting::kind::modules ? by_.recompute.modules : module_set{};
    std::array<std::array<alike_layers, 2>, kind_numbers::most> groups{};  // by kind, and by whether they are recomputed in full
    for (auto i = begin; i < end; ++i) {
      auto const n = static_cast<std::int64_t>(i - begin), layer = static_cast<std::int64_t>(i - first_layer);
      auto const full = in_full(layer, n);
      if (in_units() || layer >= model_.layers) {
        add_layers(out, unit, {.layer = layer, .number = 1, .full = full, .again = again, .at = n});
        continue;
      }
      auto& group = groups[kind_of_(layer)][full ? 1 : 0];
      group = {.layer = layer, .number = group.number + 1, .full = full, .again = again};
    }
    for (auto const& of_kind : groups)
      for (auto const& group : of_kind)
        if (group.number > 0) add_layers(out, unit, group);
    return out;
  }

  /// A tower: patch embedding, vision layers, projector. Layers are the same, but for windows where scores are stored.
  void prepare_front(vision_language_model const& m) {
    auto const& vision = m.vision;
    auto const& by = by_.model;
    tower_ = vision_setting(by);
    front_ = static_cast<std::uint32_t>(vision.computed_layers()) + 2;
    auto one = vision;  // what is outside the layers is that of a tower of one
    one.body.layers = 1;
    one.unused_layers = 0;
    auto const rest = parameters(one) - layer_parameters(one.body, 0);
    trainable const outside{.what = by.vision.what == trained::all ? trained::all : trained::none};
    patches_ = states_of({.replicated = rest}, by.optimizer, outside);
    unused_ = states_of({.sharded = vision.unused_layers * layer_parameters(vision.body, 0)}, by.optimizer, {.what = trained::none});
    vision_layer_ = layer_states(vision.body, 0, by.optimizer, by.vision);
    projector_ = states_of({.sharded = parameters(m.projector)}, by.optimizer, by.projector);
    auto const tower = by.vision.what != trained::none, bridge = tower || by.projector.what == trained::all;
    reached_ = reached_ || bridge;
    auto const& p = m.projector;
    std::int64_t widest = by.vision.what == trained::all
                              ? (std::max)(vision.body.ffn, vision.body.query_heads * vision.body.head_width) * vision.body.hidden
                              : 0;
    if (by.projector.what == trained::all)
      widest = (std::max)({widest, p.matrices == 1 ? p.input * p.output : (std::max)(p.input, p.output) * p.inner_width(),
                           p.input * p.merged, p.output * p.gated});
    front_gradient_ = states_of({.sharded = widest}, by.optimizer, {}).sharded.gradient;

    auto const n = vision.tokens(), h = vision.body.hidden, e = pytorch() ? by.kernels.value : std::int64_t{2};
    auto const several = batch_.tiles > 1;
    auto const block = [&](layer_tensors const& tensors, auto const& on) {
      return larger(on(tensors.gradients(gradient_block::attention)), on(tensors.gradients(gradient_block::feed_forward)));
    };
    if (tower) {
      for (std::size_t windowed = 0; windowed < 2; ++windowed) {
        auto const seen = windowed == 1 && vision.body.window > 0 ? (std::min)(vision.body.window, n) : n;
        auto const on = [&](tensor_bytes const& of) { return of_tiles(of, n, n * seen); };
        auto const tensors = layer_tensors_of(vision.body, 0, tower_.activations(by.vision, several));
        auto& to = layers_of_tiles_[windowed];
        auto const all = in_framework(tensors.kept({}), on);
        // trainers on PyTorch recompute all layers of a model; Megatron-Core those of the language model alone
        auto const full = !megatron() && by_.recompute.what == recompute_setting::kind::uniform;
        to.kept = full ? of_tiles({.whole = e * h}, n) : all;
        to.backward = count_ == tensor_count::table ? all : block(tensors, on) + of_tiles({.gathered = 4 * h}, n);
        if (full && count_ != tensor_count::table && all.fits() && to.kept.fits())
          to.backward = to.backward + checked((std::max)(all.value - to.kept.value, std::int64_t{0}));
        if (count_ == tensor_count::table) to.backward = to.backward + buffers(vision_layer_, tower_.spread);
      }
    }
    of_patches_.kept = of_tiles(patch_tensors_of(vision, tower_.activations(by.vision)).kept({}), 1);
    if (!bridge) return;
    for (std::int64_t i = 0; i < p.count(); ++i) {
      auto const tensors = projector_tensors_of(m, tower_.activations(by.projector), i > 0);
      auto const on = [&](tensor_bytes const& of) { return of_tiles(of, p.tokens); };
      of_projector_.kept = of_projector_.kept + on(tensors.kept({}));
      of_projector_.backward = larger(of_projector_.backward, block(tensors, on) + on({.gathered = e * (p.input + p.output)}));
    }
    if (vision.unused_layers == 0 && tower && count_ != tensor_count::table)
      of_projector_.kept = of_projector_.kept + of_tiles(final_norm_inputs(vision.body, by, by.vision), n);
  }
  /// What layers in front of the language model keep for `flight` micro-batches: those of the chain in [begin, end), with `freed` bytes of
  /// language layers behind them in the chunk.
  [[nodiscard]] checked front(std::uint32_t begin, std::uint32_t end, checked freed, std::int64_t flight, grouped_states& states,
                              bool& has_tower) {
    auto kept = checked(0), moved = checked(0);
    auto const visit = [&](grouped_states const& own, tile_layer const& of) {
      add(states, own, 1);
      kept = kept + of.kept;
      if (pytorch() && offloads_) moved = of.kept, work_.moved = larger(work_.moved, moved);
      auto const rest =
          of.backward.fits() && freed.fits() ? checked((std::max)(of.backward.value - freed.value, std::int64_t{0})) : of.backward;
      work_.front = larger(work_.front, rest);
      work_.all_moved = work_.all_moved + moved * checked(flight);
    };
    for (auto i = begin; i < end; ++i) {
      if (i == 0) {
        visit(patches_, of_patches_);
        add(states, unused_, 1);
        if (fsdp()) work_.root = work_.root + whole_of_tower(patches_) + whole_of_tower(unused_);
      } else if (i + 1 == front_) {
        visit(projector_, of_projector_);
        if (fsdp()) work_.root = work_.root + whole_of_tower(projector_);
      } else {
        auto const& body = whole_->vision.body;
        visit(vision_layer_, layers_of_tiles_[body.window > 0 && body.windowed.contains(i - 1) ? 1 : 0]);
        has_tower = true;
        if (fsdp()) work_.parameters = larger(work_.parameters, whole_of_tower(vision_layer_));
      }
    }
    return pytorch() && offloads_ ? checked(0) : kept * checked(flight);
  }

  void add_inputs(stage_parts& to, std::int64_t flight) const {
    to.inputs = input_bytes(by_.model, batch_);
    if (megatron() && by_.model.kernels.hidden_dropout) to.inputs = to.inputs + residual(model_.hidden) * checked(flight);
  }
  void add_gathered(stage_parts& to, grouped_states const& states, grouped_states const& of_tower, bool has_embedding, bool has_head,
                    std::int64_t sharded) const {
    if (megatron() && by_.model.spread.zero >= 3) {  // Megatron-FSDP keeps embedding and head gathered
      auto const embedding = has_embedding || (has_head && shares_head(model_)) ? model_.vocabulary : 0;
      auto const head = has_head && !shares_head(model_) ? head_rows(model_) : 0;
      to.gathered = divided(checked(2 * model_.hidden) * checked(embedding + head), by_.model.spread.tensor);
    }
    if (!fits_) return;
    auto const& k = by_.model.kernels;
    if (!fsdp()) {
      to.gathered = to.gathered + local_gradients(states, of_tower, sharded);
      if (pytorch() && k.kept_copies && by_.model.optimizer.state.parameter > k.value) {  // the embedding is no product, and not cast
        auto const looked_up = has_embedding && !shares_head(model_) ? whole_parameters(embedding_) : checked(0);
        to.gathered = to.gathered + without(whole_parameters(states, of_tower), looked_up);
      }
      return;
    }
    auto const layer = work_.parameters;
    if (by_.pipeline.stages > 1) {
      to.gathered = gathered_beside(states, of_tower, sharded);
      if (k.stream_pools) to.gathered = to.gathered + checked(2) * layer;
      return;
    }
    auto root = work_.root;
    if (has_embedding) root = root + whole_parameters(embedding_);
    if (has_head) root = root + whole_parameters(head_);
    // all of them, or embedding and head, the layer at work, and the next
    to.gathered =
        gathers_all() ? gathered_beside(states, of_tower, sharded) : root + checked(2) * layer + local_gradients(states, of_tower, sharded);
    // the pool of the stream that reduces gradients has them in float32, the pool of the one that gathers as they are computed with
    if (k.stream_pools) to.gathered = to.gathered + with_floats(root + layer);
  }
  /// PyTorch's pipelines have a buffer for each micro-batch that a stage receives.
  void add_received(stage_parts& to, std::size_t stage, std::span<std::uint32_t const> cuts) const {
    auto received = checked(0);
    auto const e = by_.model.kernels.value;
    auto const handed = [&](std::uint32_t at) {  // in front of a layer of the chain
      if (at > front_ || whole_ == nullptr) return residual(e * model_.hidden);
      if (at == front_) return of_tiles({.whole = e * whole_->projector.output * whole_->projector.count()}, whole_->projector.tokens);
      return of_tiles({.whole = e * whole_->vision.body.hidden}, whole_->vision.tokens());
    };
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      if (std::visit([&](auto const& s) { return s.stage_of(c, by_.pipeline.stages); }, by_.pipeline.schedule) != stage) continue;
      if (c > 0) received = received + handed(cuts[c]);
      if (c + 2 < cuts.size()) received = received + handed(cuts[c + 1]);
    }
    to.inputs = to.inputs + received * checked(by_.micro_batches);
  }
  /// Of tensors that are moved to host memory, those on the device: three layers' worth, if there are as many. They are at work, on their
  /// way, and waiting to be copied.
  [[nodiscard]] checked back_on_device() const { return smaller(checked(3) * work_.moved, work_.all_moved); }
  void add_moments(stage_parts& to, bool has_head, std::int64_t mtp) const {
    auto const& m = by_.model;
    auto const t = m.spread.tensor, c = m.spread.context;
    auto const backward = work_.backward + back_on_device();
    to.extra[1] = larger(work_.backward, work_.front) + back_on_device();
    if (megatron() && m.kernels.expert_overlap) to.extra[2] = without(work_.kept, work_.moved) + backward + work_.scores;
    if (!has_head) return;
    auto const each = bytes_per_logit(m.loss, count_, m.kernels.value);
    auto const logits = checked(head_rows(model_)) * checked(batch_.tokens);
    auto const some = m.loss.share == 1000 ? logits : divided(logits * checked(m.loss.share), 1000);
    auto head =
        divided(some * checked(each.kept + each.working), t * c) + divided(divided(some * checked(each.of_a_chunk), t * c), m.loss.chunks);
    head = head + divided(logits * checked(each.kept * mtp), t * c) + bytes(head_inputs(model_, m));
    auto const waiting = (std::min)(m.kernels.deferred, by_.micro_batches - 1);
    if (megatron() && waiting > 0)
      head =
          head + (divided(checked(2) * logits, t * c) + divided(checked(2 * model_.hidden) * checked(batch_.tokens), c)) * checked(waiting);
    if (m.framework.separate_logits) head = head + backward;
    if (count_ == tensor_count::table) head = head + buffers(head_);
    to.extra[0] = head;
  }

  /// What a layer in front of the language model keeps for the tiles of a micro-batch, and needs in addition in its backward pass.
  struct tile_layer {
    checked kept{0}, backward{0};
  };

  transformer const& model_;
  training_setting const& by_;
  batch_shape batch_;
  bool hopper_;
  tensor_count count_;
  vision_language_model const* whole_;
  model_setting tower_{};    // how the tower is computed
  std::uint32_t front_ = 0;  // layers of the chain in front of the language model
  grouped_states patches_{}, unused_{}, vision_layer_{}, projector_{};
  tile_layer of_patches_{}, of_projector_{};
  std::array<tile_layer, 2> layers_of_tiles_{};  // without and with a window
  std::int64_t front_gradient_ = 0;              // of the largest matrix of tower and projector
  bool offloads_ = false, fits_ = true, reached_ = true;
  grouped_states embedding_, copy_, head_, merging_;
  kind_numbers kind_of_;
  std::array<layer_kind, kind_numbers::most> kinds_{};
  at_work work_{};
};

}  // namespace ballast::inline v0_2::detail
