// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Measured or modelled layers of one micro-batch: CSV whose first line names the columns.

namespace ballast_cli {

struct layer_row {
  std::string name;
  std::int64_t forward = 0, backward = 0;                      ///< in units of the table
  std::int64_t forward_per_batch = 0, backward_per_batch = 0;  ///< the part of them that any micro-batch takes, whatever its size
  std::int64_t parameter_bytes = 0;                            ///< there all the time: parameters, gradients, optimiser states
  std::int64_t activation_bytes = 0;                           ///< held until the backward pass if nothing is recomputed
  std::int64_t checkpoint_bytes = 0;                           ///< held if the layer is recomputed
  std::int64_t boundary_bytes = 0;                             ///< handed to the next layer
};

struct layer_table {
  std::vector<layer_row> layers;  ///< at least one; names differ
  std::int64_t units_per_1 = 1;   ///< units in which times are counted, per 1 in the file: a power of ten that takes its decimals
  bool rounded = false;           ///< whether the file has more decimals than that
  bool parameters = false, activations = false;  ///< whether the file says these bytes; otherwise they are 0
};

/// Reads the columns name, forward and backward, and those of parts per micro-batch and of bytes, which may be missing. Times are counted
/// with all their decimals, and with `decimals` at least, as far as forward twice and backward add up to less than 2^50; each kind of bytes
/// adds up to 2^58 at most. Throws bad_input, naming `name` and the line.
[[nodiscard]] layer_table read_layers(std::string_view bytes, std::string const& name, int decimals = 0);

}  // namespace ballast_cli
