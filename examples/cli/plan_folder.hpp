// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The folder that `pack --out` writes: offsets.npy, members.npy, plan.json.

namespace ballast_cli {

/// Writes the three files, all or none; plan.json takes its name last, so a folder that has one is complete. Throws cannot_write.
void write_plan(std::string const& folder, std::span<std::uint64_t const> offsets, std::span<std::uint32_t const> members,
                std::string_view json);
void write_plan(std::string const& folder, std::span<std::uint64_t const> offsets, std::span<std::uint64_t const> members,
                std::string_view json);

}  // namespace ballast_cli
