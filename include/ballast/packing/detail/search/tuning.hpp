// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// The parts of a near-optimal search and their limits. `bench_near_optimal --parts` shows what each part contributes.
struct search_tuning {
  // Parts of the search; a part that is false is left out.
  bool reduction = true;           ///< packs that some best plan has are made first
  bool coarse_lengths = true;      ///< very many distinct lengths are rounded up to fewer
  bool random_fill = true;         ///< packs with room are filled again at random, first and between other parts
  bool exact_classes = true;       ///< with few lengths, each has a row in the linear program
  bool pair_concentration = true;  ///< pairs of packs exchange samples until a pack is saved
  bool program_bound = true;       ///< the linear program proves a lower bound
  bool exact_finish = true;        ///< with few lengths, the fewest packs are looked for with a row for each
  bool grown_blocks = true;        ///< blocks of packs that waste most are packed exactly into one pack fewer
  bool ruin_recreate = true;       ///< packs that waste most are packed again
  bool finer_dives = true;         ///< more dives follow, with more bands
  bool completion_start = true;    ///< under a limit of samples per pack, bin completion also makes a first plan

  // Coarse lengths.
  std::size_t most_lengths = std::size_t{1} << 15;            ///< most distinct lengths that are searched without rounding
  std::int64_t parts = 55440;                                 ///< parts of the capacity to which lengths are rounded; divisible by 2 to 12
  std::int64_t largest_capacity = std::int64_t{1} << 36;      ///< for which sums of the linear programs cannot overflow
  std::int64_t fine_parts = std::int64_t{55440} << 14;        ///< parts of a larger capacity
  std::uint64_t most_samples = (std::uint64_t{1} << 33) - 1;  ///< with more samples, sums could overflow

  // Exact classes.
  std::size_t most_exact = 600;       ///< most distinct lengths
  std::uint64_t least_repeats = 100;  ///< least mean number of samples of a length

  // Dives: more bands of lengths are more accurate and slower.
  std::size_t first_bands = 32;
  std::array<std::size_t, 3> exact_bands{32, 64, 128};      ///< for the samples that remain after the plan of exact classes
  std::array<std::size_t, 4> finer_bands{48, 64, 96, 128};  ///< for later dives, in turn

  // Random filling.
  std::uint64_t most_refilled = std::uint64_t{1} << 17;  ///< most samples that are filled at once
  std::uint64_t many_per_pack = 8;                       ///< samples per pack from which on all packs are first filled again
  std::uint64_t fill_work = 1000;                        ///< work for each sample

  // Exchanges of pairs.
  std::uint64_t most_loose = 20'000, most_loose_full = 6'000;  ///< most packs with room, and most full packs, that take part
  std::uint64_t first_pair_work = 100'000'000, pair_work = 20'000'000;

  // The bound of the linear program.
  std::int64_t bound_cells = 30'000'000;  ///< most cells of its knapsack: classes times resolution
  std::size_t bound_patterns = 1500;      ///< most patterns of best fit to start from
  std::uint64_t bound_work = 300'000'000;

  // The exact finish: at first with few lengths and little work, half of what is left at most, later with seven eighths of it.
  std::size_t few_rows = 250, most_rows = 1000;  ///< most distinct lengths when packs that some best plan has are made
  std::uint64_t work_of_row = 150'000;           ///< that is worth a finish under a limit of samples
  std::uint64_t first_finish_work = 100'000'000, most_full_cells = std::uint64_t{1} << 24;

  // Blocks: the least samples of one, the most from which it grows, packs above the bound up to which they are tried, and their work.
  std::size_t least_block = 120, most_block = 1400;
  std::uint64_t least_for_blocks = 2000;  ///< samples
  std::int64_t block_gap = 10;
  std::uint64_t block_work = 500'000'000;

  // Ruin and recreate: numbers of packs that waste most and of other packs, each a least number plus a random number below `more_…`.
  std::uint64_t worst_packs = 10, more_worst = 11, other_packs = 15, more_others = 61;
  std::size_t ruin_bands = 12, large_ruin_bands = 96;
  std::size_t large_ruin = 64;  ///< factor for the number of packs in a large trial
  std::uint64_t far_gap = 4;    ///< packs above the bound from which on there are large trials and more dives
  int trials = 8;               ///< trials in a round
  // Rounds, and refills in them: of `refill_share` 256ths of the full packs, times the number of the round, which begins anew every time.
  std::size_t finer_every = 12, finer_every_far = 2;  ///< a round with more dives, near the bound and far from it
  std::size_t refill_share = 8, refill_rounds = 8;
  std::uint64_t idle_work = 1'000'000;  ///< counted for a trial that has nothing to do

  // Work that is counted for simple steps.
  std::uint64_t pattern_item_work = 20, pattern_work = 50;
  std::uint64_t pair_work_least = 20, pair_work_merge = 100, pair_work_split = 60;
  int pair_rounds = 1000;  ///< exchanges of pairs between two looks at the limits
};
inline constexpr search_tuning default_tuning{};

/// The limits of a near-optimal search over several measures.
struct vector_tuning {
  // The first plan: work of each class, and the most work of bin completion.
  std::uint64_t best_fit_work = 4000, completion_work = 14'000, sampling_work = 16'000, sampling_sample_work = 60;
  std::uint64_t most_completion = 300'000'000;
  std::size_t most_completed = 200;                       ///< classes that remain after a dive, below which completion packs them
  std::array<std::size_t, 4> most_states{0, 128, 32, 8};  ///< of slices, until the linear program is small enough; 0: no limit

  // The bound of the linear program. Resolutions are multiples of `vector_rest::round_cells`.
  std::size_t few_positions = 100, most_positions = 5000;  ///< positions between which it comes before the dives
  std::uint64_t first_bound = 100'000'000, later_bound = 300'000'000, only_bound = 1'000'000'000;  ///< work
  std::uint64_t coarse_cells = 4, fine_cells = 16;
  std::uint64_t exact_cells = 64'000'000;  ///< most cells of a knapsack with exact sizes

  // Dives and repairs.
  std::array<std::size_t, 4> bands{32, 64, 128, 96};                    ///< of the dives in turn
  std::size_t few_bands = 48;                                           ///< of dives of repairs, and before exact classes
  int failures = 3;                                                     ///< repairs that fail before the next dive
  std::uint64_t least_worst = 10, most_worst = 1000, worst_share = 16;  ///< packs that waste most, and their most as a share of all
  std::uint64_t others = 3;                                             ///< as many others for each of them, doubled in each of four rounds
  std::uint64_t repair_work = 60;                                       ///< counted for each pattern
};
inline constexpr vector_tuning default_vector_tuning{};

}  // namespace ballast::inline v0_2::detail
