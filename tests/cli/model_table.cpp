// SPDX-License-Identifier: Apache-2.0
#include "model_table.hpp"
#include "readers/omni_config.hpp"

#include "support/catch.hpp"

#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test_cli_model_table {

namespace {

struct table_row {
  std::string names;
  std::size_t count = 0, exact = 0;
};

/// The table of docs/check.md: families with their configurations, then those that are refused by name.
std::string table() {
  std::map<std::string, table_row> rows;
  table_row all;
  for (auto const& models : {ballast_test::models_of_families(), ballast_test::models_of_zoo(), ballast_test::models_of_sound()})
    for (auto const& m : models) {
      std::string_view constexpr key = "\"model_type\": \"";
      auto const from = m.fields.find(key) + key.size();
      auto& row = rows[m.fields.substr(from, m.fields.find('"', from) - from)];
      row.names += (row.names.empty() ? "" : "; ") + m.name;
      for (auto* const of : {&row, &all}) of->count += 1, of->exact += m.exact ? 1 : 0;
    }
  std::string text = "| model_type | configurations | read | equal to the last digit |\n| --- | --- | --- | --- |\n";
  auto const line = [&](std::string const& family, table_row const& row) {
    text += "| " + family + " | " + row.names + " | " + std::to_string(row.count) + " | " + std::to_string(row.exact) + " |\n";
  };
  for (auto const& [family, row] : rows) line("`" + family + "`", row);
  line("all", {.names = std::to_string(rows.size()) + " families", .count = all.count, .exact = all.exact});
  std::vector<std::pair<std::string, std::string>> refused;  // why, and whom
  for (auto const family : ballast_cli::unread_families()) {
    auto const why = std::string(ballast_cli::why_not_read(family));
    auto at = refused.begin();
    while (at != refused.end() && at->first != why) ++at;
    if (at == refused.end()) at = refused.insert(at, {why, ""});
    at->second += (at->second.empty() ? "`" : ", `") + std::string(family) + "`";
  }
  text += "\n| refused model_types | why |\n| --- | --- |\n";
  for (auto const& [why, families] : refused) text += "| " + families + " | " + why + " |\n";
  return text;
}

}  // namespace

TEST_CASE("model_table: docs/check.md has the table of all configurations") {
  std::ifstream in(std::string(BALLAST_DOCS) + "/check.md");
  std::string const page(std::istreambuf_iterator<char>(in), {});
  CHECK(page.find("\n" + table()) != std::string::npos);
}

TEST_CASE("model_table: the table of docs/check.md", "[.print_model_table]") { std::cout << table(); }

}  // namespace test_cli_model_table
