// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/training_run.hpp>

#include "support/catch.hpp"
#include "support/cost_by_sample.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace test_plan_training_run {

namespace {

using namespace ballast;
using namespace ballast_test;

constexpr quadratic_cost modelled{.linear = 400, .quadratic = 1};
using run_type = training_run<quadratic_cost>;

run_options options_for(std::uint64_t ranks, std::uint64_t epochs = 3) {
  return {.data = {.steps = {.capacity = 512, .ranks = ranks, .micro_batches = 2, .seed = 7}}, .epochs = epochs};
}

/// Adds one for each time that the current step trains on a sample. @return the samples of the step, by rank and micro-batch
std::vector<std::uint32_t> train(run_type const& run, std::uint64_t ranks, std::vector<int>& trained) {
  std::vector<std::uint32_t> seen;
  for (std::uint64_t r = 0; r < ranks; ++r)
    for (auto const pack : run.packs_of(r))
      for (auto const i : pack) {
        ++trained[i];
        seen.push_back(i);
      }
  return seen;
}

bool all_are(std::vector<int> const& counts, int value) {
  return std::all_of(counts.begin(), counts.end(), [&](int c) { return c == value; });
}

run_type::measurement measured_as(double per_token, double per_pair) {
  run_type::measurement out{.cost = {{modelled, {}, {}}, {}}};
  out.cost.per_unit = {coefficient{}, coefficient_of(per_token), coefficient_of(per_pair)};
  out.per_micro_batch = 2000;
  out.per_step = 9000;
  return out;
}

static_assert(!indexed_cost_model<quadratic_cost>);

}  // namespace

TEST_CASE("training_run: trains on every sample once an epoch, in as many steps as it says", "[property]") {
  splitmix64 draw(5);
  for (std::size_t const n : {0U, 1U, 9U, 1500U})
    for (auto const order : {-1, 2, 3}) {
      auto const lengths = random_lengths(n, 500, draw);
      auto o = options_for(4);
      if (order >= 0) o.order = run_order{.order = static_cast<curriculum_order>(order), .buckets = 5};
      if (order == 3) o.data.max_samples = 2;
      run_type run(lengths, o, modelled);
      auto const steps = run.steps();
      std::vector<int> trained(n, 0);
      std::uint64_t epoch = 0, count = 0;
      while (!run.done()) {
        auto const step = run.next();
        CHECK(step.step == count++);
        if (step.epoch != epoch) {
          CHECK(all_are(trained, static_cast<int>(step.epoch)));
          epoch = step.epoch;
        }
        (void)train(run, 4, trained);
        for (std::uint64_t r = 0; r < 4; ++r)
          for (auto const pack : run.packs_of(r)) CHECK((order != 3 || pack.size() <= 2));
        REQUIRE(run.steps() == steps);
      }
      CHECK(count == steps);
      CHECK(all_are(trained, 3));
      CHECK((n != 0) == (steps != 0));
      CHECK(refusal([&] { return run.next().step; }) == "all " + std::to_string(steps) + " steps are done");
    }
}

TEST_CASE("training_run: a run is done at once if no pass has a step") {
  auto o = options_for(64);
  o.data.steps.left_over = left_over::drop;
  run_type const few(std::vector<int>(3, 100), o, modelled);
  CHECK(few.done());
  CHECK(few.steps() == 0);
  CHECK(few.plan().steps.dropped.size() == 3);
}

TEST_CASE("training_run: every epoch has its own plan, with steps in the order asked for") {
  splitmix64 draw(12);
  auto const lengths = random_lengths(900, 500, draw);
  auto o = options_for(4, 2);
  o.order = run_order{.order = curriculum_order::ascending, .key = step_key::cost};
  run_type run(lengths, o, modelled);
  auto const ascends = [&] {
    auto const keys = step_keys(run.plan().steps, run.plan().samples, step_key::cost);
    return std::is_sorted(keys.begin(), keys.end() - 1);  // the last step may have empty places
  };
  CHECK(ascends());
  auto const first = hash(run.plan().steps);
  run.next();
  run.recalibrate(measured_as(1, 30));
  CHECK(ascends());
  while (run.next().epoch == 0) {
  }
  CHECK(ascends());
  CHECK(hash(run.plan().steps) != first);
  o.order.reset();
  run_type other(lengths, o, modelled);
  auto const plain = hash(other.plan().steps);
  CHECK(plain != first);
  while (other.next().epoch == 0) {
  }
  CHECK(hash(other.plan().steps) != plain);
}

