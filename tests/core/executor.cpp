// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/executor.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace test_core_executor {

TEST_CASE("threads: each task runs exactly once, and all are done on return") {
  auto const width = GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{0});
  ballast::threads const run(width);
  CHECK((width == 0 ? run.width() >= 1 : run.width() == width));
  for (auto count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> runs(count);
    run(count, [&](std::size_t task) { ++runs.at(task); });
    for (auto const& r : runs) CHECK(r == 1);
  }
}

TEST_CASE("threads: the tasks run at the same time") {
  std::atomic<int> waiting{2};
  ballast::threads(2)(2, [&](std::size_t) {  // would never end if one task had to wait for the other to return
    --waiting;
    while (waiting != 0) std::this_thread::yield();
  });
  CHECK(waiting == 0);
}

TEST_CASE("serial: in order, on the calling thread") {
  std::vector<std::size_t> order;
  ballast::serial{}(4, [&, caller = std::this_thread::get_id()](std::size_t task) {
    CHECK(std::this_thread::get_id() == caller);
    order.push_back(task);
  });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(ballast::serial{}.width() == 1);
}

TEST_CASE("threads: an exception reaches the caller once no task runs any more") {
  std::atomic<int> running{0};
  auto const body = [&](std::size_t task) {
    ++running;
    struct leave {
      std::atomic<int>& count;
      ~leave() { --count; }
    } const at_exit{running};
    if (task % 3 == 1) throw std::runtime_error("task failed");
  };
  for (auto width : {1U, 4U}) {
    ballast::threads const run(width);
    CHECK_THROWS_WITH(run(100, body), "task failed");
    CHECK(running == 0);
    CHECK_NOTHROW(run(1, body));  // usable afterwards
  }
  CHECK_THROWS_AS(ballast::serial{}(2, body), std::runtime_error);
}

}  // namespace test_core_executor
