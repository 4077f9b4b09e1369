// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/model_setting.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// @file
/// @brief `parts_of_layer`: the time of one layer and micro-batch, kind by kind; `linear_layer_time`: the same as a + b T + c sum(l^2).

namespace ballast::inline v0_2 {

/// @brief What of a layer is launched as CUDA graphs.
enum class graph_scope : std::uint8_t {
  none,    ///< nothing
  parts,   ///< parts of a layer: `--cuda-graph-scope attn moe_router`
  layers,  ///< whole layers: `--cuda-graph-scope full_iteration`
};

/// @brief What a framework is told that time depends on and memory does not. `--tp-comm-overlap` and
/// `--overlap-moe-expert-parallel-comm` are in `kernel_setting`.
struct time_setting {
  kernel_rates rates = kernels_for(device_named("h100"));      ///< what kernels reach on the device
  attention_library attention = attention_library::cudnn;      ///< the attention kernel; without effect if scores are stored
  token_dispatcher dispatcher = token_dispatcher::all_to_all;  ///< `--moe-token-dispatcher-type`, `--moe-enable-deepep`
  graph_scope graphs = graph_scope::none;                      ///< `--cuda-graph-impl`, `--cuda-graph-scope`
  bool gradient_overlap = false;                               ///< `--overlap-grad-reduce` and `--overlap-param-gather`
  bool float_reduction = false;   ///< FSDP reduces gradients in float32: torchtitan's `mixed_precision_reduce`, Composer's `DEFAULT`
  bool gathered_context = false;  ///< context parallelism gathers keys and values and merges in float32, as torchtitan's
  std::int64_t imbalance = 1000;  ///< rows of the expert-parallel rank with most, in thousandths of an even share, in [1000, 10^6]
};

/// @brief Throws unless a setting is in range. @param with the setting @throws invalid_input naming the field
constexpr void require_valid(time_setting const& with) { detail::require_within("imbalance", with.imbalance, 1000, 1'000'000); }

/// @brief The time of one layer and one micro-batch on one device, kind by kind, in picoseconds; nothing overlaps yet.
struct layer_parts {
  pass_time gemm{};         ///< matrix products, those of experts apart
  pass_time experts{};      ///< grouped matrix products of routed experts
  pass_time attention{};    ///< attention, the state of linear attention, or the scan of a state-space layer
  pass_time memory{};       ///< norms, residuals, rotary positions, activation functions, permutation of rows, router
  pass_time tensor{};       ///< exchanges of tensor parallelism, and of the devices that share an expert
  pass_time context{};      ///< exchanges of context parallelism
  pass_time dispatch{};     ///< rows that travel to experts and back
  std::int64_t shared = 0;  ///< of `gemm`: the forward pass of shared experts
  std::int64_t scan = 0;    ///< of `attention`: the forward pass of scans
  bool routed = false;      ///< whether the layer has experts
  bool mixer = true;        ///< whether the layer has attention, or what stands in its place
  bool ffn = true;          ///< whether the layer has a feed-forward block
  friend constexpr bool operator==(layer_parts const&, layer_parts const&) = default;
};

/// @brief The time of one layer and one micro-batch with all that overlaps. FSDP is not counted.
struct layer_pass {
  pass_time time{};      ///< of both passes
  pass_time exchange{};  ///< of them: exchanges that are not hidden, and what hidden ones take from computation
  pass_time host{};      ///< of them: waiting for the host
  friend constexpr bool operator==(layer_pass const&, layer_pass const&) = default;
};

namespace detail {
/// Times of weight matrices on one device with one set of rates, kept for searches that ask for the same ones again and again.
class known_matrices {
 public:
  [[nodiscard]] pass_time operator()(std::array<std::int64_t, 5> const& of, device const& on, kernel_rates const& rates) {
    if (auto const at = times_.find(of); at != times_.end()) return at->second;
    return times_.emplace(of, matrix_time(of[0], of[1], of[2], on, rates, rates.fp8, of[3], of[4])).first->second;
  }

