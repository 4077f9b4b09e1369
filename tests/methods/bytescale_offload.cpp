// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/bytescale_offload.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>

namespace test_methods_bytescale_offload {

using namespace ballast;
using namespace ballast_test;
using bytescale::offload_model;
using bytescale::offload_range;
using bytescale::selective_offload;

namespace {

/// A model near 7B: 32 layers, 8192 tokens a rank, links of 50 GB/s.
offload_model near_7b() {
  return {.layers = 32,
          .capacity = 8192,
          .time_square = 30,
          .time_linear = 300000,
          .time_fixed = 100000000,
          .bytes_per_token = 140000,
          .bytes_fixed = 0,
          .device_to_host = 50000000000,
          .host_to_device = 55000000000};
}

/// Equation 3 in floating point at a share r: the ranks before rounding up, and whether the transfer hides.
struct at_share {
  double ranks;
  bool hides;
};
at_share equation_3(offload_model const& m, std::int64_t length, double r) {
  auto const s = static_cast<double>(length), l = static_cast<double>(m.layers);
  auto const activations = [&](double n) { return static_cast<double>(m.bytes_per_token) * n + static_cast<double>(m.bytes_fixed); };
  auto const time =
      (static_cast<double>(m.time_square) * s * s + static_cast<double>(m.time_linear) * s + static_cast<double>(m.time_fixed)) * 1e-12;
  auto const link = static_cast<double>(std::min(m.device_to_host, m.host_to_device));
  return {(2 + (1 - r) * (l - 2)) * activations(s) / (l * activations(static_cast<double>(m.capacity))), time >= r * activations(s) / link};
}

offload_model random_model(splitmix64& draw) {
  auto m = near_7b();
  m.layers = between(2, 80, draw);
  m.capacity = between(100, 20000, draw);
  m.time_square = between(0, 100, draw);
  m.time_linear = between(0, 1000000, draw);
  m.time_fixed = between(0, 1000000000, draw);
  m.bytes_per_token = between(1, 500000, draw);
  m.bytes_fixed = draw() % 2 == 0 ? 0 : between(0, 100000000, draw);
  m.device_to_host = between(1000000, 100000000000, draw);
  m.host_to_device = between(1000000, 100000000000, draw);
  return m;
}

}  // namespace

TEST_CASE("bytescale offload: without offloading, as many ranks as the tokens need", "[published]") {
  auto const m = near_7b();
  for (std::int64_t const s : {1, 8191, 8192, 8193, 16384, 16385, 1000000}) CHECK(bytescale::offload_ranks(m, s, 0) == (s + 8191) / 8192);
  CHECK(bytescale::offload_ranks(m, 32 * 8192, 1000000) == 2);  // the first and the last of 32 layers stay
  CHECK(bytescale::offload_ranks(m, 32 * 8192, 500000) == 17);
}

TEST_CASE("bytescale offload: no share of a grid needs fewer ranks, and none below the chosen one as few", "[property]") {
  splitmix64 draw(51);
  int saves = 0, hidden = 0, faults = 0;
  for (int round = 0; round < 2000; ++round) {
    auto const m = random_model(draw);
    auto const s = between(1, 2000000, draw);
    auto const choice = selective_offload(m, s);
    CAPTURE(round, s, m.layers, m.capacity, choice.ranks, choice.millionths);
    REQUIRE(choice.status == status::feasible);
    CHECK(bytescale::offload_ranks(m, s, choice.millionths) == choice.ranks);
    CHECK(equation_3(m, s, static_cast<double>(choice.millionths) * 1e-6 - 1e-9).hides);
    for (std::int64_t r = 0; r <= 1000000; r += 2500) {
      auto const here = equation_3(m, s, static_cast<double>(r) * 1e-6);
      if (!here.hides) break;
      ++hidden;
      faults += here.ranks <= static_cast<double>(choice.ranks) - 1 - 1e-6;
      if (r < choice.millionths)
        faults += here.ranks <= static_cast<double>(choice.ranks) - 1e-6 || bytescale::offload_ranks(m, s, r) <= choice.ranks;
    }
    CHECK(faults == 0);
    auto const none = bytescale::offload_ranks(m, s, 0);
    CHECK(choice.ranks <= none);
    CHECK((choice.millionths == 0) == (choice.ranks == none));
    saves += choice.ranks < none;
  }
  CHECK(saves > 500);
  CHECK(hidden > 100000);
}

TEST_CASE("bytescale offload: monotone in length, share and link", "[property]") {
  splitmix64 draw(52);
  for (int round = 0; round < 500; ++round) {
    auto m = random_model(draw);
    auto const s = between(1, 1000000, draw), r = between(0, 999000, draw);
    CHECK(bytescale::offload_ranks(m, s, r) <= bytescale::offload_ranks(m, s + 1000, r));
    CHECK(bytescale::offload_ranks(m, s, r) >= bytescale::offload_ranks(m, s, r + 1000));
    auto const before = selective_offload(m, s).ranks;
    m.device_to_host *= 2;
    m.host_to_device *= 2;
    CHECK(selective_offload(m, s).ranks <= before);
  }
}

TEST_CASE("bytescale offload: the printed bound asks for more than is needed", "[published]") {
  auto const m = near_7b();
  // Slightly longer than a rank has memory for: a twentieth of the inner layers is enough, and what is printed does not hide.
  auto choice = selective_offload(m, 8602);
  CHECK(choice.ranks == 1);
  CHECK(choice.millionths > 50000);
  CHECK(choice.millionths < 52000);
  CHECK(selective_offload(m, 8602, offload_range::published).status == status::infeasible);
  // A short sample needs nothing, and is told to offload everything.
  choice = selective_offload(m, 1000);
  CHECK(choice.ranks == 1);
  CHECK(choice.millionths == 0);
  CHECK(selective_offload(m, 1000, offload_range::published).status == status::infeasible);
  // On a fast link the printed bound is met: the same ranks, by more traffic.
  auto fast = m;
  fast.device_to_host = fast.host_to_device = 1000000000000;
  auto const published = selective_offload(fast, 8602, offload_range::published), corrected = selective_offload(fast, 8602);
  CHECK(published.ranks == corrected.ranks);
  CHECK(published.millionths == 1000000);
  // A long sample can offload: where the printed bound is below what hides, both need equally few ranks.
  splitmix64 draw(53);
  int both = 0;
  for (int round = 0; round < 1000; ++round) {
    auto const model = random_model(draw);
    auto const s = between(1, 2000000, draw);
    auto const printed = selective_offload(model, s, offload_range::published);
    if (printed.status != status::feasible) continue;
    ++both;
    CHECK(printed.ranks == selective_offload(model, s).ranks);
    CHECK(printed.millionths >= selective_offload(model, s).millionths);
  }
  CHECK(both > 100);
}

TEST_CASE("bytescale offload: what it refuses") {
  auto m = near_7b();
  CHECK(refusal([&] { return selective_offload(m, 0); }) == "length = 0 must be at least 1");
  CHECK(refusal([&] { return bytescale::offload_ranks(m, 5, 1000001); }) == "millionths = 1000001 must be in 0 ... 1000000");
  m.layers = 1;
  CHECK(refusal([&] { return selective_offload(m, 5); }) == "layers = 1 must be at least 2");
  m.layers = 32;
  m.time_square = std::int64_t{1} << 40;
  CHECK(refusal([&] { return selective_offload(m, 1 << 20); }) == "length = 1048576 takes a time or activations of 2^63 or more");
}

}  // namespace test_methods_bytescale_offload
