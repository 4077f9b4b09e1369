// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/sharding/result.hpp>

#include <cstdint>
#include <span>
#include <string>

// Shards as text that a trainer reads; docs/formats.md describes it.

namespace ballast_cli {

/// One batch as a JSON object in a line. Sample i of the plan is number `samples[i]` of the data. `attention` says for each pass where it
/// is computed; it is empty where each rank computes that of its tokens.
[[nodiscard]] std::string line_of(ballast::shards<> const& plan, std::span<ballast::attention_plan<> const> attention,
                                  std::span<std::uint64_t const> samples, std::uint64_t batch);

}  // namespace ballast_cli
