// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/search_watch.hpp>

#include "support/catch.hpp"
#include "support/progress_log.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>

namespace test_core_search_watch {

TEST_CASE("search_watch: tells what is done, about a hundred times, and never more than everything") {
  ballast_test::progress_log log;
  ballast::search_watch watch({.work = 1'000'000, .progress = log});
  std::uint64_t before = 0;
  for (std::uint64_t spent = 0; spent <= 1'200'000; spent += 10) {
    CHECK_FALSE(watch.interrupted(spent));
    REQUIRE((log.sound && log.last >= before && log.most == 1'000'000));
    before = log.last;
  }
  CHECK(log.last == 1'000'000);
  CHECK((log.calls > 64 && log.calls < 256));
  ballast_test::progress_log unlimited;
  ballast::search_watch endless({.work = ~std::uint64_t{0}, .progress = unlimited});
  CHECK_FALSE(endless.interrupted(~std::uint64_t{0}));
  CHECK((unlimited.calls == 1 && unlimited.sound));
  ballast::search_watch nothing({.work = 0, .progress = unlimited});
  CHECK_FALSE(nothing.interrupted(5));
  CHECK(unlimited.calls == 1);  // there is no share of nothing
}

TEST_CASE("search_watch: a requested stop and the clock interrupt for good") {
  auto const stop = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
  ballast::search_watch watch({.stop = stop->get_token()});
  CHECK_FALSE(watch.interrupted(0));
  CHECK_FALSE(watch.was_interrupted());
  stop->request_stop();
  CHECK_FALSE(watch.was_interrupted());  // it was not asked since
  CHECK(watch.interrupted(0));
  CHECK(watch.was_interrupted());
  ballast::search_watch late({.wall_clock = std::chrono::nanoseconds{1}});
  while (!late.interrupted(0)) {
  }
  CHECK(late.was_interrupted());
}

TEST_CASE("search_budget: allows work up to the limit, to the end of a part, and half as much more for what has begun") {
  ballast::search_budget budget({.work = 100, .gap = 0.5});
  CHECK((budget.allows() && budget.allows(1) && !budget.allows(0) && budget.limit() == 100));
  budget.spend(99);
  CHECK((budget.allows() && budget.allows(100) && !budget.allows(99) && budget.spent() == 99));
  budget.spend(1);
  CHECK((!budget.allows() && budget.in_time() && budget.bears() && !budget.interrupted()));
  budget.spend(52);
  CHECK(budget.bears());
  budget.spend(1);
  CHECK_FALSE(budget.bears());
  CHECK((budget.satisfied({3, 2}) && !budget.satisfied({4, 2})));
}

TEST_CASE("search_budget: looks at the stop token once in an interval of work, and stays interrupted") {
  for (auto const interval : {0U, 10U}) {
    auto const stop = std::make_unique<std::stop_source>();
    ballast::search_budget budget({.stop = stop->get_token()}, interval);
    CHECK(budget.allows());
    stop->request_stop();
    CHECK(budget.allows() == (interval != 0));
    budget.spend(9);
    CHECK(budget.allows() == (interval != 0));
    budget.spend(1);
    CHECK_FALSE(budget.allows());
    CHECK((budget.interrupted() && !budget.in_time() && !budget.bears()));
  }
}

TEST_CASE("search_budget: a part has a share of the limit, and the whole counts what it spent and what stopped it") {
  auto const stop = std::make_unique<std::stop_source>();
  ballast::search_budget budget({.work = 100, .stop = stop->get_token()});
  budget.spend(90);
  auto part = budget.part(4);
  CHECK((part.limit() == 25 && part.spent() == 0));
  part.spend(24);
  CHECK(part.allows());
  part.spend(1);
  CHECK_FALSE(part.allows());
  CHECK((budget.spent() == 90 && budget.allows()));
  budget.add(part);
  CHECK((budget.spent() == 115 && !budget.allows() && !budget.interrupted()));
  auto last = budget.part(1);  // as much as the whole, although that is spent
  CHECK(last.allows());
  stop->request_stop();
  CHECK_FALSE(last.allows());
  budget.add(last);
  CHECK(budget.interrupted());
}

}  // namespace test_core_search_watch
