// SPDX-License-Identifier: Apache-2.0
// Figures of the values of sequences are those of the host, to the bit.
#include "support/backends.hpp"
#include "support/counted.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/loss/segment_figures.cuh>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_same_refusal;
using ballast_test::part;

namespace {

// A value of any size; now and then one that is not a finite number.
template <class Value>
Value any_value(ballast::splitmix64& draw, bool odd) {
  auto const bits = static_cast<std::int64_t>(draw()) >> (draw() % 62);
  if constexpr (std::floating_point<Value>) {
    if (odd && draw() % 50 == 0) {
      constexpr Value values[] = {std::numeric_limits<Value>::infinity(),
                                  -std::numeric_limits<Value>::infinity(),
                                  std::numeric_limits<Value>::quiet_NaN(),
                                  Value{0},
                                  -Value{0},
                                  Value{0x1p60F}};
      return values[draw() % 6];
    }
    return std::ldexp(static_cast<Value>(bits), -40);
  } else {
    return static_cast<Value>(bits);
  }
}

// Whether two values have the same bits.
template <class Value>
bool same(Value a, Value b) {
  if constexpr (std::same_as<Value, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  else
    return std::bit_cast<std::uint64_t>(static_cast<std::conditional_t<std::floating_point<Value>, double, std::int64_t>>(a)) ==
           std::bit_cast<std::uint64_t>(static_cast<std::conditional_t<std::floating_point<Value>, double, std::int64_t>>(b));
}

template <class Value, class Offset, class On>
void test_row(On on, std::size_t row, std::uint64_t longest, bool odd) {
  ballast::splitmix64 draw(row + longest);
  std::vector<Value> values(row);
  for (auto& v : values) v = any_value<Value>(draw, odd);
  std::vector<Offset> cu{0};
  for (;;) {
    auto const next = static_cast<std::uint64_t>(cu.back()) + (draw() % 4 == 0 ? 0 : draw() % longest);
    if (next > row || cu.size() > 2 * row + 3) break;
    cu.push_back(static_cast<Offset>(next));
  }
  auto const sent = send(on, values);
  auto const bounds = send(on, cu);
  auto const wanted = ballast::segment_figures(values, cu);
  auto const found = gpu::segment_figures(on, sent.data(), row, bounds.data(), wanted.size());
  auto const least = fetch(on, found.least), largest = fetch(on, found.largest);
  auto const sum = fetch(on, found.sum);
  auto const mean = fetch(on, found.mean);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const at = " of sequence " + std::to_string(i) + " of " + std::to_string(wanted.size()) + ", row of " + std::to_string(row);
    expect(same(least[i], wanted[i].least), "least" + at);
    expect(same(largest[i], wanted[i].largest), "largest" + at);
    expect(sum[i].words == wanted[i].sum.words, "sum" + at);
    expect(same(mean[i], wanted[i].mean) || (std::isnan(mean[i]) && std::isnan(wanted[i].mean)), "mean" + at);
  }
}

// Rows of a trainer's size take three nodes of a CUDA graph; values need not be aligned.
void test_nodes() {
  for (std::size_t const row : {8'192U, 32'768U, 131'072U})
    for (std::size_t const begin : {0U, 1U}) {
      std::vector<float> const values(row + begin, 0.5F);
      std::vector<std::int32_t> const cu{0, 5, static_cast<std::int32_t>(row)};
      double mean[2] = {};
      std::uint64_t bad = 0;
      expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
               return gpu::segment_figures(on, temp, bytes, values.data() + begin, row, cu.data(), 2,
                                           gpu::segment_arrays<float>{.mean = mean}, &bad);
             }) == 3,
             "nodes at " + std::to_string(row));
      expect(bad == gpu::none_bad && mean[0] == 0.5 && mean[1] == 0.5, "means at " + std::to_string(row));
    }
}

template <class On>
void test_bad_data(On on) {
  ballast::splitmix64 draw(42);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> cu{draw() % 8 == 0 ? 1 : 0};
    for (auto n = draw() % 5; n > 0; --n) cu.push_back(cu.back() + (draw() % 8 == 0 ? -2 : static_cast<std::int64_t>(draw() % 6)));
    std::vector<float> const values(12);
    auto const sent = send(on, values);
    auto const bounds = send(on, cu);
    refused += expect_as_host([&] { return gpu::segment_figures(on, sent.data(), 12, bounds.data(), cu.size() - 1); },
                              [&] { return ballast::segment_figures(values, cu); }, "figures in round " + std::to_string(round));
  }
  expect(refused > 40 && refused < 180, std::to_string(refused) + " of 200 refused");
  std::vector<std::int64_t> const far{0, (std::numeric_limits<std::int64_t>::min)(), (std::numeric_limits<std::int64_t>::max)()};
  auto const bounds = send(on, far);
  auto const two = send(on, std::vector<float>(2));
  expect_same_refusal([&] { return gpu::segment_figures(on, two.data(), 2, bounds.data(), 2); },
                      [&] { return ballast::segment_figures(std::vector<float>(2), far); }, "entries that are no 64 bits apart");
  // only what is wanted is written, and the index is that of the entry
  auto const cu = send(on, std::vector<std::int32_t>{0, 2, 1});
  auto const values = send(on, std::vector<std::int32_t>{3, 1});
  gpu::array<double, On> const mean(on, 2);
  gpu::array<std::uint64_t, On> const bad(on, 1);
  auto const with = [&](std::size_t sequences) {
    call(on, "segment_figures", [&](void* temp, std::size_t& bytes) {
      return gpu::segment_figures(on, temp, bytes, values.data(), 2, cu.data(), sequences,
                                  gpu::segment_arrays<std::int32_t>{.mean = mean.data()}, bad.data());
    });
    return gpu::fetch_one(on, bad.data());
  };
  expect(with(2) == 2, "an entry that falls");
  expect(with(1) == gpu::none_bad && gpu::fetch_one(on, mean.data()) == 2.0, "a mean alone");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv,
                                      part{"figures",
                                           [](auto on) {
                                             for (std::size_t const row : {0U, 1U, 31U, 32U, 33U, 2047U, 2048U, 2049U, 9000U})
                                               for (std::uint64_t const longest : {2U, 9U, 40U, 300U, 20'000U}) {
                                                 test_row<float, std::int32_t>(on, row, longest, longest == 40);
                                                 test_row<double, std::int64_t>(on, row, longest, longest == 300);
                                                 test_row<std::int64_t, std::int32_t>(on, row, longest, false);
                                                 test_row<std::uint8_t, std::int64_t>(on, row, longest, false);
                                               }
                                           }},
                                      part{"nodes", [](auto) { test_nodes(); }},
                                      part{"large", [](auto on) { test_row<float, std::int32_t>(on, 1'000'000, 700, true); }},
                                      part{"bad_data", [](auto on) { test_bad_data(on); }});
}
