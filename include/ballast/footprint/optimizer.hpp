// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/footprint/memory.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// @brief Optimisers by name: the bytes of parameters, gradients and optimiser states, per parameter and for a matrix of a given shape, and
/// which of them are in host memory when they are offloaded.

namespace ballast::inline v0_2 {

/// @brief How an optimiser stores its moments.
enum class moment_form : std::uint8_t {
  whole,     ///< a constant number of bytes per parameter, included in `optimizer::state`
  blocks,    ///< two moments of one byte per parameter, included in `optimizer::state`, and a float32 scale for each block
  factors,   ///< Adafactor: a float32 value for each row and each column of a matrix, and for each element of a vector
  low_rank,  ///< GaLore: a projector of the shorter side, and two moments of the projected gradient, in bfloat16
  matrices,  ///< Muon: matrices have the moment that `optimizer::state` includes, and vectors a second one of `optimizer::second` bytes
};

/// @brief What an optimiser keeps in memory.
struct optimizer {
  std::string_view name;                     ///< name in lower case, as in "adam"
  training_state state{};                    ///< bytes per parameter, without the part that depends on the shape of a matrix
  moment_form moments = moment_form::whole;  ///< which part depends on the shape
  std::int64_t block = 256;                  ///< parameters in a block, with `moment_form::blocks`
  std::int64_t rank = 128;                   ///< rank, with `moment_form::low_rank`
  std::int64_t second = 4;                   ///< bytes per parameter of the second moment of vectors, with `moment_form::matrices`

  friend constexpr bool operator==(optimizer const&, optimizer const&) = default;
};

/// @brief Known optimisers. All but `adam-fp32` train a bfloat16 copy of the parameters, and all but GaLore and `adam-bf16` keep a float32
/// master copy beside it. `adam-fp32` has parameters, gradients and moments in float32, as FSDP2 with mixed precision; `adam-bf16` has all
/// of them in bfloat16.
///
/// Each has the states of its variant with decoupled weight decay too, as AdamW. GaLore trains bfloat16 parameters directly, as its authors
/// do. Muon has one moment for each matrix of a layer; vectors, embedding and head are updated by Adam. 8-bit Adam has the blocks of 256 of
/// the library bitsandbytes; the paper has 2,048. Adafactor keeps no first moment. Copy a preset to change a field: `auto galore =
/// optimizer_named("galore"); galore.rank = 512;`.
/// @par Source
/// Kingma & Ba, "Adam", arXiv 1412.6980; Dettmers et al., "8-bit optimizers via block-wise quantization", arXiv 2110.02861; Shazeer &
/// Stern, "Adafactor", arXiv 1804.04235; Zhao et al., "GaLore", arXiv 2403.03507; Liu et al., "Muon is scalable for LLM training", arXiv
/// 2502.16982. 18 bytes for Adam: NVIDIA/Megatron-LM, theoretical_memory_usage.py; 16 bytes: Rajbhandari et al., "ZeRO", arXiv 1910.02054.
inline constexpr std::array optimizers{
    optimizer{.name = "adam", .state = {.parameter = 2, .gradient = 4, .optimizer = 12}},
    optimizer{.name = "adam-bf16-gradients", .state = {.parameter = 2, .gradient = 2, .optimizer = 12}},
    optimizer{.name = "adam-8bit", .state = {.parameter = 2, .gradient = 4, .optimizer = 6}, .moments = moment_form::blocks},
    optimizer{.name = "adafactor", .state = {.parameter = 2, .gradient = 4, .optimizer = 4}, .moments = moment_form::factors},
    optimizer{.name = "sgd", .state = {.parameter = 2, .gradient = 4, .optimizer = 4}},
    optimizer{.name = "sgd-momentum", .state = {.parameter = 2, .gradient = 4, .optimizer = 8}},
    optimizer{.name = "galore", .state = {.parameter = 2, .gradient = 2, .optimizer = 0}, .moments = moment_form::low_rank},
    optimizer{.name = "adam-fp32", .state = {.parameter = 4, .gradient = 4, .optimizer = 8}},
    optimizer{.name = "adam-bf16", .state = {.parameter = 2, .gradient = 2, .optimizer = 4}},
    optimizer{.name = "muon", .state = {.parameter = 2, .gradient = 4, .optimizer = 8}, .moments = moment_form::matrices},
};

/// @brief Finds an optimiser by name.
/// @param name  one of `optimizers`, as in "adam"
/// @return what it keeps in memory
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr optimizer const& optimizer_named(std::string_view name) { return find_named(optimizers, name, "optimizer"); }

/// @brief Bytes of model states: those of a matrix, a layer or a model, not per parameter as in `training_state`.
struct state_size {
  std::int64_t parameter = 0;  ///< bytes of parameters
  std::int64_t gradient = 0;   ///< bytes of accumulated gradients
  std::int64_t optimizer = 0;  ///< bytes of optimiser states: master copy and moments

