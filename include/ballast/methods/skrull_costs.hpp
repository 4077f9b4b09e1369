// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/cost/polynomial.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief The cost models of Skrull (Xu et al., arXiv 2505.19609): FLOPs of a layer, time of collectives, tokens that fit a rank.

namespace ballast::inline v0_2::skrull {

/// @brief What Skrull's cost models need of a model.
struct shape {
  std::string_view name;      ///< as in "qwen2.5-7b"
  std::int64_t layers = 1;    ///< number of layers
  std::int64_t hidden = 1;    ///< width h of the hidden state
  std::int64_t kv_width = 1;  ///< width h_kv of the keys of a token in a layer, over all heads; that of the values is the same
  std::int64_t capacity = 0;  ///< the paper's tokens of a rank in a micro-batch, on an H100 with 80 GB; "K" is read as 1024
};

/// @brief The paper's two models.
inline constexpr std::array shapes{
    shape{.name = "qwen2.5-0.5b", .layers = 24, .hidden = 896, .kv_width = 128, .capacity = 26 * 1024},
    shape{.name = "qwen2.5-7b", .layers = 28, .hidden = 3584, .kv_width = 512, .capacity = 13 * 1024},
};

/// @brief One of `shapes` by name. @param name as in "qwen2.5-7b" @return the shape
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr shape const& shape_named(std::string_view name) { return find_named(shapes, name, "model of Skrull"); }

/// @brief Forward FLOPs of a layer as printed: `20 h^2 S + 4 h h_kv S + 4 h S^2` for S tokens.
///
/// It counts a plain feed-forward block of width 4 h and attention over the full square. Both terms are equal at 4,608 tokens for the 0.5B
/// model and 18,432 for the 7B model. The exact counts of these models (`sample_cost`) are equal at 22,972 and 70,456 tokens.
/// @param model  the shape
/// @return FLOPs by the length
[[nodiscard]] constexpr quadratic_cost layer_flops(shape const& model) {
  return {.linear = 20 * model.hidden * model.hidden + 4 * model.hidden * model.kv_width, .quadratic = 4 * model.hidden};
}

/// @brief Time of the forward and backward pass of a sample in all layers, by `layer_flops`, divided evenly among its ranks.
/// @param model             the shape
/// @param flops_per_second  rate that a device reaches, at least 1
/// @return a cost in nanoseconds, without communication
/// @throws invalid_input if the rate is not positive
[[nodiscard]] inline degree_cost compute_time(shape const& model, std::int64_t flops_per_second) {
  require(flops_per_second > 0, [&] { return sentence("flops_per_second = ", flops_per_second, " must be positive"); });
  auto const flops = layer_flops(model);
  auto const picoseconds = [&](std::int64_t of_layer) {
    return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(3 * model.layers * of_layer), 1'000'000'000'000,
                                                        static_cast<std::uint64_t>(flops_per_second)));
  };
  return {.linear = picoseconds(flops.linear), .square = picoseconds(flops.quadratic), .exchange = {}};
}

/// @brief Time of a collective of 8 GPUs by its bytes: table 5 of the paper.
///
/// Below 2 MB the time is constant and beyond 1024 MB the last line continues, which is the form of the paper's equation 16: a fixed time
/// below a threshold, then a line. MB are read as 2^20 bytes. Where the table falls (all-to-all, from 2 to 4 MB), its first time is kept.
/// @param what  all-gather, all-to-all, reduce-scatter or all-reduce
/// @return picoseconds by bytes
/// @throws invalid_input for another collective
[[nodiscard]] inline link_time table_5(collective what) {
  struct row {
    std::int64_t megabytes, gather, exchange, scatter, reduce;  // tens of nanoseconds
  };
  constexpr row rows[] = {{2, 5329, 8062, 5948, 8465},           {4, 7252, 8062, 7926, 11330},
                          {8, 9786, 11090, 10470, 16840},        {16, 19930, 16320, 17740, 31220},
                          {32, 28620, 27750, 26950, 47920},      {64, 48860, 50240, 45880, 85970},
                          {128, 91060, 93920, 86430, 164290},    {256, 175840, 180390, 166390, 319790},
                          {512, 341640, 341120, 323950, 618120}, {1024, 646790, 662960, 629430, 1212600}};
  std::vector<link_point> points;
  for (auto const& r : rows) {
    auto const time = what == collective::all_gather       ? r.gather
                      : what == collective::all_to_all     ? r.exchange
                      : what == collective::reduce_scatter ? r.scatter
                                                           : r.reduce;
    points.push_back({r.megabytes << 20, time * 10'000});
  }
  require(what != collective::send, [] { return "table 5 has no send"; });
  return link_time(points);
}

/// @brief Time to exchange V shared tokens in all layers: keys and values are gathered in the forward and in the backward pass, and their
/// gradients are scattered, in 16 bits. The paper prints no constant for its equation 15, so this reading of it is ours.
struct exchange_time {
  std::int64_t bytes_per_token = 0;  ///< bytes of the keys and values of a token in a layer
  std::int64_t layers = 1;           ///< number of layers
  link_time gather{};                ///< picoseconds of an all-gather by its bytes
  link_time scatter{};               ///< picoseconds of a reduce-scatter by its bytes

  /// @brief The time in nanoseconds. @param tokens all shared tokens of a micro-batch; below 2^40
  [[nodiscard]] std::int64_t operator()(std::int64_t tokens) const noexcept {
    auto const bytes = tokens * bytes_per_token;
    return tokens == 0 ? 0 : divide_up(layers * (2 * gather(bytes) + scatter(bytes)), std::int64_t{1000});
  }
};

/// @brief The exchanges of a model, with the times of table 5. @param model the shape @return nanoseconds by the shared tokens
[[nodiscard]] inline exchange_time exchange_of(shape const& model) {
  return {.bytes_per_token = 4 * model.kv_width,
          .layers = model.layers,
          .gather = table_5(collective::all_gather),
          .scatter = table_5(collective::reduce_scatter)};
}

}  // namespace ballast::inline v0_2::skrull
