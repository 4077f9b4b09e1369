// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// What people read.

namespace ballast_cli {

/// Writes all of `text` to standard output. Throws cannot_write.
void write_standard_output(std::string_view text);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);
/// "1 sample", "3,000 samples"; "2 micro-batches", "2 entries".
[[nodiscard]] std::string counted(std::uint64_t count, std::string const& what);
/// A share as "96.97 %", rounded down where rounding to nearest would claim 100 %.
[[nodiscard]] std::string percent(double share);
/// A share as "0.02 %", rounded up, for what is promised not to be exceeded.
[[nodiscard]] std::string percent_up(double share);

}  // namespace ballast_cli