TEST_CASE("training_run: epochs of equal length carry the rest of a pass over", "[property]") {
  splitmix64 draw(6);
  auto const lengths = random_lengths(700, 500, draw);
  for (std::uint64_t const each : {3U, 45U, 100U}) {
    auto o = options_for(4);
    o.steps_per_epoch = each;
    run_type run(lengths, o, modelled);
    REQUIRE(run.steps() == 3 * each);
    std::vector<int> trained(lengths.size(), 0);
    while (!run.done()) {
      auto const step = run.next();
      REQUIRE(step.epoch == step.step / each);
      (void)train(run, 4, trained);
      auto const [least, most] = std::minmax_element(trained.begin(), trained.end());
      REQUIRE(*most - *least <= 1);
    }
    CHECK(run.step() == 3 * each);
  }
}

TEST_CASE("training_run: a state resumes the same steps, and other ranks train on what is left", "[property]") {
  splitmix64 draw(8);
  for (auto const left : {left_over::split, left_over::shorten})
    for (auto const ordered : {false, true}) {
      auto const lengths = random_lengths(600, 500, draw);
      auto o = options_for(4);
      o.data.steps.left_over = left;
      if (ordered) o.order = run_order{};
      run_type run(lengths, o, modelled);
      std::vector<int> trained(lengths.size(), 0);
      auto const stop = run.steps() / 2;  // in the second epoch
      for (std::uint64_t k = 0; k < stop; ++k) {
        run.next();
        (void)train(run, 4, trained);
      }
      auto const words = run.state().words();
      REQUIRE(words.size() <= 17);
      auto const state = run_state::from_words(words);
      REQUIRE(state == run.state());

      run_type again(lengths, o, modelled);
      again.resume(state);
      CHECK(again.hash() == run.hash());
      CHECK(again.steps() == run.steps());
      auto of_three = o;
      of_three.data.steps.ranks = 3;
      of_three.data.steps.micro_batches = 1;
      run_type fewer(lengths, of_three, modelled);
      fewer.resume(state);
      CHECK(fewer.hash() != run.hash());
      auto trained_by_three = trained, trained_again = trained;
      while (!run.done()) {
        REQUIRE(run.next() == again.next());
        REQUIRE(train(run, 4, trained) == train(again, 4, trained_again));
      }
      CHECK(again.done());
      CHECK(all_are(trained, 3));
      auto const steps = fewer.steps();
      while (!fewer.done()) {
        fewer.next();
        (void)train(fewer, 3, trained_by_three);
        if (fewer.step() == stop + 2) {  // changes again, with a state of several parts
          auto of_five = o;
          of_five.data.steps.ranks = 5;
          run_type other(lengths, of_five, modelled);
          other.resume(fewer.state());
          CHECK(other.state().parts.size() == 3);
          auto trained_by_five = trained_by_three;
          while (!other.done()) {
            other.next();
            (void)train(other, 5, trained_by_five);
          }
          CHECK(all_are(trained_by_five, 3));
        }
      }
      CHECK(fewer.step() == steps);
      CHECK(all_are(trained_by_three, 3));
    }
}

TEST_CASE("training_run: a state of more epochs than the run has is that of a run that is done") {
  splitmix64 draw(18);
  auto const lengths = random_lengths(60, 500, draw);
  for (std::uint64_t const each : {0U, 3U}) {
    auto o = options_for(4);
    o.steps_per_epoch = each;
    run_type run(lengths, o, modelled);
    while (run.next().epoch < 2) {
    }
    o.epochs = 2;
    run_type fewer(lengths, o, modelled);
    auto const steps = fewer.steps();
    fewer.resume(run.state());
    CHECK(fewer.done());
    CHECK(fewer.steps() <= fewer.step());
    CHECK(fewer.step() > steps);
    CHECK(refusal([&] { return fewer.next().step; }) == "all " + std::to_string(fewer.step()) + " steps are done");
  }
}

