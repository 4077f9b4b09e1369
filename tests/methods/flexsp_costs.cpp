// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/flexsp_costs.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_methods_flexsp_costs {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("flexsp: the fitted constants of its 7B model", "[methods][published]") {
  auto const& model = flexsp::shape_named("gpt-7b");
  CHECK(flexsp::cost_of(model) == ballast_test::flexsp_cost());
  CHECK(model.pass == ballast_test::flexsp_cost_per_pass);
  // 32K tokens on eight ranks: (5.128e-6 n^2 + 0.1839576 n) / 8 ms and 16 * 32 * 4096 n / 8 bytes at 96.5 GB/s.
  auto const n = 32768.0;
  auto const ms = (5.128e-6 * n * n + 0.1839576 * n) / 8 + 16 * 32 * 4096 * n / 8 / 96.5e6;
  auto const ratio = static_cast<double>(flexsp::cost_of(model)(32768, 8)) / (ms * 1e6);
  CHECK((ratio > 0.99999 && ratio < 1.00001));
}

TEST_CASE("flexsp: where the squared part of a sample overtakes the linear one", "[methods][published]") {
  std::vector<std::int64_t> tokens;
  for (auto const& model : flexsp::shapes) tokens.push_back(flexsp::crossover(model));
  CHECK(tokens == std::vector<std::int64_t>{35873, 32957, 52091});
}

TEST_CASE("flexsp: tokens of a GPU by its memory", "[methods]") {
  auto const& model = flexsp::shape_named("gpt-7b");
  CHECK(flexsp::options_of(model, 64, 36'000'000'000).capacity == 7645);
  CHECK(flexsp::options_of(model, 64, 76'000'000'000).capacity == 16573);
  auto const o = flexsp::options_of(flexsp::shape_named("gpt-30b"), 64, 36'000'000'000);
  CHECK(o.capacity == (36'000'000'000 - 7'500'000'000) / 3'417'000);
  CHECK(o.ranks == 64);
  CHECK(o.cost_per_pass == 2'789'364'400);
  CHECK(o.execution == execution::lockstep);
  CHECK(flexsp::options_of(model, 64, 1'750'000'000 + 4'480'000).capacity == 1);
  CHECK(refusal([&] { return flexsp::options_of(model, 64, 1'754'479'999); }) ==
        "usable = 1754479999 is less than the 1754480000 bytes of states and one token");
  CHECK(refusal([&] { return flexsp::options_of(model, 0, 1); }) == "ranks = 0 must be in 1 ... 2^20 - 1");
}

TEST_CASE("flexsp: exchanges of larger models and groups", "[methods]") {
  auto const small = flexsp::cost_of(flexsp::shape_named("gpt-7b")), large = flexsp::cost_of(flexsp::shape_named("gpt-30b"));
  CHECK(large.square == 15426);
  for (std::int64_t d = 2; d <= 64; d *= 2) {
    // Bytes grow with layers and width: 60 * 6656 against 32 * 4096.
    auto const ratio = static_cast<double>(large.exchange_of(d)) / static_cast<double>(small.exchange_of(d));
    CHECK((ratio > 3.04687 && ratio < 3.04688));
  }
  CHECK(small.exchange_of(1) == 0);
  CHECK(small.exchange_of(16) > 4 * small.exchange_of(8));  // beyond a node
  CHECK(small.exchange_of(128) == small.exchange_of(64));
  CHECK(refusal([] { return flexsp::shape_named("gpt-1b"); }) == "no model of FlexSP \"gpt-1b\"; there are gpt-7b, gpt-13b, gpt-30b");
}

}  // namespace test_methods_flexsp_costs
