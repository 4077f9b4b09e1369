// SPDX-License-Identifier: Apache-2.0
// Packing into several levels on a backend is packing into them on the host, to the last index.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/core/level.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/levels/pack.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::oversize;
using ballast_test::expect;
using ballast_test::expect_equal;
using ballast_test::expect_same_refusal;
using ballast_test::one_of;
using ballast_test::part;
using gpu::fetch;
using gpu::send;

namespace {

std::vector<ballast::level> levels_of(std::vector<std::int64_t> const& capacities) {
  std::vector<ballast::level> out;
  for (auto const c : capacities) out.push_back({.capacity = c});
  return out;
}

template <class On, class Length>
void expect_plan(On on, gpu::level_packing<On, Length> const& found, ballast::level_packing<> const& wanted, std::string const& name) {
  expect_equal(fetch(on, found.packs.offsets), wanted.packs.offsets, name + "offsets");
  expect_equal(fetch(on, found.packs.members), wanted.packs.members, name + "members");
  expect_equal(fetch(on, found.set_aside), wanted.set_aside, name + "set aside");
  expect(fetch(on, found.pieces) == wanted.pieces, name + "pieces");
  expect_equal(found.first_pack, wanted.first_pack, name + "levels");
  expect_equal(found.tokens, wanted.tokens, name + "tokens");
  expect(found.count == wanted.count && found.levels == wanted.levels && found.packs.size() == wanted.packs.size(), name + "certificates");
  expect(found.filled == wanted.filled && found.filled_tokens == wanted.filled_tokens, name + "filled");
  if (found.lengths.size() != 0)
    expect_equal(fetch(on, found.lengths), std::vector<Length>(wanted.lengths.begin(), wanted.lengths.end()), name + "lengths");
}

template <class On>
void test_levels(On on, std::vector<std::uint32_t> const& lengths, std::vector<std::int64_t> const& capacities,
                 gpu::level_planner<On>& planner, std::string const& name) {
  auto const levels = levels_of(capacities);
  auto const n = lengths.size();
  auto const there = send(on, lengths);
  gpu::array<std::uint64_t, On> const offsets(on, n + 1), members(on, n);  // with a planner that has packed other samples before
  gpu::array<std::uint32_t, On> const offset(on, n);
  for (auto const fill : {ballast::level_fill::where_it_pays, ballast::level_fill::always}) {
    ballast::level_options const options{.fill = fill};
    auto const wanted = ballast::pack_levels(lengths, levels, options);
    auto const of = name + (fill == ballast::level_fill::always ? "filled, " : "");
    expect_plan(on, gpu::pack_levels(on, there.data(), n, levels, options), wanted, of);
    call(on, "pack_levels", [&](void* temp, std::size_t& bytes) {
      gpu::pack_arrays<std::uint64_t> const out{.offsets = offsets.data(), .members = members.data(), .offset = offset.data()};
      return gpu::pack_levels(on, temp, bytes, there.data(), n, levels, options, planner, out);
    });
    auto ends = fetch(on, offsets);
    ends.resize(wanted.packs.size() + 1);
    expect_equal(ends, wanted.packs.offsets, of + "offsets again");
    expect_equal(fetch(on, members), wanted.packs.members, of + "members again");
    expect(planner.first_pack == wanted.first_pack && planner.count == wanted.count && planner.tokens == wanted.tokens, of + "planner");
    expect(planner.filled == wanted.filled && planner.filled_tokens == wanted.filled_tokens, of + "filled again");
    std::vector<std::uint32_t> before(n);
    for (auto const pack : wanted.packs) {
      std::uint32_t filled = 0;
      for (auto const i : pack) before[i] = std::exchange(filled, filled + lengths[i]);
    }
    expect_equal(fetch(on, offset), before, of + "offset");
  }
}

template <class On>
void test_all(On on) {
  gpu::level_planner<On> planner(on);
  std::vector<std::int64_t> const sets_of_levels[] = {{500}, {100, 2000}, {64, 65, 1000, 8192}, {1, 70'000}};
  for (auto const& capacities : sets_of_levels) {
    for (int shape = 0; shape < 5; ++shape)
      for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 4097U})
        test_levels(
            on, ballast_test::lengths_of<std::uint32_t>(shape, n, capacities.back()), capacities, planner,
            "shape " + std::to_string(shape) + ", " + std::to_string(n) + " samples, " + std::to_string(capacities.size()) + " levels: ");
    test_levels(on, std::vector<std::uint32_t>(5000, static_cast<std::uint32_t>(capacities[0])), capacities, planner, "equal lengths: ");
  }
  std::vector<std::uint32_t> distinct(3000);
  for (std::uint32_t i = 0; i < 3000; ++i) distinct[i] = 1 + i * 7 % 3000;
  test_levels(on, distinct, {1000, 1001, 4000}, planner, "all distinct: ");
#if !defined(BALLAST_PRETENDED_DEVICE) && !defined(BALLAST_LANES)
  test_levels(on, ballast_test::lengths_of<std::uint32_t>(1, 1'000'000, 131'072), {4096, 32'768, 131'072}, planner, "a million: ");
#endif
}

// Random samples, levels and policies, many of them bad: the twin returns what the host returns, and throws what it throws.
template <class On>
void test_as_host(On on) {
  ballast::splitmix64 random(43);
  int refused = 0, filled = 0, aside = 0, pieces = 0;
  for (int round = 0; round < 300; ++round) {
    auto capacities = one_of<std::vector<std::int64_t>>(random, {{50, 80}, {97}, {10, 20, 90}, {}, {80, 80}, {0, 80}});
    if (random() % 3 != 0) capacities = {30, 90};
    auto levels = levels_of(capacities);
    for (auto& l : levels) l.sp = static_cast<std::uint32_t>(1 + random() % 2);
    ballast::level_options o{
        .oversize = one_of(random, {oversize::reject, oversize::set_aside, oversize::truncate, oversize::split, oversize::alone}),
        .fill = one_of(random, {ballast::level_fill::never, ballast::level_fill::always, ballast::level_fill::where_it_pays}),
        .price_per_token = random() % 20 == 0 ? -1 : static_cast<std::int64_t>(random() % 3)};
    if (random() % 4 != 0) o.times.resize(levels.size() + (random() % 20 == 0 ? 1 : 0));
    for (auto& t : o.times)
      t = {.per_pack = static_cast<std::int64_t>(random() % 500), .per_token = static_cast<std::int64_t>(random() % 9)};
    auto lengths = ballast_test::lengths_of<std::int64_t>(2, random() % 60, o.oversize == oversize::reject ? 80 : 130, random());
    if (random() % 3 == 0 && !lengths.empty())
      lengths[random() % lengths.size()] = one_of<std::int64_t>(random, {0, -5, 131, (std::numeric_limits<std::int64_t>::min)()});
    auto const there = send(on, lengths);
    auto const name = "round " + std::to_string(round) + ": ";
    auto const twin = [&] { return gpu::pack_levels(on, there.data(), lengths.size(), levels, o); };
    auto const host = [&] { return ballast::pack_levels(lengths, levels, o); };
    if (ballast_test::expect_as_host(twin, host, name)) {
      ++refused;
      continue;
    }
    auto const wanted = host();
    expect_plan(on, twin(), wanted, name);
    filled += wanted.filled != 0 && wanted.filled_tokens < wanted.tokens.back();
    aside += !wanted.set_aside.empty();
    pieces += !wanted.pieces.empty();
  }
  expect(refused > 90 && filled > 40 && aside > 20 && pieces > 20, "kinds of rounds: " + std::to_string(refused) + ", " +
                                                                       std::to_string(filled) + ", " + std::to_string(aside) + ", " +
                                                                       std::to_string(pieces));
}

template <class On>
void test_refusals(On on) {
  std::vector<std::int64_t> const lengths{3, 50, 7, 80};
  auto const there = send(on, lengths);
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  for (auto const policy : {oversize::reject, oversize::set_aside, oversize::truncate, oversize::split}) {
    std::vector<std::int64_t> const long_ones{most, most, most};  // whose sum passes 2^63
    auto const far = send(on, long_ones);
    auto const levels = levels_of({10, 1 << 20});
    expect_same_refusal([&] { return gpu::pack_levels(on, far.data(), 3, levels, {.oversize = policy}); },
                        [&] { return ballast::pack_levels(long_ones, levels, {.oversize = policy}); }, "a sum above 2^63");
  }
  auto const pack = [&](std::vector<std::int64_t> const& capacities, ballast::level_options const& options) {
    return gpu::pack_levels(on, there.data(), lengths.size(), levels_of(capacities), options);
  };
  expect(pack({100}, {.fill = ballast::level_fill::always}).packs.size() == 2, "one level has no room to fill");
  ballast_test::expect_refusal("capacity = 16777217 exceeds 16777216, the most for device lengths",
                               [&] { (void)pack({(1 << 24) + 1}, {}); });
  ballast_test::expect_refusal("capacity = 16777217 exceeds 16777216, the most for device lengths",
                               [&] { (void)pack({1 << 24}, {.oversize = oversize::set_aside}); });

  gpu::level_planner<On> planner(on);
  auto const status = [&](std::vector<std::int64_t> const& capacities, std::size_t less, ballast::level_options const& options = {}) {
    std::size_t bytes = 0;
    gpu::pack_arrays<> const out{};
    auto const levels = levels_of(capacities);
    auto const sized = gpu::pack_levels(on, nullptr, bytes, there.data(), 4, levels, options, planner, out);
    if (sized != typename On::error_type{}) return sized;
    gpu::array<std::byte, On> const temp(on, bytes);
    bytes -= less;
    return gpu::pack_levels(on, temp.data(), bytes, there.data(), 4, levels, options, planner, out);
  };
  expect(status({10, 100}, 0) == typename On::error_type{} && planner.plan.packs == 3, "good");
  expect(status({10, 100}, 1) == On::invalid_value, "a byte too few");
  for (auto const& bad : {std::vector<std::int64_t>{}, {0, 100}, {100, 100}, {100, 10}, {(1 << 24) + 1}})
    expect(status(bad, 0) == On::invalid_value, "bad capacities");
  expect(status({10, 100}, 0, {.oversize = oversize::split}) == On::invalid_value, "a policy");
  expect(status({10, 100}, 0, {.price_per_token = -1}) == On::invalid_value, "a bad price");
  expect(status({5, 60}, 0) == On::invalid_value && planner.first_bad == 3, "the first bad sample");
  expect(status({100, 10}, 0) == On::invalid_value && planner.first_bad == gpu::none_bad, "no bad sample, but bad capacities");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv, part{"pack_levels", [](auto on) { test_all(on); }},
                                      part{"as_host", [](auto on) { test_as_host(on); }},
                                      part{"refusals", [](auto on) { test_refusals(on); }});
}
