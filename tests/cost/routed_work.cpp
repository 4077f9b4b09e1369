// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/communication.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/routed_work.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_cost_routed_work {

namespace {
using namespace ballast;
using ballast_test::refusal;
transformer const shape{.hidden = 1024, .gated = false, .expert_ffn = 4096};
}  // namespace

TEST_CASE("routed_work: k top-1 costs what top-k costs, but the searches", "[property]") {
  for (std::int64_t const k : {1, 2, 4, 8})
    for (std::int64_t const experts : {8, 64, 960})
      for (std::int64_t const capacity : {0, 500, 1000, 1250})
        for (std::int64_t const tokens : {0, 1, 1023, 8192}) {
          CAPTURE(k, experts, capacity, tokens);
          auto const top_k = work_of_routing(tokens, {.experts = experts, .active = k, .capacity = capacity}, shape);
          auto const k_top_1 = work_of_routing(tokens, {.experts = experts, .prototypes = k, .capacity = capacity}, shape);
          CHECK(top_k.searched == k * k_top_1.searched);
          CHECK(k_top_1.searched == tokens * experts);
          CHECK((top_k.searches == k && k_top_1.searches == 1));
          CHECK((top_k.softmaxes == tokens && k_top_1.softmaxes == k * tokens));
          CHECK(top_k.softmaxes * top_k.softmax_width == k_top_1.softmaxes * k_top_1.softmax_width);
          auto same = k_top_1;
          same.softmaxes = top_k.softmaxes;
          same.softmax_width = top_k.softmax_width;
          same.searched = top_k.searched;
          same.searches = top_k.searches;
          CHECK(same == top_k);
          CHECK(top_k.rows == (capacity == 0 ? k * tokens : experts * top_k.capacity));
          CHECK(top_k.expert_flops == top_k.rows * 4 * 1024 * 4096);  // N C 4 d f
          CHECK(top_k.router_flops == 2 * tokens * 1024 * experts);
        }
}

TEST_CASE("routed_work: the exchanges are those of a layer", "[property]") {
  auto const& model = transformer_preset("deepseek-v3");
  for (std::int64_t const capacity : {0, 1000, 1250}) {
    exchange_setting const by{.spread = {.data = 128, .zero = 1}, .expert = 64, .capacity = capacity};
    std::int64_t forward = 0, backward = 0;
    for (auto const& e : layer_exchanges(model, model.layers - 1, by, 4096))
      if (e.what == traffic::expert) (e.when == exchange_phase::forward ? forward : backward) += e.bytes * e.calls;
    auto const work = work_of_routing(4096, {.experts = 256, .active = 8, .capacity = capacity}, model);
    auto const bytes = expert_exchange_bytes(work.rows, model.hidden);
    CHECK((bytes.forward == forward && bytes.backward == backward && bytes.total() == forward + backward));
    CHECK(bytes.total() == 4 * bytes.call);
  }
  // of real rows only those travel that are kept
  std::int64_t const loads[] = {10, 3, 0, 7};
  auto const kept = count_routed_rows(loads, 6).kept;
  CHECK(expert_exchange_bytes(kept, 1024) == expert_exchange{.call = 15 * 2048, .forward = 30 * 2048, .backward = 30 * 2048});
}

TEST_CASE("routed_work: arguments out of range throw") {
  CHECK(refusal([] { return work_of_routing(1, {.experts = 6, .prototypes = 4}, shape).rows; }) ==
        "prototypes = 4 must divide experts = 6");
  CHECK(refusal([] { return work_of_routing(1, {.experts = 3, .prototypes = 4}, shape).rows; }) == "experts = 3 must be in [4, 8192]");
  CHECK(refusal([] { return work_of_routing(1, {.prototypes = 0}, shape).rows; }) == "prototypes = 0 must be in [1, 2048]");
  CHECK(refusal([] { return work_of_routing(-1, {}, shape).rows; }) == "tokens = -1 must be in [0, 1099511627776]");
  CHECK(refusal([] { return work_of_routing(std::int64_t{1} << 40, {.experts = 2048}, shape).rows; }) ==
        "tokens = 1099511627776 bring the work of a layer to 2^63 or more");
  CHECK(refusal([] { return expert_exchange_bytes(-1, 1).call; }) == "rows = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([] { return expert_exchange_bytes(1, 0).call; }) == "hidden = 0 must be in [1, 262144]");
  CHECK(refusal([] { return expert_exchange_bytes(std::int64_t{1} << 52, 1 << 18).call; }) ==
        "rows = 4503599627370496 bring an all-to-all to 2^61 bytes or more");
}

}  // namespace test_cost_routed_work
