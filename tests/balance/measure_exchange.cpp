// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/measure_exchange.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_balance_measure_exchange {

using namespace ballast_test;
using namespace ballast;

TEST_CASE("measure_exchange: samples change places alone or in pairs, and a step only becomes more even") {
  splitmix64 draw(40);
  auto improved = 0;
  for (int round = 0; round < 300; ++round) {
    std::size_t const ranks = 1 + draw() % 6, each = 1 + draw() % 3;
    std::vector<std::vector<std::uint32_t>> packs;
    std::vector<std::uint32_t> table;
    std::vector<std::int64_t> first, second;
    for (std::size_t place = 0; place < ranks * each; ++place) {
      if (draw() % 7 == 0) {
        table.push_back(measure_exchange<>::none);
        continue;
      }
      table.push_back(static_cast<std::uint32_t>(packs.size()));
      packs.emplace_back();
      for (auto n = 1 + draw() % 8; n > 0; --n) {
        packs.back().push_back(static_cast<std::uint32_t>(first.size()));
        first.push_back(between(0, 40, draw));
        second.push_back(between(1, draw() % 5 == 0 ? 300 : 30, draw));
      }
    }
    auto const total = [&](std::vector<std::int64_t> const& of, std::vector<std::uint32_t> const& pack) {
      std::int64_t sum = 0;
      for (auto const i : pack) sum += of[i];
      return sum;
    };
    std::vector<std::int64_t> capacity(2);
    std::size_t most = 0;
    for (auto const& pack : packs) {
      capacity[0] = (std::max)(capacity[0], total(first, pack));
      capacity[1] = (std::max)(capacity[1], total(second, pack));
      most = (std::max)(most, pack.size());
    }
    auto const excess = [&](std::vector<std::vector<std::uint32_t>> const& contents) {  // of both measures, over the mean
      double sum = 0;
      for (auto const* const of : {&first, &second}) {
        double all = 0, largest = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
          double load = 0;
          for (std::size_t m = 0; m < each; ++m)
            if (auto const p = table[r * each + m]; p != measure_exchange<>::none) load += static_cast<double>(total(*of, contents[p]));
          all += load;
          largest = (std::max)(largest, load);
        }
        if (all > 0) sum += largest * static_cast<double>(ranks) / all;
      }
      return sum;
    };
    auto after = packs;
    measure_exchange<> exchange({.balanced = {first, second}, .limited = {first, second}, .capacity = capacity, .max_samples = most},
                                ranks);
    exchange(after, table);
    CAPTURE(round, ranks, each);
    std::vector<std::uint32_t> members;
    for (auto const& pack : after) {
      CHECK(!pack.empty());
      CHECK(pack.size() <= most);
      CHECK(total(first, pack) <= capacity[0]);
      CHECK(total(second, pack) <= capacity[1]);
      members.insert(members.end(), pack.begin(), pack.end());
    }
    std::sort(members.begin(), members.end());
    REQUIRE(members.size() == first.size());
    for (std::size_t i = 0; i < members.size(); ++i) CHECK(members[i] == i);
    if (after == packs) continue;
    ++improved;
    CHECK(excess(after) < excess(packs) + 1e-4);  // parts are whole numbers
  }
  CHECK(improved > 150);
}

TEST_CASE("measure_exchange: two ranks that differ in both measures become equal") {
  std::vector<std::int64_t> const images{5, 5, 0, 0}, text{1, 1, 9, 9};
  std::vector<std::vector<std::uint32_t>> packs{{0, 1}, {2, 3}};
  measure_exchange<> exchange({.balanced = {images, text}, .limited = {images, text}, .capacity = {10, 18}}, 2);
  exchange(packs, std::vector<std::uint32_t>{0, 1});
  for (auto const& pack : packs) {
    REQUIRE(pack.size() == 2);
    CHECK(images[pack[0]] + images[pack[1]] == 5);
    CHECK(text[pack[0]] + text[pack[1]] == 10);
  }
}

}  // namespace test_balance_measure_exchange
