// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/item_by_item.hpp"
#include "support/refusal.hpp"

#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/run_length.hpp>

namespace test_packing_expand {

using ballast_test::lengths_of_shape;
using ballast_test::refusal;

TEST_CASE("expand: the packs of best_fit_decreasing, serial and parallel", "[packing][property]") {
  auto const shape = GENERATE(0, 1, 2, 3, 4);
  auto const n = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{999}, std::size_t{150000});
  CAPTURE(shape, n);
  auto const lengths = lengths_of_shape(shape, n, 4090, 21);
  ballast::packing_options const options{.capacity = 4096, .max_samples = 20, .sample_multiple = 4};
  auto const plan = ballast::plan_best_fit_decreasing(ballast::fold(lengths), options);
  auto const packs = ballast::best_fit_decreasing(lengths, options).packs;
  CHECK(ballast::expand(plan, lengths) == packs);
  CHECK(ballast::expand(plan, lengths, ballast::threads{3}) == packs);
}

TEST_CASE("expand: a shuffle per epoch fills the same packs with other samples", "[packing][property]") {
  auto const lengths = lengths_of_shape(4, 2000, 500, 8);
  auto const plan = ballast::plan_best_fit_decreasing(ballast::fold(lengths), {.capacity = 512});
  auto const plain = ballast::expand(plan, lengths);
  auto const order = ballast::random_permutation(lengths.size(), 3);
  auto const shuffled = ballast::expand(plan, lengths, order);
  REQUIRE(shuffled.offsets == plain.offsets);
  CHECK(shuffled.members != plain.members);
  for (std::size_t m = 0; m < plain.members.size(); ++m) REQUIRE(lengths[shuffled.members[m]] == lengths[plain.members[m]]);
  auto seen = shuffled.members;
  std::sort(seen.begin(), seen.end());
  for (std::uint32_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == i);

  // The same as packing the samples in the shuffled order and naming them by their own index.
  std::vector<std::int64_t> reordered;
  for (auto i : order) reordered.push_back(lengths[i]);
  auto direct = ballast::best_fit_decreasing(reordered, {.capacity = 512}).packs;
  for (auto& m : direct.members) m = order[m];
  CHECK(shuffled == direct);
}

TEST_CASE("place: shards agree on one packing by adding their histograms", "[packing][property]") {
  auto const lengths = lengths_of_shape(1, 3000, 1024, 13);
  std::vector<std::size_t> const cuts{0, 700, 700, 1900, 3000};
  ballast::packing_options const options{.capacity = 1024, .sample_multiple = 2};
  ballast::histogram whole;
  std::vector<std::vector<std::int64_t>> shards;
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
    shards.emplace_back(lengths.begin() + static_cast<std::ptrdiff_t>(cuts[r]), lengths.begin() + static_cast<std::ptrdiff_t>(cuts[r + 1]));
    whole += ballast::fold(shards.back());
  }
  CHECK(whole == ballast::fold(lengths));
  auto const plan = ballast::plan_best_fit_decreasing(whole, options);
  auto const packs = ballast::best_fit_decreasing(lengths, options).packs;
  ballast::histogram before;
  for (std::size_t r = 0; r < shards.size(); ++r) {
    auto const places = ballast::place(plan, shards[r], before);
    for (std::size_t i = 0; i < places.size(); ++i) {
      REQUIRE(packs[places[i].pack][places[i].slot] == cuts[r] + i);
      REQUIRE(packs.members[places[i].member] == cuts[r] + i);
    }
    before += ballast::fold(shards[r]);
  }
}

TEST_CASE("expand and place refuse samples the plan was not made for", "[packing][error]") {
  auto const plan = ballast::plan_best_fit_decreasing({{3, 5}, {2, 1}}, {.capacity = 8});
  std::vector<int> const right{3, 5, 3}, longer{3, 5, 5}, far{3, 5, 9}, more{3, 3, 3, 5};
  CHECK(refusal([&] { return ballast::expand(plan, more); }) == "4 lengths, but the plan was made for 3 samples");
  CHECK(refusal([&] { return ballast::expand(plan, longer); }) == "lengths: 1 sample of 3 tokens, but the plan was made for 2");
  CHECK(refusal([&] { return ballast::expand(plan, far); }) == "lengths: one of 9 tokens, but the plan was made for packs of 8");
  CHECK(refusal([&] { return ballast::expand(plan, right, std::vector<std::uint32_t>{0, 1}); }) == "order has 2 entries for 3 samples");
  CHECK(refusal([&] { return ballast::expand(plan, right, std::vector<std::uint32_t>{0, 1, 1}); }) == "order[2] = 1 occurs twice");
  CHECK(refusal([&] { return ballast::expand(plan, right, std::vector<std::uint32_t>{0, 3, 1}); }) ==
        "order[1] = 3 is not the index of a sample");
  CHECK(refusal([&] { return ballast::place(plan, std::vector<int>{4}); }) == "the plan was made without samples of 4 tokens");
  CHECK(refusal([&] { return ballast::place(plan, more); }) == "more samples of 3 tokens than the plan was made for");
  CHECK(refusal([&] { return ballast::place(plan, std::vector<int>{5}, {{5}, {1}}); }) ==
        "more samples of 5 tokens than the plan was made for");
  CHECK(refusal([&] { return ballast::place(plan, std::vector<int>{5}, {{3}, {}}); }) == "histogram: 1 length but 0 counts");
  CHECK(refusal([&] { return ballast::place(plan, std::vector<int>{5}, {{5, 3}, {1, 1}}); }) ==
        "histogram.lengths[1] = 3 must be above its predecessor");
}

}  // namespace test_packing_expand
