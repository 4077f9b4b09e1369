// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/exchange.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_cost_exchange {

namespace {

using namespace ballast;
using ballast_test::int128;
using ballast_test::refusal;

fabric links() { return {.per_node = 4, .inside = link_line{1'000'000, 300'000'000'000}, .between = link_line{5'000'000, 30'000'000'000}}; }

}  // namespace

TEST_CASE("exposed_time: the sum of the collectives, less what is hidden", "[property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const any = [&](std::uint64_t below) { return static_cast<std::int64_t>(draw() % below); };
    hidden_share const hidden{any(1001), any(1001), any(1001), any(1001), any(1001), any(1001)};
    std::array const shares{hidden.tensor, hidden.kept_input, hidden.context, hidden.expert, hidden.gradient, hidden.parameter};
    std::vector<layer_exchange> all;
    std::array<int128, 3> expected{};
    for (int i = 0; i < 8; ++i) {
      layer_exchange const e{.what = static_cast<traffic>(draw() % 6),
                             .how = static_cast<collective>(draw() % 5),
                             .over = {std::int64_t{1} << draw() % 5, std::int64_t{1} << draw() % 3},
                             .when = static_cast<exchange_phase>(draw() % 3),
                             .bytes = any(1'000'000'000),
                             .calls = 1 + any(20)};
      all.push_back(e);
      auto const whole = int128{collective_time(e.how, e.bytes, e.over, links())} * e.calls;
      expected[static_cast<std::size_t>(e.when)] += whole - whole * shares[static_cast<std::size_t>(e.what)] / 1000;  // rounded up
    }
    auto const found = exposed_time(all, links(), hidden);
    CHECK((int128{found.forward} == expected[0] && int128{found.backward} == expected[1] && int128{found.step} == expected[2]));
    CHECK(exposed_time(all, links(), {1000, 1000, 1000, 1000, 1000, 1000}) == exchange_time{});
    CHECK(exposed_time(all, {}) == exchange_time{});
    all.clear();
    CHECK(exposed_time(all, links()) == exchange_time{});
  }
}

TEST_CASE("exposed_time: bad input, and times that do not fit") {
  layer_exchange const e{.what = traffic::expert, .how = collective::all_to_all, .over = {.ranks = 8}, .bytes = 1'000'000};
  auto const of = [](layer_exchange const& x, hidden_share const& hidden = {}, fabric const& over = links()) {
    return refusal([&] { return exposed_time(std::vector{x, x}, over, hidden); });
  };
  CHECK(of(e) == "accepted");
  CHECK(of(e, {.tensor = -1}) == "tensor = -1 must be in [0, 1000]");
  CHECK(of(e, {.parameter = 1001}) == "parameter = 1001 must be in [0, 1000]");
  auto bad = e;
  bad.over.ranks = 0;
  CHECK(of(bad) == "ranks = 0 must be in [1, 2^24]");
  bad = e;
  bad.calls = std::int64_t{1} << 60;
  CHECK(of(bad) == "exchanges take 2^63 picoseconds or more");
  bad.calls = -1;
  CHECK(of(bad) == "exchanges take 2^63 picoseconds or more");
  bad = {.how = collective::send, .over = {.ranks = 2}, .bytes = 1};
  fabric const slow{.inside = link_line{std::int64_t{1} << 60, 1'000'000'000'000'000}};
  CHECK(of(bad, {}, slow) == "accepted");
  bad.calls = 3;  // 2^61.6: once more would pass 2^62, and twice stays below 2^63
  CHECK(of(bad, {}, slow) == "accepted");
  bad.calls = 4;  // twice 2^62 and some
  CHECK(of(bad, {}, slow) == "exchanges take 2^63 picoseconds or more");
}

}  // namespace test_cost_exchange
