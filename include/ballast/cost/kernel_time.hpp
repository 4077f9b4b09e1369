// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief Times of single kernels and exchanges in picoseconds: matrix products by shape, attention by length, operators by bytes.

namespace ballast::inline v0_2 {

/// @brief The longest time of one kernel or exchange, in picoseconds: about 20 hours. What takes longer is refused.
inline constexpr std::int64_t longest_kernel = std::int64_t{1} << 56;

namespace detail {
/// `amount` over `per_second`, in picoseconds, rounded up.
[[nodiscard]] constexpr std::int64_t ps_of(checked amount, std::int64_t per_second, char const* what) {
  constexpr std::uint64_t second = 1'000'000'000'000;
  auto const fits = amount.fits() && per_second > 0 &&
                    multiply(static_cast<std::uint64_t>(amount.value), second).high < static_cast<std::uint64_t>(per_second);
  auto const time = fits ? multiply_divide_up(static_cast<std::uint64_t>(amount.value), second, static_cast<std::uint64_t>(per_second)) : 0;
  require(fits && time <= static_cast<std::uint64_t>(longest_kernel), [&] { return sentence(what, " takes 2^56 picoseconds or more"); });
  return static_cast<std::int64_t>(time);
}
/// Thousandths of a number that is not negative, rounded down.
[[nodiscard]] constexpr std::int64_t thousandths_of(std::int64_t whole, std::int64_t thousandths) noexcept {
  auto const part = divide(multiply(static_cast<std::uint64_t>(whole), static_cast<std::uint64_t>(thousandths)), 1000);
  return static_cast<std::int64_t>(part.whole);
}
/// The logarithm of base 2 in thousandths, rounded down, by squaring.
[[nodiscard]] constexpr std::int64_t log2_thousandths(std::int64_t n) noexcept {
  std::int64_t whole = 0, bits = 0;
  while (n >> (whole + 1) > 0) ++whole;
  auto x = static_cast<std::uint64_t>(n) << (30 - (std::min)(whole, std::int64_t{30}));  // in [2^30, 2^31)
  for (int i = 0; i < 16; ++i) {
    x = x * x >> 30;
    bits *= 2;
    if (x >> 31 != 0) {
      x >>= 1;
      ++bits;
    }
  }
  return whole * 1000 + bits * 1000 / 65536;
}
}  // namespace detail

/// @brief One matrix product, or several of the same shape as one kernel: m x k times k x n.
struct gemm_shape {
  std::int64_t m = 1;       ///< rows of the result; 0 counts as 1
  std::int64_t n = 1;       ///< columns of the result
  std::int64_t k = 1;       ///< depth
  std::int64_t groups = 1;  ///< number of products
  bool fp8 = false;         ///< whether both inputs have 8 bits
  bool added = false;       ///< whether the result is added to a float32 buffer
  friend constexpr bool operator==(gemm_shape const&, gemm_shape const&) = default;
};

/// @brief Bytes per second of the memory that kernels reach. @param on the device @param rates its kernels @return at least 1
[[nodiscard]] constexpr std::int64_t memory_rate(device const& on, kernel_rates const& rates) noexcept {
  return (std::max)(detail::thousandths_of(on.memory_bandwidth, rates.memory), std::int64_t{1});
}

/// @brief The time of an operator that moves bytes and computes little.
/// @param bytes  read and written
/// @param on     the device
/// @param rates  its kernels
/// @return picoseconds, rounded up
/// @throws invalid_input if the bytes are negative or take 2^56 picoseconds
[[nodiscard]] constexpr std::int64_t memory_time(std::int64_t bytes, device const& on, kernel_rates const& rates) {
  return detail::ps_of(checked(bytes), memory_rate(on, rates), "a pass over memory");
}

/// @brief The time of matrix products.
///
/// The result is cut into tiles, one for each multiprocessor at a time. Below four waves of tiles the last wave counts in full, beyond that
/// half a wave is added. A tile takes the time of its depth and of `kernel_rates::depth` more. The best of five tile shapes counts, or the
/// time in which the memory moves inputs and result, if that is longer.
///
/// @param of     the shape
/// @param on     the device
/// @param rates  its kernels
/// @param share  thousandths of the rate that this kind of product reaches
/// @return picoseconds, rounded up
/// @throws invalid_input if a number is out of range, or the time reaches 2^56 picoseconds
/// @par Determinism
/// All arithmetic is in integers.
/// @par Source
/// This library (docs/time-model.md); shares of smaller tiles are assumed.
[[nodiscard]] constexpr std::int64_t gemm_time(gemm_shape const& of, device const& on, kernel_rates const& rates,
                                               std::int64_t share = 1000) {
  struct tile {
    std::int64_t rows, columns, share;
  };
  constexpr std::array tiles{tile{128, 256, 1000}, tile{256, 128, 1000}, tile{128, 128, 930}, tile{128, 64, 750}, tile{64, 64, 550}};
  constexpr auto most = std::int64_t{1} << 40;
  detail::require_within("m", of.m, 0, most);
  detail::require_within("n", of.n, 1, most);
  detail::require_within("k", of.k, 1, most);
  detail::require_within("groups", of.groups, 1, 1 << 20);
  auto const peak = of.fp8 ? detail::thousandths_of(on.fp8_flops, rates.gemm_fp8) : detail::thousandths_of(on.bf16_flops, rates.gemm);
  auto const rate = detail::thousandths_of(peak, share), sms = on.multiprocessors;
  require(rate > 0 && sms > 0, [&] { return "the device \"" + std::string(on.name) + "\" has no rate of matrix products"; });
  auto const m = (std::max)(of.m, std::int64_t{1}), depth = of.k + rates.depth * (of.fp8 ? 2 : 1);
  auto best = longest_kernel;
  for (auto const& t : tiles) {
    auto const count = checked(divide_up(m, t.rows)) * checked(divide_up(of.n, t.columns)) * checked(of.groups);
    require(count.fits() && count.value < std::int64_t{1} << 61, [] { return std::string("a matrix product has 2^61 tiles or more"); });
    auto const halves = count.value < 4 * sms ? 2 * sms * divide_up(count.value, sms) : 2 * count.value + sms;
    best = (std::min)(best, detail::ps_of(checked(halves) * checked(t.rows * t.columns) * checked(depth),
                                          detail::thousandths_of(rate, t.share), "a matrix product"));
  }
  auto const e = checked(of.fp8 ? 1 : 2);
  auto const moved = checked(of.groups) * (checked(m) * checked(of.k) * e + checked(of.k) * checked(of.n) * e +
                                           checked(m) * checked(of.n) * checked(of.added ? 8 : 2));
  return (std::max)(best, detail::ps_of(moved, memory_rate(on, rates), "a matrix product"));
}

/// @brief Both passes of a kernel, in picoseconds.
struct pass_time {
  std::int64_t forward = 0;   ///< of the forward pass
  std::int64_t backward = 0;  ///< of the backward pass