TEST_CASE("training_run: integers of a state of which one is changed, lost or doubled are refused", "[property]") {
  splitmix64 draw(19);
  auto const lengths = random_lengths(300, 500, draw);
  run_type run(lengths, options_for(4), modelled);
  while (run.step() < 5) run.next();
  run.recalibrate(measured_as(1, 30));
  run.next();
  auto const words = run.state().words();
  auto const read = [](std::vector<std::uint64_t> const& from) { return refusal([&] { return run_state::from_words(from).step; }); };
  REQUIRE(read(words) == "accepted");
  std::vector<std::uint64_t> values{0, 1, 2, std::uint64_t{1} << 32, ~std::uint64_t{0}};
  for (std::size_t k = 0; k < words.size(); ++k) {
    for (auto const value : {words[k] + 1, words[k] - 1, words[k] ^ std::uint64_t{1} << draw() % 64, draw()}) values.push_back(value);
    for (auto const value : values) {
      auto damaged = words;
      damaged[k] = value;
      CHECK((read(damaged) == "accepted") == (value == words[k]));
    }
    values.resize(5);
    auto lost = words, twice = words;
    lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(k));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(k), words[k]);
    CHECK(read(lost) != "accepted");
    CHECK(read(twice) != "accepted");
  }
}

TEST_CASE("training_run: a state with any member changed is refused, or that of a run that ends", "[property]") {
  splitmix64 draw(20);
  auto const lengths = random_lengths(40, 500, draw);
  for (auto const left : {left_over::split, left_over::drop})
    for (std::uint64_t const each : {0U, 3U}) {
      auto o = options_for(4);
      o.data.steps.left_over = left;
      o.steps_per_epoch = each;
      run_type run(lengths, o, modelled);
      while (!run.done() && run.step() < 5) run.next();
      for (int round = 0; round < 40; ++round) {
        run_state state = run.state();
        auto const value = draw() % 3 == 0 ? draw() >> draw() % 64 : draw() % 12;
        auto& part = state.parts[0];
        *std::vector<std::uint64_t*>{&state.step, &state.pass, &part.steps, &part.ranks, &part.micro_batches}[draw() % 5] = value;
        run_type again(lengths, o, modelled);
        if (refusal([&] { return again.resume(state), 0; }) != "accepted") continue;
        std::uint64_t steps = 0;
        for (; !again.done() && steps <= 3 * lengths.size(); ++steps) again.next();
        CHECK(again.done());
      }
    }
}

TEST_CASE("training_run: other ranks train on every piece and repeated sample that is left, and on what was dropped", "[property]") {
  splitmix64 draw(15);
  auto const lengths = random_lengths(500, 1400, draw);  // some of three pieces
  for (auto const left : {left_over::split, left_over::repeat, left_over::drop}) {
    auto o = options_for(4, 1);
    o.data.steps.left_over = left;
    o.data.oversize = oversize::split;
    run_type run(lengths, o, modelled);
    std::vector<int> trained(run.plan().samples.tokens.size(), 0);
    for (int k = 0; k < 9; ++k) {
      run.next();
      (void)train(run, 4, trained);
    }
    o.data.steps.ranks = 6;
    o.data.steps.micro_batches = 1;
    run_type other(lengths, o, modelled);
    other.resume(run.state());
    auto const left_out = other.plan().steps.dropped;
    auto const again = other.plan().steps.repeated;
    while (!other.done()) {
      other.next();
      (void)train(other, 6, trained);
    }
    for (auto const i : left_out) ++trained[i];
    for (auto const i : again) --trained[i];
    CHECK(all_are(trained, 1));
    CHECK((left == left_over::drop || left_out.empty()));
    CHECK((left == left_over::repeat || again.empty()));
  }
}

