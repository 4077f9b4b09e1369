// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"

#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sample_time.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

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

TEST_CASE("pack --ranks --model orders by modelled time, and says what ranks wait", "[cli]") {
  scratch const in;
  in.file("f", in.ballast("generate --like reasoning-rollouts --samples 4000 --seed 1").out);
  auto const read = [&](std::string const& name, std::size_t bytes) {  // a little-endian array that the program wrote
    auto const file = read_whole(in / name);
    std::vector<std::uint64_t> out;
    for (auto at = std::size_t{128}; at < file.size(); at += bytes) {
      out.push_back(0);
      std::memcpy(&out.back(), file.data() + at, bytes);
    }
    return out;
  };
  std::vector<std::int64_t> lengths;
  auto const text = read_whole(in / "f");
  for (auto const* at = text.c_str(); *at != 0;) {
    char* end = nullptr;
    lengths.push_back(std::strtoll(at, &end, 10));
    lengths.back() = std::min(lengths.back() + std::strtoll(end, &end, 10), 16384LL);
    at = end + 1;
  }
  auto const& h100 = ballast::device_named("h100");
  auto const cost =
      ballast::sample_time(ballast::transformer_preset("gpt2-xl"), h100, {.rates = ballast::kernels_for(h100)}, {}, {.capacity = 16384})
          .tokens;
  auto const idle_of = [&](std::string const& folder) {
    auto const offsets = read(folder + "/offsets.npy", 8), members = read(folder + "/members.npy", 4);
    std::vector<std::int64_t> loads;
    for (std::size_t p = 0; p < (offsets.size() - 1) / 8 * 8; ++p) {
      loads.push_back(0);
      for (auto k = offsets[p]; k < offsets[p + 1]; ++k) loads.back() += cost(lengths[members[k]]);
    }
    return ballast::balance_of_steps(loads, 8).idle();
  };
  std::string const pack = "pack f --columns 1+2 --capacity 16384 --oversize truncate --ranks 8 --out ";
  auto const by_tokens = in.ballast(pack + "tokens"), by_time = in.ballast(pack + "time --json --model gpt2-xl");
  auto const json = nlohmann::json::parse(by_time.out);
  CHECK(json["model"] == "gpt2-xl");
  CHECK(std::fabs(json["modelled_idle"].get<double>() - idle_of("time")) < 1e-12);
  CHECK(idle_of("time") < 0.5 * idle_of("tokens"));
  CHECK(by_tokens.out.find("Ordered for 8 ranks by tokens: on average a rank would wait ") != std::string::npos);
  CHECK(in.ballast("check time f --columns 1+2 --capacity 16384 --oversize truncate").code == 0);
  CHECK(nlohmann::json::parse(read_whole(in / "time/plan.json"))["modelled_idle"] == json["modelled_idle"]);
  auto const aside = in.ballast("pack f --columns 1+2 --capacity 16384 --oversize set-aside --ranks 8 --model gpt2-xl").out;
  CHECK(aside.find("Ordered for 8 ranks by the modelled time of gpt2-xl: ranks wait ") != std::string::npos);

  in.file("long", "3000000000\n");
  std::pair<std::string, std::string> const refused[] = {
      {"pack f --columns 1+2 --capacity 99999 --model gpt2-xl", "--model requires --ranks"},
      {"pack f --columns 1+2 --capacity 99999 --ranks 2 --model ''", "--model an empty field: expected a value"},
      {"pack f --columns 1+2 --capacity 99999 --ranks 2 --model gpt-9", "--model gpt-9: there is no such file or preset; "},
      {"pack f --columns 1,2 --capacity 99999,99999 --ranks 2 --model gpt2-xl", "--model weighs lengths, and is not for several measures"},
      {"pack long --capacity 3000000000 --ranks 1 --model gpt2-xl", "--model gpt2-xl: the modelled times of these samples add up to more"},
  };
  for (auto const& [arguments, sentence] : refused) {
    auto const o = in.ballast(arguments);
    CAPTURE(arguments, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(sentence) == 0);
  }
}

TEST_CASE("samples of several measures that exceed a capacity are refused or listed", "[cli]") {
  scratch const in;
  in.file("f", "100 1\n5000 2\n100 12\n90 0\n");
  CHECK(in.ballast("pack f --columns 2,1 --capacity 9,4096").err ==
        "f:2: 5000 exceeds the capacity 4096; --oversize set-aside or alone says what to do with it\n");
  auto const aside = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize set-aside --json");
  REQUIRE(aside.code == 0);
  CHECK(nlohmann::json::parse(aside.out)["set_aside"] == std::vector<int>{1, 2});
  auto const own = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize alone --json");
  CHECK(nlohmann::json::parse(own.out)["packs"] == 3);
  auto const cut = in.ballast("pack f --columns 2,1 --capacity 9,4096 --oversize truncate");
  CHECK(cut.code == 2);
  CHECK(cut.err.find("not cut") != std::string::npos);
  in.file("zero", "100 1\n0 0\n");
  CHECK(in.ballast("pack zero --columns 2,1 --capacity 9,4096").err ==
        "zero:2: every measure is 0; a sample needs one that is not; --zero-length skip leaves such rows out\n");
}

