// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/m6t.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace test_methods_m6t {

namespace {
using namespace ballast;
using ballast_test::refusal;
transformer const shape{.hidden = 1024, .gated = false, .expert_ffn = 4096};
}  // namespace

TEST_CASE("m6t: k top-1 and top-k compute, exchange and drop the same at equal capacity", "[property]") {
  for (std::int64_t const k : {1, 2, 4})
    for (std::int64_t const capacity : {1000, 1250}) {
      auto const top_k = m6t::route(8192, {.experts = 64, .active = k, .capacity = capacity}, shape);
      auto const k_top_1 = m6t::route(8192, {.experts = 64, .prototypes = k, .capacity = capacity}, shape);
      CAPTURE(k, capacity);
      CHECK(top_k.work.capacity == k_top_1.work.capacity);
      CHECK(top_k.work.expert_flops == k_top_1.work.expert_flops);
      CHECK(top_k.work.router_flops == k_top_1.work.router_flops);
      CHECK(top_k.exchange == k_top_1.exchange);
      CHECK(std::abs(top_k.expected.dropped - k_top_1.expected.dropped) <= k);
      CHECK(top_k.expected.drop_share == k_top_1.expected.drop_share);
      CHECK(top_k.work.searched == k * k_top_1.work.searched);
    }
}

TEST_CASE("m6t: capacity lowers drops, and more experts for a token raise the work and lower the share of drops", "[property]") {
  std::int64_t flops = 0, share = 1'000'000;
  for (std::int64_t const k : {1, 2, 4, 8}) {
    auto const layer = m6t::route(8192, {.experts = 64, .prototypes = k, .capacity = 1000}, shape);
    if (k > 1) CHECK(layer.work.expert_flops == 2 * flops);
    CHECK(layer.expected.drop_share < share);  // loads of more rows vary less
    flops = layer.work.expert_flops;
    share = layer.expected.drop_share;
  }
  for (std::int64_t halves = 0; halves <= 2; ++halves) {
    auto dropped = std::int64_t{1} << 60;
    for (std::int64_t const capacity : {500, 1000, 1250, 2000, 4000}) {
      auto const layer = m6t::route(8192, {.experts = 64, .capacity = capacity}, shape, halves);
      CHECK((layer.expected.dropped < dropped || dropped == 0));
      dropped = layer.expected.dropped;
    }
    CHECK((halves == 0) == (dropped < 1000));  // below a row
  }
}

TEST_CASE("m6t: a skewed router drops more by top-k than by k top-1, as the page says", "[property]") {
  // drops and variation of top-k, then of k top-1, in hundredths of a percent and in hundredths
  struct figures {
    std::int64_t halves, k, capacity, top_k, variation, k_top_1, of_prototypes;
  };
  for (auto const& [halves, k, capacity, top_k, variation, k_top_1, of_prototypes] :
       {figures{1, 1, 1250, 1514, 66, 1514, 66}, figures{1, 2, 1000, 2062, 64, 1937, 56}, figures{1, 2, 1250, 1474, 64, 1324, 56},
        figures{1, 4, 1000, 1999, 61, 1731, 47}, figures{1, 4, 1250, 1406, 61, 1087, 47}, figures{2, 1, 1250, 4228, 191, 4228, 191},
        figures{2, 2, 1000, 4548, 178, 4207, 146}, figures{2, 2, 1250, 4080, 178, 3695, 146}, figures{2, 4, 1000, 4301, 156, 3664, 110},
        figures{2, 4, 1250, 3802, 156, 3080, 110}}) {
    CAPTURE(halves, k, capacity);
    auto const by_k = m6t::route(8192, {.experts = 64, .active = k, .capacity = capacity}, shape, halves).expected;
    auto const by_sets = m6t::route(8192, {.experts = 64, .prototypes = k, .capacity = capacity}, shape, halves).expected;
    CHECK((by_k.drop_share + 50) / 100 == top_k);
    CHECK((by_k.imbalance + 5) / 10 == variation);
    CHECK((by_sets.drop_share + 50) / 100 == k_top_1);
    CHECK((by_sets.imbalance + 5) / 10 == of_prototypes);
    CHECK((k == 1 || by_k.drop_share > by_sets.drop_share));
  }
}

TEST_CASE("m6t: M6-10T has the published number of parameters", "[published]") {
  static_assert(m6t::parameters(m6t::m6_10t) == 10'050'424'799'232);
  // 80 prototypes of 128 experts, 8 samples of a GPU (of 512 tokens, for example): a token visits one expert of each prototype
  auto const layer = m6t::route(8 * 512, {.experts = 10'240, .prototypes = 80, .capacity = 1250}, shape);
  CHECK(layer.work.softmax_width == 128);
  CHECK(layer.work.capacity == 40);
}

TEST_CASE("m6t: a trillion parameters on 480 devices of 32 GB: Adam does not fit, Adafactor does", "[published]") {
  constexpr auto each = std::int64_t{2'089'000'000};
  constexpr weight_matrix expert{.in = 1024, .out = 9984};
  auto const gigabytes = [&](optimizer const& by) { return static_cast<double>(m6t::states_on_device(480 * each, 480, expert, by)) / 1e9; };
  auto const near = [](double found, double printed) { return std::abs(found - printed) < 0.051; };
  CHECK(near(gigabytes(optimizer_named("adam")), 37.6));
  CHECK(near(gigabytes(optimizer_named("adam-bf16-gradients")), 33.4));
  auto adafactor = optimizer_named("adafactor");
  CHECK(near(gigabytes(adafactor), 20.9));
  adafactor.state.gradient = 2;
  CHECK(near(gigabytes(adafactor), 16.7));
  for (auto const memory : {std::int64_t{32'000'000'000}, std::int64_t{32} << 30}) {
    auto const adam = m6t::states_on_device(480 * each, 480, expert, optimizer_named("adam"));
    CHECK(adam > memory);
  }
  CHECK(m6t::optimizers_that_fit(480 * each, 480, expert, 32'000'000'000) ==
        std::vector<std::string_view>{"adam-8bit", "adafactor", "sgd", "sgd-momentum", "galore", "adam-bf16", "muon"});
  CHECK(m6t::optimizers_that_fit(480 * each, 480, expert, 1'000'000'000).empty());
}

TEST_CASE("m6t: arguments out of range throw") {
  CHECK(refusal([] { return m6t::route(1 << 25, {.experts = 4}, shape).work.rows; }) == "tokens = 33554432 must be in [0, 16777216]");
  CHECK(refusal([] { return m6t::parameters({.layers = 0}); }) == "layers = 0 must be in [1, 1099511627776]");
  CHECK(refusal([] { return m6t::parameters({.layers = 1 << 20, .experts = 1 << 20, .hidden = 1 << 20, .ffn = 1 << 20}); }) ==
        "the shape has 2^63 parameters or more");
  CHECK(refusal([] { return m6t::states_on_device(1, 0, {.in = 1, .out = 1}, optimizers[0]); }) == "devices = 0 must be in [1, 16777216]");
}

}  // namespace test_methods_m6t
