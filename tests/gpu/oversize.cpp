// SPDX-License-Identifier: Apache-2.0
// Over-size policies and demanded numbers of packs on a backend: the packs, lists and certificate of the host, to the last index.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/oversize.cuh>
#include <ballast/gpu/packing/run_length.cuh>
#include <ballast/gpu/packing/windowed.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/windowed.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::oversize;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_equal;
using ballast_test::expect_refusal;
using ballast_test::expect_same_refusal;
using ballast_test::part;

namespace {

constexpr oversize policies[] = {oversize::reject, oversize::set_aside, oversize::truncate, oversize::split, oversize::alone};

ballast::packing_options const limits[] = {
    {.capacity = 1000},
    {.capacity = 1000, .max_samples = 3, .sample_multiple = 16, .pack_multiple = 24},
    {.capacity = 131072, .max_samples = 20},  // 32-bit keys
};

std::string name_of(ballast::packing_options const& o, std::size_t n) {
  return std::to_string(n) + " samples, capacity " + std::to_string(o.capacity) + ", limit " + std::to_string(o.max_samples) + ", policy " +
         std::to_string(static_cast<int>(o.oversize)) + ", packs " + std::to_string(o.pack_count) + " of " +
         std::to_string(o.pack_count_multiple) + ": ";
}

// Lengths of which some are up to three times too long, unless that is refused.
template <class Length = std::uint32_t>
std::vector<Length> lengths_for(int shape, std::size_t n, ballast::packing_options const& o) {
  auto const largest = ballast::detail::largest_item(o);
  auto lengths = ballast_test::lengths_of<Length>(shape, n, o.oversize == oversize::reject ? largest : 3 * largest);
  for (std::size_t i = 3; i < n; i += 40) lengths[i] = static_cast<Length>(largest);  // exactly full
  return lengths;
}

template <class Index = std::uint32_t, class On, class Length>
ballast::packing<Index> expect_packed(On on, std::vector<Length> const& lengths, ballast::packing_options const& o) {
  auto const name = name_of(o, lengths.size());
  auto const wanted = ballast::best_fit_decreasing<Index>(lengths, o);
  auto const there = send(on, lengths);
  auto const found = gpu::best_fit_decreasing<Index>(on, there.data(), lengths.size(), o);
  expect_equal(fetch(on, found.packs.offsets), wanted.packs.offsets, name + "offsets");
  expect_equal(fetch(on, found.packs.members), wanted.packs.members, name + "members");
  expect_equal(fetch(on, found.set_aside), wanted.set_aside, name + "set aside");
  expect(fetch(on, found.pieces) == wanted.pieces, name + "pieces");
  auto const tally = gpu::count_packs(on, there.data(), lengths.size(), o);
  expect(tally.set_aside == wanted.set_aside.size(), name + "number set aside");
  auto const expect_tally = [&](auto const& t, char const* what) {
    expect(t.status == wanted.status && t.count == wanted.count && t.bound == wanted.bound && t.tokens == wanted.tokens, name + what);
  };
  expect_tally(found, "certificate");
  expect_tally(tally, "counted");
  return wanted;
}

// From fewer packs than needed to more than there are items, so that each status occurs.
template <class On>
void test_counts(On on, std::vector<std::uint32_t> const& lengths, ballast::packing_options o) {
  auto const free = expect_packed(on, lengths, o);
  auto const packs = free.packs.size(), items = free.packs.members.size();
  for (auto const count : {packs - (packs > 1 ? 1 : 0), packs + 1, (packs + items) / 2, items, items + 1}) {
    o.pack_count = count;
    if (count != 0) (void)expect_packed(on, lengths, o);
  }
  o.pack_count = 0;
  for (auto const multiple : {7U, 1000U}) {
    o.pack_count_multiple = multiple;
    (void)expect_packed(on, lengths, o);
  }
}

template <class On>
void test_policies(On on) {
  for (auto o : limits)
    for (auto const policy : policies) {
      o.oversize = policy;
      for (std::size_t const n : {0U, 1U, 33U}) test_counts(on, lengths_for(2, n, o), o);
      for (int shape = 0; shape < ballast_test::distributions; ++shape) test_counts(on, lengths_for(shape, 500, o), o);
      o.pack_count_multiple = 512;
      (void)expect_packed<std::uint64_t>(on, lengths_for<std::int64_t>(0, 10'000, o), o);
      (void)expect_packed(on, lengths_for<std::int32_t>(3, 10'000, o), o);
      o.pack_count_multiple = 1;
    }
}

// All too long, nearly all too long, all equal, and one sample of many pieces.
template <class On>
void test_edges(On on) {
  using lengths = std::vector<std::uint32_t>;
  lengths one_short(300, 900);
  one_short[123] = 5;
  for (auto const policy : policies) {
    if (policy == oversize::reject) continue;
    for (auto const& l : {lengths{9}, lengths{8, 9}, lengths{100'000}, lengths(70, 9), lengths(70, 8), lengths(70, 3), one_short})
      test_counts(on, l, {.capacity = 8, .oversize = policy});
    if (!ballast::detail::cuts(policy)) test_counts(on, lengths(50, 3), {.capacity = 8, .sample_multiple = 9, .oversize = policy});
  }
}

template <class Length, class On>
void test_apply(On on) {
  for (auto o : limits)
    for (auto const policy : policies)
      for (std::size_t const n : {0U, 1U, 1000U}) {
        o.capacity = (std::min)(o.capacity, std::int64_t{20'000});
        o.oversize = policy;
        auto const lengths = lengths_for<Length>(2, n, o);
        auto const name = name_of(o, n);
        auto const wanted = ballast::apply_oversize(lengths, o);
        auto const there = send(on, lengths);
        auto const found = gpu::apply_oversize(on, there.data(), n, o);
        expect_equal(fetch(on, found.tokens), std::vector<Length>(wanted.tokens.begin(), wanted.tokens.end()), name + "tokens");
        expect_equal(fetch(on, found.set_aside), wanted.set_aside, name + "set aside");
        expect_equal(fetch(on, found.alone), wanted.alone, name + "alone");
        expect(fetch(on, found.pieces) == wanted.pieces && found.all_tokens == wanted.all_tokens, name + "pieces and sum");

        if (!ballast::detail::cuts(policy)) continue;  // any twin takes the items
        auto const in_order = ballast::next_fit(lengths, o);
        auto const in_windows = ballast::windowed_best_fit_decreasing(lengths, 100, o).packs;
        o.oversize = oversize::reject;
        auto const packed = gpu::next_fit(on, found.tokens.data(), found.tokens.size(), o);
        expect_equal(fetch(on, packed.offsets), in_order.packs.offsets, name + "next fit");
        auto const windows = gpu::windowed_best_fit_decreasing(on, found.tokens.data(), found.tokens.size(), 100, o);
        expect_equal(fetch(on, windows.offsets), in_windows.offsets, name + "windows");
        expect_equal(fetch(on, windows.members), in_windows.members, name + "members of windows");
      }
}

template <class Length, class On>
void test_refusal(On on, std::vector<Length> const& lengths, ballast::packing_options const& o) {
  auto const there = send(on, lengths);
  auto const host = [&] { return ballast::best_fit_decreasing(lengths, o); };
  auto const name = name_of(o, lengths.size());
  expect_same_refusal([&] { return gpu::best_fit_decreasing(on, there.data(), lengths.size(), o); }, host, name + "packs");
  expect_same_refusal([&] { return gpu::apply_oversize(on, there.data(), lengths.size(), o); }, host, name + "items");
}

// What twins and hosts say of random samples and options, many of which are bad.
template <class On>
void test_as_host(On on) {
  using ballast_test::one_of;
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    ballast::packing_options o{.capacity = one_of<std::int64_t>(draw, {0, -1, 100, 100, 100, 100, 100, 1 << 24}),
                               .max_samples = draw() % 4,
                               .sample_multiple = one_of<std::int64_t>(draw, {1, 1, 1, 8, 8, 8, 0, 200}),
                               .pack_multiple = one_of<std::int64_t>(draw, {1, 1, 1, 16, 16, 16, 0, 200})};
    o.oversize = policies[draw() % 5];
    o.pack_count_multiple = one_of<std::uint64_t>(draw, {1, 1, 1, 1, 4, 4, 0, ~std::uint64_t{0}});
    o.pack_count = one_of<std::uint64_t>(draw, {0, 0, 0, 40, 40, 3, ~std::uint64_t{3}});
    std::vector<std::int64_t> lengths(draw() % 40);
    for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % 96);
    for (auto bad = draw() % 3; bad > 0 && !lengths.empty(); --bad)
      lengths[draw() % lengths.size()] =
          one_of<std::int64_t>(draw, {0, -7, 97, 150, 700, 1LL << 62, (std::numeric_limits<std::int64_t>::max)()});
    auto const there = send(on, lengths);
    auto const name = name_of(o, lengths.size()) + "round " + std::to_string(round) + ", ";
    refused += ballast_test::expect_as_host([&] { return gpu::best_fit_decreasing(on, there.data(), lengths.size(), o); },
                                            [&] { return ballast::best_fit_decreasing(lengths, o); }, name + "packs");
    if (o.oversize != oversize::split)  // its 64-bit pieces can be more than memory has
      ballast_test::expect_as_host([&] { return gpu::count_packs(on, there.data(), lengths.size(), o); },
                                   [&] { return ballast::best_fit_decreasing(lengths, o); }, name + "count");
    ballast_test::expect_as_host([&] { return gpu::apply_oversize(on, there.data(), lengths.size(), o); },
                                 [&] { return ballast::apply_oversize(lengths, o); }, name + "items");
  }
  expect(refused > 50 && refused < 190, std::to_string(refused) + " of 200 refused");
}

template <class On>
void test_refusals(On on) {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  for (auto const policy : policies) {
    ballast::packing_options const o{.capacity = 1000, .oversize = policy};
    for (auto const bad : {0, -5}) {
      std::vector<std::int32_t> lengths(500, 1200);
      if (policy == oversize::reject) lengths.assign(500, 10);
      lengths[345] = lengths[400] = bad;
      test_refusal(on, lengths, o);
    }
    test_refusal(on, std::vector<std::int64_t>{most, most, most}, o);  // the sum passes 2^64, too
    test_refusal(on, std::vector<std::int64_t>{most - 10, 11}, o);
    test_refusal(on, std::vector<std::uint64_t>{20, std::uint64_t{1} << 63}, o);
  }
  test_refusal(on, std::vector<std::int32_t>{4, 1001}, {.capacity = 1000});
  test_refusal(on, std::vector<std::int32_t>{4, 1001}, {.capacity = 1000, .sample_multiple = 7});
  test_refusal(on, std::vector<std::int64_t>{4, std::int64_t{1} << 40}, {.capacity = 100, .oversize = oversize::split});  // 2^32 pieces
  for (auto const policy : {oversize::truncate, oversize::split})
    test_refusal(on, std::vector<std::int32_t>{4}, {.capacity = 10, .sample_multiple = 11, .oversize = policy});
  test_refusal(on, std::vector<std::int32_t>{4}, {.capacity = 10, .pack_count_multiple = 4, .pack_count = 6});
  auto const there = send(on, std::vector<std::int32_t>{4});
  expect_refusal("capacity = 16777217 exceeds 16777216, the most for device lengths",
                 [&] { (void)gpu::best_fit_decreasing(on, there.data(), 1, {.capacity = (1 << 24) + 1, .oversize = oversize::split}); });
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv, part{"policies", [](auto on) { test_policies(on); }},
                                      part{"edges", [](auto on) { test_edges(on); }},
                                      part{"apply_oversize",
                                           [](auto on) {
                                             test_apply<std::uint16_t>(on);
                                             test_apply<std::int32_t>(on);
                                             test_apply<std::int64_t>(on);
                                           }},
                                      part{"refusals", [](auto on) {
                                             test_refusals(on);
                                             test_as_host(on);
                                           }});
}
