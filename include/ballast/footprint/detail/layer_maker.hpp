// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Layers of models, one after the other. Private.

namespace ballast::inline v0_2::detail {

/// Builds the chain of a model, layer by layer, for one device of its groups.
struct layer_maker {
  model_setting const& by;
  std::vector<layer> made{};
  bool trained_before = false;  // whether a layer in `made` is trained

  explicit layer_maker(model_setting const& setting) : by(setting) {
    require_valid(by);
    require(by.spread.tensor * by.spread.context <= std::int64_t{1} << 24,
            [] { return std::string("tensor * context must be at most 2^24"); });
  }
  [[nodiscard]] std::int64_t shards() const { return by.spread.tensor * by.spread.context; }

  [[nodiscard]] state_size states_on(grouped_states const& states, parallelism const& spread) const {
    return device_states(states, spread, by.experts(), by.kernels.instances);
  }

  /// Adds a layer without costs, and with all that follows from its states.
  layer& add(std::string name, std::int64_t parameters, grouped_states const& states, trainable const& is, batch_cost const& boundary) {
    made.push_back({.name = std::move(name), .parameters = parameters, .boundary = boundary});
    auto& out = made.back();
    out.state = place(states_on(states, by.spread), by.moved).device.total();
    auto spread = by.spread;
    spread.zero = 0;
    auto const whole = states_on(states, spread);
    // the layer's parameters and those of the next one, gathered, and the layer's gradients before they are scattered
    if (by.moved == offload::parameters || (by.spread.zero >= 3 && by.spread.data > 1)) out.buffers = 2 * whole.parameter + whole.gradient;
    if (by.moved == offload::none) {
      spread.zero = by.spread.zero >= 1 ? 3 : 0;
      auto const mine = states_on(states, spread);
      out.updated = 2 * mine.optimizer + mine.gradient + (is.what == trained::all ? mine.parameter : 0);
    }
    add_state_exchanges(states, is);
    return out;
  }

  /// Adds one transformer layer, with costs by token and square on one tensor-parallel device; context parallelism divides both. If `tile`
  /// tokens are given, it is a layer of a vision encoder and has costs by tile.
  /// `more` parameters belong to the layer beside its own.
  void add_transformer_layer(transformer const& model, std::int64_t which, std::string name, trainable const& is, std::int64_t tile = 0,
                             parameter_groups const& more = {}) {
    auto const flops = layer_training_flops(model, which, is, trained_before);
    // pairs are tokens^2 where all see all or scores are stored, half of (tokens^2 + tokens) where causal, at most `window` a token where
    // windowed
    auto const counted = by.activations(is);
    auto const halved = !counted.stores_scores();
    auto const work = [&](transformer_cost const& cost) {
      auto const squares = cost.causal && halved ? cost.per_pair / 2 : cost.per_pair;
      auto const diagonal = cost.causal && halved ? cost.per_pair - squares : 0;
      return batch_cost{divide_up(cost.per_token + diagonal + cost.per_windowed_pair * cost.windowed_keys(), shards()),
                        divide_up(squares, shards()), 0};
    };
    auto const of = [&](batch_cost const& c) {
      if (tile == 0) return c;
      batch_shape const sample{.tokens = tile, .squares = tile * tile, .tiles = 0};
      require(c.fits(sample),
              [&] { return "body.positions = " + std::to_string(tile) + " bring a layer's cost of a tile to 2^63 or more"; });
      return c.by_tile(sample);
    };
    auto const by_token = [&](std::int64_t cost) { return of({.per_token = divide_up(cost, by.spread.context)}); };
    auto states = layer_states(model, which, by.optimizer, is);
    auto const others = states_of(more, by.optimizer, is);
    states.sharded += others.sharded;
    states.replicated += others.replicated;
    auto& out = add(std::move(name), layer_parameters(model, which) + more.total(), states, is, by_token(2 * model.hidden));
    out.forward = of(work(flops.forward));
    out.backward = of(work(flops.backward));
    auto const backward = backward_factor(is, trained_before) > 0;
    add_activation_exchanges(out, model, which, tile, backward);
    auto const expert_tensor = by.experts().expert_tensor;
    auto const options = recompute_options(model, which, by.spread, by.recompute_modules, counted, expert_tensor);
    auto const share = [&](batch_cost const& c) {
      return of({divide_up(c.per_token, by.spread.context), divide_up(c.per_square, by.spread.context), 0});
    };
    if (counted.count == tensor_count::table) {
      out.working = share(in_framework(options.front().bytes));
    } else {  // beside what is kept, the gradients of one block, and two of the residual stream
      auto const tensors = layer_tensors_of(model, which, counted);
      auto const of_block = [&](gradient_block block) {
        auto bytes = tensors.gradients(block);
        (counted.count == tensor_count::megatron ? bytes.whole : bytes.gathered) += 2 * by.kernels.value * model.hidden;
        return share(bytes.on(by.spread, expert_tensor));
      };
      auto const a = of_block(gradient_block::attention), b = of_block(gradient_block::feed_forward);
      // what is computed again, three times what comes back from the host, and what another micro-batch keeps; layers may differ in the
      // options that are taken, so of each the most
      auto const beside = counted.count == tensor_count::megatron && by.kernels.expert_overlap;
      auto const all = share(tensors.kept({}).on(by.spread, expert_tensor));
      batch_cost repeated, returned, here;
      auto const raise = [](batch_cost& to, batch_cost const& most, batch_cost const& least) {
        to = most_of(to, {most.per_token - least.per_token, most.per_square - least.per_square, most.per_tile - least.per_tile});
      };
      for (auto const& o : options) {
        auto const held = share(o.bytes), kept = o.full ? held : share(tensors.kept(o.modules).on(by.spread, expert_tensor));
        raise(repeated, all, kept);
        raise(returned, kept, held);
        if (beside) raise(here, held, {});
      }
      auto again = repeated + returned + returned + returned + here;
      if (beside && counted.stores_scores()) again = again + share(tensor_bytes{.scores = 2 * model.query_heads}.on(by.spread));
      out.working = most_of(a, b) + again;
    }
    if (!backward) return out.add({});
    for (auto const& o : options)
      out.add({.recomputed = o.full              ? recomputation::full
                             : o.modules.empty() ? recomputation::none
                                                 : recomputation::selective,
               .bytes = share(o.full ? o.bytes : in_framework(o.bytes)),
               .work = o.full ? out.forward : share(o.work),
               .modules = o.modules});
    trained_before = trained_before || is.what != trained::none;
  }

