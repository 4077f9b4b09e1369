// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/expected_loads.hpp>
#include <ballast/cost/inclusion_chances.hpp>
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/routed_work.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief M6-T (Yang et al., 2021): what k, capacity and expert prototyping cost and drop, and which optimisers fit a trillion parameters.

namespace ballast::inline v0_2::m6t {

/// @brief One way to route a layer: what it computes, exchanges and drops.
struct routed_layer {
  routed_work work;          ///< of the forward pass
  expert_exchange exchange;  ///< of all tokens, in bytes of bfloat16: forward and backward
  expected_rows expected;    ///< of all prototypes together
};

/// @brief Judges one way to route a layer.
///
/// M6-T varies k, the capacity and the kind of router: top-k is one prototype with k active experts, and k top-1 is k prototypes with one.
///
/// @param tokens  T: number of tokens that are routed together, in [0, 2^24]
/// @param by      how they are routed, at most 128 active experts
/// @param model   the shape: `hidden`, `expert_ffn` and `gated` are read
/// @param halves  twice the exponent of a Zipf router, in [0, 4]; 0 is a uniform router. A token's active experts are drawn one after the
///                other, without replacement
/// @return the figures
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// O(experts of a prototype root(T)), and as `inclusion_chances` if `halves > 0` and several experts are active.
template <class = when_called>
[[nodiscard]] routed_layer route(std::int64_t tokens, prototyped_routing const& by, transformer const& model, std::int64_t halves = 0) {
  routed_layer out{.work = work_of_routing(tokens, by, model), .exchange = {}, .expected = {}};
  out.exchange = expert_exchange_bytes(out.work.rows, model.hidden);
  auto const within = by.within();
  auto const chances = halves == 0 ? uniform_chances(within) : zipf_chances(within.experts, halves, within.active);
  out.expected = expect_rows(tokens, out.work.capacity, chances);
  out.expected.dropped *= by.prototypes;
  return out;
}

/// @brief A mixture-of-experts transformer as the papers of the M6 family count it: attention and experts, without embeddings.
struct counted_shape {
  std::int64_t layers = 1;   ///< number of layers; each has experts
  std::int64_t experts = 1;  ///< number of experts of a layer
  std::int64_t hidden = 1;   ///< width
  std::int64_t ffn = 1;      ///< inner width of an expert, which has two matrices
};

/// @brief The shape of M6-10T (Lin et al., arXiv 2110.03888): 48 layers of 10,240 experts in 80 prototypes; 10,050,424,799,232 parameters.
inline constexpr counted_shape m6_10t{.layers = 48, .experts = 10'240, .hidden = 1024, .ffn = 9984};

/// @brief Parameters of a shape: layers (experts * 2 * hidden * ffn + 4 * hidden^2).
/// @param of  the shape; all fields are at least 1
/// @return the number
/// @throws invalid_input if a field is not positive or the number reaches 2^63
[[nodiscard]] constexpr std::int64_t parameters(counted_shape const& of) {
  constexpr auto most = std::int64_t{1} << 40;
  ballast::detail::require_within("layers", of.layers, 1, most);
  ballast::detail::require_within("experts", of.experts, 1, most);
  ballast::detail::require_within("hidden", of.hidden, 1, most);
  ballast::detail::require_within("ffn", of.ffn, 1, most);
  auto const h = checked(of.hidden);
  auto const count = checked(of.layers) * (checked(of.experts) * checked(2) * h * checked(of.ffn) + checked(4) * h * h);
  require(count.fits(), [] { return "the shape has 2^63 parameters or more"; });
  return count.value;
}

/// @brief Bytes of parameters, gradients and optimiser states on each device, if matrices of experts are spread evenly.
/// @param parameters  parameters on all devices
/// @param devices     number of devices, at least 1
/// @param expert      shape of a matrix of an expert, on which the moments of some optimisers depend; `copies` is not read
/// @param by          the optimiser
/// @return bytes on the device with the most; the last matrix is cut behind a column
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr std::int64_t states_on_device(std::int64_t parameters, std::int64_t devices, weight_matrix expert,
                                                      optimizer const& by) {
  ballast::detail::require_within("parameters", parameters, 1, std::int64_t{1} << 52);
  ballast::detail::require_within("devices", devices, 1, 1 << 24);
  ballast::detail::require_within("in", expert.in, 1, 1 << 26);
  ballast::detail::require_within("out", expert.out, 1, 1 << 26);
  auto const mine = divide_up(parameters, devices), whole = expert.in * expert.out;
  expert.copies = mine / whole;
  auto const rest = mine % whole;
  auto const part = weight_matrix{.in = expert.in, .out = divide_up(rest, expert.in)};
  return state_bytes(expert, by).total() + (rest > 0 ? state_bytes(part, by).total() : 0);
}

/// @brief The optimisers whose states fit the memory of each device.
/// @param parameters  as for `states_on_device`
/// @param devices     as for `states_on_device`
/// @param expert      as for `states_on_device`
/// @param memory      bytes of a device; activations are not counted
/// @return names of `optimizers`, in their order
/// @throws invalid_input as `states_on_device`
template <class = when_called>
[[nodiscard]] std::vector<std::string_view> optimizers_that_fit(std::int64_t parameters, std::int64_t devices, weight_matrix const& expert,
                                                                std::int64_t memory) {
  std::vector<std::string_view> out;
  for (auto const& o : optimizers)
    if (states_on_device(parameters, devices, expert, o) <= memory) out.push_back(o.name);
  return out;
}

}  // namespace ballast::inline v0_2::m6t
