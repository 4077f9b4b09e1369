// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace ballast_test {

/// Whether the shards are valid, on aligned blocks unless groups may have any size, and take the time that they claim.
template <class Cost>
bool sound_shards(ballast::shards<> const& plan, std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o,
                  Cost const& cost) {
  auto const verdict = check_shards(plan, lengths, o, {.aligned = !ballast::detail::takes_any_size(o, lengths.size())});
  INFO(describe(verdict));
  CHECK(verdict.valid());
  return verdict.valid() && plan.status == ballast::status::feasible && plan.execution == o.execution && plan.left_out.empty() &&
         time_shards(plan, cost, o.cost_per_pass).makespan == plan.time.value;
}

}  // namespace ballast_test