TEST_CASE("plan takes several measures of any form, and check finds its folder valid", "[cli]") {
  scratch const in;
  in.file("f", rows(1500));
  std::string csv = "text,images\n", lines, array = "[";
  auto const text = read_whole(in / "f");
  for (auto const* at = text.c_str(); *at != 0;) {
    char* end = nullptr;
    auto const tokens = std::to_string(std::strtoll(at, &end, 10)), tiles = std::to_string(std::strtoll(end, &end, 10));
    csv += tokens + "," + tiles + "\n";
    lines += "{\"images\": " + tiles + ", \"text\": " + tokens + "}\n";
    array += (array == "[" ? "" : ", ") + ("{\"images\": " + tiles + ", \"text\": " + tokens + "}");
    at = end + 1;
  }
  in.file("csv", csv);
  in.file("jsonl", lines);
  in.file("json", array + "]");
  auto const plan = [&](std::string const& file, std::string const& columns, std::string const& more = "") {
    auto const o = in.ballast("plan " + file + " --columns " + columns + " --capacity 9,4096 --ranks 4 --out plan --json" + more);
    CAPTURE(file, o.err);
    REQUIRE(o.code == 0);
    auto const checked = in.ballast("check plan " + file + " --columns " + columns + " --capacity 9,4096 --json");
    CAPTURE(checked.err);
    CHECK(checked.code == 0);
    return nlohmann::json::parse(figures(o.out) + "}");
  };
  auto const json = plan("f", "2,1");
  CHECK(json["capacity"] == std::vector<int>{9, 4096});
  CHECK(json["samples"] == 1500);
  CHECK(json["packs"] >= json["lower_bound"]);
  REQUIRE(json["fill"].size() == 2);
  CHECK(json["fill"][0] > 0.8);
  CHECK(json["usual"]["dist"].size() == 2);
  for (auto const& [file, columns] : {std::pair{"csv", "images,text"}, {"jsonl", "images,text"}, {"json", "images,text"}})
    CHECK(plan(file, columns) == json);
  auto const images = plan("f", "2,1", " --model internvl-chat-1.5");
  CHECK(images["idle"] < 0.02);
  CHECK(images["idle"] < images["usual"]["idle"].get<double>() / 3);
  CHECK(images["hash"] != json["hash"]);  // balanced by another cost
  auto const page = read_whole(in / "plan/report.html");
  CHECK(page.find("packs hold") != std::string::npos);
}

TEST_CASE("plan gives ranks nearly the same of each measure, which a plan by cost alone does not", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(8);
  std::string text;  // six samples in ten are text alone, and only the tokens fill a pack
  for (int i = 0; i < 6000; ++i) {
    auto const images = draw() % 10 < 6 ? 0 : 256 * (1 + ballast::uniform_below(draw() % 5 == 0 ? 20 : 4, draw));
    text += std::to_string(images) + " " + std::to_string(images + 10 + ballast::uniform_below(draw() % 6 == 0 ? 3000 : 400, draw)) + "\n";
  }
  in.file("f", text);
  auto const plan = nlohmann::json::parse(in.ballast("plan f --columns 1,2 --capacity 16384,16384 --ranks 8 --json").out);
  CHECK(plan["dist"][0] < 0.02);
  CHECK(plan["dist"][1] < 0.01);
  CHECK(plan["usual"]["dist"][0] > 0.25);
  CHECK(plan["idle"] < 0.03);
}

TEST_CASE("plan --stages plans tower, projector and language model, and frozen parts take less", "[cli]") {
  scratch const in;
  in.file("f", rows(1500));
  std::string const command = "plan f --columns 2,1 --capacity 9,4096 --ranks 4 --micro-batches 8 --stages 4 --tp 4 --zero 1 --model ";
  auto const run = [&](std::string const& more) {
    auto const o = in.ballast(command + more + " --json");
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out);
  };
  auto const all = run("internvl-chat-1.5");
  CHECK(all["model_plan"]["boundaries"].back() == 97);
  auto const has_layout = [](nlohmann::json const& of) {  // Megatron-LM runs 47 layers of the tower, and the embedding, in the first stage
    return (of["model_plan"]["megatron"] != "") == (of["model_plan"]["boundaries"][1] > 47);
  };
  CHECK(has_layout(all));
  CHECK(all["modelled_step_ms"] < all["usual"]["modelled_step_ms"]);
  CHECK(all["model_plan"]["setting"].count("freeze") == 0);
  auto const frozen = run("internvl-chat-1.5 --freeze vision,projector");
  CHECK(frozen["model_plan"]["setting"]["freeze"] == std::vector<std::string>{"vision", "projector"});
  CHECK(has_layout(frozen));
  CHECK(frozen["modelled_step_ms"] < 0.8 * all["modelled_step_ms"].get<double>());
  CHECK(in.ballast(command + "internvl-chat-1.5 --freeze vision").out.find(", vision frozen, ") != std::string::npos);
}

