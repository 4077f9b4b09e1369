// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute/chain_step.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <vector>

namespace test_recompute_chain_step {

using namespace ballast;
using ballast_test::refusal;
using steps = std::vector<chain_step>;

TEST_CASE("chain_peak: time and bytes of a schedule, or nothing where a step cannot be run") {
  std::vector<chain_block> const two(2, {.forward = 1, .backward = 2, .output = 3, .saved = 4, .gradient = 3});
  using enum chain_action;
  CHECK_FALSE(chain_peak(two, 1, steps{}));
  CHECK_FALSE(chain_peak(two, 1, steps{{save, 1}}));
  CHECK_FALSE(chain_peak(two, 1, steps{{save, 0}, {backward, 0}}));
  CHECK_FALSE(chain_peak(two, 1, steps{{drop, 0}}));
  CHECK_FALSE(chain_peak(two, 1, steps{{save, 7}}));
  CHECK(chain_peak(two, 1, steps{{save, 0}, {save, 1}, {backward, 1}, {backward, 0}}) == chain_figures{6, 1 + 3 + 4 + 4 + 3});
  CHECK(chain_peak({}, 5, {}) == chain_figures{0, 10});  // the input and its gradient
}

TEST_CASE("chain_peak: overheads last for their pass alone, and an output that is dropped may come again") {
  std::vector<chain_block> const one{
      {.forward = 1, .backward = 2, .output = 3, .saved = 4, .gradient = 5, .forward_overhead = 7, .backward_overhead = 20}};
  using enum chain_action;
  CHECK(chain_peak(one, 0, steps{{save, 0}, {backward, 0}}) == chain_figures{3, 5 + 4 + 20});
  CHECK(chain_peak(one, 0, steps{{forward, 0}, {drop, 0}, {save, 0}, {backward, 0}}) == chain_figures{4, 5 + 4 + 20});
}

TEST_CASE("chain_peak: input that makes no sense is named") {
  CHECK(refusal([] { return chain_peak(std::vector<chain_block>{{.output = 3, .saved = 2}}, 0, {}); }) ==
        "blocks[0].saved = 2 is below its output = 3");
  CHECK(refusal([] { return chain_peak({}, -1, {}); }) == "input = -1 must be in [0, 2^56]");
}

}  // namespace test_recompute_chain_step
