// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

// Sums of a shell, as in `$((A * B / 8))` and `$(expr 16 / 4)`.

namespace ballast_cli {

/// The value of a sum of 64-bit integers by the rules of a shell; nothing if a name is unknown to `value_of`, or if the text is no sum,
/// divides by zero, overflows or is nested too deeply.
[[nodiscard]] std::optional<std::int64_t> shell_sum(std::string_view text,
                                                    std::function<std::optional<std::int64_t>(std::string_view)> const& value_of);

}  // namespace ballast_cli
