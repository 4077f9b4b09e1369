// SPDX-License-Identifier: Apache-2.0
#include "plan_folder.hpp"

#include "errors.hpp"
#include "output.hpp"

#include <algorithm>
#include <filesystem>
#include <list>
#include <system_error>

namespace ballast_cli {

void write_plan(std::string const& folder, std::vector<folder_file> const& files, std::string_view json) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw cannot_write(folder + ": the folder cannot be made: " + error.message());
  std::list<output_file> written;  // which do not move
  for (auto const& file : files) {
    auto& out = written.emplace_back(folder + "/" + file.name);
    out.write(file.header);
    out.write(file.bytes);
    out.finish();
  }
  output_file json_file(folder + "/plan.json");
  json_file.write(json);
  json_file.finish();
  fs::remove(folder + "/plan.json", error);  // of an older plan: from here to the end no plan.json vouches for the files
  for (auto const* const name : {"steps.npy", "levels.npy", "report.html"})
    if (std::none_of(files.begin(), files.end(), [&](folder_file const& f) { return f.name == name; }))
      fs::remove(folder + "/" + name, error);
  for (auto& out : written) out.commit();
  json_file.commit();
}

}  // namespace ballast_cli
