// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/lengths.hpp"

#include <ballast/packing/result.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

// Plans and figures as JSON. Names of files may hold bytes that are no text: these are replaced.

namespace ballast_cli {

/// Writes an object in a line to standard output. Throws cannot_write.
void print_json(nlohmann::ordered_json const& json);

/// plan.json: the version of the format, the files that were read, the hash of those that are written, the figures that are printed too,
/// and the options.
[[nodiscard]] nlohmann::ordered_json plan_document(input_arguments const& input, std::uint64_t files_hash,
                                                   nlohmann::ordered_json const& figures, nlohmann::ordered_json options);
/// Which row of which file each sample is; empty for one file whose rows are the samples.
[[nodiscard]] nlohmann::ordered_json sources_json(input_arguments const& input);
/// As the text of a file.
[[nodiscard]] std::string text_of(nlohmann::ordered_json const& document);

/// What samples that were split became.
[[nodiscard]] nlohmann::ordered_json pieces_json(std::vector<ballast::sample_piece> const& pieces);

}  // namespace ballast_cli
