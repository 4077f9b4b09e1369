// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/bounds.hpp>

#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

namespace test_packing_bounds {

using ballast::packing_bound;
using ballast::packing_lower_bound;
using ballast_test::between;

namespace {

constexpr auto no_limit = (std::numeric_limits<std::uint64_t>::max)();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// The bounds by their definitions, sample by sample and parameter by parameter.

std::int64_t l2_by_definition(std::vector<std::int64_t> const& lengths, std::int64_t c) {
  std::int64_t best = 0;
  for (std::int64_t a = 0; 2 * a <= c; ++a) {
    std::int64_t huge = 0, big = 0, room = 0, small = 0;
    for (auto l : lengths) {
      if (l > c - a)
        ++huge;
      else if (2 * l > c)
        ++big, room += c - l;
      else if (l >= a)
        small += l;
    }
    best = (std::max)(best, huge + big + (std::max)(std::int64_t{0}, ceil_div(small - room, c)));
  }
  return best;
}

std::int64_t dual_feasible_by_definition(std::vector<std::int64_t> const& lengths, std::int64_t c) {
  std::int64_t best = 0;
  for (std::int64_t u = 1; 2 * u <= c; ++u) {
    std::int64_t sum = 0;
    for (auto l : lengths) sum += 2 * l > c ? 2 * (c / u - (c - l) / u) : 2 * l == c ? c / u : 2 * (l / u);
    best = (std::max)(best, ceil_div(sum, 2 * (c / u)));
  }
  return best;
}

std::int64_t ramp_by_definition(std::vector<std::int64_t> const& lengths, std::int64_t c) {
  std::int64_t best = 0;
  for (std::int64_t k = 3; k <= 5; ++k)
    for (std::int64_t p = c / k + 1; p * (k - 1) <= c; ++p) {
      auto const q = k * p - c, one = k * (k - 1) * q;
      std::int64_t sum = 0;
      for (auto l : lengths) {
        std::int64_t y = 0;
        for (std::int64_t j = 0; j < k; ++j) y = (std::max)(y, (std::min)(j * k * q, j * (k - 1) * q + k * l - j * c));
        sum += y;
      }
      best = (std::max)(best, ceil_div(sum, one));
    }
  return best;
}

/// Calls `use` with every multiset of positive integers that sums to `sum`.
void for_each_partition(std::int64_t sum, std::vector<std::int64_t>& parts, std::function<void()> const& use) {
  if (sum == 0) return use();
  for (auto l = (std::min)(sum, parts.empty() ? sum : parts.back()); l > 0; --l) {
    parts.push_back(l);
    for_each_partition(sum - l, parts, use);
    parts.pop_back();
  }
}

/// `copies` packs, each filled to the last token by these lengths.
ballast::histogram full_packs(std::vector<std::int64_t> const& parts, std::uint64_t copies) {
  auto h = ballast::fold(parts);
  for (auto& c : h.counts) c *= copies;
  return h;
}

}  // namespace

TEST_CASE("bounds: every function is dual feasible, on all full packs of small capacities") {
  // A million copies of a pack need a million packs; a function that gives one pack a millionth too much would ask for one more.
  for (std::int64_t c = 1; c <= 26; ++c) {
    std::vector<std::int64_t> parts;
    for_each_partition(c, parts, [&] {
      auto const h = full_packs(parts, 1000000);
      auto const tails = ballast::detail::length_tails(h, c, 1);
      ballast::packs_needed ccm, ramp;
      auto const never = (std::numeric_limits<std::int64_t>::max)();
      ballast::detail::dual_feasible_bound(tails, never, ccm);
      ballast::detail::ramp_bound(tails, never, ramp);
      auto const most = (std::max)({ccm.packs, ramp.packs, ballast::martello_toth_bound(h, c).packs});
      if (most > 1000000) {
        CAPTURE(c, parts);
        REQUIRE(most <= 1000000);
      }
    });
  }
}

TEST_CASE("bounds: random full packs of any capacity need one pack each") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    std::int64_t const capacities[] = {61, 100, 131, 1000, 4097, (std::int64_t{1} << 18) + 5, std::int64_t{1} << 40};
    auto const c = capacities[seed % 7];
    std::vector<std::int64_t> parts;
    for (auto left = c; left > 0; left -= parts.back())
      parts.push_back(draw() % 3 == 0 ? left : between(1, (std::max)(std::int64_t{1}, left / 2 + 1), draw));
    auto const copies = 1 + draw() % 3000;
    REQUIRE(packing_lower_bound(full_packs(parts, copies), c, no_limit).packs == static_cast<std::int64_t>(copies));
  }
}

