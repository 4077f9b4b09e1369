// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/result.hpp>

#include <cstdint>
#include <span>
#include <string>

// Shards as text that a trainer reads; docs/formats.md describes it.

namespace ballast_cli {

/// One batch as a JSON object in a line. Sample i of the plan is number `samples[i]` of the data.
[[nodiscard]] std::string line_of(ballast::shards<> const& plan, std::span<std::uint64_t const> samples, std::uint64_t batch);

}  // namespace ballast_cli
