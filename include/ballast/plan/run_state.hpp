// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/plan/recalibration.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `run_state`: what a checkpoint keeps of a `training_run`, as a few integers.

namespace ballast::inline v0_2 {

/// @brief Measured times that replace the modelled cost of a run, in integers: those of a `recalibration` with the terms `token_cost` and
/// `full_pairs`.
struct run_costs {
  bool measured = false;                  ///< whether there are any; if not, the modelled cost counts
  std::array<coefficient, 3> per_unit{};  ///< nanoseconds per unit of the modelled cost, per token, and per pair of tokens
  std::int64_t per_micro_batch = 0;       ///< nanoseconds of a micro-batch
  std::int64_t per_step = 0;              ///< nanoseconds of a step
  friend bool operator==(run_costs const&, run_costs const&) = default;
};

/// @brief A part of a pass through the data that one plan was made for: until the number of ranks or the cost changes.
struct run_part {
  std::uint64_t steps = 0;          ///< steps of this part that were handed out
  std::uint64_t ranks = 1;          ///< data-parallel ranks
  std::uint64_t micro_batches = 1;  ///< micro-batches of a rank in a step
  run_costs costs{};                ///< costs that it was planned under
  friend bool operator==(run_part const&, run_part const&) = default;
};

/// @brief The state of a `training_run`. Its parts are those of the current pass alone, so it stays small.
struct run_state {
  std::uint64_t fingerprint = 0;  ///< hash of samples, costs and options, without ranks, micro-batches and epochs
  std::uint64_t step = 0;         ///< steps handed out since the start
  std::uint64_t pass = 0;         ///< passes through the data that are complete
  std::vector<run_part> parts{};  ///< parts of the current pass; the last one goes on
  friend bool operator==(run_state const&, run_state const&) = default;

  /// @brief The state as integers: 4 and 12 more for each part, for a checkpoint in any format.
  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> out{fingerprint, step, pass, parts.size()};
    for (auto const& part : parts) {
      auto const& c = part.costs;
      for (auto const word : {part.steps, part.ranks, part.micro_batches, std::uint64_t{c.measured}}) out.push_back(word);
      for (auto const& k : c.per_unit) out.insert(out.end(), {k.numerator, k.denominator});
      out.insert(out.end(), {static_cast<std::uint64_t>(c.per_micro_batch), static_cast<std::uint64_t>(c.per_step)});
    }
    return out;
  }
  /// @brief The state that `words` wrote.
  /// @param words  integers
  /// @return the state
  /// @throws invalid_input unless `words` wrote these
  [[nodiscard]] static run_state from_words(std::span<std::uint64_t const> words) {
    auto const fits = words.size() >= 4 && (words.size() - 4) % part_words == 0 && words[3] == (words.size() - 4) / part_words;
    require(fits && words[3] > 0, [&] {
      return "a state of " + std::to_string(words.size()) + " integers is not one of a training run: it has 4, and " +
             std::to_string(part_words) + " for each of its parts";
    });
    run_state out{words[0], words[1], words[2], {}};
    out.parts.reserve((words.size() - 4) / part_words);
    for (auto w = words.subspan(4); !w.empty(); w = w.subspan(part_words)) {
      run_part part{w[0], w[1], w[2], {}};
      part.costs.measured = w[3] != 0;
      for (std::size_t k = 0; k < 3; ++k) {
        auto const denominator = w[5 + 2 * k];
        require(w[4 + 2 * k] < std::uint64_t{1} << 32 && denominator != 0 && denominator <= std::uint64_t{1} << 62,
                [&] { return "the state has a coefficient of " + std::to_string(w[4 + 2 * k]) + " / " + std::to_string(denominator); });
        part.costs.per_unit[k] = {w[4 + 2 * k], denominator};
      }
      part.costs.per_micro_batch = static_cast<std::int64_t>(w[10]);
      part.costs.per_step = static_cast<std::int64_t>(w[11]);
      out.parts.push_back(part);
    }
    return out;
  }

 private:
  static constexpr std::size_t part_words = 12;
};

}  // namespace ballast::inline v0_2
