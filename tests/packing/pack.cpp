// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/pack.hpp>

#include <ballast/packing/check.hpp>

#include "support/catch.hpp"
#include "support/item_by_item.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace test_packing_pack {

using ballast::search_limits;

TEST_CASE("pack: every plan is legal, certified and no worse than best fit decreasing") {
  for (int shape = 0; shape < 5; ++shape)
    for (std::uint64_t const multiple : {1U, 8U}) {
      CAPTURE(shape, multiple);
      auto const lengths = ballast_test::lengths_of_shape(shape, 300, 4096, 31);
      ballast::packing_options const options{.capacity = 4096, .pack_count_multiple = multiple};
      auto const plan = ballast::pack(lengths, options, search_limits{});
      CHECK(ballast::describe(ballast::check_packing(plan, lengths, options)) == "valid");
      CHECK(plan.count.value <= ballast::best_fit_decreasing(lengths, options).count.value);
    }
}

TEST_CASE("pack: what progress throws leaves the plan as it was, and the workspace fit for the next call") {
  ballast::splitmix64 draw(5);
  std::vector<std::int64_t> lengths(300);  // best fit wastes 6 %
  for (auto& l : lengths) l = 820 + static_cast<std::int64_t>(ballast::uniform_below(1228, draw));
  lengths.push_back(5000);
  ballast::packing_workspace<> workspace;
  ballast::packing<> out, plan, fresh;
  std::vector<std::int64_t> const before{7, 8, 9, 20, 5};
  ballast::pack(before, {.capacity = 10, .oversize = ballast::oversize::split}, ballast::token_cost{}, {}, workspace, out);
  REQUIRE((!out.pieces.empty() && out.set_aside.empty()));
  auto const kept = out;
  int calls = 0, last = 1000;
  auto const ends = [&](std::uint64_t, std::uint64_t) {
    if (++calls == last) throw std::runtime_error("enough");
  };
  ballast::packing_options const options{.capacity = 4096, .oversize = ballast::oversize::set_aside};
  search_limits const limits{.work = 10'000'000, .progress = ends};
  ballast::packing_workspace<> other;
  ballast::pack(lengths, options, ballast::token_cost{}, limits, other, fresh);
  REQUIRE(calls > 2);
  for (last = 1; last <= 3; ++last) {
    calls = 0;
    CHECK_THROWS_AS(ballast::pack(lengths, options, ballast::token_cost{}, limits, workspace, out), std::runtime_error);
    CHECK(out == kept);
  }
  ballast::pack(lengths, options, ballast::token_cost{}, {.work = 10'000'000}, workspace, plan);
  CHECK(plan == fresh);
}

TEST_CASE("pack: without limits it is best fit decreasing, with any cost") {
  auto const lengths = ballast_test::lengths_of_shape(2, 300, 4096, 31);
  for (std::uint64_t const multiple : {1U, 8U}) {
    ballast::packing_options const options{.capacity = 4096, .pack_count_multiple = multiple};
    CHECK(ballast::pack(lengths, options) == ballast::best_fit_decreasing(lengths, options));
  }
  ballast::quadratic_cost const cost{.linear = 10, .quadratic = 1};
  ballast::packing_options const budget{.capacity = 2 * cost(4096)};
  CHECK(ballast::pack<std::uint64_t>(lengths, budget, cost) == ballast::best_fit_decreasing<std::uint64_t>(lengths, budget, cost));
}

TEST_CASE("pack: best fit decreasing where that is proven good, and a better plan where it is not") {
  auto const long_tailed = ballast_test::lengths_of_shape(1, 3000, 4096, 7);
  ballast::packing_options const options{.capacity = 4096};
  auto const fast = ballast::pack(long_tailed, options, search_limits{});
  auto const best_fit = ballast::best_fit_decreasing(long_tailed, options);
  REQUIRE(best_fit.count.gap() <= ballast::pack_gap);
  CHECK(fast.packs == best_fit.packs);

  ballast::splitmix64 draw(5);
  std::vector<std::int64_t> uniform(1000);  // between a fifth and a half of the capacity: best fit wastes 6 %
  for (auto& l : uniform) l = 820 + static_cast<std::int64_t>(ballast::uniform_below(1228, draw));
  auto const plan = ballast::pack(uniform, options, search_limits{});
  CHECK(ballast::check_packing(plan, uniform, options).valid());
  CHECK(plan.complete);
  CHECK(100 * plan.count.value <= 96 * ballast::best_fit_decreasing(uniform, options).count.value);
  CHECK(plan.count.value <= plan.count.lower_bound + 1);
  CHECK(ballast::pack(uniform, options, search_limits{}).packs == plan.packs);

  auto const demanded = static_cast<std::uint64_t>(plan.count.value);  // a number of packs that best fit does not reach
  ballast::packing_options const exact{.capacity = 4096, .pack_count = demanded};
  CHECK(ballast::best_fit_decreasing(uniform, exact).status == ballast::status::unknown);
  auto const met = ballast::pack(uniform, exact, search_limits{});
  CHECK(met.status == ballast::status::feasible);
  CHECK(ballast::check_packing(met, uniform, exact).valid());

  // Limits are caps: more of them change nothing, less of them end the search sooner.
  CHECK(ballast::pack(uniform, options, search_limits{.work = 1'000'000'000'000}) == plan);
  CHECK(ballast::pack(uniform, options, search_limits{.gap = 1}) == ballast::best_fit_decreasing(uniform, options));
  CHECK(ballast::pack(uniform, options, search_limits{.work = 0}).packs == ballast::best_fit_decreasing(uniform, options).packs);
  std::stop_source source;
  source.request_stop();
  CHECK_FALSE(ballast::pack(uniform, options, search_limits{.stop = source.get_token()}).complete);

  ballast::packing_workspace<> workspace;  // used again, whatever it was used for
  ballast::packing<> out;
  for (int round = 0; round < 2; ++round) {
    ballast::pack(long_tailed, options, ballast::token_cost{}, {}, workspace, out);
    CHECK(out == fast);
    ballast::pack(uniform, options, ballast::token_cost{}, {}, workspace, out);
    CHECK(out == plan);
  }
}