  /// @brief All bytes together.
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return parameter + gradient + optimizer; }
  /// @brief Adds the bytes of another part. @param other the part
  constexpr state_size& operator+=(state_size const& other) noexcept {
    parameter += other.parameter;
    gradient += other.gradient;
    optimizer += other.optimizer;
    return *this;
  }
  friend constexpr bool operator==(state_size const&, state_size const&) = default;
};

/// @brief Bytes of the states of a matrix or a vector, exactly.
///
/// With n = in * out parameters, the bytes are n times `by.state`, and in addition:
/// - `blocks`: 8 bytes for each block of `by.block` parameters, the last one rounded up. Below 4,096 parameters the two moments are float32
///   instead, as in bitsandbytes: 6 more bytes per parameter.
/// - `factors`: 4 (in + out) bytes; 4 n bytes for a vector.
/// - `low_rank`: 2 (s r + 2 l r) bytes, where s is the shorter and l the longer side, and r is `by.rank` or s if that is less; 4 n bytes
///   for a vector. Pass an embedding as a vector if the trainer does not project it.
/// - `matrices`: `by.second` n bytes for a vector, nothing for a matrix.
///
/// @param matrix  the shape and the number of copies; at most 2^52 parameters together. With tensor parallelism, the shape of the shard
/// @param by      the optimiser
/// @return bytes of all copies
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr state_size state_bytes(weight_matrix const& matrix, optimizer const& by) {
  constexpr std::int64_t most = std::int64_t{1} << 52;
  detail::require_within("in", matrix.in, 1, most);
  detail::require_within("out", matrix.out, 1, most / matrix.in);
  auto const n = matrix.in * matrix.out;
  detail::require_within("copies", matrix.copies, 0, most / n);
  detail::require_within("parameter", by.state.parameter, 0, 256);
  detail::require_within("gradient", by.state.gradient, 0, 256);
  detail::require_within("optimizer", by.state.optimizer, 0, 256);
  detail::require_within("block", by.block, 1, most);
  detail::require_within("rank", by.rank, 1, most);
  detail::require_within("second", by.second, 0, 256);

  auto const vector = matrix.in == 1 || matrix.out == 1;
  auto const [shorter, longer] = std::minmax({matrix.in, matrix.out});
  auto const r = (std::min)(by.rank, shorter);
  std::int64_t moments = 0;
  switch (by.moments) {
    case moment_form::whole: break;
    case moment_form::blocks: moments = n < 4096 ? 6 * n : 8 * divide_up(n, by.block); break;
    case moment_form::factors: moments = 4 * (vector ? n : matrix.in + matrix.out); break;
    case moment_form::matrices: moments = vector ? by.second * n : 0; break;
    case moment_form::low_rank: moments = vector ? 4 * n : 2 * r * (shorter + 2 * longer); break;
  }
  return {.parameter = matrix.copies * n * by.state.parameter,
          .gradient = matrix.copies * n * by.state.gradient,
          .optimizer = matrix.copies * (n * by.state.optimizer + moments)};
}

/// @brief Which states are in host memory.
enum class offload : std::uint8_t {
  none,        ///< none
  optimizer,   ///< optimiser states; gradients are accumulated on the device (Megatron's `--optimizer-cpu-offload`)
  gradients,   ///< optimiser states and gradients (ZeRO-Offload)
  parameters,  ///< parameters too; the device holds only those of the layers at work (ZeRO-Infinity)
};

/// @brief States on the device and in host memory.
/// @tparam State  `training_state` (bytes per parameter) or `state_size` (bytes)
template <class State>
struct placed_states {
  State device{};  ///< in the memory of the accelerator
  State host{};    ///< in the memory of the host

  friend constexpr bool operator==(placed_states const&, placed_states const&) = default;
};

/// @brief Divides states between device and host.
///
/// The host updates the parameters that it holds the optimiser states of, and needs their gradients for that. With `offload::optimizer`
/// gradients are therefore counted on both sides. Buffers for copies, layers at work and gathered parameters are not counted. If only a
/// part of the parameters is offloaded, call this function for that part.
///
/// @tparam State  `training_state` (bytes per parameter) or `state_size` (bytes)
/// @param state  all states, as without offloading
/// @param moved  what is in host memory
/// @return the states on both sides
/// @par Source
/// Ren et al., "ZeRO-Offload", arXiv 2101.06840; Rajbhandari et al., "ZeRO-Infinity", arXiv 2104.07857.
template <class State>
[[nodiscard]] constexpr placed_states<State> place(State const& state, offload moved) noexcept {
  placed_states<State> to{.device = state, .host = {.parameter = 0, .gradient = 0, .optimizer = 0}};
  if (moved == offload::none) return to;
  to.host.gradient = state.gradient;
  to.host.optimizer = state.optimizer;
  to.device.optimizer = 0;
  if (moved == offload::optimizer) return to;
  to.device.gradient = 0;
  if (moved == offload::gradients) return to;
  to.host.parameter = state.parameter;
  to.device.parameter = 0;
  return to;
}

}  // namespace ballast::inline v0_2
