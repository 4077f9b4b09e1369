// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/buffer.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Buffers of memory as CSV, in the format of MiniMalloc.

namespace ballast_cli {

struct buffer_table {
  std::vector<std::string> names;        ///< of each buffer, different ones
  std::vector<ballast::buffer> buffers;  ///< at least one; sizes, alignments and addresses add up to less than 2^62
};

/// Reads the columns id, lower, upper and size, and perhaps alignment and offset; a column `end` in place of `upper` holds the last time in
/// use. Throws bad_input, naming `name` and the line.
[[nodiscard]] buffer_table read_buffers(std::string_view bytes, std::string const& name);

/// The same as CSV, with the address of each buffer.
[[nodiscard]] std::string buffers_csv(buffer_table const& table, std::span<std::int64_t const> offsets);

}  // namespace ballast_cli
