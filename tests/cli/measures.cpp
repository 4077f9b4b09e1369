// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <cmath>

namespace test_cli_measures {

using namespace ballast_test;

namespace {

/// Rows of tokens and tiles; every fifth sample is text alone.
std::string rows(std::size_t samples) {
  ballast::splitmix64 draw(7);
  std::string text;
  for (std::size_t i = 0; i < samples; ++i) {
    auto const tiles = i % 5 == 0 ? 0 : 1 + ballast::uniform_below(5, draw);
    auto const words = 30 + ballast::uniform_below(400, draw);
    text += std::to_string(256 * tiles + words) + " " + std::to_string(tiles) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("pack takes several measures under every strategy, and check finds the packing valid", "[cli]") {
  scratch const in;
  in.file("f", rows(2000));
  for (std::string const strategy : {"", "auto", "portfolio", "isf", "completion", "vector-best-fit", "near-optimal"}) {
    CAPTURE(strategy);
    auto const asked = strategy.empty() ? std::string() : " --strategy " + strategy;
    auto const o = in.ballast("pack f --columns 2,1 --capacity 9,4096 --out plan --json" + asked);
    REQUIRE(o.code == 0);
    auto const json = nlohmann::json::parse(o.out);
    CHECK(json["samples"] == 2000);
    CHECK(json["capacity"] == std::vector<int>{9, 4096});
    CHECK(json["strategy"] == (strategy.empty() ? "auto" : strategy));
    CHECK(json["packs"] >= json["lower_bound"]);
    CHECK(json["naive"]["packs"] >= json["packs"]);
    CHECK(json["fill"].size() == 2);
    CHECK(std::llround(json["fill"][0].get<double>() * json["packs"].get<double>() * 9) == json["totals"][0].get<long long>());
    CHECK(json.count("rank_dist") == 0);
    auto const checked = in.ballast("check plan f --columns 2,1 --capacity 9,4096 --json");
    REQUIRE(checked.code == 0);
    CHECK(nlohmann::json::parse(checked.out)["hash"] == json["hash"]);
    CHECK(in.ballast("check plan f --columns 2,1 --capacity 8,4096").code == 2);
    CHECK(nlohmann::json::parse(read_whole(in / "plan/plan.json"))["packs"] == json["packs"]);
  }
}

TEST_CASE("pack --ranks orders packs into level steps and loses none", "[cli]") {
  scratch const in;
  in.file("f", rows(3000));
  auto const pack = [&](std::string const& more) {
    return nlohmann::json::parse(in.ballast("pack f --columns 2,1 --capacity 9,4096 --json --strategy completion" + more).out);
  };
  auto const plain = pack(""), ordered = pack(" --ranks 8 --out plan");
  CHECK(plain["packs"] == ordered["packs"]);
  CHECK(plain["hash"] != ordered["hash"]);
  REQUIRE(ordered["rank_dist"].size() == 2);
  for (auto const& d : ordered["rank_dist"]) CHECK((d >= 0.0 && d < 0.1));
  CHECK(in.ballast("check plan f --columns 2,1 --capacity 9,4096").code == 0);
  auto const one = nlohmann::json::parse(in.ballast("pack f --columns 1 --capacity 4096 --ranks 4 --json").out);
  REQUIRE(one["rank_dist"].size() == 1);
  CHECK(one["rank_dist"][0] < 0.05);
}

TEST_CASE("samples of several measures that exceed a capacity are refused or listed", "[cli]") {
  scratch const in;
  in.file("f", "100 1\n5000 2\n100 12\n90 0\n");
  CHECK(in.ballast("pack f --columns 2,1 --capacity 9,4096").err ==
        "f:2: 5000 exceeds the capacity 4096; --oversize set-aside or own says what to do with it\n");
  auto const aside = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize set-aside --json");
  REQUIRE(aside.code == 0);
  CHECK(nlohmann::json::parse(aside.out)["set_aside"] == std::vector<int>{1, 2});
  auto const own = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize own --json");
  CHECK(nlohmann::json::parse(own.out)["packs"] == 3);
  auto const cut = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize truncate");
  CHECK(cut.code == 2);
  CHECK(cut.err.find("not cut") != std::string::npos);
  in.file("zero", "100 1\n0 0\n");
  CHECK(in.ballast("pack zero --columns 2,1 --capacity 9,4096").err == "zero:2: every measure is 0; a sample needs one that is not\n");
}

TEST_CASE("capacities are chosen and listed", "[cli]") {
  scratch const in;
  in.file("f", rows(2000));
  auto const o = in.ballast("capacities f --columns 2,1 --json");
  REQUIRE(o.code == 0);
  auto const json = nlohmann::json::parse(o.out);
  REQUIRE(json["capacity"].size() == 2);
  CHECK(json["trials"].size() >= 1);
  auto const chosen = std::to_string(json["capacity"][0].get<int>()) + "," + std::to_string(json["capacity"][1].get<int>());
  CHECK(in.ballast("pack f --columns 2,1 --capacity " + chosen).code == 0);
  CHECK(in.ballast("capacities f --columns 1").err.find("two measures") != std::string::npos);
}

}  // namespace test_cli_measures
