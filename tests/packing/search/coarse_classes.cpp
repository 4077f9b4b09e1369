// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/search/coarse_classes.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_packing_search_coarse_classes {

using ballast_test::between;

TEST_CASE("coarse_classes: each length goes to the least part that reaches it", "[packing][property]") {
  for (auto const capacity :
       {std::int64_t{12}, std::int64_t{100}, std::int64_t{99'991}, std::int64_t{1} << 40, (std::numeric_limits<std::int64_t>::max)() / 4})
    for (auto const parts : {std::int64_t{12}, std::int64_t{55440}}) {
      if (parts > capacity) continue;
      CAPTURE(capacity, parts);
      ballast::splitmix64 draw(static_cast<std::uint64_t>(capacity % 97));
      std::vector<std::int64_t> lengths{capacity};
      for (int i = 0; i < 3000; ++i) lengths.push_back(between(1, capacity, draw));
      for (std::int64_t k = 2; k <= 12; ++k) lengths.push_back(capacity / k);
      std::sort(lengths.begin(), lengths.end());
      lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
      ballast::histogram h;
      for (auto const l : lengths) h += {{l}, {3}};
      ballast::detail::coarse_classes const coarse(h, capacity, parts);
      std::size_t c = 0;
      std::uint64_t samples = 0;
      for (auto const l : lengths) {
        // floor(p * capacity / parts) >= l > floor((p - 1) * capacity / parts), in pieces that do not overflow
        auto const reach = [&](std::int64_t p) { return p * (capacity / parts) + p * (capacity % parts) / parts; };
        while (c + 1 < coarse.classes().lengths.size() && reach(coarse.classes().lengths[c]) < l) ++c;
        REQUIRE(reach(coarse.classes().lengths[c]) >= l);
        REQUIRE(reach(coarse.classes().lengths[c] - 1) < l);
        samples += 3;
      }
      REQUIRE(coarse.classes().samples() == samples);
      REQUIRE(coarse.classes().lengths.back() == parts);
      for (std::int64_t k = 2; k <= 12; ++k)  // as many of capacity / k fit as before
        if (parts % k == 0 && capacity / k > capacity / parts) {
          auto const it = std::find_if(coarse.classes().lengths.begin(), coarse.classes().lengths.end(),
                                       [&](auto p) { return p * (capacity / parts) + p * (capacity % parts) / parts >= capacity / k; });
          REQUIRE(*it * k <= parts);
        }
    }
}

TEST_CASE("coarse_classes: a plan of rounded lengths unfolds into one of the lengths", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(24, seed % 2 == 0 ? 400 : std::int64_t{1} << 45, draw);
    std::vector<std::int64_t> lengths(300);
    for (auto& l : lengths) l = between(capacity / 9 + 1, capacity / 2, draw);
    auto const h = ballast::fold(lengths);
    ballast::detail::coarse_classes const coarse(h, capacity, 24);
    // Next fit of the rounded lengths, equal packs together.
    ballast::detail::pooled_patterns plan;
    auto const& [part, counts] = coarse.classes();
    std::vector<ballast::pattern_item> pack;
    std::int64_t room = 24;
    for (std::uint32_t c = 0; c < part.size(); ++c)
      for (auto left = counts[c]; left != 0;) {
        auto const fits = (std::min)(left, static_cast<std::uint64_t>(room / part[c]));
        if (fits != 0) pack.push_back({c, static_cast<std::uint32_t>(fits)});
        left -= fits;
        room -= static_cast<std::int64_t>(fits) * part[c];
        if (left == 0) break;
        plan.push_back(pack, 1);
        pack.clear();
        room = 24;
        auto const whole = static_cast<std::uint64_t>(24 / part[c]);
        if (left / whole == 0) continue;
        ballast::pattern_item const item{c, static_cast<std::uint32_t>(whole)};
        plan.push_back({&item, 1}, left / whole);
        left %= whole;
      }
    if (!pack.empty()) plan.push_back(pack, 1);

    auto const exact = coarse.unfold(plan);
    REQUIRE(exact.packs() == plan.packs());
    std::vector<std::uint64_t> placed(h.lengths.size(), 0);
    for (std::size_t p = 0; p < exact.size(); ++p) {
      std::int64_t tokens = 0;
      std::vector<std::uint32_t> classes;
      for (auto const& [c, copies] : exact[p]) {
        REQUIRE(copies > 0);
        placed[c] += copies * exact.repeats[p];
        tokens += h.lengths[c] * copies;
        classes.push_back(c);
      }
      REQUIRE(tokens <= capacity);
      std::sort(classes.begin(), classes.end());
      REQUIRE(std::adjacent_find(classes.begin(), classes.end()) == classes.end());
    }
    REQUIRE(placed == h.counts);
  }
}

}  // namespace test_packing_search_coarse_classes