  /// @brief Both together.
  [[nodiscard]] constexpr std::int64_t both() const noexcept { return forward + backward; }
  /// @brief Adds pass by pass. @param a a time @param b another
  friend constexpr pass_time operator+(pass_time const& a, pass_time const& b) noexcept {
    return {a.forward + b.forward, a.backward + b.backward};
  }
  friend constexpr bool operator==(pass_time const&, pass_time const&) = default;
};

/// @brief The time of a weight matrix: its product forward, and those of the gradients of input and weight backward.
/// @param rows    rows of the input
/// @param out     width of the output
/// @param in      width of the input
/// @param on      the device
/// @param rates   its kernels
/// @param fp8     whether the products are in 8 bits; casts are counted then
/// @param groups  number of matrices, each with that many rows
/// @param share   as `gemm_time`
/// @return picoseconds
/// @throws invalid_input as `gemm_time`
[[nodiscard]] constexpr pass_time matrix_time(std::int64_t rows, std::int64_t out, std::int64_t in, device const& on,
                                              kernel_rates const& rates, bool fp8, std::int64_t groups = 1, std::int64_t share = 1000) {
  auto const added = rates.family == kernel_family::engine;
  pass_time time{
      gemm_time({.m = rows, .n = out, .k = in, .groups = groups, .fp8 = fp8}, on, rates, share),
      gemm_time({.m = rows, .n = in, .k = out, .groups = groups, .fp8 = fp8}, on, rates, share) +
          gemm_time({.m = out, .n = in, .k = rows > 0 ? rows : 1, .groups = groups, .fp8 = fp8, .added = added}, on, rates, share)};
  if (!fp8) return time;
  auto const cast = [&](std::int64_t each, std::int64_t height, std::int64_t width) {
    return detail::ps_of(checked(each) * checked(groups) * checked(height) * checked(width), memory_rate(on, rates), "a cast");
  };
  time.forward += cast(rates.cast_bytes, rows, in) + cast(rates.cast_weight_bytes, out, in);
  time.backward += cast(rates.cast_bytes, rows, out);
  return time;
}

/// @brief The attention of one layer on one device.
struct attention_shape {
  std::int64_t heads = 1;     ///< query heads on the device
  std::int64_t qk_width = 1;  ///< width of a query and key head
  std::int64_t v_width = 1;   ///< width of a value head
  std::int64_t window = 0;    ///< number of keys that a token sees; 0: all
  std::int64_t share = 1;     ///< devices that share the tokens
  bool causal = true;         ///< whether a token sees no later token
  bool chunked = false;       ///< whether windows are chunks of the sample, each attended to by itself; if not, they slide
  bool stored = false;        ///< whether scores are stored, and all pairs computed
  friend constexpr bool operator==(attention_shape const&, attention_shape const&) = default;
};

/// @brief The time of attention for the samples of a micro-batch.
///
/// Without a window it is c (sum of l^2 + (l0 + 1) sum of l) for samples of l tokens, so `squares` and `tokens` are enough. With a window
/// w, samples have their mean length; chunks are samples of w tokens, and where windows slide the curve is read at no more than 2 w tokens.
///
/// @param of       the attention
/// @param batch    tokens and squares of the micro-batch
/// @param on       the device
/// @param rates    its kernels
/// @param library  the kernel
/// @return picoseconds; the backward pass has two and a half times the products
/// @throws invalid_input if the time reaches 2^56 picoseconds
[[nodiscard]] constexpr pass_time attention_time(attention_shape const& of, batch_shape const& batch, device const& on,
                                                 kernel_rates const& rates, attention_library library) {
  if (batch.tokens == 0) return {};
  auto const each = checked(of.heads) * checked(of.qk_width + of.v_width);  // FLOPs of half a pair
  if (of.stored) {
    auto const rate = detail::thousandths_of(detail::thousandths_of(on.bf16_flops, rates.gemm), rates.stored_scores);
    auto const products = checked(2) * checked(batch.squares) * each;
    auto const pass = [&](std::int64_t times, std::int64_t passes) {
      return (detail::ps_of(checked(times) * products, rate, "attention") +
              detail::ps_of(checked(2 * passes * of.heads) * checked(batch.squares), memory_rate(on, rates), "attention")) /
             of.share;
    };
    return {pass(1, rates.score_passes), pass(2, rates.score_passes_backward)};
  }
  auto const& a = rates.attention[static_cast<std::size_t>(library)];
  auto const narrow = of.qk_width <= 64;
  auto const mean = (std::max)(batch.squares / batch.tokens, std::int64_t{1});
  auto const pass = [&](attention_curve const& curve, std::int64_t halves) {
    auto const beyond = of.window > 0 && mean > of.window;
    auto const squares = beyond && of.chunked ? checked(of.window) * checked(batch.tokens) : checked(batch.squares);
    auto work = squares + checked(curve.half_length + 1) * checked(batch.tokens);  // half of it are pairs at the rate E
    if (beyond && !of.chunked) {
      auto const pairs = checked(2 * of.window) * checked(batch.tokens);  // twice the pairs of long samples
      auto const fewer = static_cast<std::int64_t>(multiply_divide_up(
          static_cast<std::uint64_t>(of.window * of.window), static_cast<std::uint64_t>(batch.tokens), static_cast<std::uint64_t>(mean)));
      auto const length = (std::min)(mean, 2 * of.window);
      work = pairs.fits() ? checked(pairs.value - (of.causal ? fewer : 0)) : pairs;
      if (work.fits()) work = work + checked(detail::thousandths_of(work.value, curve.half_length * 1000 / length));
    }
    auto const flops = work * each * checked(halves * (of.causal ? 1 : 2));
    return detail::ps_of(flops, 2 * curve.flops, "attention") / of.share;
  };
  return {pass(narrow ? a.narrow_forward : a.forward, 2), pass(narrow ? a.narrow_backward : a.backward, 5)};
}

/// @brief The time of the scan of a state-space layer: that of its products or that of the bytes it moves, the longer one.
///
/// Mamba-2 (state-spaces/mamba, `ops/triton/ssd_combined.py`) moves x three times, B and C, the states of chunks in 32 bits and C B^T of
/// chunks. The backward pass has twice the products, computes states and C B^T again, and moves three times the bytes. Mamba-1 has no
/// matrix products; exponentials take it to a 32nd of their rate. That share and the three times are assumed.
///
/// @param of      the layer
/// @param tokens  of the micro-batch on the device
/// @param share   devices that share the heads
/// @param on      the device
/// @param rates   its kernels
/// @return picoseconds
/// @throws invalid_input if the time reaches 2^56 picoseconds
/// @par Source
/// Dao, Gu, "Transformers are SSMs", arXiv 2405.21060, section 6.
[[nodiscard]] constexpr pass_time scan_time(state_space const& of, std::int64_t tokens, std::int64_t share, device const& on,
                                            kernel_rates const& rates) {
  auto const inner = of.inner(), n = of.state, flops = detail::scan_flops(of);
  auto const one = of.step_rank > 0;
  auto const rate = detail::thousandths_of(on.bf16_flops, rates.gemm) / (one ? 32 : 1);
  auto const again = one ? flops : 2 * inner * n + (of.chunk + 1) * of.groups * n;
  auto const bytes =
      one ? 8 * (inner + n) : 6 * inner + 24 * of.heads + 8 * of.groups * (n + of.chunk) + divide_up(12 * inner * n, of.chunk);
  auto const pass = [&](std::int64_t work, std::int64_t moved) {
    return (std::max)(detail::ps_of(checked(divide_up(work, share)) * checked(tokens), rate, "a scan"),
                      detail::ps_of(checked(divide_up(moved, share)) * checked(tokens), memory_rate(on, rates), "a scan"));
  };
  return {pass(flops, bytes), pass(2 * flops + again, 3 * bytes)};
}

/// @brief The links of a cluster as kernels reach them.
struct link_rates {
  std::int64_t inside = 0;    ///< bytes/s of NVLink, one way; 0: exchanges take no time
  std::int64_t between = 0;   ///< bytes/s to other nodes, for each device
  std::int64_t per_node = 8;  ///< number of devices in a node
};

/// @brief The links of a device's datasheet. @param on the device @return bytes per second, one way
[[nodiscard]] constexpr link_rates links_of(device const& on) noexcept {
  auto const inside = on.link_bandwidth / 2;
  return {inside, on.network_bandwidth > 0 ? on.network_bandwidth : inside, on.per_node};
}

/// @brief The time of an all-gather or a reduce-scatter as a ring of all ranks: (n - 1) / n of the bytes over the slower of NVLink and the
/// adapters of the group's ranks in a node, and latency.
/// @param bytes  the whole array, as `collective` counts them
/// @param group  the ranks
/// @param over   the links
/// @param rates  the shares of the links that are reached
/// @return picoseconds; 0 for one rank, and without links
/// @throws invalid_input if a number is out of range, or the time reaches 2^56 picoseconds
/// @par Source
/// This library (docs/time-model.md).
[[nodiscard]] constexpr std::int64_t ring_time(std::int64_t bytes, rank_group const& group, link_rates const& over,
                                               kernel_rates const& rates) {
  auto const n = group.ranks;
  detail::require_within("per_node", over.per_node, 1, 1 << 24);
  if (n <= 1 || over.inside == 0) return 0;
  auto const in = group.stride < over.per_node ? (std::min)(n, (std::max)(over.per_node / group.stride, std::int64_t{1})) : 1;
  auto const inside = detail::thousandths_of(over.inside, rates.link), between = detail::thousandths_of(over.between, rates.network);
  auto const one_node = in >= n;
  auto const rate = one_node || between > inside / in ? inside : between * in;
  auto const latency = detail::thousandths_of(rates.call, detail::log2_thousandths(n)) + (one_node ? 0 : rates.call_hop * n / in);
  require(bytes >= 0, [&] { return sentence("bytes = ", bytes, " must not be negative"); });
  auto const sent = static_cast<std::int64_t>(
      multiply_divide_up(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(n - 1), static_cast<std::uint64_t>(n)));
  return detail::ps_of(checked(sent), rate, "an exchange") + latency;
}

/// @brief How tokens are sent to their experts.
enum class token_dispatcher : std::uint8_t {
  all_to_all,  ///< `--moe-token-dispatcher-type alltoall`: each row travels
  once,  ///< `--moe-token-dispatcher-type flex` with DeepEP or HybridEP: a token travels once to each node, and once to each rank in it
};

/// @brief The time in which rows travel to experts, or back.
/// @param tokens  tokens of a device
/// @param active  experts that a token is sent to
/// @param width   bytes of a row
/// @param ranks   expert-parallel degree
/// @param how     the dispatcher
/// @param over    the links
/// @param rates   the shares of the links that are reached
/// @return picoseconds; 0 for one rank, and without links
/// @throws invalid_input if a number is out of range, or the time reaches 2^56 picoseconds
[[nodiscard]] constexpr std::int64_t dispatch_time(std::int64_t tokens, std::int64_t active, std::int64_t width, std::int64_t ranks,
                                                   token_dispatcher how, link_rates const& over, kernel_rates const& rates) {
  if (ranks <= 1 || over.inside == 0) return 0;
  detail::require_within("per_node", over.per_node, 1, 1 << 24);
  auto const in = (std::min)(ranks, over.per_node), nodes = divide_up(ranks, in);
  auto const row = checked(tokens) * checked(width);
  require(row.fits() && row.value < std::int64_t{1} << 42, [] { return std::string("rows of experts have 2^42 bytes or more"); });
  /// distinct targets among `n` of `active` experts, in millionths: n (1 - (1 - 1/n)^active)
  auto const distinct = [&](std::int64_t n) {
    std::int64_t missed = 1'000'000'000;
    for (std::int64_t i = 0; i < active; ++i) missed = missed / n * (n - 1) + missed % n * (n - 1) / n;
    return n == 1 ? std::int64_t{1'000'000} : n * (1'000'000'000 - missed) / 1000;
  };
  auto const time = [&](std::int64_t millionths, std::int64_t rate, std::int64_t part, std::int64_t of) {
    auto const bytes = multiply_divide_up(static_cast<std::uint64_t>(row.value), static_cast<std::uint64_t>(millionths), 1'000'000);
    return detail::ps_of(
        checked(static_cast<std::int64_t>(multiply_divide_up(bytes, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(of)))),
        rate, "an all-to-all");
  };
  if (how == token_dispatcher::once)
    return (std::max)(time(distinct(nodes), detail::thousandths_of(over.between, rates.network), nodes - 1, nodes),
                      time(distinct(ranks), detail::thousandths_of(over.inside, rates.link), in - 1, in)) +
           rates.call_dispatch;
  auto const all = active * 1'000'000;
  return (std::max)(time(all, detail::thousandths_of(over.between, rates.network_to_all), ranks - in, ranks),
                    time(all, detail::thousandths_of(over.inside, rates.link_to_all), in - 1, ranks)) +
         rates.call_to_all;
}

}  // namespace ballast::inline v0_2