TEST_CASE("training_run: measured costs plan the rest of the pass anew, and a state keeps them") {
  splitmix64 draw(9);
  auto const lengths = random_lengths(900, 500, draw);
  auto const o = options_for(4, 2);
  run_type run(lengths, o, modelled);
  std::vector<int> trained(lengths.size(), 0);
  for (int k = 0; k < 5; ++k) {
    run.next();
    (void)train(run, 4, trained);
  }
  auto const before = run.hash();
  auto told = run;  // another rank, which was sent integers
  CHECK(told.recalibrate(run_costs::from_words(run_costs::of(measured_as(1, 30)).words())));
  CHECK(run.recalibrate(measured_as(1, 30)));
  CHECK(run.hash() != before);
  CHECK(told.hash() == run.hash());
  run.next();
  (void)train(run, 4, trained);
  run_type again(lengths, o, modelled);
  again.resume(run_state::from_words(run.state().words()));
  CHECK(again.hash() == run.hash());
  CHECK(again.steps() == run.steps());
  while (!run.done()) {
    run.next();
    (void)train(run, 4, trained);
  }
  CHECK(all_are(trained, 2));
  auto const measured = run.plan();  // a whole pass under measured costs
  auto const cost = measured_as(1, 30).cost;
  auto shape = o.data.steps;
  shape.cost_per_micro_batch = 2000;
  shape.cost_per_step = 9000;
  CHECK(describe(check_batching(measured.steps, lengths, shape, cost)) == "valid");
}

TEST_CASE("training_run: a cost may be a lambda with captures, which cannot be assigned") {
  splitmix64 draw(12);
  auto const lengths = random_lengths(600, 500, draw);
  auto const cost = [factor = modelled](std::int64_t length) { return factor(length); };
  static_assert(!std::is_copy_assignable_v<decltype(cost)>);
  run_type model(lengths, options_for(4), modelled);
  training_run run(lengths, options_for(4), cost), resumed(lengths, options_for(2), cost);
  for (int step = 0; step < 5; ++step) {
    (void)run.next();
    (void)model.next();
  }
  auto const costs = run_costs::of(measured_as(1, 30));
  CHECK(run.recalibrate(costs) == model.recalibrate(costs));
  CHECK((run.next() == model.next() && run.hash() == model.hash()));
  resumed.resume(run.state());
  run_type other(lengths, options_for(2), modelled);
  other.resume(model.state());
  auto const copy = resumed;
  CHECK((resumed.next() == other.next() && resumed.hash() == other.hash() && copy.step() + 1 == resumed.step()));
  resumed = copy;
  CHECK(resumed.state() == copy.state());
}

TEST_CASE("training_run: gives the times of a step to an observer") {
  struct watcher {
    std::size_t step = 0;
    double ms = 0;
    void observe(data_plan<> const&, std::size_t at, double time) {
      step = at;
      ms = time;
    }
  } watch;
  run_type run(std::vector<int>(100, 100), options_for(2), modelled);
  CHECK(refusal([&] { return run.observe(watch, 3.0), 0; }) == "call next() before observe()");
  run.next();
  run.next();
  run.observe(watch, 12.5);
  CHECK(watch.step == 1);
  CHECK(watch.ms == 12.5);
}

TEST_CASE("training_run: a pass that was planned ahead is the one that would be planned") {
  splitmix64 draw(10);
  auto const lengths = random_lengths(500, 500, draw);
  run_type run(lengths, options_for(4), modelled), other(lengths, options_for(4), modelled);
  while (!run.done()) {
    if (run.next().place == 0) run.bring(std::async(std::launch::async, run.plan_ahead()).get());
    other.next();
    REQUIRE(run.hash() == other.hash());
  }
  auto of_three = options_for(3);
  run_type three(lengths, of_three, modelled);
  three.bring(other.plan_ahead()());  // for four ranks: not taken
  while (!three.done()) three.next();
  CHECK(three.plan().steps.ranks == 3);
}

