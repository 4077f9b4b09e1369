// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Measured steps of settings: rows below a header such as setting,tokens,squares,ms.

namespace ballast_cli {

struct step_time_row {
  std::string setting;                                     ///< a file that `check` reads, as the row names it
  std::optional<std::int64_t> gpus, sequence;              ///< in place of the setting's
  std::optional<std::int64_t> micro_batch, micro_batches;  ///< the same
  std::optional<std::int64_t> tokens, squares;             ///< of a micro-batch, both or none; none: its sequences are full
  double ms = 0;                                           ///< of the step
  std::size_t line = 0;                                    ///< from 1
};

/// Whether the first line that is not blank is a header with a column `setting`.
[[nodiscard]] bool has_step_times(std::string_view bytes);

/// Reads columns between commas: setting, ms, and perhaps tokens and squares, gpus, seq_length, micro_batch and micro_batches. Throws
/// bad_input, naming `name` and the line.
[[nodiscard]] std::vector<step_time_row> read_step_times(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
