// SPDX-License-Identifier: Apache-2.0
// Over-size policies on a backend: the items and lists of the host, to the last index.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/oversize.cuh>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/oversize.hpp>

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
        o.oversize = oversize::reject;
        auto const packed = gpu::next_fit(on, found.tokens.data(), found.tokens.size(), o);
        expect_equal(fetch(on, packed.offsets), in_order.packs.offsets, name + "next fit");
      }
}

template <class Length, class On>
void test_refusal(On on, std::vector<Length> const& lengths, ballast::packing_options const& o) {
  auto const refusal = [](auto const& f) {
    try {
      f();
    } catch (ballast::invalid_input const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  auto const wanted = refusal([&] { (void)ballast::apply_oversize(lengths, o); });
  expect(!wanted.empty(), name_of(o, lengths.size()) + "the host refuses");
  auto const there = send(on, lengths);
  expect_refusal(wanted, [&] { (void)gpu::apply_oversize(on, there.data(), lengths.size(), o); });
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
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv,
                                      part{"apply_oversize",
                                           [](auto on) {
                                             test_apply<std::uint16_t>(on);
                                             test_apply<std::int32_t>(on);
                                             test_apply<std::int64_t>(on);
                                           }},
                                      part{"refusals", [](auto on) { test_refusals(on); }});
}