  /// Adds the chain of a language model.
  void add_language_model(transformer const& model, std::string const& layers) {
    auto const is = by.language;
    trainable const outside{.what = is.what == trained::all ? trained::all : trained::none};  // embedding, final norm and head
    auto const by_token = [&](std::int64_t cost) { return batch_cost{.per_token = divide_up(cost, by.spread.context)}; };
    auto const embedding = embedding_parameter_groups(model);
    if (model.vocabulary > 0) {  // a look-up keeps nothing but indices, and the mask of its dropout
      auto const masked = by.framework.count == tensor_count::megatron && by.kernels.hidden_dropout;
      add("embedding", embedding.total(), states_of(embedding, by.optimizer, outside), outside, by_token(2 * model.hidden))
          .add({.bytes = by_token(masked ? tensor_bytes{.whole = model.hidden}.on(by.spread).per_token : 0)});
      trained_before = trained_before || outside.what == trained::all;
    }
    auto behind_trained = trained_before;  // the last layer that was added
    for (std::int64_t l = 0; l < model.layers; ++l) {
      auto const name = layers + " " + std::to_string(l);
      auto const alike = std::exchange(behind_trained, trained_before) == trained_before;
      if (l > 0 && alike && kind_of(model, l) == kind_of(model, l - 1)) {
        made.push_back(made.back());
        made.back().name = name;
      } else {
        add_transformer_layer(model, l, name, is);
      }
    }
    auto const copy = states_of({.sharded = embedding.sharded}, by.optimizer, outside);
    auto const copied = place(states_on(copy, by.spread), by.moved).device.total();
    auto const logits = logits_of(head_rows(model), by.loss, by.spread.tensor, by.framework.count, by.kernels.value);
    // the table's count has the inputs of the final norm and of the head whole, whatever the degrees
    auto const inputs = [&](tensor_bytes const& of) {
      return by.framework.count == tensor_count::table ? of.whole : of.on(by.spread).per_token;
    };
    for (std::int64_t l = 0; l < model.mtp_layers; ++l) {  // a layer, the projection of two inputs in front of it, and the head once more
      auto const h = model.hidden;
      add_transformer_layer(model, model.layers - 1, "mtp " + std::to_string(l), is, 0,
                            {.sharded = 2 * h * h, .replicated = 3 * norm_vectors(model)});
      auto& out = made.back();
      if (l == 0 && !model.tied) out.apart = copied;
      auto const flops = mtp_layer_flops(model).per_token - layer_flops(model, model.layers - 1).per_token;
      batch_cost const work{.per_token = divide_up(flops, shards())};
      out.forward = out.forward + work;
      out.backward = out.backward + work;
      if (outside.what == trained::all) out.backward = out.backward + work;
      out.working = out.working + by_token(logits.working);
      for (auto& o : out.options) o.bytes = o.bytes + by_token(logits.kept + inputs(merging_inputs(model, by)));
    }
    if (model.vocabulary == 0) return;
    auto const of_head = head_parameter_groups(model);
    auto const beside = by.framework.separate_logits ? made.back().working : batch_cost{};
    auto& head = add("head", of_head.total(), states_of(of_head, by.optimizer, outside), outside, {});
    if (shares_head(model)) head.apart = copied;
    auto const shared = [&](std::int64_t of) { return by.loss.share == 1000 ? of : divide_up(of * by.loss.share, std::int64_t{1000}); };
    head.forward.per_token = divide_up(shared(head_flops_per_token(model)), shards());
    head.backward = head.forward;
    if (outside.what == trained::all) head.backward = head.backward + head.forward;
    head.add({.bytes = by_token(shared(logits.kept) + inputs(head_inputs(model, by)))});
    head.working = by_token(shared(logits.working)) + beside;
  }

