// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/lengths.hpp"

#include <cstdint>
#include <string>
#include <vector>

// Which files are read, and how often the rows of each are samples of an epoch.

namespace ballast_cli {

/// The file of this name or, where there is none, those that match it as a pattern of a shell, sorted by their bytes. Throws bad_input for
/// a pattern that no file matches.
[[nodiscard]] std::vector<std::string> files_named(std::string const& name);

/// Weights between commas, as in 7,3 or 0.7,0.3, in millionths. Throws bad_input.
[[nodiscard]] std::vector<std::uint64_t> parse_weights(std::string const& option, std::string const& text);

/// Shares out an epoch of as many samples as rows were read: a source gets its part by weight, the largest remainders rounded up. All its
/// rows are samples as often as that goes, and the rest is drawn from `seed`, each row at most once. Returns the row of each sample: source
/// by source, pass by pass, rows ascending.
[[nodiscard]] std::vector<std::size_t> share_out(std::vector<source>& sources, std::vector<std::uint64_t> const& weights,
                                                 std::uint64_t seed);

/// Appends the rows of all files of the input, as often as its weights say. Throws bad_input.
void read_sources(table& out, input_arguments const& input);

}  // namespace ballast_cli
