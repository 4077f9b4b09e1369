// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/run_state.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_plan_run_state {

namespace {
using namespace ballast;
using namespace ballast_test;
}  // namespace

TEST_CASE("run_state: words and back, and words of nothing else") {
  run_state state{.fingerprint = 3, .step = 40, .pass = 2, .parts = {{.steps = 4, .ranks = 8, .micro_batches = 2, .costs = {}}}};
  state.parts.push_back({.steps = 1, .ranks = 6, .micro_batches = 3, .costs = {true, {{{0, 1}, {5, 1024}, {7, 2}}}, 70, 90}});
  auto words = state.words();
  REQUIRE(words.size() == 29);
  CHECK(run_state::from_words(words) == state);
  auto const read = [](std::vector<std::uint64_t> const& from) { return refusal([&] { return run_state::from_words(from).step; }); };
  CHECK(read({}) ==
        "a state of 0 integers is not one of a training run: it has 5, and 12 for each of its parts; give all that the run wrote, or an "
        "older state");
  CHECK(read({1, 2, 3, 0, 0}) ==
        "a state of 5 integers is not one of a training run: it has 5, and 12 for each of its parts; give all that the run wrote, or an "
        "older state");
  words[9] = 0;
  CHECK(read(words) == "the state is damaged: its last integer is no digest of the others; give an older state");
  words.pop_back();
  CHECK(read(words) ==
        "a state of 28 integers is not one of a training run: it has 5, and 12 for each of its parts; give all that the run wrote, or an "
        "older state");
}

TEST_CASE("run_state: no bit can be changed and no integer lost") {
  run_state state{.fingerprint = 3, .step = 40, .pass = 2, .parts = {{.steps = 4, .ranks = 8, .micro_batches = 2, .costs = {}}}};
  state.parts.push_back({.steps = 1, .ranks = 6, .micro_batches = 3, .costs = {true, {{{0, 1}, {5, 1024}, {7, 2}}}, 70, 90}});
  auto const words = state.words();
  for (std::size_t bit = 0; bit < 64 * words.size(); ++bit) {
    auto flipped = words;
    flipped[bit / 64] ^= std::uint64_t{1} << bit % 64;
    CHECK(refusal([&] { return run_state::from_words(flipped).step; }).ends_with(" an older state"));
  }
  for (std::size_t n = 0; n < words.size(); ++n)
    CHECK(refusal([&] { return run_state::from_words(std::span(words).first(n)).step; }).ends_with(" an older state"));
}

TEST_CASE("run_costs: words and back, and words of nothing else") {
  run_costs const costs{true, {{{3, 1}, {5, 1024}, {7, 2}}}, 70, 90};
  auto const words = costs.words();
  CHECK(run_costs::from_words(words) == costs);
  auto const read = [](auto from, std::size_t at, std::uint64_t word) {
    from[at] = word;
    return refusal([&] { return run_costs::from_words(from).per_step; });
  };
  CHECK(read(words, 0, std::uint64_t{1} << 32) == "measured costs have a coefficient of 4294967296 / 1");
  CHECK(read(words, 3, 1023) == "measured costs have a coefficient of 5 / 1023");
  CHECK(read(words, 7, std::uint64_t{1} << 63) == "measured costs have a negative time");
  CHECK(read(std::vector<std::uint64_t>(9, 1), 0, 1) == "9 integers are not measured costs of a training run: these are 8");
}

}  // namespace test_plan_run_state
