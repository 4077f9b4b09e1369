// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// @file
/// @brief Blocks of a chain, steps of its schedules, and a simulator that computes time and peak memory of any schedule.

namespace ballast::inline v0_2 {

/// @brief One block of a chain: one layer or several.
struct chain_block {
  std::int64_t forward = 0;            ///< time of the forward, not negative
  std::int64_t backward = 0;           ///< time of the backward, not negative
  std::int64_t output = 0;             ///< bytes of the output
  std::int64_t saved = 0;              ///< bytes of all that the backward needs, the output included; at least `output`
  std::int64_t gradient = 0;           ///< bytes of the gradient of the output
  std::int64_t forward_overhead = 0;   ///< bytes held only while the forward runs
  std::int64_t backward_overhead = 0;  ///< bytes held only while the backward runs
};

/// @brief The action of one step of a schedule.
enum class chain_action : std::uint8_t {
  forward,   ///< runs the forward of a block and keeps only its output; its input stays
  save,      ///< runs the forward of a block and keeps all that its backward needs
  backward,  ///< runs the backward of a block: frees what `save` kept and the gradient, makes the gradient of the block's input
  drop,      ///< frees the output of a block
};

/// @brief The name of an action. @param action any enumerator @return a word, such as "save"
[[nodiscard]] constexpr std::string_view to_string(chain_action action) noexcept {
  constexpr std::string_view names[] = {"forward", "save", "backward", "drop"};
  return names[static_cast<std::size_t>(action)];
}

/// @brief One step of a schedule.
struct chain_step {
  chain_action action = chain_action::forward;  ///< what is done
  std::uint32_t block = 0;                      ///< index of the block, from 0
  friend constexpr bool operator==(chain_step const&, chain_step const&) = default;
};

/// @brief Time and peak memory of a schedule.
struct chain_figures {
  std::int64_t time = 0;  ///< time of all steps
  std::int64_t peak = 0;  ///< largest number of live bytes, the input of the chain included
  friend constexpr bool operator==(chain_figures const&, chain_figures const&) = default;
};

namespace detail {
inline void require_valid(std::span<chain_block const> blocks, std::int64_t input) {
  constexpr auto most = std::int64_t{1} << 58;
  require(blocks.size() <= 4096, [&] { return sentence(blocks.size(), " blocks are more than 4096"); });
  require(input >= 0 && input <= most / 4, [&] { return sentence("input = ", input, " must be in [0, 2^56]"); });
  auto const limit = most / 8 / static_cast<std::int64_t>((std::max)(blocks.size(), std::size_t{1}));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto const& s = blocks[i];
    for (auto const value : {s.forward, s.backward, s.output, s.saved, s.gradient, s.forward_overhead, s.backward_overhead})
      require(value >= 0 && value <= limit,
              [&] { return sentence("blocks[", i, "] holds ", value, ", which must be in [0, ", limit, "]"); });
    require(s.saved >= s.output, [&] { return sentence("blocks[", i, "].saved = ", s.saved, " is below its output = ", s.output); });
  }
}
}  // namespace detail

/// @brief Simulates a schedule: its time and its peak memory, or nothing if the schedule is not valid.
///
/// The input of the chain is never freed; the gradient of the last output exists from the start.
///
/// @param blocks  the chain
/// @param input   bytes of the chain's input and of its gradient
/// @param steps   the schedule
/// @return time and peak; nothing if a step reads what does not exist, or the gradient of the chain's input is not reached
/// @throws invalid_input if the blocks are not those of `checkpoint_chain`, or the steps take 2^63 or more
/// @par Complexity
/// O(steps + blocks).
template <class = when_called>
[[nodiscard]] inline std::optional<chain_figures> chain_peak(std::span<chain_block const> blocks, std::int64_t input,
                                                             std::span<chain_step const> steps) {
  detail::require_valid(blocks, input);
  auto const n = blocks.size();
  std::vector<char> output(n, 0), saved(n, 0);
  auto next = n;  // blocks whose backward is still missing
  auto alive = input + (n == 0 ? input : blocks[n - 1].gradient);
  chain_figures out{0, alive};
  auto const spend = [&](std::int64_t time, chain_step const& step) {
    require(time <= (std::numeric_limits<std::int64_t>::max)() - out.time,
            [&] { return sentence("the steps up to steps[", &step - steps.data(), "] take 2^63 or more"); });
    out.time += time;
  };
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
        spend(s.forward, step);
        break;
      }
      case chain_action::backward: {
        if (!there || saved[i] == 0 || next != i + 1) return std::nullopt;
        alive += i == 0 ? input : blocks[i - 1].gradient;
        out.peak = (std::max)(out.peak, alive + s.backward_overhead);
        alive -= s.saved + s.gradient;
        saved[i] = 0;
        next = i;
        spend(s.backward, step);
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
