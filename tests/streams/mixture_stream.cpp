// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/streams/mixture.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_streams_mixture_stream {

using namespace ballast;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;
using counts = std::vector<std::uint64_t>;

TEST_CASE("mixture_stream: every source has its share at every point, also across restarts", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 30; ++round) {
    numbers share;
    std::int64_t sum = 0;
    for (auto n = 1 + draw() % 6; n > 0; --n) share.push_back(static_cast<std::int64_t>(draw() % 3 == 0 ? 0 : draw() % 1000));
    share[0] += 1;
    for (auto const s : share) sum += s;
    mixture_stream stream(share);
    counts drawn(share.size(), 0);
    for (std::int64_t k = 1; k <= 300; ++k) {
      auto const [source, sample] = stream.next();
      REQUIRE(sample == drawn[source]++);
      for (std::size_t s = 0; s < share.size(); ++s) {
        auto const found = static_cast<std::int64_t>(drawn[s]) * sum;
        REQUIRE((found < k * share[s] + sum && found > k * share[s] - sum));
      }
      if (draw() % 20 == 0) stream = mixture_stream(share, stream.state());
      REQUIRE(stream.state() == drawn);
    }
  }
}

TEST_CASE("mixture_stream: by hand, and misuse") {
  mixture_stream stream({3, 1, 0});
  std::vector<source_draw> drawn;
  for (int k = 0; k < 5; ++k) drawn.push_back(stream.next());
  CHECK(drawn == std::vector<source_draw>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {0, 3}});
  auto const start = [](numbers const& share, counts const& from) { return refusal([&] { return mixture_stream(share, from).state(); }); };
  CHECK(start({}, {}) == "no share is positive");
  CHECK(start({0, 0}, {}) == "no share is positive");
  CHECK(start({1, -1}, {}) == "share[1] = -1 must be in 0 ... 2^31 - 1");
  CHECK(start({1, std::int64_t{1} << 31}, {}) == "share[1] = 2147483648 must be in 0 ... 2^31 - 1");
  CHECK(start({1, 1}, {1}) == "a state of 1 sources for 2 shares");
  CHECK(start({1, 1}, {0, 2}) == "drawn[1] = 2 exceeds its share of 2 draws");
  CHECK(start({1, 0}, {2, 1}) == "drawn[1] = 1 exceeds its share of 3 draws");
  CHECK(start({1, 1}, {0, std::uint64_t{1} << 62}) == "drawn[1] = 4611686018427387904 brings the draws to 2^62");
  CHECK(start({1, 1}, {2, 1}) == "accepted");
}

}  // namespace test_streams_mixture_stream
