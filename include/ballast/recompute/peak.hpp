// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief What a choice of kept tensors really holds and costs: live bytes through forward, recomputation and backward.
///
/// A knapsack counts a tensor by itself. To compute it again, though, its inputs must be there, and those of its inputs; and all that is
/// alive meanwhile adds up. So memory can rise while the budget falls. This evaluator follows the dependencies.

namespace ballast::inline v0_2 {

/// @brief An operator of the forward pass, with its one output.
struct forward_operator {
  std::int64_t time = 0;                ///< to run it, not negative
  std::int64_t bytes = 0;               ///< of its output and of the output's gradient, not negative
  std::int64_t workspace = 0;           ///< held while it runs, forward or backward, not negative
  std::vector<std::uint32_t> inputs{};  ///< operators whose outputs it reads; each comes before it
  std::vector<std::uint32_t> needs{};   ///< outputs that its backward reads: its own or earlier ones
};

/// @brief Memory and time of one training step with some outputs kept.
struct recompute_peak {
  std::int64_t forward = 0;          ///< most bytes alive in the forward pass
  std::int64_t backward = 0;         ///< most bytes alive after it
  std::size_t at = 0;                ///< the operator whose backward, or a recomputation for it, holds `backward`
  std::int64_t recomputed_time = 0;  ///< time spent on computing again
  std::uint64_t recomputed = 0;      ///< operators computed again

  /// @brief Most bytes alive at any time.
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return (std::max)(forward, backward); }
  friend constexpr bool operator==(recompute_peak const&, recompute_peak const&) = default;
};

/// @brief Follows a training step: forward in order, backward in reverse, what is missing computed again when it is first read.
///
/// A kept output lives from its making to its last use. Any other is freed after its last reader in the forward pass; if the backward pass
/// needs it, it is computed again once, its missing inputs before it, and lives to its last use. A gradient lives from the
/// backward pass of its first reader to that of its maker.
///
/// @param operators  in an order in which they can run
/// @param kept       for each, whether its output stays; as many as `operators`
/// @return the peaks and what was computed again
/// @throws invalid_input if an operator reads what comes later, a number is negative or a sum reaches 2^62
/// @par Complexity
/// O(operators + inputs + needs).
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline recompute_peak evaluate_recompute(std::span<forward_operator const> operators, std::span<bool const> kept) {
  auto const n = operators.size();
  require(kept.size() == n, [&] { return std::to_string(kept.size()) + " kept entries for " + std::to_string(n) + " operators"; });
  constexpr auto most = std::int64_t{1} << 62;
  std::int64_t left = most, time_left = most;
  for (std::size_t i = 0; i < n; ++i) {
    auto const& o = operators[i];
    auto const name = [&](char const* what) { return "operators[" + std::to_string(i) + "]." + what; };
    require(o.time >= 0 && o.time <= time_left,
            [&] { return name("time") + " = " + std::to_string(o.time) + " is negative, or brings the sum to 2^62"; });
    time_left -= o.time;
    for (auto const value : {o.bytes, o.bytes, o.bytes, o.workspace}) {  // forward, again, gradient
      require(value >= 0 && value <= left,
              [&] { return name("bytes or workspace") + " = " + std::to_string(value) + " is negative, or brings the sum to 2^62"; });
      left -= value;
    }
    for (auto const j : o.inputs)
      require(j < i, [&] { return name("inputs") + " has " + std::to_string(j) + ", which does not come before it"; });
    for (auto const j : o.needs) require(j <= i, [&] { return name("needs") + " has " + std::to_string(j) + ", which comes after it"; });
  }

  // Events: forward of 0 … n - 1, then backward passes with the recomputations that they ask for.
  struct event {
    std::size_t of;
    bool backward;
  };
  std::vector<event> events;
  std::vector<std::size_t> made(n), last(n), again(n), again_last(n), asked_by;  // event of making and last use of both copies
  std::vector<char> is_again(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    made[i] = last[i] = events.size();
    for (auto const j : operators[i].inputs) last[j] = events.size();
    events.push_back({i, false});
    asked_by.push_back(i);
  }
  recompute_peak out;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // operator, next input
  auto const here = [&](std::size_t v) { return kept[v] || is_again[v] != 0; };
  auto const use = [&](std::size_t v) { (kept[v] ? last[v] : again_last[v]) = events.size(); };
  for (auto i = n; i-- > 0;) {
    for (auto const need : operators[i].needs) {
      if (!here(need)) stack.emplace_back(need, 0);
      while (!stack.empty()) {
        auto& [v, next] = stack.back();
        auto const& inputs = operators[v].inputs;
        while (next < inputs.size() && here(inputs[next])) ++next;
        if (next < inputs.size()) {
          stack.emplace_back(inputs[next], 0);
          continue;
        }
        for (auto const j : inputs) use(j);
        is_again[v] = 1;
        again[v] = again_last[v] = events.size();
        events.push_back({v, false});
        asked_by.push_back(i);
        out.recomputed_time += operators[v].time;
        ++out.recomputed;
        stack.pop_back();
      }
    }
    for (auto const need : operators[i].needs) use(need);
    events.push_back({i, true});
    asked_by.push_back(i);
  }

  std::vector<std::int64_t> change(events.size() + 1);
  auto const alive = [&](std::size_t from, std::size_t to, std::int64_t bytes) {
    change[from] += bytes;
    change[to + 1] -= bytes;
  };
  std::vector<std::size_t> own(n), gradient(n);  // events of an operator's backward and of its gradient's making
  for (std::size_t e = 0; e < events.size(); ++e)
    if (events[e].backward) own[events[e].of] = gradient[events[e].of] = e;
  for (auto i = n; i-- > 0;)
    for (auto const j : operators[i].inputs) gradient[j] = (std::min)(gradient[j], own[i]);
  for (std::size_t i = 0; i < n; ++i) {
    alive(made[i], last[i], operators[i].bytes);
    if (is_again[i] != 0) alive(again[i], again_last[i], operators[i].bytes);
    alive(gradient[i], own[i], operators[i].bytes);
  }
  std::int64_t now = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    now += change[e];
    auto const total = now + operators[events[e].of].workspace;
    if (e < n) {
      out.forward = (std::max)(out.forward, total);
    } else if (total > out.backward) {
      out.backward = total;
      out.at = asked_by[e];
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2