TEST_CASE("training_run: a run goes on with the plan that another has", "[property]") {
  splitmix64 draw(12);
  auto lengths = random_lengths(400, 500, draw);
  for (std::size_t i = 0; i < lengths.size(); i += 40) lengths[i] = 900;
  for (auto const policy : {oversize::set_aside, oversize::split})
    for (auto const left : {left_over::split, left_over::repeat}) {
      auto o = options_for(4);
      o.data.oversize = policy;
      o.data.steps.left_over = left;
      run_type run(lengths, o, modelled);
      auto const go_on = [&] {
        auto kept = run.plan();  // without what follows from the lengths
        kept.samples = {.set_aside = kept.samples.set_aside};
        run_type again(lengths, o, modelled, run.state(), std::move(kept));
        REQUIRE(again.hash() == run.hash());
        REQUIRE(again.plan().samples.tokens == run.plan().samples.tokens);
        REQUIRE(again.plan().samples.all_tokens == run.plan().samples.all_tokens);
        REQUIRE(again.plan().samples.all_cost == run.plan().samples.all_cost);
        auto other = run;
        while (!other.done()) {
          other.next();
          again.next();
          REQUIRE(again.hash() == other.hash());
        }
        REQUIRE(again.done());
      };
      go_on();
      for (int k = 0; k < 7; ++k) run.next();
      go_on();
      REQUIRE(run.recalibrate(measured_as(3, 0.5)));
      go_on();
      for (int k = 0; k < 5; ++k) run.next();
      o.data.steps.ranks = 3;
      run_type fewer(lengths, o, modelled);
      fewer.resume(run.state());
      run = fewer;
      go_on();
      o.data.steps.seed = 8;
      CHECK(refusal([&] { return run_type(lengths, o, modelled, run.state(), run.plan()).step(); }) ==
            "the state is of a run with other samples, costs or options, or of another plan");
    }
}

TEST_CASE("training_run: a stop leaves a valid plan that its hash tells apart") {
  splitmix64 draw(11);
  std::vector<std::int64_t> lengths = random_lengths(400, 100, draw);
  for (std::size_t i = 0; i < lengths.size(); i += 20) lengths[i] = 512;  // random steps are not balanced, so there is more to try
  auto o = options_for(8);
  o.data.steps.micro_batches = 1;
  auto const source = std::make_unique<std::stop_source>();
  source->request_stop();
  run_type whole(lengths, o, quadratic_cost{.linear = 1, .quadratic = 10});
  o.stop = source->get_token();
  run_type cut(lengths, o, quadratic_cost{.linear = 1, .quadratic = 10});
  CHECK(whole.complete());
  CHECK_FALSE(cut.complete());
  CHECK(cut.hash() != whole.hash());
  CHECK(describe(check_batching(cut.plan().steps, lengths, o.data.steps, quadratic_cost{.linear = 1, .quadratic = 10})) == "valid");
}

