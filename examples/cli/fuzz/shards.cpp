// SPDX-License-Identifier: Apache-2.0
#include "readers/shards.hpp"
#include "errors.hpp"

#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// The reader of foreign shards, the validator behind it, and the times of what is valid.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  std::vector<std::int64_t> const lengths{5, 3, 8, 1};
  try {
    for (auto const& plan : read_shards({reinterpret_cast<char const*>(data), size}, "input")) {
      auto const verdict = check_shards(plan, lengths, {.capacity = 10, .ranks = 2});
      (void)describe(verdict);
      if (verdict.valid()) (void)time_shards(plan, ballast::degree_cost{.linear = 1000, .square = 10}, 5);
    }
  } catch (bad_input const&) {
    return 0;
  }
  return 0;
}
