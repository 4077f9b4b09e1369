// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_plan_kinds {

namespace {

using namespace ballast_test;

TEST_CASE("plan --device of several kinds: every sample once, where it has room, and not slower than even shares", "[cli]") {
  scratch const in;
  std::vector<std::int64_t> lengths;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    lengths.push_back(i % 25 == 0 ? 7000 + i : 50 + 7 * (i % 90));
    text += std::to_string(lengths.back()) + "\n";
  }
  in.file("f", text);
  auto const o = in.ballast("plan f --capacity 8192 --device a100:2,v100:3:1024 --global-batch 6 --json");
  CAPTURE(o.out, o.err);
  REQUIRE(o.code == 0);
  auto const json = nlohmann::json::parse(o.out);
  std::vector<int> seen(lengths.size());
  for (auto const& step : json.at("micro_batches")) {
    REQUIRE(step.size() == 5);
    for (std::size_t r = 0; r < step.size(); ++r)
      for (auto const& micro_batch : step[r]) {
        std::int64_t tokens = 0;
        for (auto const& i : micro_batch) {
          ++seen[i.get<std::size_t>()];
          tokens += lengths[i.get<std::size_t>()];
        }
        CHECK(tokens <= (r < 2 ? 8192 : 1024));
      }
  }
  CHECK(seen == std::vector<int>(lengths.size(), 1));
  CHECK(json.at("lower_bound_ms") <= json.at("ms"));
  CHECK(json.at("ms") <= json.at("even_shares_ms"));
  CHECK(in.ballast("plan f --capacity 8192 --device a100:2,v100:3:1024 --global-batch 6 --json").out == o.out);
}

TEST_CASE("plan --device of several kinds refuses what it cannot use, in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "9\n");
  std::vector<std::pair<std::string, std::string>> const all{
      {"--device a100:2", "--capacity is required"},
      {"--capacity 8 --device a100:2,v100:3", "f:1: 9 exceeds the capacity 8; "},
      {"--capacity 10 --device a100:2,v100", "--device v100: expected a kind and its number of ranks, as in a100:8"},
      {"--capacity 10 --device a100:2,v1:3", "--device v1: expected one of v100, a100"},
      {"--capacity 10 --device a100:0", "--device 0: expected a whole number from 1"},
      {"--capacity 10 --device a100:2 --ranks 2", "--ranks: not with several kinds of --device"},
      {"--capacity 10 --device a100:2 --out x", "--out: not with several kinds of --device"},
      {"--capacity 10 --device a100:2 --stages 2", "--stages: not with several kinds of --device"},
      {"--capacity 10 --device a100:2 --oversize split", "--oversize: with several kinds of --device, reject or set-aside"},
      {"--capacity 10 --device a100:70000", "--device: at most 65,536 ranks are planned"}};
  for (auto const& [arguments, sentence] : all) {
    CAPTURE(arguments);
    check_refused(in.ballast("plan f " + arguments), sentence);
  }
}

}  // namespace

}  // namespace test_cli_plan_kinds
