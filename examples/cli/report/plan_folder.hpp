// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/npy.hpp"
#include "report/replace.hpp"

#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The folder that `pack --out` and `plan --out` write: arrays, plan.json and perhaps a report (docs/formats.md).

namespace ballast_cli {

/// The version of the format that is written, `schema` in plan.json (docs/formats.md). It rises when a reader of the one before would err.
inline constexpr std::int64_t plan_format = 2;

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

/// `files_hash` in plan.json: FNV-1a of the entries of offsets.npy, members.npy, steps.npy and levels.npy.
template <class Index>
[[nodiscard]] std::uint64_t hash_of_files(ballast::groups<Index> const& packs, std::span<std::uint32_t const> steps = {},
                                          std::span<std::uint32_t const> levels = {}) {
  ballast::fnv1a h;
  for (auto const offset : packs.offsets) h.append(offset);
  for (auto const member : packs.members) h.append(member);
  for (auto const entry : steps) h.append(entry);
  for (auto const entry : levels) h.append(entry);
  return h.value();
}

/// Throws bad_input for a folder that a plan may not replace; called before anything is planned. An empty name means no folder.
void require_plan_folder(std::string const& folder);

/// Writes the files and plan.json, all or none: the folder is replaced as a whole. Says on standard error if an older plan that an
/// interrupted run had set aside was brought back first. Throws cannot_write, and bad_input for a folder of other things.
void write_plan(std::string const& folder, std::vector<folder_file> const& files, std::string_view json,
                rename_calls const& calls = system_renames);

}  // namespace ballast_cli
