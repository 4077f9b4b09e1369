// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Measured times: rows of a length in tokens and milliseconds.

namespace ballast_cli {

struct timing_row {
  std::int64_t length;
  double ms;
  std::size_t line;  ///< from 1
};

/// Reads two columns between commas, semicolons or blanks, perhaps below a header line. Throws bad_input, naming `name` and the line.
[[nodiscard]] std::vector<timing_row> read_timings(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
