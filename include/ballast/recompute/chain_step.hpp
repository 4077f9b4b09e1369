// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The blocks of a chain, the steps of its schedules, and the evaluator that says what a schedule takes. It knows no planner.

namespace ballast::inline v0_2 {

/// @brief One block of a chain: a layer or several.
struct chain_block {
  std::int64_t forward = 0;            ///< time, not negative
  std::int64_t backward = 0;           ///< time, not negative
  std::int64_t output = 0;             ///< bytes of its output
  std::int64_t saved = 0;              ///< bytes of all that its backward needs, the output among them; not below `output`
  std::int64_t gradient = 0;           ///< bytes of its output's gradient
  std::int64_t forward_overhead = 0;   ///< bytes held only while its forward runs
  std::int64_t backward_overhead = 0;  ///< bytes held only while its backward runs
};

/// @brief What a step of a schedule does.
enum class chain_action : std::uint8_t {
  forward,   ///< runs a block's forward and keeps its output alone; its input stays
  save,      ///< runs a block's forward and keeps all that its backward needs
  backward,  ///< runs a block's backward: frees what `save` kept and the gradient, makes the gradient of its input
  drop,      ///< frees a block's output
};

/// @brief One step of a schedule.
struct chain_step {
  chain_action action = chain_action::forward;  ///< what
  std::uint32_t block = 0;                      ///< of which block, from 0
  friend constexpr bool operator==(chain_step const&, chain_step const&) = default;
};

/// @brief What a schedule takes.
struct chain_figures {
  std::int64_t time = 0;  ///< of all its steps
  std::int64_t peak = 0;  ///< most bytes alive, the chain's input among them
  friend constexpr bool operator==(chain_figures const&, chain_figures const&) = default;
};

namespace detail {
inline void require_valid(std::span<chain_block const> blocks, std::int64_t input) {
  constexpr auto most = std::int64_t{1} << 58;
  require(blocks.size() <= 4096, [&] { return std::to_string(blocks.size()) + " blocks are more than 4096"; });
  require(input >= 0 && input <= most / 4, [&] { return "input = " + std::to_string(input) + " must be in [0, 2^56]"; });
  auto const limit = most / 8 / static_cast<std::int64_t>((std::max)(blocks.size(), std::size_t{1}));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto const& s = blocks[i];
    for (auto const value : {s.forward, s.backward, s.output, s.saved, s.gradient, s.forward_overhead, s.backward_overhead})
      require(value >= 0 && value <= limit, [&] {
        return "blocks[" + std::to_string(i) + "] holds " + std::to_string(value) + ", which must be in [0, " + std::to_string(limit) + "]";
      });
    require(s.saved >= s.output, [&] {
      return "blocks[" + std::to_string(i) + "].saved = " + std::to_string(s.saved) + " is below its output = " + std::to_string(s.output);
    });
  }
}
}  // namespace detail

/// @brief Runs a schedule on paper: its time and the most bytes alive, or nothing if it cannot be run.
///
/// The chain's input is always there; the gradient of the last output is there from the start.
///
/// @param blocks  the chain
/// @param input   bytes of the chain's input and of its gradient
/// @param steps   the schedule
/// @return time and peak; nothing if a step reads what is not there, or the gradient of the chain's input is not reached
/// @throws invalid_input as `checkpoint_chain`
/// @par Complexity
/// O(steps + blocks).
[[nodiscard]] inline std::optional<chain_figures> chain_peak(std::span<chain_block const> blocks, std::int64_t input,
                                                             std::span<chain_step const> steps) {
  detail::require_valid(blocks, input);
  auto const n = blocks.size();
  std::vector<char> output(n, 0), saved(n, 0);
  auto next = n;  // blocks whose backward is to come
  auto alive = input + (n == 0 ? input : blocks[n - 1].gradient);
  chain_figures out{0, alive};
  for (auto const& step : steps) {
    std::size_t const i = step.block;
    if (i >= n) return std::nullopt;
    auto const& s = blocks[i];
    auto const there = i == 0 || output[i - 1] != 0 || saved[i - 1] != 0;
    switch (step.action) {
      case chain_action::forward:
      case chain_action::save: {
        auto& mine = step.action == chain_action::save ? saved[i] : output[i];
        if (!there || mine != 0) return std::nullopt;
        mine = 1;
        alive += step.action == chain_action::save ? s.saved : s.output;
        out.peak = (std::max)(out.peak, alive + s.forward_overhead);
        out.time += s.forward;
        break;
      }
      case chain_action::backward: {
        if (!there || saved[i] == 0 || next != i + 1) return std::nullopt;
        alive += i == 0 ? input : blocks[i - 1].gradient;
        out.peak = (std::max)(out.peak, alive + s.backward_overhead);
        alive -= s.saved + s.gradient;
        saved[i] = 0;
        next = i;
        out.time += s.backward;
        break;
      }
      case chain_action::drop: {
        if (output[i] == 0) return std::nullopt;
        output[i] = 0;
        alive -= s.output;
        break;
      }
    }
  }
  if (next != 0) return std::nullopt;
  return out;
}

}  // namespace ballast::inline v0_2
