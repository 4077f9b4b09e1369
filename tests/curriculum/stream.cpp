// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/stream.hpp>

#include "suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_curriculum_stream {

using ballast_test::refusal;
using walked = std::vector<ballast::curriculum_step>;

namespace {
walked rest_of(ballast::curriculum_stream& run) {
  walked out;
  while (!run.done()) out.push_back(run.next());
  return out;
}
}  // namespace

TEST_CASE("curriculum_stream: its steps are those of the plans of its epochs, and their number is known before") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    auto const [given, options] = ballast_test::random_case(seed);
    auto const epochs = seed % 4;
    ballast::curriculum_stream run(given, options, epochs);
    walked expected;
    for (std::uint64_t e = 0; e < epochs; ++e) {
      auto o = options;
      o.epoch = options.epoch + e;
      auto const plan = ballast::plan_curriculum(given, o);
      for (std::size_t i = 0; i < plan.size(); ++i) expected.push_back(plan.at(i));
    }
    CAPTURE(seed);
    REQUIRE(run.steps() == expected.size());
    REQUIRE(rest_of(run) == expected);
    REQUIRE(refusal([&] { return run.next(); }) == "all " + std::to_string(expected.size()) + " steps are done");
  }
}

TEST_CASE("curriculum_stream: resumed from any step, it is the uninterrupted one") {
  for (auto const how : ballast_test::all_orders) {
    ballast_test::sources const given{{.setting = {16384}, .steps = 23, .keys = {}, .per_epoch = {23, 0, 10, 0}},
                                      {.setting = {131072, 8, 29}, .steps = 9, .keys = {}, .per_epoch = {20, 0, 4}}};
    ballast::curriculum_options const options{.order = how, .warm_up = 5, .seed = 3};
    ballast::curriculum_stream run(given, options, 5), other(given, options, 5);
    auto const whole = rest_of(run);
    REQUIRE(whole.size() == 43 + 14 + 4 + 4);
    ballast::curriculum_stream again(given, options, 5);
    for (std::size_t done = 0;; ++done) {
      auto const state = again.state();
      REQUIRE(state.step == done);
      other.resume(state);
      REQUIRE(rest_of(other) == walked(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end()));
      if (again.done()) break;
      REQUIRE(again.next() == whole[done]);
    }
    ballast::curriculum_stream longer(given, options, 7);  // a finished run can be prolonged
    longer.resume(run.state());
    REQUIRE(longer.next().epoch == 5);
  }
}

TEST_CASE("curriculum_stream: the state of another stream is refused") {
  ballast_test::sources const given{{.setting = {16384}, .steps = 4, .keys = {1, 2, 3, 4}}};
  ballast::curriculum_options const options{.seed = 3};
  ballast::curriculum_stream run(given, options, 2);
  auto const refused = [&](ballast_test::sources const& g, ballast::curriculum_options const& o) {
    return refusal([&] {
      run.resume(ballast::curriculum_stream(g, o, 2).state());
      return 0;
    });
  };
  auto const other = "the state is damaged, or of a stream with other sources or options";
  CHECK(refused(given, options) == "accepted");
  auto changed = given;
  changed[0].keys[2] = 0;
  CHECK(refused(changed, options) == other);
  changed = given;
  changed[0].setting.sp = 2;
  CHECK(refused(changed, options) == other);
  changed = given;
  changed[0].per_epoch = {4};
  CHECK(refused(changed, options) == other);
  CHECK(refused(given, {.seed = 4}) == other);
  CHECK(refused(given, {.warm_up = 1, .seed = 3}) == other);
  CHECK(refusal([&] {
          ballast::curriculum_stream longer(given, options, 3);
          while (longer.state().step < 9) (void)longer.next();
          run.resume(longer.state());
          return 0;
        }) == "step = 9 is beyond the stream's 8");
  for (std::uint64_t step = 0; step < 9; ++step)
    CHECK((refusal([&] { return run.resume({step, run.state().fingerprint}), 0; }) == other) == (step != run.state().step));
  CHECK(refusal([&] { return ballast::curriculum_stream(given, {.epoch = 5}, std::uint64_t{1} << 31); }) ==
        "epochs = 2147483648 from epoch 5 on exceed 2^31");
}

}  // namespace test_curriculum_stream