TEST_CASE("pack: a histogram counts the packs of its samples, under every policy") {
  ballast::splitmix64 draw(11);
  for (int round = 0; round < 24; ++round) {
    CAPTURE(round);
    std::vector<std::int64_t> lengths(200);
    for (auto& l : lengths) l = 150 + static_cast<std::int64_t>(ballast::uniform_below(round % 2 == 0 ? 400 : 1000, draw));
    ballast::packing_options o{.capacity = 1000};
    o.oversize = std::array{ballast::oversize::set_aside, ballast::oversize::truncate, ballast::oversize::split,
                            ballast::oversize::alone}[static_cast<std::size_t>(round) / 2 % 4];
    if (round % 3 == 0) o.pack_count_multiple = 8;
    if (round % 5 == 0) o.max_samples = 3;
    if (round % 7 == 0) o.sample_multiple = 16;
    auto const h = ballast::fold(lengths);
    auto const same = [&](auto const& plan, ballast::pack_tally const& tally) {
      CHECK(tally.status == plan.status);
      CHECK(tally.count == plan.count);
      CHECK(tally.tokens == plan.tokens);
      CHECK(tally.set_aside == plan.set_aside.size());
    };
    same(ballast::pack(lengths, o), ballast::count_packs(h, o));
    same(ballast::pack(lengths, o, search_limits{}), ballast::count_packs(h, o, search_limits{}));
    same(ballast::near_optimal(lengths, o, {.work = 20'000'000}), ballast::count_near_optimal(h, o, {.work = 20'000'000}));
  }
}

TEST_CASE("pack: a weight of any kind") {
  ballast::quadratic_cost const cost{.linear = 10, .quadratic = 1};
  std::vector<short> const lengths{10, 20, 30, 5, 5};
  ballast::packing_options const options{.capacity = cost(30)};
  auto const plan = ballast::pack<std::uint64_t>(lengths, options, cost, search_limits{});
  CHECK(ballast::check_packing(plan, lengths, options, cost).valid());
  CHECK(plan.count.optimal());
}

TEST_CASE("pack: the known packs of published traces") {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    WARN("BALLAST_TRACES is not set: the traces are not checked");
    return;
  }
  auto const most = [&](std::string const& name, bool sum, std::int64_t capacity) {
    std::ifstream in(std::string(folder) + "/" + name);
    REQUIRE(in.good());
    std::vector<std::int64_t> lengths;
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::int64_t a = 0, b = 0;
      fields >> a >> b;
      lengths.push_back((std::min)(capacity, sum ? a + b : a));
    }
    return ballast::pack(lengths, {.capacity = capacity}, search_limits{}).count.value;
  };
  // Best-fit decreasing needs 20215, 9927, 2455, 10215 and 2633 where its plan is not optimal.
  CHECK(most("omnibal_vlm_sft.txt", false, 2048) == 52128);  // proven optimal
  CHECK(most("omnibal_vlm_sft.txt", false, 4096) <= 19602);
  CHECK(most("omnibal_vlm_sft.txt", false, 8192) <= 9801);
  CHECK(most("omnibal_vlm_sft.txt", false, 32768) <= 2454);
  CHECK(most("mooncake_fast25_conversation.txt", true, 131072) == 1137);  // proven optimal
  CHECK(most("arxiv_summarization_llama2.txt", true, 4096) == 23136);     // proven optimal
  CHECK(most("arxiv_summarization_llama2.txt", true, 8192) <= 9981);
  CHECK(most("gsm8k_train_approx.txt", true, 512) <= 2577);
}

}  // namespace test_packing_pack