TEST_CASE("stats describes each of several measures", "[cli]") {
  scratch const in;
  in.file("f", "700 2\n30 0\n300 1\n300 1\n");
  auto const json = nlohmann::json::parse(in.ballast("stats f --columns 2,1 --json").out);
  CHECK(json["samples"] == 4);
  REQUIRE(json["measures"].size() == 2);
  nlohmann::json const tiles{{"sum", 4}, {"min", 0},   {"mean", 1.0}, {"p50", 1},     {"p90", 2},
                             {"p99", 2}, {"p99.9", 2}, {"max", 2},    {"distinct", 3}};
  for (auto const& [name, value] : tiles.items()) CHECK(json["measures"][0][name] == value);
  CHECK(json["measures"][1]["sum"] == 1330);
  CHECK(in.ballast("stats f --columns 2,1").out.find("max                    2           700\n") != std::string::npos);
}

TEST_CASE("what several measures cannot have is refused in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "700 2\n30 0\n300 1\n300 1\n");
  in.file("long", "700 2\n5000 1\n");
  in.file("none", "700 2\n0 1\n");
  in.file("j", "[{\"n\": 0, \"m\": 0}]");
  in.file("k", "[{\"n\": -1, \"m\": 0}]");
  std::pair<std::string, std::string> const refused[] = {
      {"f --columns 2,1 --capacity 4096 --ranks 2", "--capacity 4096: expected one capacity for each of 2 measures; "},
      {"f --columns 1 --capacity 9,4096 --ranks 2", "--capacity 9,4096: expected one capacity for each of 1 measure; "},
      {"f --columns 2,1 --capacity 9,x --ranks 2", "--capacity x: expected a whole number"},
      {"long --columns 2,1 --capacity 9,4096 --ranks 2", "long:2: 5000 exceeds the capacity 4096; --oversize set-aside says what"},
      {"none --columns 2,1 --capacity 9,4096 --ranks 2", "none:2: 0 tokens; the last measure of a plan is tokens"},
      {"f --columns 2,1 --capacity 9,4096 --ranks 2 --oversize truncate", "--oversize truncate: samples of several measures are not cut"},
      {"f --columns 2,1 --capacity 9,4096 --ranks 2 --least-fill 0.9", "--least-fill is for one measure"},
      {"f --columns 2,1,1 --capacity 9,999,4096 --ranks 2 --model llava-1.5-7b", "--model llava-1.5-7b: reads images, so samples have two"},
      {"f --columns 2,1 --capacity 9,4096 --ranks 2 --freeze vision", "--freeze: llama-3.1-8b has no vision tower or projector"},
      {"f --columns 1 --capacity 4096 --ranks 2 --model llava-1.5-7b --freeze vision", "--freeze: these samples have no images; "},
      {"f --columns 2,1 --capacity 9,4096 --ranks 2 --model llava-1.5-7b --freeze tower", "--freeze tower: expected one of vision, proj"},
      {"f --columns 2,1 --capacity 4096 --gpus 2 --levels auto", "plan --levels takes one length a sample, not 2 measures"},
      {"f --columns 2,1 --capacity 9,4096 --ranks 2 --model gpt-9", "--model gpt-9: there is no such file or preset; "},
      {"j --columns n,m --capacity 5,5 --ranks 1", "j: entry 1: every measure is 0"},
      {"k --columns n,m --capacity 5,5 --ranks 1", "k: entry 1: -1 is not a measure"},
  };
  for (auto const& [arguments, sentence] : refused) {
    auto const o = in.ballast("plan " + arguments);
    CAPTURE(arguments, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(sentence) == 0);
  }
  auto const aside = in.ballast("plan long --columns 2,1 --capacity 9,4096 --ranks 1 --oversize set-aside --json");
  REQUIRE(aside.code == 0);
  CHECK(nlohmann::json::parse(aside.out)["set_aside"] == std::vector<int>{1});
  CHECK(
      in.ballast("pack f --columns 1 --capacity 4096 --ranks 1 --model llava-1.5-7b").out.find("time of llava-1.5-7b (its language mod") !=
      std::string::npos);
  CHECK(
      in.ballast("levels f --columns 1 --max-length 4096 --gpus 8 --model llava-1.5-7b").out.find("; llava-1.5-7b (its language model)") !=
      std::string::npos);
  CHECK(
      in.ballast("plan f --columns 1 --capacity 4096 --ranks 1 --model qwen2.5-vl-7b").out.find("qwen2.5-vl-7b (its language model) on") !=
      std::string::npos);
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
