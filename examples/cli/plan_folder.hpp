// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "npy.hpp"

#include <ballast/core/groups.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The folder that `pack --out` and `plan --out` write: arrays, plan.json and perhaps a report.

namespace ballast_cli {

/// A file of the folder: a header and what follows it, which the caller keeps.
struct folder_file {
  std::string name, header;
  std::string_view bytes;
};

/// An array as a .npy file; `descr` as in "<u8", of the size of an `Integer`.
template <class Integer>
[[nodiscard]] folder_file array_file(std::string name, std::string_view descr, std::span<std::size_t const> shape,
                                     std::span<Integer const> values) {
  static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");
  return {std::move(name), npy_header(descr, shape), {reinterpret_cast<char const*>(values.data()), values.size_bytes()}};
}

/// offsets.npy and members.npy.
template <class Index>
[[nodiscard]] std::vector<folder_file> pack_files(ballast::groups<Index> const& packs) {
  return {array_file<std::uint64_t>("offsets.npy", "<u8", std::array{packs.offsets.size()}, packs.offsets),
          array_file<Index>("members.npy", sizeof(Index) == 4 ? "<u4" : "<u8", std::array{packs.members.size()}, packs.members)};
}

/// Writes the files and plan.json, all or none; plan.json takes its name last, so a folder that has one is complete. What an older plan
/// had and this one has not is removed. Throws cannot_write.
void write_plan(std::string const& folder, std::vector<folder_file> const& files, std::string_view json);

}  // namespace ballast_cli
