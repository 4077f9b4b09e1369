// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/layers.hpp"

#include <ballast/recompute/memory_option.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

// Times of layers between the file's unit and the integers that plans are made of.

namespace ballast_cli {

/// A file of layers, read and checked; with a link, whose times are short, counted to a millionth of its unit of time.
[[nodiscard]] layer_table read_layers_file(std::string const& file, bool link);

/// Throws bad_input unless the file says what layers hold, by which `decides` ("--memory decides the cut").
void require_bytes(layer_table const& table, std::string const& file, std::string const& decides);
/// Whether the file says what a stage holds; what is computed of it is otherwise not known, rather than 0.
[[nodiscard]] inline bool knows_bytes(layer_table const& table) { return table.parameters || table.activations; }
/// Bytes of a stage in words, and as a number of JSON.
[[nodiscard]] std::string stage_bytes(std::int64_t bytes, layer_table const& table);
[[nodiscard]] nlohmann::ordered_json stage_bytes_json(std::int64_t bytes, layer_table const& table);

/// A time in the file's unit, as a number of JSON.
[[nodiscard]] nlohmann::ordered_json in_unit(std::int64_t time, layer_table const& table);
/// The same as text.
[[nodiscard]] inline std::string shown(std::int64_t time, layer_table const& table) { return in_unit(time, table).dump(); }

/// The time to move `bytes` over a link, in units of the table, rounded up; at most 2^53. 0 without a link.
[[nodiscard]] std::int64_t link_time(std::int64_t bytes, std::int64_t bytes_per_1, layer_table const& table);

/// The option to send what a layer keeps to the host, beside keeping and recomputing it.
struct offload_link {
  std::int64_t bytes_per_1 = 0;  ///< bytes that the link to the host moves in 1 of the file's unit of time; 0: there is no link
  std::int64_t overlap = 0;      ///< percent of the compute time under which transfers hide
};

/// What a layer may do with what it keeps, and what each option is called.
struct layer_options {
  std::vector<ballast::memory_option> options;  ///< the first keeps everything
  std::size_t recompute = 0, offload = 0;       ///< which option this is; 0: there is none
};
[[nodiscard]] layer_options options_of(layer_row const& row, offload_link const& offload, layer_table const& table);

/// A sentence about a scale that loses digits; empty if it loses none.
[[nodiscard]] std::string scale_in_words(layer_table const& table);

}  // namespace ballast_cli
