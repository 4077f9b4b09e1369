// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/options.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_staging_options {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("held_by_stage: the micro-batches of each schedule with one chunk a stage") {
  using counts = std::vector<std::uint64_t>;
  CHECK(held_by_stage(one_f_one_b_schedule{}, 4, 16) == counts{4, 3, 2, 1});
  CHECK(held_by_stage(one_f_one_b_schedule{}, 4, 2) == counts{2, 2, 2, 1});
  CHECK(held_by_stage(gpipe_schedule{}, 3, 5) == counts{5, 5, 5});
  CHECK(held_by_stage(zb1p_schedule{}, 3, 16) == counts{3, 3, 3});  // activations stay until their weight part
  CHECK(held_by_stage(zb2p_schedule{}, 3, 16) == counts{5, 5, 5});
  CHECK(refusal([] { return held_by_stage(interleaved_schedule{.chunks = 2}, 4, 16); }) ==
        "schedule interleaved has 2 chunks a stage, not 1");
  CHECK(refusal([] { return held_by_stage(gpipe_schedule{}, 0, 16); }) == "stages = 0 and micro_batches = 16 must be positive");
}

TEST_CASE("staging_options: what makes no sense is refused") {
  std::vector<std::int64_t> const capacity{8, 8};
  std::vector<std::uint64_t> const in_flight{2, 1};
  staging_options options{.stages = 2, .capacity = capacity, .in_flight = in_flight};
  auto const sentence = [&] {
    return refusal([&] {
      require_valid(options);
      return 0;
    });
  };
  CHECK(sentence() == "accepted");
  options.hidden_percent = 101;
  CHECK(sentence() == "hidden_percent = 101 must be in [0, 100]");
  options.stages = 3;
  CHECK(sentence() == "capacity has 2 entries for 3 stages");
  options.stages = 0;
  CHECK(sentence() == "stages = 0 must be in 1 ... 2^31");
}

}  // namespace test_staging_options