  /// Adds a layer that is not a transformer layer, with costs by tile.
  void add_by_tile(char const* name, std::int64_t flops, parameter_groups const& parameters, trainable const& is, std::int64_t kept,
                   std::int64_t input, std::int64_t handed) {
    auto const by_tile = [&](std::int64_t cost) { return batch_cost{.per_tile = divide_up(cost, by.spread.context)}; };
    auto& out = add(name, parameters.total(), states_of(parameters, by.optimizer, is), is, by_tile(handed));
    out.forward.per_tile = divide_up(flops, shards());
    auto const factor = backward_factor(is, trained_before);
    for (std::int64_t i = 0; i < factor; ++i) out.backward = out.backward + out.forward;
    out.working = by_tile(kept);
    if (factor == 0) return out.add({});
    out.add({.bytes = by_tile(kept)});
    out.add({recomputation::full, by_tile(input), out.forward});
    trained_before = trained_before || is.what == trained::all;
  }

  /// Adds frozen parameters that nothing computes with to the last layer.
  void add_frozen(parameter_groups const& parameters) {
    auto& to = made.back();
    to.parameters += parameters.total();
    auto const states = states_of(parameters, by.optimizer, {.what = trained::none});
    to.state += place(states_on(states, by.spread), by.moved).device.total();
  }

 private:
  /// Stored scores are as large in all frameworks.
  [[nodiscard]] batch_cost in_framework(batch_cost const& bytes) const {
    require(bytes.per_token <= (std::int64_t{1} << 62) / by.framework.activations,
            [] { return std::string("activations reach 2^62 bytes a token"); });
    return {divide_up(bytes.per_token * by.framework.activations, std::int64_t{1000}), bytes.per_square, 0};
  }
  void add_exchanges(layer& to, std::vector<layer_exchange> const& all) {
    for (auto const& e : all) to.exchanges.push_back({e.what, e.how, e.over, e.when, e.bytes, {}, e.calls});
  }
  /// Exchanges of gradients of what is trained and, under ZeRO, of parameters, to the last layer.
  void add_state_exchanges(grouped_states const& states, trainable const& is) {
    auto& to = made.back();
    auto const setting = by.exchanges();
    exchange_maker maker{setting};
    auto const exchange = [&](state_size const& mine, rank_group const& over) {
      auto const gathered = by.spread.zero >= 3 || is.what == trained::all ? mine.parameter : 0;
      maker.add_states(checked(gathered), checked(mine.gradient), over);
    };
    auto spread = by.spread;
    spread.zero = 0;
    auto rest = states, experts = grouped_states{};
    if (by.expert > 1) std::swap(rest.experts, experts.experts);
    exchange(states_on(rest, spread), {by.spread.data, by.spread.tensor});
    auto const parts = by.expert * by.experts().expert_tensor;
    if (by.expert > 1) exchange(states_on(experts, spread), {by.spread.tensor * by.spread.data / parts, parts});
    auto const backward = backward_factor(is, trained_before) > 0;
    std::erase_if(maker.made, [&](auto const& e) {
      return e.bytes == 0 || (e.when == exchange_phase::backward && e.what == traffic::parameter && !backward);
    });
    add_exchanges(to, maker.made);
  }
  /// Exchanges of activations, as `layer_exchanges` counts them.
  void add_activation_exchanges(layer& to, transformer const& model, std::int64_t which, std::int64_t tile, bool backward) {
    if (shards() == 1 && by.expert == 1) return;
    constexpr std::int64_t many = 1 << 20;  // per token, rounded up
    auto setting = by.exchanges();
    if (tile != 0) setting.expert = 1;
    auto const tokens = tile != 0 ? tile : many * by.spread.context * by.spread.tensor;
    for (auto const& e : layer_exchanges(model, which, setting, tokens)) {
      if (e.what == traffic::gradient || e.what == traffic::parameter || (e.when == exchange_phase::backward && !backward)) continue;
      to.exchanges.push_back({.what = e.what,
                              .how = e.how,
                              .over = e.over,
                              .when = e.when,
                              .bytes_of_batch = {tile != 0 ? 0 : divide_up(e.bytes, tokens), 0, tile != 0 ? e.bytes : 0},
                              .calls = e.calls});
    }
  }
};

}  // namespace ballast::inline v0_2::detail
