// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief What one layer of a transformer exchanges under tensor, sequence, context, expert and data parallelism and under ZeRO.

namespace ballast::inline v0_2 {

/// @brief How the devices of a context-parallel group share the attention of a sequence.
enum class context_method : std::uint8_t {
  ring,     ///< keys and values travel round a ring
  ulysses,  ///< all-to-alls exchange tokens for heads before attention, and heads for tokens after it
};

/// @brief How a layer is distributed, as far as its exchanges depend on it.
///
/// Ranks are numbered as Megatron-LM numbers them: tensor-parallel neighbours are on adjacent devices, then context, then data parallelism.
/// The experts of a layer are distributed over groups of adjacent devices, each of which shares its experts. If `expert` is 1, they are
/// split by tensor parallelism like all other matrices.
struct exchange_setting {
  parallelism spread{};                          ///< degrees; `data` must be a multiple of `context`
  context_method method = context_method::ring;  ///< how a context-parallel group shares attention
  std::int64_t expert = 1;                       ///< expert-parallel degree: a divisor of the experts, and of `tensor * data`
  std::int64_t expert_tensor = 1;  ///< devices that share an expert, if `expert` is not 1: `expert * expert_tensor` divides `tensor * data`
  std::int64_t capacity = 0;       ///< tokens that each expert takes, in thousandths of an even share; 0: as many as come (dropless)
  std::int64_t element_bytes = 2;  ///< bytes of one element of an activation as it is sent
  training_state state{};          ///< `parameter` and `gradient`: bytes of each as it is sent
  recomputation recomputed = recomputation::none;  ///< `full`: the backward pass repeats the exchanges of the forward pass
};

/// @brief Throws unless a setting is in range and suits a model.
/// @param model   the shape
/// @param by      the setting
/// @throws invalid_input naming the field
constexpr void require_valid(transformer const& model, exchange_setting const& by) {
  require_valid(model);
  require_valid(by.spread);
  auto const divides = [](char const* name, std::int64_t part, char const* of, std::int64_t whole) {
    require(part >= 1 && whole % part == 0,
            [&] { return std::string(name) + " = " + std::to_string(part) + " must divide " + of + " = " + std::to_string(whole); });
  };
  auto const& [tensor, context, data, sequence_parallel, zero] = by.spread;
  divides("context", context, "data", data);
  if (by.method == context_method::ulysses)
    divides("context", context, "the query heads of a device", divide_up(model.query_heads, tensor));
  if (by.expert != 1) {
    divides("expert", by.expert, "experts", model.experts);
    divides("expert", by.expert, "tensor * data", tensor * data);
    detail::require_within("expert_tensor", by.expert_tensor, 1, 1 << 16);
    divides("expert * expert_tensor", by.expert * by.expert_tensor, "tensor * data", tensor * data);
    require(model.experts > 0, [&] { return "expert = " + std::to_string(by.expert) + " needs a model with experts"; });
    require(tensor == 1 || by.spread.sequence_parallel, [&] {
      return "expert = " + std::to_string(by.expert) + " with tensor = " + std::to_string(tensor) + " needs sequence_parallel";
    });
  }
  detail::require_within("capacity", by.capacity, 0, 1'000'000);
  detail::require_within("element_bytes", by.element_bytes, 1, 8);
  detail::require_within("parameter", by.state.parameter, 0, 256);
  detail::require_within("gradient", by.state.gradient, 0, 256);
}

namespace detail {
/// The exchanges of one layer, collected.
struct exchange_maker {
  exchange_setting const& by;
  std::vector<layer_exchange> made{};

