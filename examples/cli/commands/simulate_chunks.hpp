// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/layers.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// `ballast simulate LAYERS --lengths FILE --chunk TOKENS`: long samples in chunks that depend on each other.

namespace ballast_cli {

struct chunk_arguments {
  std::string lengths;            ///< file with the samples of a step; empty: micro-batches are equal
  std::int64_t size = 0;          ///< tokens of a chunk; 0: not given
  std::uint64_t retain = 1;       ///< chunks of a sample that keep their activations
  std::int64_t tokens = 0;        ///< tokens of the micro-batch of the layers' file; 0: as many as a chunk
  std::int64_t attention = 0;     ///< percent of its time that grows with the square of its tokens
  bool equal_time = false;        ///< cut into chunks of more equal times
  std::uint64_t simulations = 0;  ///< orders of the chunks that a search tries
  std::string svg;                ///< file for a picture
};

void add_chunks(CLI::App& command, chunk_arguments& chunks);

/// The pipeline that the chunks go through.
struct chunk_pipeline {
  layer_table const& table;
  std::string title;
  std::vector<std::uint64_t> const& cuts;  ///< stages + 1 boundaries of the layers
  std::int64_t bytes_per_1 = 0;            ///< as for link_time
  std::optional<std::int64_t> memory;      ///< bytes of a stage
  bool json = false;
};

/// Simulates a step and prints what it takes. Throws bad_input and no_plan.
void simulate_chunks(chunk_arguments const& arguments, chunk_pipeline const& on);

}  // namespace ballast_cli
