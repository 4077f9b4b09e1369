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

ordered_json plan_document(std::vector<std::string> const& files, std::uint64_t files_hash, ordered_json const& figures,
                           ordered_json options) {
  ordered_json json{{"schema", plan_format}, {"files", files}, {"files_hash", hash_digits(files_hash)}};
  json.update(figures);
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
