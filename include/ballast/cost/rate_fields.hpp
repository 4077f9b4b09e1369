// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/kernel_rates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// @brief `rate_fields`: the numbers of `kernel_rates` by name, with their units and ranges, for files of rates and for calibration.

namespace ballast::inline v0_2 {

/// @brief What a number of `kernel_rates` is.
enum class rate_kind : std::uint8_t {
  share,   ///< thousandths of a rate of the datasheet, from 1 to 10^4
  factor,  ///< thousandths of another rate or time, from 1 to 10^4
  part,    ///< thousandths of a whole, from 0 to 1000
  time,    ///< picoseconds, from 0 to 10^12
  amount,  ///< bytes, passes or products, from 0 to 10^6
};

namespace detail {
template <class Of, class Value>
using member_of = Value Of::*;  // nvcc cannot write such a member without a name
}

/// @brief A number of `kernel_rates` or of `operator_bytes`.
/// @tparam Of  the struct
template <class Of>
struct rate_field {
  std::string_view name;                      ///< as in C++
  detail::member_of<Of, std::int64_t> value;  ///< the member
  rate_kind kind;                             ///< its unit
  /// @brief The least value. @return 0 or 1
  [[nodiscard]] constexpr std::int64_t least() const noexcept { return kind == rate_kind::share || kind == rate_kind::factor ? 1 : 0; }
  /// @brief The largest value. @return it
  [[nodiscard]] constexpr std::int64_t most() const noexcept {
    constexpr std::array<std::int64_t, 5> limits{10'000, 10'000, 1000, 1'000'000'000'000, 1'000'000};
    return limits[static_cast<std::size_t>(kind)];
  }
};

/// @brief All numbers of `kernel_rates` but those of attention and of operators.
inline constexpr std::array rate_fields{
    rate_field<kernel_rates>{"gemm", &kernel_rates::gemm, rate_kind::share},
    rate_field<kernel_rates>{"gemm_fp8", &kernel_rates::gemm_fp8, rate_kind::share},
    rate_field<kernel_rates>{"expert_gemm", &kernel_rates::expert_gemm, rate_kind::factor},
    rate_field<kernel_rates>{"head", &kernel_rates::head, rate_kind::factor},
    rate_field<kernel_rates>{"depth", &kernel_rates::depth, rate_kind::amount},
    rate_field<kernel_rates>{"cast_bytes", &kernel_rates::cast_bytes, rate_kind::amount},
    rate_field<kernel_rates>{"cast_weight_bytes", &kernel_rates::cast_weight_bytes, rate_kind::amount},
    rate_field<kernel_rates>{"memory", &kernel_rates::memory, rate_kind::share},
    rate_field<kernel_rates>{"stored_scores", &kernel_rates::stored_scores, rate_kind::factor},
    rate_field<kernel_rates>{"score_passes", &kernel_rates::score_passes, rate_kind::amount},
    rate_field<kernel_rates>{"score_passes_backward", &kernel_rates::score_passes_backward, rate_kind::amount},
    rate_field<kernel_rates>{"host", &kernel_rates::host, rate_kind::time},
    rate_field<kernel_rates>{"host_experts", &kernel_rates::host_experts, rate_kind::time},
    rate_field<kernel_rates>{"host_latent", &kernel_rates::host_latent, rate_kind::factor},
    rate_field<kernel_rates>{"host_forward", &kernel_rates::host_forward, rate_kind::part},
    rate_field<kernel_rates>{"sync_experts", &kernel_rates::sync_experts, rate_kind::time},
    rate_field<kernel_rates>{"graphs_of_parts", &kernel_rates::graphs_of_parts, rate_kind::part},
    rate_field<kernel_rates>{"graphs_of_layers", &kernel_rates::graphs_of_layers, rate_kind::part},
    rate_field<kernel_rates>{"link", &kernel_rates::link, rate_kind::share},
    rate_field<kernel_rates>{"link_to_all", &kernel_rates::link_to_all, rate_kind::share},
    rate_field<kernel_rates>{"network", &kernel_rates::network, rate_kind::share},
    rate_field<kernel_rates>{"network_to_all", &kernel_rates::network_to_all, rate_kind::share},
    rate_field<kernel_rates>{"call", &kernel_rates::call, rate_kind::time},
    rate_field<kernel_rates>{"call_hop", &kernel_rates::call_hop, rate_kind::time},
    rate_field<kernel_rates>{"call_to_all", &kernel_rates::call_to_all, rate_kind::time},
    rate_field<kernel_rates>{"call_dispatch", &kernel_rates::call_dispatch, rate_kind::time},
    rate_field<kernel_rates>{"pass", &kernel_rates::pass, rate_kind::time},
    rate_field<kernel_rates>{"send", &kernel_rates::send, rate_kind::time},
    rate_field<kernel_rates>{"stolen", &kernel_rates::stolen, rate_kind::part},
    rate_field<kernel_rates>{"tensor_hidden", &kernel_rates::tensor_hidden, rate_kind::part},
    rate_field<kernel_rates>{"expert_hidden", &kernel_rates::expert_hidden, rate_kind::part},
    rate_field<kernel_rates>{"gradient_hidden", &kernel_rates::gradient_hidden, rate_kind::part},
    rate_field<kernel_rates>{"gradient_least", &kernel_rates::gradient_least, rate_kind::part},
    rate_field<kernel_rates>{"gathered_context", &kernel_rates::gathered_context, rate_kind::factor},
    rate_field<kernel_rates>{"kept_input", &kernel_rates::kept_input, rate_kind::part},
    rate_field<kernel_rates>{"shard_copy", &kernel_rates::shard_copy, rate_kind::amount},
    rate_field<kernel_rates>{"step", &kernel_rates::step, rate_kind::time},
    rate_field<kernel_rates>{"optimizer", &kernel_rates::optimizer, rate_kind::amount},
    rate_field<kernel_rates>{"jitter", &kernel_rates::jitter, rate_kind::part}};

/// @brief All numbers of `operator_bytes`.
inline constexpr std::array operator_byte_fields{
    rate_field<operator_bytes>{"norm", &operator_bytes::norm, rate_kind::amount},
    rate_field<operator_bytes>{"norm_backward", &operator_bytes::norm_backward, rate_kind::amount},
    rate_field<operator_bytes>{"residual", &operator_bytes::residual, rate_kind::amount},
    rate_field<operator_bytes>{"rotary", &operator_bytes::rotary, rate_kind::amount},
    rate_field<operator_bytes>{"head_norm", &operator_bytes::head_norm, rate_kind::amount},
    rate_field<operator_bytes>{"head_norm_backward", &operator_bytes::head_norm_backward, rate_kind::amount},
    rate_field<operator_bytes>{"gated", &operator_bytes::gated, rate_kind::amount},
    rate_field<operator_bytes>{"gated_backward", &operator_bytes::gated_backward, rate_kind::amount},
    rate_field<operator_bytes>{"plain", &operator_bytes::plain, rate_kind::amount},
    rate_field<operator_bytes>{"plain_backward", &operator_bytes::plain_backward, rate_kind::amount},
    rate_field<operator_bytes>{"expert_gated", &operator_bytes::expert_gated, rate_kind::amount},
    rate_field<operator_bytes>{"expert_gated_backward", &operator_bytes::expert_gated_backward, rate_kind::amount},
    rate_field<operator_bytes>{"loss", &operator_bytes::loss, rate_kind::amount},
    rate_field<operator_bytes>{"fused_loss", &operator_bytes::fused_loss, rate_kind::amount},
    rate_field<operator_bytes>{"permutation", &operator_bytes::permutation, rate_kind::amount},
    rate_field<operator_bytes>{"router", &operator_bytes::router, rate_kind::amount},
    rate_field<operator_bytes>{"all", &operator_bytes::all, rate_kind::amount}};

/// @brief A curve of `attention_rates`.
struct curve_field {
  std::string_view name;                                      ///< as in C++
  detail::member_of<attention_rates, attention_curve> value;  ///< the member
};

/// @brief The curves of an attention kernel.
inline constexpr std::array curve_fields{
    curve_field{"forward", &attention_rates::forward}, curve_field{"backward", &attention_rates::backward},
    curve_field{"narrow_forward", &attention_rates::narrow_forward}, curve_field{"narrow_backward", &attention_rates::narrow_backward}};

/// @brief The names of attention kernels, by `attention_library`.
inline constexpr std::array<std::string_view, 4> attention_libraries{"flash1", "flash2", "cudnn", "flash3"};

/// @brief The largest rate of an attention curve, in FLOP/s; the least is 1.
inline constexpr std::int64_t most_attention_flops = 100'000'000'000'000'000;

}  // namespace ballast::inline v0_2
