// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/npy.hpp"

#include <ballast/core/groups.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Packings of any program. Only their form is checked here; the library checks whether they are valid.

namespace ballast_cli {

/// A one-dimensional .npy array of indices. Throws bad_input, naming `name`.
[[nodiscard]] std::vector<std::uint64_t> read_indices(std::string_view bytes, std::string const& name);

/// Text, one pack a line: sample indices between blanks or commas, in brackets or not; blank lines are skipped. Throws bad_input, naming
/// `name`.
[[nodiscard]] ballast::groups<std::uint64_t> read_index_lists(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
