// SPDX-License-Identifier: Apache-2.0
#include "report/plan_folder.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>

namespace ballast_cli {

namespace {

constexpr std::array<std::string_view, 8> plan_files{"plan.json",  "offsets.npy", "members.npy",    "steps.npy",
                                                     "levels.npy", "report.html", "cu_seqlens.npy", "cu_seqlens_padded.npy"};

/// Whether there is a plan.json of ours, of whatever version.
[[nodiscard]] bool is_plan(std::string const& folder) {
  std::ifstream in(folder + "/plan.json", std::ios::binary);
  auto const json = nlohmann::json::parse(in, nullptr, false);
  return json.is_object() && json.contains("schema") && json["schema"].is_number_integer();
}

constexpr folder_kind plan_folders{plan_files, is_plan};

}  // namespace

void require_plan_folder(std::string const& folder) {
  if (!folder.empty()) require_replaceable(folder, plan_folders);
}

void write_plan(std::string const& folder, std::vector<folder_file> const& files, std::string_view json, rename_calls const& calls) {
  folder_writer out(folder, plan_folders, calls);
  if (out.restored())
    (void)std::fprintf(stderr, "%s: an interrupted run had set the plan aside; it was brought back first\n", folder.c_str());
  for (auto const& file : files) out.add(file);
  out.add({"plan.json", {}, json});
  out.commit();
}

}  // namespace ballast_cli
