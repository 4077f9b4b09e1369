// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// What a search for near-optimal packs consists of and how far each part goes. `bench_near_optimal --parts` shows what each part buys.
struct search_tuning {
  // Parts of the search; one that is false is left out.
  bool coarse_lengths = true;      ///< where lengths are very many, they are rounded up and searched as few
  bool random_fill = true;         ///< packs with room are filled at random, before all else and between other parts
  bool exact_classes = true;       ///< few lengths get a row each in the linear program
  bool subset_sum_packs = true;    ///< the last packs of a dive are filled by subset sums
  bool pair_concentration = true;  ///< pairs of packs are split anew until a pack is saved
  bool program_bound = true;       ///< the linear program proves a bound
  bool ruin_recreate = true;       ///< packs that waste most are packed anew
  bool finer_dives = true;         ///< more dives follow, with more bands
  bool completion_start = true;    ///< under a limit of samples per pack, bin completion makes a first plan beside best fit

  // Coarse lengths.
  std::size_t most_lengths = std::size_t{1} << 15;            ///< distinct ones that are searched as they are
  std::int64_t parts = 55440;                                 ///< of the capacity, to which they are rounded: 2 to 12 divide it
  std::int64_t largest_capacity = std::int64_t{1} << 36;      ///< at which sums of the linear programs cannot overflow
  std::int64_t fine_parts = std::int64_t{55440} << 14;        ///< of a larger one
  std::uint64_t most_samples = (std::uint64_t{1} << 33) - 1;  ///< beyond which sums could overflow

  // Exact classes.
  std::size_t most_exact = 600;       ///< distinct lengths
  std::uint64_t least_repeats = 100;  ///< samples of a length, on average

  // Dives: the number of bands of lengths is accuracy against time.
  std::size_t first_bands = 32;
  std::array<std::size_t, 3> exact_bands{32, 64, 128};      ///< for what the plan of exact classes leaves over
  std::array<std::size_t, 4> finer_bands{48, 64, 96, 128};  ///< of the dives that follow, in turn
  std::int64_t last_packs = 10;                             ///< are filled by subset sums
  int last_attempts = 8;

  // Random filling.
  std::uint64_t most_refilled = std::uint64_t{1} << 17;  ///< samples at once
  std::uint64_t many_per_pack = 8;                       ///< samples a pack, from which on all packs are filled anew at first
  std::uint64_t fill_work = 1000;                        ///< a sample

  // Exchanges of pairs.
  std::uint64_t most_loose = 20'000, most_loose_full = 6'000;  ///< packs with room, and full ones, that take part
  std::uint64_t first_pair_work = 100'000'000, pair_work = 20'000'000;

  // The bound of the linear program.
  std::int64_t bound_cells = 30'000'000;  ///< of its knapsack: classes times resolution
  std::size_t bound_patterns = 1500;      ///< of best fit that it starts from
  std::uint64_t bound_work = 300'000'000;

  // Ruin and recreate: packs that waste most, and others, by chance from the first number on.
  std::uint64_t worst_packs = 10, more_worst = 11, other_packs = 15, more_others = 61;
  std::size_t ruin_bands = 12, large_ruin_bands = 96;
  std::size_t large_ruin = 64;  ///< times as many packs in a large trial
  std::uint64_t far_gap = 4;    ///< packs above the bound, beyond which there are large trials, and dives come more often
  int trials = 8;               ///< a round
};
inline constexpr search_tuning default_tuning{};

}  // namespace ballast::inline v0_2::detail