 private:
  struct hash_of {
    [[nodiscard]] std::size_t operator()(std::array<std::int64_t, 5> const& of) const noexcept {
      std::uint64_t out = 0;
      for (auto const value : of) out = (out ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U, out ^= out >> 29;
      return static_cast<std::size_t>(out);
    }
  };
  std::unordered_map<std::array<std::int64_t, 5>, pass_time, hash_of> times_;  // of rows, widths, groups and share
};
/// Times of one kind of layer under one choice of degrees, by tokens and length of the samples.
using known_sizes = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>>;
}  // namespace detail

/// @brief The time of a layer's kernels and exchanges, one by one.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param by     degrees and kernels
/// @param on     the device, with the bandwidths of its links
/// @param with   rates, and what else time depends on
/// @param batch  a micro-batch on the devices of a context-parallel group: tokens and squares
/// @param known  times of matrices on this device with these rates, to which new ones are added; or null
/// @return picoseconds
/// @throws invalid_input if an argument is out of range, or the time of a kernel reaches 2^56 picoseconds
/// @par Complexity
/// O(1): about 30 kernels.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/time-model.md).
template <class = when_called>
[[nodiscard]] constexpr layer_parts parts_of_layer(transformer const& model, std::int64_t layer, model_setting const& by, device const& on,
                                                   time_setting const& with, batch_shape const& batch,
                                                   detail::known_matrices* known = nullptr) {
  detail::require_layer(model, layer);
  require_valid(by);
  require_valid(with);
  detail::require_within("batch.tokens", batch.tokens, 0, std::int64_t{1} << 40);
  detail::require_within("batch.squares", batch.squares, 0, std::int64_t{1} << 62);
  auto const& m = model;
  auto const& rates = with.rates;
  auto const& bytes = rates.bytes;
  auto const t = by.spread.tensor, cp = by.spread.context, h = m.hidden;
  auto const tokens = divide_up(batch.tokens, cp), held = by.spread.sequence_parallel ? divide_up(tokens, t) : tokens;
  auto const links = links_of(on);
  auto const v = detail::value_width(m), heads = divide_up(m.query_heads, t);
  auto const linear = detail::is_linear(m, layer), scored = detail::is_scored(m, layer);
  layer_parts out{.routed = detail::has_experts(m, layer), .mixer = detail::has_mixer(m, layer), .ffn = detail::has_ffn(m, layer)};
  if (tokens == 0) return out;
  auto const matrix = [&](std::int64_t rows, std::int64_t wide, std::int64_t in, std::int64_t groups, std::int64_t share) {
    return known != nullptr ? (*known)({rows, wide, in, groups, share}, on, rates)
                            : matrix_time(rows, wide, in, on, rates, rates.fp8, groups, share);
  };
  auto const product = [&](std::int64_t rows, std::int64_t wide, std::int64_t in) {
    out.gemm = out.gemm + matrix(rows, wide, in, 1, 1000);
  };

  auto moved = checked(0), moved_back = checked(0);  // bytes of operators
  auto const move = [&](std::int64_t rows, std::int64_t values, std::int64_t each, std::int64_t back) {
    moved = moved + checked(rows) * checked(values) * checked(each);
    moved_back = moved_back + checked(rows) * checked(values) * checked(back);
  };
  std::int64_t rotated = 0;  // values of queries and keys, for each token
  if (linear) {
    product(tokens, divide_up(detail::linear_inputs(m), t), h);
    product(tokens, divide_up(2 * m.linear.value_heads, t), h);
    product(tokens, h, divide_up(detail::linear_values(m), t));
    auto const& l = m.linear;
    auto const state = 2 * (l.kernel * l.convolved() + 4 * l.value_heads * l.key_width * l.value_width);
    auto const rate = detail::thousandths_of(detail::thousandths_of(on.bf16_flops, rates.gemm), rates.stored_scores);
    auto const time = detail::ps_of(checked(divide_up(state, t)) * checked(tokens), rate, "linear attention");
    out.attention = {time, 2 * time};
  } else if (scored) {
    auto const queries = m.query_heads * m.head_width * (m.output_gate ? 2 : 1);
    if (m.kv_rank > 0) {
      if (m.q_rank > 0) product(held, m.q_rank, h);
      product(tokens, divide_up(queries, t), m.q_rank > 0 ? m.q_rank : h);
      product(held, m.kv_rank + m.rope_width, h);
      product(tokens, divide_up(m.query_heads * (m.head_width - m.rope_width + v), t), m.kv_rank);
      rotated = divide_up(4 * m.query_heads * m.head_width, t);  // queries and keys are put together of parts
    } else {
      product(tokens, divide_up(queries + m.kv_heads * (m.head_width + v), t), h);
      rotated = divide_up((m.query_heads + m.kv_heads) * m.head_width, t);
    }
    product(tokens, h, divide_up(m.query_heads * v, t));
    out.attention = attention_time({.heads = heads,
                                    .qk_width = m.head_width,
                                    .v_width = v,
                                    .window = detail::is_windowed(m, layer) ? m.window : 0,
                                    .share = cp,
                                    .causal = m.causal,
                                    .chunked = m.chunked || !m.causal,
                                    .stored = by.attention == attention_kernel::stored_scores},
                                   batch, on, rates, with.attention);
    if (with.gathered_context && cp > 2)
      for (auto* const p : {&out.attention.forward, &out.attention.backward}) *p = *p / rates.gathered_context * 1000;
  }
  if (detail::is_indexed(m, layer)) {  // scores of all pairs in 32 bits are written, and read to choose keys
    product(held, m.index.heads * m.index.width, m.q_rank);
    product(held, m.index.width + m.index.heads, h);
    out.attention =
        out.attention + attention_time({.heads = m.index.heads, .qk_width = m.index.width, .share = cp}, batch, on, rates, with.attention);
    move(divide_up(batch.squares, 2 * cp), 1, 8, 8);
  }
  if (detail::is_space(m, layer)) {
    auto const& s = m.space;
    auto const inner = divide_up(s.inner(), t);
    product(tokens, divide_up(detail::space_inputs(s), t), h);
    if (s.step_rank > 0) product(tokens, detail::space_compressed(s), inner);
    if (s.step_rank > 0) product(tokens, inner, s.step_rank);
    product(tokens, h, inner);
    auto const scan = scan_time(s, tokens, t, on, rates);
    out.attention = out.attention + scan;
    out.scan = scan.forward;
    move(tokens, divide_up(s.convolved(), t), 4, 10);  // the convolution, which the backward pass repeats; gate and norm
    move(tokens, inner, 6, 12);
  }
  if (detail::is_conv(m, layer)) {
    auto const inner = divide_up(h, t);
    product(tokens, 3 * inner, h);
    product(tokens, h, inner);
    move(tokens, inner, 16, 26);  // two gates and the convolution
  }

  auto const eager_plain = rates.family == kernel_family::eager && !m.gated;  // their norm is one kernel
  move(held, m.norms * h, eager_plain ? 4 : bytes.norm, eager_plain ? 6 : bytes.norm_backward);
  move(held, h, bytes.residual, bytes.residual);
  if (m.gated || m.kv_rank > 0) move(tokens, rotated, bytes.rotary, bytes.rotary);
  if (m.qk_norm > 0) move(tokens, rotated, bytes.head_norm, bytes.head_norm_backward);
  auto const block = [&](std::int64_t width, std::int64_t each, std::int64_t back) {
    if (width == 0) return;
    product(tokens, divide_up((m.gated ? 2 : 1) * width, t), h);
    product(tokens, h, divide_up(width, t));
    move(tokens, divide_up(width, t), each, back);
  };
  if (!out.routed) {
    block(detail::dense_ffn(m, layer), m.gated ? bytes.gated : bytes.plain, m.gated ? bytes.gated_backward : bytes.plain_backward);
  } else {
    auto const before = out.gemm.forward;
    block(m.shared_ffn, bytes.expert_gated, bytes.expert_gated_backward);
    out.shared = out.gemm.forward - before;
    auto const split = by.experts();
    auto const inner = divide_up(m.expert_ffn, split.expert_tensor);
    auto const even = held * m.active_experts;  // rows of a device
    auto const rows = detail::thousandths_of(even, with.imbalance);
    auto const local = divide_up(m.experts, split.expert), each = divide_up(rows * split.expert_tensor, local);
    for (auto const& [wide, in] : {std::array{(m.gated ? 2 : 1) * inner, h}, std::array{h, inner}})
      out.experts = out.experts + matrix(each, wide, in, local, rates.expert_gemm);
    auto const copies = with.dispatcher == token_dispatcher::once ? bytes.permutation * 3 / 4 : bytes.permutation;
    auto const rest = bytes.permutation * 3 % 4;  // of a quarter of a byte
    move(rows * split.expert_tensor, h, copies, copies);
    if (with.dispatcher == token_dispatcher::once) move(divide_up(rows * split.expert_tensor * rest, std::int64_t{4}), h, 1, 1);
    move(rows * split.expert_tensor, inner, bytes.expert_gated, bytes.expert_gated_backward);
    move(held, m.experts, bytes.router, bytes.router);
    auto const sent =
        detail::thousandths_of(dispatch_time(held, m.active_experts, 2 * h, split.expert, with.dispatcher, links, rates), with.imbalance);
    out.dispatch = {2 * sent, 2 * sent};
    auto const whole = checked(rows * split.expert_tensor) * checked(2 * h);
    require(whole.fits(), [] { return std::string("rows of experts have 2^63 bytes or more"); });
    auto const shared = 2 * ring_time(whole.value, {split.expert_tensor, 1}, links, rates);
    out.tensor = {shared, shared};
  }
  auto const operators = [&](checked all) {
    require(all.fits(), [] { return std::string("operators of a layer move 2^63 bytes or more"); });
    return memory_time(detail::thousandths_of(all.value, bytes.all), on, rates);
  };
  out.memory = {operators(moved), operators(moved_back)};

  auto const width = checked(tokens) * checked(2 * h);
  require(width.fits(), [] { return std::string("activations of a layer have 2^63 bytes or more"); });
  auto const one = ring_time(width.value, {t, 1}, links, rates);
  auto const blocks = detail::blocks_of(m, layer) - (!m.parallel && out.routed && m.shared_ffn == 0 ? 1 : 0);
  out.tensor =
      out.tensor + pass_time{2 * blocks * one,
                             2 * blocks * one + (by.spread.sequence_parallel ? blocks * detail::thousandths_of(one, rates.kept_input) : 0)};
  if (cp > 1) {
    auto const keys = m.kv_heads * (m.head_width + v);
    auto sent = (linear ? detail::linear_exchanged(m) : 0) + (detail::is_space(m, layer) ? detail::space_exchanged(m.space) : 0);
    if (by.method == context_method::ring && scored) {
      auto const gathered = checked(divide_up(2 * keys, t)) * checked(tokens) * checked(cp);
      require(gathered.fits(), [] { return std::string("keys and values have 2^63 bytes or more"); });
      auto const ring = ring_time(gathered.value, {cp, t}, links, rates);
      out.context = {ring, 2 * ring};
    } else if (scored) {
      sent += m.query_heads * (m.head_width + v) + (std::max)(keys, cp * t * (m.head_width + v));
    }
    if (sent > 0) {
      auto const over = t * cp <= on.per_node ? links : link_rates{links.between, links.between, 1 << 24};
      auto const all = dispatch_time(tokens, 1, divide_up(2 * sent, t), cp, token_dispatcher::all_to_all, over, rates);
      out.context = out.context + pass_time{all, all};
    }
  }
  return out;
}

/// @brief The time of a layer with what overlaps: exchanges under computation, and the host beside the device.
///
/// A hidden exchange makes computation slower by `kernel_rates::stolen` of its time. A ring of context parallelism hides under attention.
/// A layer takes no less time than its host needs to launch it.
///
/// @param parts  what `parts_of_layer` returned
/// @param model  the shape
/// @param by     degrees and kernels
/// @param with   rates, and what else time depends on
/// @return picoseconds
template <class = when_called>
[[nodiscard]] constexpr layer_pass overlapped(layer_parts const& parts, transformer const& model, model_setting const& by,
                                              time_setting const& with) {
  auto const& rates = with.rates;
  auto const t = by.spread.tensor, cp = by.spread.context;
  auto const graphs = with.graphs == graph_scope::none    ? 1000
                      : with.graphs == graph_scope::parts ? rates.graphs_of_parts
                                                          : rates.graphs_of_layers;
  auto const pass = [&](bool back, std::int64_t& exchange, std::int64_t& host) {
    auto const of = [&](pass_time const& p) { return back ? p.backward : p.forward; };
    auto const work = of(parts.gemm) + of(parts.experts) + of(parts.attention) + of(parts.memory);
    auto const part_hidden = [&](std::int64_t whole, std::int64_t thousandths) {  // what is left, and what it steals
      auto const hidden = detail::thousandths_of(whole, thousandths);
      return whole - hidden + detail::thousandths_of(hidden, rates.stolen);
    };
    exchange = part_hidden(of(parts.tensor), by.kernels.tensor_overlap ? rates.tensor_hidden * (t - 1) / t : 0) +
               part_hidden(of(parts.dispatch), by.kernels.expert_overlap ? rates.expert_hidden : 0);
    if (with.gathered_context || (cp > 1 && by.method == context_method::ulysses))
      exchange += of(parts.context);
    else
      exchange += (std::max)(of(parts.context) - of(parts.attention) / cp * (cp - 1), std::int64_t{0}) + rates.pass * cp;
    auto const launched =
        parts.routed ? detail::thousandths_of(rates.host_experts, model.kv_rank > 0 ? rates.host_latent : 1000) : rates.host;
    auto const least = detail::thousandths_of(
        detail::thousandths_of(parts.mixer && parts.ffn ? launched : launched / 2, back ? 1000 - rates.host_forward : rates.host_forward),
        graphs);
    auto const sync = parts.routed ? detail::thousandths_of(rates.sync_experts / 2, graphs) / (by.kernels.expert_overlap ? 2 : 1) : 0;
    auto const time = (std::max)(work + exchange + sync, least);
    host = time - work - exchange;
    return time;
  };
  layer_pass out;
  out.time.forward = pass(false, out.exchange.forward, out.host.forward);
  out.time.backward = pass(true, out.exchange.backward, out.host.backward);
  return out;
}

/// @brief What is computed again of a layer in its backward pass.
enum class again : std::uint8_t {
  nothing,   ///< nothing
  modules,   ///< some modules
  products,  ///< every second matrix product and the operators, but not attention and exchanges
  full,      ///< the forward pass, exchanges included
};

/// @brief The time of recomputation in the backward pass.
/// @param parts    what `parts_of_layer` returned
/// @param pass     what `overlapped` made of it
/// @param what     what is computed again
/// @param modules  the modules, with `again::modules`
/// @return picoseconds
/// @par Source
/// Shares of a layer's kernels by module: this library (docs/time-model.md), assumed.
[[nodiscard]] constexpr std::int64_t recompute_time(layer_parts const& parts, layer_pass const& pass, again what, module_set modules = {}) {
  using enum recompute_module;
  auto const gemm = parts.gemm.forward, memory = parts.memory.forward;
  switch (what) {
    case again::nothing: return 0;
    case again::full: return pass.time.forward;
    case again::products: return detail::thousandths_of(gemm, 450) + memory;
    case again::modules: break;
  }
  std::int64_t sum = 0;
  if (modules.contains(core_attention)) sum += parts.attention.forward - parts.scan;
  if (modules.contains(layernorm)) sum += detail::thousandths_of(memory, 100);
  if (modules.contains(mla_up_projection)) sum += detail::thousandths_of(gemm, 150);
  if (!parts.routed) return sum + (parts.ffn && modules.contains(mlp) ? detail::thousandths_of(gemm, 660) : 0);
  if (modules.contains(moe))
    return sum + parts.experts.forward + parts.dispatch.forward + parts.shared + detail::thousandths_of(memory, 700);
  if (modules.contains(moe_activation)) sum += detail::thousandths_of(memory, 150);
  if (modules.contains(experts)) sum += detail::thousandths_of(parts.experts.forward, 660);
  if (modules.contains(shared_experts)) sum += detail::thousandths_of(parts.shared, 660);
  return sum;
}

/// @brief The time of the head and of the loss for one micro-batch, in picoseconds.
struct head_parts {
  pass_time gemm{};    ///< the product with the vocabulary
  pass_time memory{};  ///< the loss
};

/// @brief The time of the head and of the loss for one micro-batch on one device.
/// @param model   the shape; its vocabulary as it is padded; without a vocabulary there is no head, and no time
/// @param by      degrees, and the loss
/// @param on      the device
/// @param with    rates
/// @param tokens  of a micro-batch on the devices of a context-parallel group, in [0, 2^40]
/// @return picoseconds
/// @throws invalid_input as `gemm_time`, or if the loss moves 2^63 bytes
template <class = when_called>
[[nodiscard]] constexpr head_parts head_time(transformer const& model, model_setting const& by, device const& on, time_setting const& with,
                                             std::int64_t tokens) {
  if (model.vocabulary == 0) return {};
  auto const& rates = with.rates;
  auto const share = by.loss.share;
  auto const rows = divide_up(share == 1000 ? tokens : divide_up(tokens * share, std::int64_t{1000}), by.spread.context);
  auto const logits = divide_up(head_rows(model), by.spread.tensor);
  auto const bytes =
      checked(rows) * checked(logits) * checked(by.loss.how == head_loss::kind::fused ? rates.bytes.fused_loss : rates.bytes.loss);
  require(bytes.fits(), [] { return std::string("the loss moves 2^63 bytes or more"); });
  auto const loss = memory_time(bytes.value, on, rates);
  return {matrix_time(rows, logits, model.hidden, on, rates, false, 1, rates.head), {loss, loss}};
}

/// @brief Parameters of a layer on one device, before ZeRO shards them.
struct device_parameters {
  std::int64_t plain = 0;    ///< of all but routed experts
  std::int64_t experts = 0;  ///< of routed experts
};
/// @brief The parameters of a layer on one device. @param model the shape @param layer 0 … layers - 1 @param by degrees
/// @return both numbers, each share rounded up
template <class = when_called>
[[nodiscard]] constexpr device_parameters parameters_on_device(transformer const& model, std::int64_t layer, model_setting const& by) {
  auto const groups = layer_parameter_groups(model, layer);
  auto const split = by.experts();
  return {divide_up(groups.sharded, by.spread.tensor) + groups.replicated, divide_up(groups.experts, split.expert * split.expert_tensor)};
}
/// @brief The ranks that have the same experts. @param by degrees @return how many, and how far apart
[[nodiscard]] constexpr rank_group expert_group(model_setting const& by) noexcept {
  auto const split = by.experts();
  auto const apart = split.expert * split.expert_tensor;
  return {by.spread.tensor * by.spread.data / apart, apart};
}

/// @brief Sizes of micro-batches.
struct batch_range {
  std::int64_t least = 4096;   ///< tokens of the smallest micro-batch, in [16, 2^22]
  std::int64_t most = 65536;   ///< tokens of the largest, at least twice as many, at most 2^24
  std::int64_t length = 4096;  ///< tokens of a typical sample, at least 1; a smaller micro-batch is one sample
  friend constexpr bool operator==(batch_range const&, batch_range const&) = default;

