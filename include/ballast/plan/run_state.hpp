// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/plan/recalibration.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
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

  /// @brief The costs that were measured. @tparam Cost the modelled cost @param found what `step_observer::recalibrate` returned
  /// @return the costs, with `measured`
  template <cost_model Cost>
  [[nodiscard]] static run_costs of(recalibration<Cost, token_cost, full_pairs> const& found) {
    return {true, found.cost.per_unit, found.per_micro_batch, found.per_step};
  }
  /// @brief Measured costs as 8 integers, to send to other ranks.
  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> out;
    for (auto const& k : per_unit) out.insert(out.end(), {k.numerator, k.denominator});
    out.insert(out.end(), {static_cast<std::uint64_t>(per_micro_batch), static_cast<std::uint64_t>(per_step)});
    return out;
  }
  /// @brief The measured costs that `words` wrote.
  /// @param words  integers
  /// @return the costs, with `measured`
  /// @throws invalid_input unless `words` wrote these
  [[nodiscard]] static run_costs from_words(std::span<std::uint64_t const> words) {
    require(words.size() == 8, [&] { return sentence(words.size(), " integers are not measured costs of a training run: these are 8"); });
    run_costs out{
        .measured = true, .per_micro_batch = static_cast<std::int64_t>(words[6]), .per_step = static_cast<std::int64_t>(words[7])};
    for (std::size_t k = 0; k < 3; ++k) {
      out.per_unit[k] = {words[2 * k], words[2 * k + 1]};
      require(words[2 * k] < std::uint64_t{1} << 32 && std::has_single_bit(words[2 * k + 1]) && words[2 * k + 1] <= std::uint64_t{1} << 62,
              [&] { return sentence("measured costs have a coefficient of ", words[2 * k], " / ", words[2 * k + 1]); });
    }
    require(out.per_micro_batch >= 0 && out.per_step >= 0, [] { return "measured costs have a negative time"; });
    return out;
  }
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

  /// @brief The state as integers: 5 and 12 more for each part, for a checkpoint in any format. The last one is a digest of the others.
  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> out{fingerprint, step, pass, parts.size()};
    for (auto const& part : parts) {
      auto const costs = part.costs.words();
      out.insert(out.end(), {part.steps, part.ranks, part.micro_batches, std::uint64_t{part.costs.measured}});
      out.insert(out.end(), costs.begin(), costs.end());
    }
    out.push_back(digest(out));
    return out;
  }
  /// @brief The state that `words` wrote.
  /// @param words  integers
  /// @return the state
  /// @throws invalid_input unless `words` wrote these; one that is changed, lost or added is noticed
  [[nodiscard]] static run_state from_words(std::span<std::uint64_t const> words) {
    auto const fits = words.size() >= 5 && (words.size() - 5) % part_words == 0 && words[3] == (words.size() - 5) / part_words;
    require(fits && words[3] > 0, [&] {
      return sentence("a state of ", words.size(), " integers is not one of a training run: it has 5, and ", part_words,
                      " for each of its parts; give all that the run wrote, or an older state");
    });
    auto const kept = words.first(words.size() - 1);
    require(digest(kept) == words.back(),
            [] { return "the state is damaged: its last integer is no digest of the others; give an older state"; });
    run_state out{words[0], words[1], words[2], {}};
    out.parts.reserve(kept.size() / part_words);
    for (auto w = kept.subspan(4); !w.empty(); w = w.subspan(part_words)) {
      out.parts.push_back({w[0], w[1], w[2], run_costs::from_words(w.subspan(4, 8))});
      out.parts.back().costs.measured = w[3] != 0;
    }
    return out;
  }

 private:
  static constexpr std::size_t part_words = 12;
  [[nodiscard]] static std::uint64_t digest(std::span<std::uint64_t const> words) noexcept {
    fnv1a h;
    for (auto const word : words) h.append(word);
    return h.value();
  }
};

}  // namespace ballast::inline v0_2
