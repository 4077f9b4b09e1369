// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// @brief The cost model of FlexSP (Wang et al., arXiv 2412.01523) with its fitted constants: time of a sample, tokens that fit a rank.

namespace ballast::inline v0_2::flexsp {

/// @brief What FlexSP's cost model needs of a model. Times are fitted on A100 GPUs with 40 GB, for forward and backward pass together.
struct shape {
  std::string_view name;             ///< as in "gpt-7b"
  std::int64_t layers = 1;           ///< number of layers
  std::int64_t hidden = 1;           ///< width of the hidden state
  std::int64_t square = 0;           ///< the paper's alpha_1: femtoseconds per squared token, divided by the ranks
  std::int64_t linear = 0;           ///< the paper's alpha_2: picoseconds per token, divided by the ranks
  std::int64_t pass = 0;             ///< the paper's beta_1: nanoseconds of a pass beside its samples
  std::int64_t bytes_per_token = 1;  ///< bytes of activations of a token
  std::int64_t states = 0;           ///< bytes of parameters, gradients and optimiser over all ranks: 16 per parameter
};

/// @brief The paper's three models.
inline constexpr std::array shapes{
    shape{.name = "gpt-7b",
          .layers = 32,
          .hidden = 4096,
          .square = 5'128'000,
          .linear = 183'957'600,
          .pass = 629'356'300,
          .bytes_per_token = 4'480'000,
          .states = 112'000'000'000},
    shape{.name = "gpt-13b",
          .layers = 40,
          .hidden = 5120,
          .square = 9'285'200,
          .linear = 306'018'900,
          .pass = 1'132'563'200,
          .bytes_per_token = 4'220'000,
          .states = 208'000'000'000},
    shape{.name = "gpt-30b",
          .layers = 60,
          .hidden = 6656,
          .square = 15'426'200,
          .linear = 803'574'200,
          .pass = 2'789'364'400,
          .bytes_per_token = 3'417'000,
          .states = 480'000'000'000},
};

/// @brief One of `shapes` by name. @param name as in "gpt-7b" @return the shape
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr shape const& shape_named(std::string_view name) { return find_named(shapes, name, "model of FlexSP"); }

/// @brief Speed of an all-to-all among 2, 4, ... 64 GPUs, eight in a node, in units of 10 MB/s (10^7 bytes).
inline constexpr std::array<std::int64_t, 6> all_to_all_speeds{11954, 10407, 9650, 1033, 594, 487};

/// @brief Time of a sample that several ranks share (Ulysses): `(square n^2 + linear n) / ranks`, and all-to-alls of 16-bit values.
///
/// An all-to-all moves `layers * hidden * n / ranks` values of each rank. There are four in the forward and four in the backward pass.
/// @param model  the shape
/// @return the cost, its constants rounded to a picosecond; its exchange for more than 64 ranks is that of 64
[[nodiscard]] inline degree_cost cost_of(shape const& model) {
  degree_cost out{.linear = model.linear, .square = (model.square + 500) / 1000, .exchange = {0}};
  auto const picobytes = 4 * 2 * 2 * model.layers * model.hidden * 100'000;  // of a token, over the unit of the speeds
  for (std::size_t k = 0; k < all_to_all_speeds.size(); ++k) {
    auto const by = all_to_all_speeds[k] << (k + 1);
    out.exchange.push_back((picobytes + by / 2) / by);
  }
  return out;
}

/// @brief The length at which the squared and the linear part of a sample's computation take the same time.
/// @param model  the shape @return tokens, rounded down
[[nodiscard]] constexpr std::int64_t crossover(shape const& model) noexcept { return 1000 * model.linear / model.square; }

/// @brief The options of a run on a cluster for `flexsp::schedule` and the planners of sharding/.
///
/// The states are divided evenly among the ranks (ZeRO-3); a rank holds as many tokens as fit beside its part.
/// @param model   the shape
/// @param ranks   number of GPUs
/// @param usable  bytes that a GPU has for states and activations, such as 36'000'000'000
/// @return capacity, ranks and fixed time of a pass, in lockstep, with contiguous shares
/// @throws invalid_input if the memory does not hold a token beside the states, or `ranks` is not in 1 ... 2^20 - 1
template <class = when_called>
[[nodiscard]] inline sharding_options options_of(shape const& model, std::uint64_t ranks, std::int64_t usable) {
  require(ranks > 0 && ranks < std::uint64_t{1} << 20, [&] { return sentence("ranks = ", ranks, " must be in 1 ... 2^20 - 1"); });
  auto const needed = divide_up(model.states, static_cast<std::int64_t>(ranks)) + model.bytes_per_token;
  require(usable >= needed, [&] { return sentence("usable = ", usable, " is less than the ", needed, " bytes of states and one token"); });
  return {.capacity = (usable - needed) / model.bytes_per_token + 1,
          .ranks = ranks,
          .cost_per_pass = model.pass,
          .execution = execution::lockstep,
          .layout = share_layout::contiguous};
}

}  // namespace ballast::inline v0_2::flexsp