  /// @brief Sizes from half of a power of two to four times it. @param typical a micro-batch: the power is the one below its tokens
  [[nodiscard]] static constexpr batch_range around(batch_shape const& typical) noexcept {
    auto const tokens = (std::min)((std::max)(typical.tokens, std::int64_t{32}), std::int64_t{1} << 22);
    auto const power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
    return {power / 2, 4 * power, (std::max)(typical.squares / (std::max)(typical.tokens, std::int64_t{1}), std::int64_t{1})};
  }
};

/// @brief The time of a layer as costs of micro-batches, a + b T + c sum(l^2).
struct linear_layer {
  batch_cost forward{};               ///< of the forward pass, without exchanges
  batch_cost backward{};              ///< of the backward pass, without exchanges and recomputation
  batch_cost forward_exchange{};      ///< exchanges in the forward pass that are not hidden, and what hidden ones take from computation
  batch_cost backward_exchange{};     ///< the same of the backward pass
  batch_cost products{};              ///< of recomputing every second matrix product
  std::vector<batch_cost> modules{};  ///< of recomputing modules, one for each set that was asked for
  pass_time least{};                  ///< no pass takes less with its exchanges: the host launches its kernels
  friend bool operator==(linear_layer const&, linear_layer const&) = default;
};

namespace detail {
/// A cost that goes through points as nearly as a + b T + c sum(l^2) can: c is given by two points of the same tokens, and the line is the
/// one whose largest error per token is least (Chebyshev's).
class chebyshev_line {
 public:
  explicit chebyshev_line(std::span<std::int64_t const> tokens) {
    inverse_.reserve(tokens.size());
    for (auto const t : tokens) inverse_.push_back((std::int64_t{1} << 32) / t);
  }
  /// `rest` are femtoseconds per token at each size: the line's a in femtoseconds, and its b in femtoseconds per token.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> operator()(std::span<std::int64_t const> rest) const {
    std::int64_t best = -1, once = 0, level = 0;
    auto const attempt = [&](std::int64_t slope) {
      auto const left = [&](std::size_t i) { return rest[i] - per_token(slope, inverse_[i]); };
      auto low = left(0), high = low;
      for (auto i = rest.size() - 1; i > 0; --i) {  // the ends are farthest apart: most slopes fail there
        auto const value = left(i);
        low = (std::min)(low, value);
        high = (std::max)(high, value);
        if (best >= 0 && high - low >= best) return;
      }
      best = high - low;
      once = slope;
      level = (std::max)(low + (high - low) / 2, std::int64_t{0});
    };
    attempt(0);
    for (std::size_t j = 1; j < rest.size(); ++j)
      for (std::size_t i = 0; i < j; ++i)
        if (rest[i] > rest[j])
          attempt(static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(rest[i] - rest[j]), std::uint64_t{1} << 32,
                                                               static_cast<std::uint64_t>(inverse_[i] - inverse_[j]))));
    return {once, level};
  }

