// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Measured times: rows of a length in tokens and milliseconds, or of all lengths of a micro-batch and its milliseconds.

namespace ballast_cli {

struct timing_row {
  std::int64_t length;
  double ms;
  std::size_t line;  ///< from 1
};

struct micro_batch_row {
  std::vector<std::int64_t> lengths;  ///< at least one
  double ms;
};

/// Reads two columns between commas, semicolons or blanks, perhaps below a header line. Throws bad_input, naming `name` and the line.
[[nodiscard]] std::vector<timing_row> read_timings(std::string_view bytes, std::string const& name);
/// The same for rows of one length or more, then milliseconds.
[[nodiscard]] std::vector<micro_batch_row> read_micro_batches(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
