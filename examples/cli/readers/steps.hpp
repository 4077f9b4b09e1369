// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Steps of any program. Only their form is checked here; the library checks whether they are valid.

namespace ballast_cli {

/// Whether a text begins with a list of lists of lists, as no packing does.
[[nodiscard]] bool is_step_list(std::string_view text);

/// One step a line, a list of its ranks; of each rank its micro-batches, of each micro-batch its samples: [[[0,1],[2]],[[3],[4]]]. Blank
/// lines are skipped; places that a rank does not take are empty at its end. Throws bad_input, naming `name` and the line.
[[nodiscard]] ballast::batching<std::uint64_t> read_steps(std::string_view text, std::string const& name);

/// The bytes and names of three .npy arrays.
struct step_arrays {
  std::string_view offsets, members, steps;
  std::string offsets_name, members_name, steps_name;
};
/// Offsets and members of packs, and the number of the pack in each place, by step, rank and micro-batch, or -1. Throws bad_input.
[[nodiscard]] ballast::batching<std::uint64_t> read_steps(step_arrays const& arrays);

/// "step 3, rank 0, micro-batch 1", for a place of the table.
[[nodiscard]] std::string place_in_words(ballast::batching<std::uint64_t> const& steps, std::uint64_t place);

}  // namespace ballast_cli