TEST_CASE("bounds: equal their definitions, and the best is taken") {
  int wins[7] = {};
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = between(1, seed % 4 == 0 ? 600 : 120, draw);
    auto const lengths = ballast_test::random_lengths(1 + draw() % 60, c, draw);
    auto const limit = draw() % 4 == 0 ? 1 + draw() % 4 : draw() % 2 == 0 ? 0 : no_limit;
    auto const h = ballast::fold(lengths);
    auto const volume = ballast::volume_bound(h, c).packs;
    auto const cardinality = ballast::cardinality_bound(h, limit).packs;
    auto const l2 = l2_by_definition(lengths, c);
    std::int64_t sum = 0;
    for (auto l : lengths) sum += l;
    REQUIRE(volume == ceil_div(sum, c));
    REQUIRE(ballast::martello_toth_bound(h, c).packs == l2);
    REQUIRE(cardinality ==
            (limit == no_limit || limit == 0 ? 1 : ceil_div(static_cast<std::int64_t>(lengths.size()), static_cast<std::int64_t>(limit))));
    std::pair<std::int64_t, packing_bound> const bounds[] = {{volume, packing_bound::volume},
                                                             {cardinality, packing_bound::cardinality},
                                                             {l2, packing_bound::martello_toth},
                                                             {dual_feasible_by_definition(lengths, c), packing_bound::dual_feasible},
                                                             {ramp_by_definition(lengths, c), packing_bound::ramp}};
    auto const best =
        *std::max_element(std::begin(bounds), std::end(bounds), [](auto const& a, auto const& b) { return a.first < b.first; });
    auto const found = packing_lower_bound(h, c, limit);
    REQUIRE(found.packs == best.first);
    REQUIRE(found.bound == best.second);
    ++wins[static_cast<int>(found.bound)];
    // A search that may stop early still reaches what it was asked for.
    auto const enough = between(1, best.first, draw);
    auto const early = packing_lower_bound(h, c, limit, enough).packs;
    REQUIRE((early >= enough && early <= best.first));
  }
  for (auto b :
       {packing_bound::volume, packing_bound::cardinality, packing_bound::martello_toth, packing_bound::dual_feasible, packing_bound::ramp})
    CHECK(wins[static_cast<int>(b)] > 0);  // each family is the only one to prove something
}

TEST_CASE("bounds: never above the fewest packs") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const c = between(1, 80, draw);
    auto const lengths = ballast_test::random_lengths(1 + draw() % 8, c, draw);
    auto const limit = draw() % 2 == 0 ? 1 + draw() % 4 : no_limit;
    auto const bound = packing_lower_bound(ballast::fold(lengths), c, limit).packs;
    auto const fewest = ballast_test::fewest_packs(lengths, c, limit).value();
    if (bound > fewest) {
      CAPTURE(seed, c, lengths, limit);
      REQUIRE(bound <= fewest);
    }
  }
}

TEST_CASE("bounds: equal lengths are proven exactly, whatever the capacity") {
  for (std::int64_t const c : std::vector<std::int64_t>{1, 2, 10, 8192, 131072, std::int64_t{1} << 30, (std::int64_t{1} << 62) - 1})
    for (std::int64_t const share : {1, 2, 3, 5, 8, 100})
      for (std::int64_t const more : {0, 1}) {  // exactly a share of the capacity, and just above it
        auto const l = c / share + more;
        if (l < 1 || l > c || l > (std::numeric_limits<std::int64_t>::max)() / 1000) continue;
        CAPTURE(c, l);
        CHECK(packing_lower_bound({{l}, {1000}}, c, no_limit).packs == ceil_div(1000, c / l));
      }
  CHECK(packing_lower_bound({}, 10, 3).bound == packing_bound::none);
  // Here only k = 4 and only k = 5 of the ramp functions prove it.
  CHECK(packing_lower_bound({{20, 21, 29}, {33, 31, 4}}, 81, no_limit).packs == 19);
  CHECK(packing_lower_bound({{16, 36, 41}, {235, 380, 129}}, 80, no_limit).packs == 302);
  CHECK(packing_lower_bound({{1}, {std::uint64_t{1} << 62}}, 1 << 20, no_limit).packs == std::int64_t{1} << 42);
}

