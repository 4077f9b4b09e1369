// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/nccl_tables.hpp"
#include "support/refusal.hpp"
#include "support/ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

namespace test_cost_collective {

namespace {

using namespace ballast;
using ballast_test::refusal;
using enum collective;

constexpr std::array kinds{all_gather, reduce_scatter, all_reduce, all_to_all, send};

// 2 us and 100 GB/s in a node, 10 us and 10 GB/s between nodes.
fabric sample_fabric(std::int64_t per_node = 8) {
  return {.per_node = per_node, .inside = link_line{2'000'000, 100'000'000'000}, .between = link_line{10'000'000, 10'000'000'000}};
}

// Skrull, arXiv 2505.19609, table 5: megabytes, then microseconds of all-gather, all-to-all, reduce-scatter, all-reduce.
constexpr double skrull[10][5] = {{2, 53.29, 80.62, 59.48, 84.65},       {4, 72.52, 78.63, 79.26, 113.3},
                                  {8, 97.86, 110.9, 104.7, 168.4},       {16, 199.3, 163.2, 177.4, 312.2},
                                  {32, 286.2, 277.5, 269.5, 479.2},      {64, 488.6, 502.4, 458.8, 859.7},
                                  {128, 910.6, 939.2, 864.3, 1642.9},    {256, 1758.4, 1803.9, 1663.9, 3197.9},
                                  {512, 3416.4, 3411.2, 3239.5, 6181.2}, {1024, 6467.9, 6629.6, 6294.3, 12126}};

bool near(double value, double expected, double tolerance) { return std::fabs(value - expected) <= tolerance; }

}  // namespace

TEST_CASE("collective: the four fits to Skrull's table 5", "[published]") {
  struct row {
    double us, us_per_mb, worst, mean;
  };
  constexpr row expected[4] = {
      {43.9, 6.859, 0.229, 0.060}, {59.2, 6.663, 0.100, 0.038}, {51.5, 6.408, 0.132, 0.042}, {64.4, 12.439, 0.156, 0.040}};
  for (std::size_t k = 0; k < 4; ++k) {
    CAPTURE(k);
    std::vector<timing> rows;
    for (auto const& r : skrull) rows.push_back({static_cast<std::int64_t>(r[0]), r[k + 1] / 1000});
    auto const found = calibrate(rows, {}, linear_cost{.per_token = 0, .per_sample = 1}, token_cost{});
    CHECK(near(1000 * found.coefficients[0], expected[k].us, 0.05));
    CHECK(near(1000 * found.coefficients[1], expected[k].us_per_mb, 0.0005));
    CHECK((near(found.fit.worst, expected[k].worst, 0.0005) && near(found.fit.mean, expected[k].mean, 0.0005)));
  }
  for (auto const& r : skrull) {  // a reduce-scatter and an all-gather take longer than an all-reduce, by less than a third
    auto const ratio = r[4] / (r[1] + r[3]);
    CHECK((ratio > 0.74 && ratio < 0.96));
  }
}

TEST_CASE("collective: measured links give NVIDIA's tables back, one line does not", "[published]") {
  auto const check = [](fabric const& over, rank_group const& group, std::vector<timing> const& rows) {
    for (auto const& r : rows) CHECK(std::llabs(collective_time(all_reduce, r.length, group, over) - std::llround(r.ms * 1e9)) <= 2);
  };
  check({.per_node = 8, .inside = measured_link(all_reduce, 8, ballast_test::all_reduce_one_node), .between = {}}, {.ranks = 8},
        ballast_test::all_reduce_one_node);
  check({.per_node = 1, .inside = {}, .between = measured_link(all_reduce, 16, ballast_test::all_reduce_two_nodes)}, {.ranks = 16},
        ballast_test::all_reduce_two_nodes);
  // The datasheet's bandwidth in a ring: 8 GiB take 33.4 ms. NVIDIA measured 31.3 ms, because the switch adds up.
  auto const ring = collective_time(all_reduce, 8'589'934'592, {.ranks = 8}, datasheet_fabric(device_named("h100")));
  CHECK(near(static_cast<double>(ring) * 1e-9 / 33.4, 1, 0.001));
}

TEST_CASE("collective: bytes, message by message", "[property]") {
  for (std::int64_t per_node = 1; per_node <= 8; ++per_node)
    for (std::int64_t stride = 1; stride <= 9; ++stride)
      for (std::int64_t ranks = 1; ranks <= 24; ++ranks) {
        rank_group const group{ranks, stride};
        auto const most = (per_node + stride - 1) / stride;  // in the first node; other nodes may not have equally many
        if (stride < per_node && ranks > most && (per_node % stride != 0 || ranks % most != 0)) continue;
        CAPTURE(per_node, stride, ranks);
        constexpr std::int64_t part = 1000;
        for (auto const what : {all_gather, all_to_all}) {
          ballast_test::message_by_message const messages(what, part, group, per_node);
          CHECK(messages.complete);
          for (auto const& sent : messages.sent) REQUIRE(sent == bytes_sent(what, part * ranks, group, per_node));
        }
      }
}

TEST_CASE("collective: nodes that cannot have equally many ranks count as if they had a divisor of them") {
  CHECK(ranks_in_node({16, 1}, 8) == 8);
  CHECK(ranks_in_node({12, 1}, 8) == 4);
  CHECK(ranks_in_node({6, 2}, 8) == 2);
  CHECK(ranks_in_node({13, 1}, 8) == 1);
  CHECK(ranks_in_node({6, 3}, 8) == 2);
  CHECK(ranks_in_node({6, 3}, 4) == 1);
}

TEST_CASE("collective: identities") {
  for (auto const& group :
       {rank_group{1, 1}, rank_group{2, 1}, rank_group{8, 1}, rank_group{3, 1}, rank_group{32, 1}, rank_group{4, 4}, rank_group{5, 8}}) {
    auto const n = group.ranks;
    CAPTURE(n, group.stride);
    for (std::int64_t const v : {std::int64_t{0}, 96 * n, std::int64_t{1'000'003}}) {
      auto const of = [&](collective what) { return bytes_sent(what, v, group, 8); };
      auto const all = [&](collective what) { return of(what).inside + of(what).between; };
      CHECK(of(all_gather) == of(reduce_scatter));
      CHECK(all(all_reduce) == all(reduce_scatter) + all(all_gather));
      CHECK(all(send) == (n == 1 ? 0 : v));
      for (auto const what : {all_gather, all_to_all}) {  // V (n - 1) / n, each part rounded up
        CHECK(all(what) >= v - v / n - (v % n != 0 ? 1 : 0));
        CHECK(all(what) <= v - v / n + 1);
        if (v % n == 0) CHECK(all(what) == v / n * (n - 1));
      }
      auto const over = sample_fabric();
      CHECK(collective_time(all_reduce, v, group, over) == 2 * collective_time(all_gather, v, group, over));
      for (auto const what : kinds) {
        CHECK((n > 1 && v > 0) == (collective_time(what, v, group, over) > 0));
        CHECK(collective_time(what, v, group, fabric{}) == 0);
      }
    }
  }
  // Written out: 16 ranks, 8 in a node, 160 kB. Inside 140 kB at 100 GB/s, between 10 kB at 10 GB/s.
  CHECK(collective_time(all_gather, 160'000, {.ranks = 16}, sample_fabric()) == 2'000'000 + 1'400'000 + 10'000'000 + 1'000'000);
  CHECK(collective_time(all_to_all, 160'000, {.ranks = 16}, sample_fabric()) == 2'000'000 + 700'000 + 10'000'000 + 8'000'000);
  CHECK(collective_time(send, 160'000, {.ranks = 16}, sample_fabric()) == 10'000'000 + 16'000'000);
  CHECK(collective_time(send, 160'000, {.ranks = 8}, sample_fabric()) == 2'000'000 + 1'600'000);
  CHECK(collective_time(all_gather, 160'000, {.ranks = 4, .stride = 8}, sample_fabric()) == 10'000'000 + 12'000'000);
}

TEST_CASE("collective: monotone in bytes and ranks", "[property]") {
  auto const over = sample_fabric();
  for (auto const what : kinds) {
    for (std::int64_t n = 2; n <= 8; ++n) {
      std::int64_t before = 0;
      for (std::int64_t v = 0; v < 1'000'000; v = v * 3 / 2 + 1) {
        auto const time = collective_time(what, v, {n, 1}, over);
        CHECK(time >= before);
        CHECK(time >= collective_time(what, v, {n - 1, 1}, over));
        before = time;
      }
    }
    for (std::int64_t n = 8; n <= 256; n += 8)
      for (std::int64_t const v : {std::int64_t{1}, std::int64_t{1'000'003}, std::int64_t{1} << 40})
        CHECK(collective_time(what, v, {n + 8, 1}, over) >= collective_time(what, v, {n, 1}, over));
  }
}

TEST_CASE("collective: all-to-all slows down beyond a node, as FlexSP measured", "[published]") {
  // arXiv 2412.01523, 8 A100 in a node: 96.5 GB/s with 8 ranks and 10.33 GB/s with 16. The datasheet's links alone say 7.4 times.
  auto const over = datasheet_fabric(device_named("a100"));
  auto const time = [&](std::int64_t n) { return static_cast<double>(collective_time(all_to_all, 1'000'000'000, {n, 1}, over)); };
  CHECK(near(time(16) / time(8) / (96.5 / 10.33), 1, 0.22));
  CHECK(near(time(16) / time(8), 7.36, 0.01));
}

TEST_CASE("collective: the presets' networks") {
  CHECK(datasheet_fabric(device_named("h100")).inside(450'000'000'000) == 1'000'000'000'000);
  for (auto const& d : devices) CHECK(datasheet_fabric(d).between(d.network_bandwidth) == 1'000'000'000'000);
  CHECK(device_named("a100").network_bandwidth * 8 == 200'000'000'000);
  CHECK(device_named("b200").network_bandwidth * 8 == 400'000'000'000);
}

TEST_CASE("collective: bad input, and times that do not fit") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const of = [](std::int64_t bytes, rank_group const& group, std::int64_t per_node = 8) {
    return refusal([&] { return collective_time(all_reduce, bytes, group, sample_fabric(per_node)); });
  };
  CHECK(of(-1, {2, 1}) == "bytes = -1 must be in [0, 2^60]");
  CHECK(of(most, {2, 1}) == "bytes = 9223372036854775807 must be in [0, 2^60]");
  CHECK(of(1, {0, 1}) == "ranks = 0 must be in [1, 2^24]");
  CHECK(of(1, {2, 0}) == "stride = 0 must be in [1, 2^24]");
  CHECK(of(1, {2, 1}, 0) == "per_node = 0 must be in [1, 2^24]");
  CHECK((of(1, {1, 3}) == "accepted" && of(1, {3, 9}) == "accepted"));
  // 2^60 bytes at 10 GB/s between two ranks: 2^59 bytes each way take 5.8 * 10^19 ps.
  CHECK(of(std::int64_t{1} << 60, {2, 8}) == "a collective of 1152921504606846976 bytes on 2 ranks takes 2^62 picoseconds or more");
  CHECK(of(std::int64_t{1} << 54, {2, 8}) == "accepted");
  CHECK(of(std::int64_t{1} << 56, {2, 8}).ends_with("takes 2^62 picoseconds or more"));  // each half fits, the sum does not
  auto const rows = [](std::int64_t ranks, std::vector<timing> const& r) {
    return refusal([&] { return measured_link(all_gather, ranks, r); });
  };
  CHECK(rows(1, {{1, 1.0}}) == "ranks = 1 must be at least 2");
  CHECK(rows(2, {}) == "points is empty");
  CHECK(rows(2, {{8, 0.0}}) == "rows[0].ms = 0.000000 must be in (0, 10^9)");
  CHECK(rows(2, {{8, 1.0}, {-8, 1.0}}) == "bytes = -8 must be in [0, 2^60]");
  CHECK(rows(2, {{8, 2.0}, {16, 1.0}}) == "points[1].time = 1000000000 must not be below its predecessor");
  CHECK(refusal([] { return datasheet_fabric(device{.name = "mine", .link_bandwidth = 2}); }) ==
        "the device \"mine\" has no link or network bandwidth");
}

}  // namespace test_cost_collective
