// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/plan_folder.hpp"

#include <utility>

namespace ballast_cli {

using nlohmann::ordered_json;

void print_json(ordered_json const& json) {
  write_standard_output(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

ordered_json sources_json(input_arguments const& input) {
  auto json = ordered_json::array();
  auto const& sources = *input.sources;
  if (input.select.histogram || (input.weights.empty() && sources.size() == 1 && sources[0].files.size() == 1)) return json;
  for (std::uint64_t first = 0; auto const& s : sources) {
    json.push_back({{"named", s.named}, {"files", s.files}, {"rows", s.rows}, {"first", first}, {"samples", s.samples}});
    if (!input.weights.empty()) json.back().update({{"passes", s.passes}, {"again", s.again}});
    first += s.samples;
  }
  return json;
}

ordered_json plan_document(input_arguments const& input, std::uint64_t files_hash, ordered_json const& figures, ordered_json options) {
  ordered_json json{{"schema", plan_format}, {"files", input.files}, {"files_hash", hash_digits(files_hash)}};
  json.update(figures);
  if (auto sources = sources_json(input); !sources.empty()) json["sources"] = std::move(sources);
  json["options"] = std::move(options);
  return json;
}

std::string text_of(ordered_json const& document) { return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n"; }

ordered_json pieces_json(std::vector<ballast::sample_piece> const& pieces) {
  auto json = ordered_json::array();
  for (auto const& p : pieces) json.push_back({{"sample", p.sample}, {"offset", p.offset}, {"length", p.length}});
  return json;
}

}  // namespace ballast_cli
