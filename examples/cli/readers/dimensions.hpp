// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/symbolic.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Dimensions of a batch that is not known yet: their ranges, polynomials over them, and their values in one batch, each as text.

namespace ballast_cli {

/// Ranges as in "batch=1..64,length=16..4096"; "batch=8" is a range of one. Throws bad_input.
[[nodiscard]] std::vector<ballast::dimension> read_dimensions(std::string const& option, std::string const& text);

/// A value of each dimension as in "batch=8,length=512", in any order. Throws bad_input.
[[nodiscard]] std::vector<std::int64_t> read_values(std::string const& option, std::string const& text,
                                                    std::span<ballast::dimension const> dimensions);

/// A polynomial as in "4 batch length^2 + 12"; signs of multiplication may stand between factors, and ** for ^. Throws bad_input, whose
/// sentence begins with the text.
[[nodiscard]] ballast::symbolic read_polynomial(std::string_view text, std::span<ballast::dimension const> dimensions);

/// "batch=8,length=512".
[[nodiscard]] std::string shown_values(std::span<std::int64_t const> values, std::span<ballast::dimension const> dimensions);

}  // namespace ballast_cli
