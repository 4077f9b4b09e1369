// SPDX-License-Identifier: Apache-2.0
#include "plan_folder.hpp"

#include "errors.hpp"
#include "npy.hpp"
#include "output.hpp"

#include <bit>
#include <filesystem>
#include <system_error>

namespace ballast_cli {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

template <class Integer>
void write_array(output_file& file, std::string_view descr, std::span<Integer const> values) {
  file.write(npy_header(descr, values.size()));
  file.write({reinterpret_cast<char const*>(values.data()), values.size_bytes()});
  file.finish();
}

template <class Index>
void write(std::string const& folder, std::span<std::uint64_t const> offsets, std::span<Index const> members, std::string_view json) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw cannot_write(folder + ": the folder cannot be made: " + error.message());
  output_file offsets_file(folder + "/offsets.npy"), members_file(folder + "/members.npy"), json_file(folder + "/plan.json");
  write_array(offsets_file, "<u8", offsets);
  write_array(members_file, sizeof(Index) == 4 ? "<u4" : "<u8", members);
  json_file.write(json);
  json_file.finish();
  fs::remove(folder + "/plan.json", error);  // of an older plan: from here to the end no plan.json vouches for the arrays
  offsets_file.commit();
  members_file.commit();
  json_file.commit();
}

}  // namespace

void write_plan(std::string const& folder, std::span<std::uint64_t const> offsets, std::span<std::uint32_t const> members,
                std::string_view json) {
  write(folder, offsets, members, json);
}
void write_plan(std::string const& folder, std::span<std::uint64_t const> offsets, std::span<std::uint64_t const> members,
                std::string_view json) {
  write(folder, offsets, members, json);
}

}  // namespace ballast_cli
