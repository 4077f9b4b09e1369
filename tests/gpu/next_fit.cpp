// SPDX-License-Identifier: Apache-2.0
// Packing without moving samples: next fit and best-fit decreasing in windows give the packs of their host twins, for every shape of
// lengths, limit, index and tile; next fit is also its definition by pointer doubling.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/windowed.cuh>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/windowed.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_equal;
using ballast_test::one_of;
using ballast_test::part;
using ballast_test::refusal;

namespace {

constexpr char const* shapes[] = {"lognormal", "pareto", "uniform", "big items", "bimodal"};

// Lengths in one of those shapes.
std::vector<std::int32_t> lengths_of(std::size_t shape, std::size_t count, std::int64_t longest) {
  return ballast_test::lengths_of<std::int32_t>(static_cast<int>(shape), count, longest, count);
}

// The starts of the packs by pointer doubling.
std::vector<std::uint64_t> starts_by_doubling(std::vector<std::int32_t> const& lengths, ballast::packing_options const& o) {
  auto const n = lengths.size();
  std::vector<std::int64_t> sum(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + (lengths[i] + o.sample_multiple - 1) / o.sample_multiple * o.sample_multiple;
  std::vector<std::size_t> next(n + 1, n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const end = std::upper_bound(sum.begin(), sum.end(), sum[i] + o.capacity / o.pack_multiple * o.pack_multiple);
    next[i] = static_cast<std::size_t>(end - sum.begin()) - 1;
    if (o.max_samples != 0) next[i] = (std::min)(next[i], i + o.max_samples);
  }
  std::vector<char> reached(n + 1, 0);
  reached[0] = 1;
  for (std::size_t steps = 1; steps <= n; steps *= 2) {  // reached: what fewer than `steps` steps reach
    auto const before = reached;
    for (std::size_t i = 0; i < n; ++i)
      if (before[i] != 0) reached[next[i]] = 1;
    auto const once = next;
    for (std::size_t i = 0; i < n; ++i) next[i] = once[once[i]];
  }
  std::vector<std::uint64_t> starts;
  for (std::size_t i = 0; i < n; ++i)
    if (reached[i] != 0) starts.push_back(i);
  starts.push_back(n);
  return starts;
}

// Outputs of a twin, and the same from the host.
template <class Index, class On>
struct outputs {
  gpu::array<std::uint64_t, On> offsets;
  gpu::array<Index, On> members;
  gpu::array<std::uint64_t, On> words;  // packs, bad
  outputs(On on, std::size_t count) : offsets(on, count + 1), members(on, count), words(on, 2) {}
};

template <class Index, class On, class Length>
outputs<Index, On> next_fit(On on, gpu::array<Length, On> const& lengths, std::size_t count, ballast::packing_options const& o,
                            std::size_t tile) {
  outputs<Index, On> out(on, count);
  call(on, "next_fit", [&](void* temp, std::size_t& bytes) {
    return gpu::next_fit(on, temp, bytes, lengths.data(), count, o, out.offsets.data(), out.members.data(), out.words.data(),
                         out.words.data() + 1, tile);
  });
  return out;
}

template <class Index, class On>
void expect_next_fit(On on, std::vector<std::int32_t> const& lengths, ballast::packing_options const& o, std::size_t tile,
                     std::string const& name) {
  auto const on_device = send(on, lengths);
  auto const out = next_fit<Index>(on, on_device, lengths.size(), o, tile);
  auto const wanted = ballast::next_fit<Index>(lengths, o);
  expect_equal(fetch(on, out.words), std::vector<std::uint64_t>{wanted.packs.size(), ~std::uint64_t{0}}, name + ", packs and bad");
  auto offsets = fetch(on, out.offsets);
  offsets.resize(wanted.packs.size() + 1);
  expect_equal(offsets, wanted.packs.offsets, name + ", offsets");
  std::vector<Index> pack_of;
  for (std::size_t p = 0; p < wanted.packs.size(); ++p) pack_of.insert(pack_of.end(), wanted.packs[p].size(), static_cast<Index>(p));
  expect_equal(fetch(on, out.members), pack_of, name + ", pack_of");
}

template <class Index, class On>
void expect_windows(On on, std::vector<std::int32_t> const& lengths, ballast::packing_options const& o, std::size_t window,
                    std::string const& name) {
  auto const on_device = send(on, lengths);
  auto const count = lengths.size();
  outputs<Index, On> const out(on, count);
  call(on, "windowed", [&](void* temp, std::size_t& bytes) {
    return gpu::windowed_best_fit_decreasing(on, temp, bytes, on_device.data(), count, window, o, out.offsets.data(), out.members.data(),
                                             out.words.data(), out.words.data() + 1);
  });
  auto const wanted = ballast::windowed_best_fit_decreasing<Index>(lengths, window, o);
  expect_equal(fetch(on, out.words), std::vector<std::uint64_t>{wanted.packs.size(), ~std::uint64_t{0}}, name + ", packs and bad");
  auto offsets = fetch(on, out.offsets);
  offsets.resize(wanted.packs.size() + 1);
  expect_equal(offsets, wanted.packs.offsets, name + ", offsets");
  expect_equal(fetch(on, out.members), wanted.packs.members, name + ", members");
}

ballast::packing_options const limits[] = {
    {.capacity = 8192},
    {.capacity = 8192, .max_samples = 1},
    {.capacity = 8192, .max_samples = 7},
    {.capacity = 8200, .sample_multiple = 16},
    {.capacity = 8999, .max_samples = 20, .sample_multiple = 8, .pack_multiple = 512},
    {.capacity = std::int64_t{1} << 40},
};

template <class On>
void test_next_fit(On on) {
  for (std::size_t shape = 0; shape < 5; ++shape)
    for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U})
      for (auto const& o : limits)
        for (std::size_t const tile : {2U, 3U, 7U, 64U, 500U, 1000U}) {  // 32 lanes, then 64 and 96
          if (tile > n + 3) continue;
          auto const lengths = lengths_of(shape, n, 8192);
          auto const name = std::string("next_fit, ") + shapes[shape] + ", " + std::to_string(n) + " samples, tile " +
                            std::to_string(tile) + ", capacity " + std::to_string(o.capacity);
          expect_next_fit<std::uint32_t>(on, lengths, o, tile, name);
          if (tile == 7) expect_next_fit<std::uint64_t>(on, lengths, o, tile, name + ", wide");
        }
  for (std::size_t shape = 0; shape < 5; ++shape) {
    auto const lengths = lengths_of(shape, 100'000, 8192);
    for (auto const& o : limits) {
      auto const name = std::string("next_fit, ") + shapes[shape] + ", 100000 samples, capacity " + std::to_string(o.capacity);
      expect_next_fit<std::uint32_t>(on, lengths, o, gpu::next_fit_tile, name);
    }
    expect_next_fit<std::uint32_t>(on, lengths, limits[2], 16384, "next_fit, the longest tile");
  }
  // Starts that are not multiples of a pack's samples never come upon the packs' starts: a guess would fail in every tile.
  std::vector<std::int32_t> const equal(100'000, 1000);
  expect_next_fit<std::uint32_t>(on, equal, {.capacity = 7000}, 128, "next_fit, equal lengths");
  expect_next_fit<std::uint32_t>(on, equal, {.capacity = 1'000'000}, 16, "next_fit, packs of many tiles");

  auto const million = lengths_of(0, 1'000'000, 8192);
  ballast::packing_options const o{.capacity = 8192};
  auto const on_device = send(on, million);
  auto const found = gpu::next_fit(on, on_device.data(), million.size(), o);
  expect_equal(fetch(on, found.offsets), starts_by_doubling(million, o), "next_fit, starts by doubling");
  auto const again = gpu::next_fit(on, on_device.data(), million.size(), o);
  expect_equal(fetch(on, again.pack), fetch(on, found.pack), "next_fit, the second time");
}

template <class On>
void test_windowed(On on) {
  for (std::size_t shape = 0; shape < 5; ++shape) {
    for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U})
      for (auto const& o : limits)
        for (std::size_t const window : {3U, 32U, 1U << 30}) {
          auto const name = std::string("windowed, ") + shapes[shape] + ", " + std::to_string(n) + " samples, window " +
                            std::to_string(window) + ", capacity " + std::to_string(o.capacity);
          expect_windows<std::uint32_t>(on, lengths_of(shape, n, 8192), o, window, name);
          if (window == 3) expect_windows<std::uint64_t>(on, lengths_of(shape, n, 8192), o, window, name + ", wide");
        }
    expect_windows<std::uint32_t>(on, lengths_of(shape, 100'000, 8192), limits[0], 1000, std::string("windowed, ") + shapes[shape]);
  }
  expect_windows<std::uint32_t>(on, lengths_of(1, 20'000, 131'072), {.capacity = 131'072}, gpu::longest_window, "windowed, longest window");
  std::vector<std::int32_t> const equal(1000, 10);
  expect_windows<std::uint32_t>(on, equal, {.capacity = 100}, 77, "windowed, equal lengths");
  auto const lengths = lengths_of(2, 1000, 8192);
  auto const on_device = send(on, lengths);
  auto const found = gpu::windowed_best_fit_decreasing(on, on_device.data(), lengths.size(), 100, limits[0]);
  auto const wanted = ballast::windowed_best_fit_decreasing(lengths, 100, limits[0]).packs;
  expect(found.size() == wanted.size(), "windowed by value, packs");
  expect_equal(fetch(on, found.offsets), wanted.offsets, "windowed by value, offsets");
  expect_equal(fetch(on, found.members), wanted.members, "windowed by value, members");
}

template <class On>
void test_bad(On on) {
  ballast::packing_options const o{.capacity = 100, .sample_multiple = 8};
  auto const first_bad = [&](std::vector<std::int64_t> const& lengths) {
    auto const on_device = send(on, lengths);
    auto const found = next_fit<std::uint32_t>(on, on_device, lengths.size(), o, 3);
    return fetch(on, found.words)[1];
  };
  std::vector<std::int64_t> lengths(1000, 50);
  expect(first_bad(lengths) == ~std::uint64_t{0}, "nothing is bad");
  lengths[900] = 0;
  expect(first_bad(lengths) == 900, "a length of 0");
  lengths[800] = -(std::int64_t{1} << 62);
  expect(first_bad(lengths) == 800, "a negative length");
  lengths[700] = 97;
  expect(first_bad(lengths) == 700, "a length above the capacity");
  auto const in = send(on, lengths);
  for (auto const& own :
       {ballast::packing_options{.capacity = 8, .pack_count = 2}, {.capacity = 8, .oversize = ballast::oversize::alone}}) {
    auto const sentence = "the twins of next_fit and windowed_best_fit_decreasing take no over-size policy and no demanded number of packs";
    expect(refusal([&] { return gpu::next_fit(on, in.data(), 9, own); }) == sentence, "options that only the host takes");
    expect(refusal([&] { return gpu::windowed_best_fit_decreasing(on, in.data(), 9, 3, own); }) == sentence, "the same, windowed");
  }
  auto const half = std::int64_t{1} << 62;
  auto const halves = send(on, std::vector<std::int64_t>{half, half - 1, 1, half, half, half});
  ballast::packing_options const large{.capacity = half};
  expect(gpu::next_fit(on, halves.data(), 2, large).size() == 2, "a sum of 2^63 - 1");
  expect(refusal([&] { return gpu::next_fit(on, halves.data(), 6, large); }) == "lengths[2] = 1 brings the sum of lengths to 2^63 or more",
         "a sum of 2^63");
  expect(refusal([&] { return gpu::windowed_best_fit_decreasing(on, halves.data(), 4, 2, large); }) != "accepted", "too large a capacity");
  expect(refusal([&] { return gpu::windowed_best_fit_decreasing(on, halves.data(), 4, 0, o); }) != "accepted", "no window");
  expect(refusal([&] { return gpu::windowed_best_fit_decreasing(on, halves.data(), 9000, 9000, o); }) != "accepted", "too long a window");
}

// What twins and hosts say of random input, much of which is bad.
template <class On>
void test_as_host(On on) {
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto const at = " in round " + std::to_string(round);
    auto const most = (std::numeric_limits<std::int64_t>::max)();
    ballast::packing_options const o{.capacity = one_of<std::int64_t>(draw, {0, -1, 100, 100, 100, 1LL << 47, 1LL << 62, most}),
                                     .max_samples = draw() % 4,
                                     .sample_multiple = one_of<std::int64_t>(draw, {1, 1, 8, 8, 0, 200}),
                                     .pack_multiple = one_of<std::int64_t>(draw, {1, 1, 16, 16, 0, 200})};
    std::vector<std::int64_t> lengths(draw() % 40);
    for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % 96);
    for (auto bad = draw() % 3; bad > 0 && !lengths.empty(); --bad)
      lengths[draw() % lengths.size()] = one_of<std::int64_t>(draw, {0, -7, 97, 101, 1LL << 62, most, -most});
    auto const sent = send(on, lengths);
    refused += expect_as_host([&] { return gpu::next_fit(on, sent.data(), lengths.size(), o); },
                              [&] { return ballast::next_fit(lengths, o); }, "next_fit" + at);
    if (o.capacity >= std::int64_t{1} << 48) continue;  // which the host takes
    auto const window = draw() % 12;
    refused += expect_as_host([&] { return gpu::windowed_best_fit_decreasing(on, sent.data(), lengths.size(), window, o); },
                              [&] { return ballast::windowed_best_fit_decreasing(lengths, window, o); }, "windowed" + at);
  }
  expect(refused > 120 && refused < 300, std::to_string(refused) + " refused");
}

template <class On>
void test_workspaces(On on) {
  std::vector<std::int32_t> const lengths(1000, 50);
  auto const on_device = send(on, lengths);
  outputs<std::uint32_t, On> const out(on, lengths.size());
  auto const next_fit_of = [&](void* temp, std::size_t& bytes, ballast::packing_options const& o, std::size_t tile) {
    return gpu::next_fit(on, temp, bytes, on_device.data(), lengths.size(), o, out.offsets.data(), out.members.data(), out.words.data(),
                         out.words.data() + 1, tile);
  };
  auto const windowed_of = [&](void* temp, std::size_t& bytes, ballast::packing_options const& o, std::size_t window) {
    return gpu::windowed_best_fit_decreasing(on, temp, bytes, on_device.data(), lengths.size(), window, o, out.offsets.data(),
                                             out.members.data(), out.words.data(), out.words.data() + 1);
  };
  auto const refuses = [&](auto const& twin, std::string const& name) {
    std::size_t bytes = 0;
    gpu::check(twin(nullptr, bytes, {.capacity = 100}, 100), "size");
    gpu::array<std::byte, On> const temp(on, bytes);
    auto const exact = bytes;
    gpu::check(twin(temp.data(), bytes, {.capacity = 100}, 100), "work");
    bytes = exact - 1;
    expect(twin(temp.data(), bytes, {.capacity = 100}, 100) == On::invalid_value, name + ": a byte too few");
    bytes = exact;
    for (auto const& bad : {ballast::packing_options{},
                            {.capacity = 100, .sample_multiple = 0},
                            {.capacity = 100, .pack_multiple = 101},
                            {.capacity = 100, .pack_count_multiple = 2},
                            {.capacity = 100, .oversize = ballast::oversize::split}})
      expect(twin(temp.data(), bytes, bad, 100) == On::invalid_value, name + ": bad options");
    expect(twin(temp.data(), bytes, {.capacity = 100}, 0) == On::invalid_value, name + ": a size of 0");
  };
  refuses(next_fit_of, "next_fit");
  refuses(windowed_of, "windowed");
  std::size_t bytes = 0;
  expect(next_fit_of(nullptr, bytes, {.capacity = 100}, 16385) == On::invalid_value, "too long a tile");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv, part{"next_fit", [](auto on) { test_next_fit(on); }},
                                      part{"windowed", [](auto on) { test_windowed(on); }}, part{"bad_data", [](auto on) {
                                                                                                   test_bad(on);
                                                                                                   test_as_host(on);
                                                                                                   test_workspaces(on);
                                                                                                 }});
}
