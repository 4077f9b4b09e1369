// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/options.hpp"
#include "planning/backend.hpp"
#include "planning/packers.hpp"
#include "readers/lengths.hpp"

#include <cstdint>
#include <string>

// What `pack` was asked for, and how it packs several measures.

namespace ballast_cli {

struct pack_arguments {
  input_arguments input;
  limit_arguments limits;
  ballast_cli::strategy strategy = strategy::automatic;
  ballast_cli::backend backend = backend::host;
  std::uint64_t work = ballast::search_limits{}.work;  ///< of near_optimal
  std::uint64_t ranks = 0;  ///< packs in a step, for which packs are put in order; 0: they stay as the packer left them
  std::string model;        ///< whose modelled time orders them, with ranks; empty: their tokens do
  std::string out;          ///< folder; empty: nothing is written
  bool json = false;
  bool padded = false;       ///< rows are padded to the longest of their pack
  bool fixed = false;        ///< --static: arrays of one size for each pack
  std::string command_line;  ///< what was typed, for the report
};

/// Throws no_plan where the number of packs is not the multiple that is demanded.
void require_multiple(ballast::status status, std::int64_t packs, std::uint64_t multiple, bool more_than_samples);

void pack_measures(pack_arguments const& arguments, table const& input, double read_seconds);

}  // namespace ballast_cli
