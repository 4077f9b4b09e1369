// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief What routing costs beside the experts: router, softmaxes, searches for the largest score, and all-to-alls, for top-k routing and
/// for k prototypes.

namespace ballast::inline v0_2 {

/// @brief Routing by prototypes: the experts are cut into `prototypes` sets of equal size, and each set routes every token by itself.
///
/// One prototype is top-k routing with k = `active`; Z prototypes with one active expert each are "Z top-1" (expert prototyping). A token
/// is sent to k = `prototypes * active` experts.
struct prototyped_routing {
  std::int64_t experts = 1;     ///< N: number of experts of all prototypes, at most 2,048 in each
  std::int64_t prototypes = 1;  ///< Z: number of prototypes, a divisor of the experts, at most 2,048
  std::int64_t active = 1;      ///< number of experts of each prototype that a token is sent to
  std::int64_t capacity = 0;    ///< rows that an expert takes, in thousandths of an even share k T / N; 0: as many as come (dropless)

  /// @brief The routing within one prototype.
  [[nodiscard]] constexpr expert_routing within() const noexcept { return {experts / prototypes, active, capacity}; }
  friend constexpr bool operator==(prototyped_routing const&, prototyped_routing const&) = default;
};

/// @brief Throws unless a routing is in range.
/// @param by  the routing
/// @throws invalid_input naming the field
constexpr void require_valid(prototyped_routing const& by) {
  detail::require_within("prototypes", by.prototypes, 1, 2048);
  detail::require_within("experts", by.experts, by.prototypes, 2048 * by.prototypes);
  require(by.experts % by.prototypes == 0,
          [&] { return "prototypes = " + std::to_string(by.prototypes) + " must divide experts = " + std::to_string(by.experts); });
  require_valid(by.within());
}

/// @brief Work of the forward pass of one mixture-of-experts layer.
struct routed_work {
  std::int64_t capacity = 0;       ///< C: rows that an expert takes at most
  std::int64_t rows = 0;           ///< rows of all experts: N C with a capacity, empty ones included; k T without
  std::int64_t expert_flops = 0;   ///< FLOPs of the matrices of the experts
  std::int64_t router_flops = 0;   ///< FLOPs of the router: 2 T d N, however many prototypes there are
  std::int64_t softmaxes = 0;      ///< number of softmaxes: Z T
  std::int64_t softmax_width = 0;  ///< scores of one softmax: N / Z
  std::int64_t searched = 0;  ///< scores read to find the largest ones, `active` times in turn: T active N; k T N by top-k, T N by k top-1
  std::int64_t searches = 0;  ///< searches for the largest score that wait for one another: `active`, whatever the prototypes

  friend constexpr bool operator==(routed_work const&, routed_work const&) = default;
};

/// @brief Counts the forward work of one mixture-of-experts layer.
///
/// Top-k routing finds the largest of N scores k times, one search behind the other, because each leaves out what the others found. k
/// prototypes each find the largest of N / k scores once. All else is equal: experts of equal capacity compute equal rows.
///
/// @param tokens  T: number of tokens that are routed together, in [0, 2^40]
/// @param by      how they are routed; its numbers of experts replace those of the model
/// @param model   the shape: `hidden`, `expert_ffn` and `gated` are read
/// @return the work
/// @post equal for two routings with the same experts, k and capacity, except for `softmaxes`, `softmax_width`, `searched` and `searches`
/// @throws invalid_input if an argument is out of range or a count reaches 2^63
/// @par Source
/// Yang et al., "M6-T: exploring sparse expert models and beyond", arXiv 2105.15082.
template <class = when_called>
[[nodiscard]] constexpr routed_work work_of_routing(std::int64_t tokens, prototyped_routing const& by, transformer const& model) {
  require_valid(by);
  auto const width = by.experts / by.prototypes;
  routed_work out{.capacity = expert_capacity(tokens, by.within()), .softmax_width = width, .searches = by.active};
  auto const keep = [&](std::int64_t& to, checked count) {
    require(count.fits(), [&] { return "tokens = " + std::to_string(tokens) + " bring the work of a layer to 2^63 or more"; });
    to = count.value;
  };
  auto const t = checked(tokens);
  keep(out.rows, checked(by.prototypes) * checked(expert_rows(tokens, by.within())));
  keep(out.expert_flops, checked(out.rows) * checked(expert_flops_per_row(model)));
  keep(out.router_flops, t * checked(2) * checked(model.hidden) * checked(by.experts));
  keep(out.softmaxes, t * checked(by.prototypes));
  keep(out.searched, t * checked(by.active) * checked(by.experts));
  return out;
}

/// @brief Bytes that a rank passes to the all-to-alls of a mixture-of-experts layer in one training step.
struct expert_exchange {
  std::int64_t call = 0;      ///< bytes of one all-to-all, those that stay on the rank included, as `collective::all_to_all` counts
  std::int64_t forward = 0;   ///< bytes of the forward pass: 2 calls, to the experts and back
  std::int64_t backward = 0;  ///< bytes of the backward pass: 2 calls, the gradients of both
  /// @brief Bytes of all four calls.
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return forward + backward; }
  friend constexpr bool operator==(expert_exchange const&, expert_exchange const&) = default;
};

/// @brief Counts the bytes of the all-to-alls of a mixture-of-experts layer.
///
/// @param rows           rows that the rank sends: `routed_work::rows` of its tokens where each expert gets C rows, empty ones included, or
///                       `routed_rows::kept` where only real rows travel; in [0, 2^52]
/// @param hidden         d: values of a row, in [1, 2^18]
/// @param element_bytes  bytes of a value, in [1, 8]
/// @return the bytes
/// @throws invalid_input if an argument is out of range or the bytes reach 2^61
template <class = when_called>
[[nodiscard]] constexpr expert_exchange expert_exchange_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t element_bytes = 2) {
  detail::require_within("rows", rows, 0, std::int64_t{1} << 52);
  detail::require_within("hidden", hidden, 1, 1 << 18);
  detail::require_within("element_bytes", element_bytes, 1, 8);
  auto const call = checked(rows) * checked(hidden) * checked(element_bytes);
  require(call.fits() && call.value < std::int64_t{1} << 61,
          [&] { return "rows = " + std::to_string(rows) + " bring an all-to-all to 2^61 bytes or more"; });
  return {.call = call.value, .forward = 2 * call.value, .backward = 2 * call.value};
}

}  // namespace ballast::inline v0_2