TEST_CASE("bounds: clusters just above a share of the capacity, at any capacity") {
  for (int const bits : {10, 20, 30, 40, 60})
    for (std::int64_t const k : {2, 3, 4, 7, 40}) {
      if (k == 2 && bits == 60) continue;  // the sum would reach 2^63
      CAPTURE(bits, k);
      auto const capacity = std::int64_t{1} << bits;
      ballast::histogram h;  // more classes than any bound by exact lengths looks at
      for (std::int64_t i = 0; i < (bits == 10 ? 10 : bits == 60 ? 7 : 20'000); ++i) {
        h.lengths.push_back(capacity / k + 1 + i);
        h.counts.push_back(1);
      }
      auto const samples = static_cast<std::int64_t>(h.samples());
      CHECK(packing_lower_bound(h, capacity, h.samples() + 1).packs >= ceil_div(samples, k - 1));
    }
}

TEST_CASE("bounds: published distributions") {
  // Uniform in 0.2 C … 0.5 C, where volume alone is 0.5 % too low.
  auto const uniform = [](std::size_t n, std::uint64_t seed, double c) {
    ballast::splitmix64 draw(seed);
    std::vector<std::int64_t> lengths(n);
    for (auto& l : lengths) l = static_cast<std::int64_t>(c * (0.2 + 0.3 * (static_cast<double>(draw() >> 11) * 0x1p-53)));
    return ballast::fold(lengths);
  };
  auto const u4 = uniform(10000, 11, 8192), u5 = uniform(100000, 11, 8192);
  CHECK(ballast::volume_bound(u4, 8192).packs == 3479);
  CHECK(packing_lower_bound(u4, 8192, no_limit).packs == 3493);
  CHECK(packing_lower_bound(u4, 8192, no_limit).bound == packing_bound::ramp);
  CHECK(packing_lower_bound(u5, 8192, no_limit).packs == 35133);
  CHECK(packing_lower_bound(uniform(10000, 14, 131072), 131072, no_limit).packs == 3502);

  auto const* const folder = std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    WARN("BALLAST_TRACES is not set: the traces are not checked");
    return;
  }
  enum class column { first, sum, counted };
  auto const trace = [&](std::string const& name, column what, std::int64_t c) {
    std::ifstream in(std::string(folder) + "/" + name);
    REQUIRE(in.good());
    std::vector<std::int64_t> lengths;
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::int64_t a = 0, b = 0;
      fields >> a >> b;
      lengths.insert(lengths.end(), what == column::counted ? static_cast<std::size_t>(b) : 1,
                     (std::min)(c, what == column::sum ? a + b : a));
    }
    return packing_lower_bound(ballast::fold(lengths), c, no_limit);
  };
  auto const proves = [&](std::string const& name, column what, std::int64_t c, std::int64_t packs, packing_bound bound) {
    auto const found = trace(name, what, c);
    CAPTURE(name, c);
    CHECK(found.packs == packs);
    CHECK(found.bound == bound);
  };
  proves("omnibal_vlm_sft.txt", column::first, 2048, 52128, packing_bound::dual_feasible);
  proves("omnibal_vlm_sft.txt", column::first, 4096, 19601, packing_bound::volume);
  proves("arxiv_summarization_llama2.txt", column::sum, 4096, 23136, packing_bound::martello_toth);
  proves("arxiv_summarization_llama2.txt", column::sum, 8192, 9981, packing_bound::ramp);
  proves("gsm8k_train_approx.txt", column::sum, 512, 2576, packing_bound::volume);
  proves("hist_squad11_384.txt", column::counted, 384, 40195, packing_bound::ramp);
}

}  // namespace test_packing_bounds
