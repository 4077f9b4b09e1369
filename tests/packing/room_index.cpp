// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/room_index.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <set>

namespace test_packing_room_index {

TEST_CASE("room indexes: answer like a sorted set, at every size of the bit tree") {
  ballast::detail::dense_rooms dense;  // one object for all: a reset forgets everything
  ballast::detail::ordered_rooms ordered;
  std::int64_t const capacities[] = {300000, 0,    1,    62,   63,   64,     65,     127,
                                     128,    4094, 4095, 4096, 4097, 262143, 262144, ballast::detail::dense_rooms::largest_capacity};
  for (auto const capacity : capacities) {
    CAPTURE(capacity);
    dense.reset(capacity);
    ordered.reset(capacity);
    std::set<std::int64_t> rooms;
    ballast::splitmix64 draw(static_cast<std::uint64_t>(capacity));
    for (int step = 0; step < 4000; ++step) {
      auto const room = draw() % 2 == 0 ? ballast_test::between(0, capacity, draw)
                                        : capacity - ballast_test::between(0, capacity, draw) % 70 % (capacity + 1);
      auto const it = rooms.lower_bound(room);
      auto const expected = it == rooms.end() ? -1 : *it;
      REQUIRE(dense.at_least(room) == expected);
      REQUIRE(ordered.at_least(room) == expected);
      if (expected >= 0 && draw() % 2 == 0) {
        REQUIRE(dense.head(expected) == static_cast<std::uint32_t>(expected));
        REQUIRE(ordered.head(expected) == static_cast<std::uint32_t>(expected));
        dense.erase(expected);
        ordered.erase(expected);
        rooms.erase(it);
      } else {
        auto const fresh = rooms.insert(room).second;
        REQUIRE(dense.insert(room) == fresh);
        REQUIRE(ordered.insert(room) == fresh);
        dense.head(room) = ordered.head(room) = static_cast<std::uint32_t>(room);
      }
    }
  }
}

TEST_CASE("room indexes: answer like a sorted set while thousands of rooms come and go") {
  ballast::detail::ordered_rooms ordered;
  std::set<std::int64_t> rooms;
  ballast::splitmix64 draw(7);
  for (int step = 0; step < 60'000; ++step) {
    auto const room = ballast_test::between(0, std::int64_t{1} << 40, draw) >> 8 * (step / 20'000);  // then ever lower ones
    auto const it = rooms.lower_bound(room);
    REQUIRE(ordered.at_least(room) == (it == rooms.end() ? -1 : *it));
    if (it != rooms.end() && draw() % 8 < (step % 10'000 < 6'000 ? 2 : 7)) {
      REQUIRE(ordered.head(*it) == static_cast<std::uint32_t>(*it));
      ordered.erase(*it);
      rooms.erase(it);
    } else {
      REQUIRE(ordered.insert(room) == rooms.insert(room).second);
      ordered.head(room) = static_cast<std::uint32_t>(room);
    }
  }
  while (!rooms.empty()) {
    REQUIRE(ordered.at_least(0) == *rooms.begin());
    ordered.erase(*rooms.begin());
    rooms.erase(rooms.begin());
  }
  CHECK(ordered.at_least(0) == -1);
  CHECK(ordered.insert(3));
  CHECK(ordered.at_least(0) == 3);
}

}  // namespace test_packing_room_index