TEST_CASE("training_run: refuses by name what cannot be") {
  std::vector<int> const lengths(100, 100);
  auto const made = [&](run_options const& o) { return refusal([&] { return run_type(lengths, o, modelled).step(); }); };
  auto o = options_for(2);
  o.epochs = 0;
  CHECK(made(o) == "epochs = 0 must be positive");
  o = options_for(2);
  o.data.oversize = oversize::alone;
  CHECK(made(o) == "oversize = alone: a micro-batch never exceeds the capacity");
  o = options_for(2);
  o.data.steps.capacity = 99;
  CHECK(made(o) == "lengths[0] = 100 exceeds capacity 99 (see oversize policy)");
  o = options_for(2);
  o.tokens_per_step = 5000;
  CHECK(made(o) == "tokens_per_step = 5000 is no multiple of capacity * ranks = 1024; the nearest are 4096 and 5120");
  o.tokens_per_step = 100;
  CHECK(made(o) == "tokens_per_step = 100 is no multiple of capacity * ranks = 1024; the nearest are 1024");
  o.tokens_per_step = 4096;
  CHECK(run_type(lengths, o, modelled).plan().steps.micro_batches == 4);
  o = options_for(2);
  o.steps_per_epoch = 5;
  CHECK(refusal([&] { return run_type(std::vector<int>(), o, modelled).step(); }) ==
        "steps_per_epoch: there is no step, because no sample is left to train on");

  run_type run(lengths, options_for(2), modelled);
  auto const resumed = [&](run_state const& state) { return refusal([&] { return run.resume(state), 0; }); };
  CHECK(refusal([&] { return run.packs_of(0).empty(); }) == "call next() before packs_of()");
  run.next();
  CHECK(refusal([&] { return run.packs_of(2).empty(); }) == "rank 2 is out of range: there are 2");
  auto const hash = run.hash();
  CHECK(resumed({}) == "the state is of a run with other samples, costs or options (ranks, micro-batches and epochs may differ)");
  o.steps_per_epoch = std::uint64_t{1} << 62;
  o.epochs = 4;
  CHECK(made(o) == "steps_per_epoch = 4611686018427387904 times epochs = 4 must be below 2^62");

  auto state = run.state();
  state.parts[0].steps = 1000;
  CHECK(resumed(state) == "the state is damaged: its parts have more steps than its 1");
  state.step = 1000;
  CHECK(resumed(state) == "the state is damaged: it is at step 1000 of a plan of " + std::to_string(run.plan().steps.steps()));
  state.parts.push_back(state.parts[0]);
  state.step = 2000;
  CHECK(resumed(state) == "the state is damaged: it is at step 1000 of a plan of " + std::to_string(run.plan().steps.steps()));
  state = run.state();
  for (auto const& [step, pass] : {std::pair<std::uint64_t, std::uint64_t>{2, 0}, {4, 77}, {205, 2}, {1, 1}}) {
    state.step = step;
    state.pass = pass;
    CHECK(resumed(state) ==
          ballast::sentence("the state is damaged: it counts ", step - 1, " steps in its ", pass, " complete passes through 100 samples"));
  }
  state = run.state();
  state.parts[0].costs = {.measured = true, .per_unit = {{{1, 3}, {0, 1}, {0, 1}}}};
  CHECK(resumed(state) == "measured costs have a coefficient of 1 / 3");
  CHECK(refusal([&] { return run.recalibrate(state.parts[0].costs); }) == "measured costs have a coefficient of 1 / 3");
  state.parts[0].costs = {};
  state.parts[0].ranks = 0;
  CHECK(resumed(state) == "ranks = 0 must be in 1 ... 2^20 - 1");
  state.parts.clear();
  CHECK(resumed(state) == "the state has no parts");
  CHECK(run.hash() == hash);
}

TEST_CASE("training_run: a cost may tell samples of one length apart") {
  splitmix64 draw(8);
  auto const lengths = random_lengths(700, 500, draw);
  cost_by_sample same, other;
  for (auto const length : lengths) {
    same.of.push_back(modelled(length));
    other.of.push_back(1 + static_cast<std::int64_t>(draw() % 1'000'000));
  }
  auto o = options_for(4);
  o.data.steps.left_over = left_over::drop;
  run_type by_length(lengths, o, modelled);
  training_run by_sample(lengths, o, same), drawn(lengths, o, other);
  for (int step = 0; step < 5; ++step) {
    static_cast<void>(by_length.next());
    static_cast<void>(by_sample.next());
    static_cast<void>(drawn.next());
  }
  CHECK(by_sample.hash() == by_length.hash());
  CHECK(drawn.hash() != by_length.hash());
  CHECK(check_batching(drawn.plan().steps, lengths, o.data.steps, other).valid());

  o.data.steps.ranks = 3;
  training_run rest(lengths, o, same), rest_drawn(lengths, o, other);
  run_type rest_by_length(lengths, o, modelled);
  rest.resume(by_sample.state());
  rest_by_length.resume(by_length.state());
  rest_drawn.resume(drawn.state());
  CHECK(rest.hash() == rest_by_length.hash());
  std::int64_t cost = 0;
  for (auto const i : rest_drawn.plan().steps.packs.members) cost += other.of[i];
  CHECK(rest_drawn.plan().steps.cost == cost);
}

}  // namespace test_plan_training_run
