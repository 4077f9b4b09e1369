// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/level.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A measured profile of settings: rows of length, sp, recomputed_layers, milliseconds and perhaps gigabytes.

namespace ballast_cli {

struct profile_row {
  ballast::level setting;
  double ms;                        ///< of a pack of one sample of that length, forward and backward
  std::optional<double> gigabytes;  ///< of a device at its peak, in 10^9 bytes
  std::size_t line;                 ///< from 1
};

/// Reads four or five columns between commas, semicolons or blanks, perhaps below a header line. Throws bad_input, naming `name` and the
/// line.
[[nodiscard]] std::vector<profile_row> read_profile(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