 private:
  /// `slope` over the tokens, rounded up.
  [[nodiscard]] static std::int64_t per_token(std::int64_t slope, std::int64_t inverse) {
    auto const product = multiply(static_cast<std::uint64_t>(slope), static_cast<std::uint64_t>(inverse));
    return static_cast<std::int64_t>((product.high << 32) + (product.low >> 32) + ((product.low & 0xffffffff) != 0 ? 1 : 0));
  }
  std::vector<std::int64_t> inverse_;  // 2^32 / tokens
};
}  // namespace detail

/// @brief The time of a layer as a + b T + c sum(l^2), for micro-batches of a range of tokens.
///
/// c is that of the attention's curve, rounded. a and b are the line whose largest error per token is least (Chebyshev's) among sizes of
/// four to a doubling, in samples of a typical length: windows, and exchanges that hide under attention, are those of that length. Waves of
/// tiles of products that do not fill a device, and the host's least time, are no part of the line.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param by       degrees and kernels
/// @param on       the device
/// @param with     rates, and what else time depends on
/// @param modules  the sets of modules of `linear_layer::modules`
/// @param within   the sizes of micro-batches that the line is for
/// @param units    units of a picosecond, in [1, 1024]: more of them round c less, where many devices share a layer
/// @param known    as `parts_of_layer`
/// @param by_size  times of this layer under all the other arguments but the range, to which new ones are added; or null
/// @return both passes, and each way to recompute, in these units; recomputing all is the forward pass with its exchanges
/// @throws invalid_input as `parts_of_layer`, or if the range is none
/// @par Complexity
/// O(n) calls of `parts_of_layer` and O(n^3) additions for n = 4 log2(most / least) sizes.
/// @par Determinism
/// A pure function of its arguments, in integers.
template <class = when_called>
[[nodiscard]] inline linear_layer linear_layer_time(transformer const& model, std::int64_t layer, model_setting const& by, device const& on,
                                                    time_setting const& with, std::span<module_set const> modules = {},
                                                    batch_range const& within = {}, std::int64_t units = 1,
                                                    detail::known_matrices* known = nullptr, detail::known_sizes* by_size = nullptr) {
  auto const [least, most, typical] = within;
  detail::require_within("least", least, 16, 1 << 22);
  detail::require_within("most", most, 2 * least, 1 << 24);
  require(typical >= 1, [&] { return sentence("length = ", typical, " must be at least 1"); });
  detail::require_within("units", units, 1, 1024);
  auto free = with;  // of the host's least time
  free.rates.host = free.rates.host_experts = 0;
  using values = std::vector<std::int64_t>;
  detail::known_sizes own;
  auto const times = [&](std::int64_t tokens, std::int64_t length) -> values const& {
    auto const [at, added] = (by_size != nullptr ? *by_size : own).try_emplace({tokens, length});
    auto& out = at->second;
    if (!added) return out;
    auto const parts = parts_of_layer(model, layer, by, on, free, {.tokens = tokens, .squares = tokens * length, .tiles = 0}, known);
    auto const pass = overlapped(parts, model, by, free);
    out = {pass.time.forward - pass.exchange.forward, pass.time.backward - pass.exchange.backward, pass.exchange.forward,
           pass.exchange.backward, recompute_time(parts, pass, again::products)};
    for (auto const& m : modules) out.push_back(recompute_time(parts, pass, again::modules, m));
    return out;
  };
  auto const long_sample = (std::min)(most, std::int64_t{65536});  // all have the same c, which these two tell
  auto const &near = times(long_sample, long_sample / 2), &far = times(long_sample, long_sample);
  auto const apart = long_sample * long_sample - long_sample * (long_sample / 2);
  values sizes;
  for (auto base = least; base <= most; base *= 2)
    for (std::int64_t quarter = 4; quarter < 8 && base * quarter / 4 <= most; ++quarter) sizes.push_back(base * quarter / 4);
  std::vector<values> rest(far.size());  // femtoseconds per token that are not in c, of each kind of time
  for (auto const tokens : sizes) {
    auto const length = (std::min)(tokens, typical);
    auto const& found = times(tokens, length);
    for (std::size_t k = 0; k < rest.size(); ++k) {
      auto const of_pairs = (std::max)(far[k] - near[k], std::int64_t{0});
      auto const pairs = multiply_divide_up(static_cast<std::uint64_t>(of_pairs), static_cast<std::uint64_t>(tokens * length),
                                            static_cast<std::uint64_t>(apart));
      rest[k].push_back(static_cast<std::int64_t>(
          multiply_divide_up(static_cast<std::uint64_t>((std::max)(found[k] - static_cast<std::int64_t>(pairs), std::int64_t{0})), 1000,
                             static_cast<std::uint64_t>(tokens))));
    }
  }
  detail::chebyshev_line const line(sizes);
  auto const cost = [&](std::size_t k) {
    auto const [once, level] = line(rest[k]);
    auto const of_pairs = (std::max)(far[k] - near[k], std::int64_t{0});
    return batch_cost{.per_token = (level * units + 500) / 1000,
                      .per_square = (of_pairs * units + apart / 2) / apart,
                      .per_tile = 0,
                      .per_batch = static_cast<std::int64_t>(
                          multiply_divide_up(static_cast<std::uint64_t>(once), static_cast<std::uint64_t>(units), 1000))};
  };
  layer_parts const alone{
      .routed = detail::has_experts(model, layer), .mixer = detail::has_mixer(model, layer), .ffn = detail::has_ffn(model, layer)};
  auto const host = overlapped(alone, model, by, with);
  linear_layer out{.forward = cost(0),
                   .backward = cost(1),
                   .forward_exchange = cost(2),
                   .backward_exchange = cost(3),
                   .products = cost(4),
                   .modules = {},
                   .least = {host.time.forward * units, host.time.backward * units}};
  for (std::size_t k = 5; k < rest.size(); ++k) out.modules.push_back(cost(k));
  return out;
}

}  // namespace ballast::inline v0_2
