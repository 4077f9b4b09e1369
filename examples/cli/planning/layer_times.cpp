// SPDX-License-Identifier: Apache-2.0
#include "planning/layer_times.hpp"

#include "errors.hpp"
#include "readers/file_bytes.hpp"
#include "readers/preset_names.hpp"
#include "report/words.hpp"

#include <ballast/core/wide.hpp>

#include <filesystem>
#include <system_error>

namespace ballast_cli {

layer_table read_layers_file(std::string const& file, bool link) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && preset_of(file))
    throw bad_input(file + ": is a model, and this command reads a CSV of layers; of a model, plan --model " + file +
                    " --stages N cuts the layers, and memory " + file + " says what to recompute");
  file_bytes const bytes(file);
  return read_layers(bytes.view(), shown_name(file), link ? 6 : 0);
}

void require_bytes(layer_table const& table, std::string const& file, std::string const& decides) {
  if (table.activations) return;
  throw bad_input(shown_name(file) + ": the column activation_bytes is missing, by which " + decides +
                  "; it holds the bytes of each layer until its backward pass, 0 for none");
}

std::string stage_bytes(std::int64_t bytes, layer_table const& table) { return knows_bytes(table) ? many_bytes(bytes) : "not known"; }
nlohmann::ordered_json stage_bytes_json(std::int64_t bytes, layer_table const& table) {
  return knows_bytes(table) ? nlohmann::ordered_json(bytes) : nlohmann::ordered_json();
}

nlohmann::ordered_json in_unit(std::int64_t time, layer_table const& table) {
  if (time % table.units_per_1 == 0) return time / table.units_per_1;
  return static_cast<double>(time) / static_cast<double>(table.units_per_1);
}

std::int64_t link_time(std::int64_t bytes, std::int64_t bytes_per_1, layer_table const& table) {
  constexpr auto most = std::int64_t{1} << 53;
  if (bytes_per_1 == 0) return 0;
  auto const estimate = static_cast<double>(bytes) * static_cast<double>(table.units_per_1) / static_cast<double>(bytes_per_1);
  if (estimate > static_cast<double>(most / 2)) return most;
  return static_cast<std::int64_t>(ballast::multiply_divide_up(
      static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(table.units_per_1), static_cast<std::uint64_t>(bytes_per_1)));
}

layer_options options_of(layer_row const& row, offload_link const& offload, layer_table const& table) {
  layer_options out{.options = {{.memory = row.activation_bytes}}};
  if (row.checkpoint_bytes < row.activation_bytes) {
    out.recompute = out.options.size();
    out.options.push_back({.memory = row.checkpoint_bytes, .time = row.forward});
  }
  if (offload.bytes_per_1 != 0 && row.activation_bytes > 0) {
    out.offload = out.options.size();
    out.options.push_back({.transfer = link_time(2 * row.activation_bytes, offload.bytes_per_1, table)});  // there and back
  }
  return out;
}

std::string scale_in_words(layer_table const& table) {
  if (!table.rounded) return {};
  return "Times were rounded to " + in_unit(1, table).dump() + " of the file's unit.\n";
}

}  // namespace ballast_cli