  void add(traffic what, collective how, rank_group const& over, exchange_phase when, checked bytes, std::int64_t calls = 1) {
    require(bytes.fits() && bytes.value <= std::int64_t{1} << 60, [] { return std::string("an exchange of a layer reaches 2^60 bytes"); });
    if (over.ranks > 1 && calls > 0) made.push_back({what, how, over, when, bytes.value, calls});
  }
  /// Gradients and parameters of `parameters` parameters on each of `over`.
  void add_states(std::int64_t parameters, rank_group const& over) {
    add_states(checked(by.state.parameter) * checked(parameters), checked(by.state.gradient) * checked(parameters), over);
  }
  void add_states(checked parameter, checked gradient, rank_group const& over) {
    using enum collective;
    using enum exchange_phase;
    auto const zero = by.spread.zero;
    if (zero >= 3)
      for (auto const when : {forward, backward}) add(traffic::parameter, all_gather, over, when, parameter);
    add(traffic::gradient, zero == 0 ? all_reduce : reduce_scatter, over, zero >= 2 ? backward : step, gradient);
    if (zero == 1 || zero == 2) add(traffic::parameter, all_gather, over, step, parameter);
  }
};
}  // namespace detail

/// @brief The exchanges of parameters and gradients that ZeRO or plain data parallelism makes for a number of parameters.
///
/// Without ZeRO, gradients are all-reduced once in a step. With stage 1 they are reduce-scattered and the new parameters gathered once in a
/// step. With stage 2 gradients are reduce-scattered in every micro-batch. With stage 3 parameters are also gathered in the forward and in
/// the backward pass of every micro-batch, and not at the end of the step.
///
/// @param parameters  parameters on one device before ZeRO shards them, in [0, 2^52]; of an embedding or head, for example
/// @param by          the setting; the group is that of all `data` ranks
/// @return exchanges; none for one rank
/// @throws invalid_input if `parameters` or the degrees are out of range
/// @par Source
/// Rajbhandari et al., "ZeRO", arXiv 1910.02054, section 7.
template <class = when_called>
[[nodiscard]] inline std::vector<layer_exchange> state_exchanges(std::int64_t parameters, exchange_setting const& by) {
  require_valid(by.spread);
  detail::require_within("parameters", parameters, 0, std::int64_t{1} << 52);
  detail::require_within("parameter", by.state.parameter, 0, 256);
  detail::require_within("gradient", by.state.gradient, 0, 256);
  detail::exchange_maker maker{by};
  maker.add_states(parameters, {by.spread.data, by.spread.tensor});
  return maker.made;
}

/// @brief The exchanges of one layer for a micro-batch, on one device.
///
/// A device has t = tokens / context tokens of width h, and e bytes an element. Forward pass:
/// - tensor: an all-reduce of t h e bytes after attention and one after the feed-forward block; with sequence parallelism a reduce-scatter,
///   and an all-gather in front of the block. A block of distributed experts has none, unless all tokens also visit a shared expert;
///   parallel blocks have one together;
/// - ring: context - 1 times, a device sends the keys and values of its tokens, of the key and value heads on it, to the next one;
/// - Ulysses: one all-to-all of queries, keys, values and outputs; if there are fewer key and value heads than devices, they are repeated;
/// - linear attention, with either method: one all-to-all of queries, keys, values, decay, step and outputs;
/// - state-space layers, with either method: one all-to-all of what the first matrix makes, and of the outputs;
/// - experts: two all-to-alls, of k h e bytes for each token that the device routes, where k experts see a token. With a capacity, of the
///   rows of all experts, empty ones included. The devices that share an expert gather the rows that came to each of them, and
///   reduce-scatter the outputs.
///
/// The backward pass repeats these, and the ring sends the gradients of keys and values too; with sequence parallelism it gathers the
/// inputs of both blocks again. Parameters of distributed experts are exchanged by `tensor * data / (expert * expert_tensor)` ranks, all
/// others as `state_exchanges` says. Not counted: sums of a few bytes for each token in norms, routers and the loss.
///
/// @param model   the shape
/// @param layer   0 … layers - 1
/// @param by      the setting
/// @param tokens  tokens of the micro-batch, on all devices of a context-parallel group together, in [0, 2^40]
/// @return exchanges, each with at least one call
/// @throws invalid_input as `require_valid`, if `layer` or `tokens` is out of range, or if the bytes reach 2^60
/// @par Source
/// Korthikanti et al., arXiv 2205.05198 (tensor and sequence parallelism); Liu et al., "Ring Attention", arXiv 2310.01889; Jacobs et al.,
/// "DeepSpeed Ulysses", arXiv 2309.14509; Lepikhin et al., "GShard", arXiv 2006.16668 (experts); NVIDIA/Megatron-LM,
/// `core/transformer/moe/token_dispatcher.py` (devices that share an expert).
template <class = when_called>
[[nodiscard]] inline std::vector<layer_exchange> layer_exchanges(transformer const& model, std::int64_t layer, exchange_setting const& by,
                                                                 std::int64_t tokens) {
  using enum collective;
  using enum exchange_phase;
  require_valid(model, by);
  detail::require_layer(model, layer);
  detail::require_within("tokens", tokens, 0, std::int64_t{1} << 40);
  auto const& [tensor, context, data, sequence_parallel, zero] = by.spread;
  auto const mine = divide_up(tokens, context);
  auto const routed = detail::has_experts(model, layer);
  auto const distributed = routed && by.expert > 1;
  auto const bytes = [&](std::int64_t rows, std::int64_t width) { return checked(rows) * checked(width) * checked(by.element_bytes); };
  detail::exchange_maker maker{by};

  rank_group const tensor_group{tensor, 1}, context_group{context, tensor};
  auto const blocks = detail::blocks_of(model, layer) - (!model.parallel && distributed && model.shared_ffn == 0 ? 1 : 0);
  auto const width = model.head_width + detail::value_width(model);
  auto const queries = divide_up(model.query_heads, tensor);  // frameworks pad
  auto const shared = model.kv_rank > 0 ? queries : divide_up(model.kv_heads, tensor);
  auto const held = sequence_parallel ? divide_up(mine, tensor) : mine;  // tokens that the device routes
  expert_routing const routing{model.experts, model.active_experts, by.capacity};
  for (auto const when : {forward, backward}) {
    for (auto const how : {all_gather, reduce_scatter, all_reduce})
      if (sequence_parallel == (how != all_reduce)) maker.add(traffic::tensor, how, tensor_group, when, bytes(mine, model.hidden), blocks);
    if (when == backward && sequence_parallel)
      maker.add(traffic::kept_input, all_gather, tensor_group, when, bytes(mine, model.hidden), blocks);
    if (detail::is_linear(model, layer))
      maker.add(traffic::context, all_to_all, context_group, when, bytes(mine, divide_up(detail::linear_exchanged(model), tensor)));
    if (detail::is_space(model, layer))
      maker.add(traffic::context, all_to_all, context_group, when, bytes(mine, divide_up(detail::space_exchanged(model.space), tensor)));
    auto const scored = detail::is_scored(model, layer);
    if (scored && by.method == context_method::ring)
      maker.add(traffic::context, send, context_group, when, bytes(mine, (when == forward ? 1 : 2) * shared * width), context - 1);
    if (scored && by.method != context_method::ring)
      maker.add(traffic::context, all_to_all, context_group, when,
                bytes(mine, (queries + (std::min)(queries, (std::max)(shared, context))) * width));
    if (distributed) {
      auto const rows = expert_rows(held, routing);
      maker.add(traffic::expert, all_to_all, {by.expert, by.expert_tensor}, when, bytes(rows, model.hidden), 2);
      for (auto const how : {all_gather, reduce_scatter})
        maker.add(traffic::expert, how, {by.expert_tensor, 1}, when, bytes(rows, model.hidden) * checked(by.expert_tensor));
    }
    if (when == forward && by.recomputed == recomputation::full) {
      auto const again = maker.made;
      for (auto e : again) {
        e.when = backward;
        maker.made.push_back(e);
      }
    }
  }

  auto const groups = layer_parameter_groups(model, layer);
  auto const experts = distributed ? groups.experts : 0;
  maker.add_states(divide_up(groups.sharded + groups.experts - experts, tensor) + groups.replicated, {data, tensor});
  auto const parts = by.expert * by.expert_tensor;
  if (distributed) maker.add_states(divide_up(experts, parts), {tensor * data / parts, parts});
  return maker.made;
}

}  // namespace ballast::inline v0_2
