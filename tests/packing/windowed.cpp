// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/windowed.hpp>

#include "support/packer_suite.hpp"

#include <limits>

namespace test_packing_windowed {

using namespace ballast_test;

namespace {
packs windows_by_definition(naive_items const& items, std::size_t window) {
  packs out;
  for (std::size_t first = 0; first < items.weight.size(); first += window) {
    auto const last = (std::min)(first + window, items.weight.size());
    auto const part = place_by_definition(items, decreasing(items, first, last), rule::best);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}
}  // namespace

namespace {
auto const windowed = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::windowed_best_fit_decreasing(lengths, 16, o, cost);
};
}  // namespace

TEST_CASE("windowed: is its definition, under every option") {
  is_its_definition(windowed, [](naive_items const& items) { return windows_by_definition(items, 16); });
}

TEST_CASE("windowed: meets a demanded number of packs or says why not") { meets_pack_counts(windowed); }

TEST_CASE("windowed: inside one window it is best-fit decreasing, within 11/9 of the fewest packs and 6/9") {
  is_near_the_optimum(windowed, [](std::int64_t packs, std::int64_t optimum) { return 9 * packs <= 11 * optimum + 6; });
}

TEST_CASE("windowed: corner cases, weakest arguments, widest index") {
  handles_corners(windowed, [](auto const& lengths, ballast::packing_options const& o) {
    return ballast::windowed_best_fit_decreasing<std::uint64_t>(lengths, 16, o);
  });
}

TEST_CASE("windowed: the golden plan") { CHECK(golden_hash(windowed) == 0xa20cf31ebb0c1192U); }

TEST_CASE("windowed: one window is best-fit decreasing; a window of 0 is refused") {
  auto const lengths = golden_lengths();
  ballast::packing_options const o{.capacity = 4096, .max_samples = 30};
  auto const whole = ballast::best_fit_decreasing(lengths, o);
  CHECK(ballast::windowed_best_fit_decreasing(lengths, lengths.size(), o).packs == whole.packs);
  CHECK(ballast::windowed_best_fit_decreasing(lengths, (std::numeric_limits<std::size_t>::max)(), o).packs == whole.packs);
  CHECK(refusal([&] { return ballast::windowed_best_fit_decreasing(lengths, 0, o); }) == "window = 0 must be positive");
}

}  // namespace test_packing_windowed
