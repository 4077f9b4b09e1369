// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace test_cli_degree_choice {

using namespace ballast_test;

namespace {

std::string lengths() {
  std::string text;
  for (int i = 0; i < (sanitized ? 300 : 3000); ++i) text += std::to_string(1 + 4000 * 20 / (20 + i * 7919 % 400)) + "\n";
  return text;
}

}  // namespace

TEST_CASE("plan --gpus: the settings are ranked, fit, and the first is planned", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const o = in.ballast("plan f --capacity 8192 --gpus 8 --global-batch 24 --memory 60Gi --head-loss fused --json");
  REQUIRE(o.code == 0);
  auto const json = nlohmann::json::parse(o.out);
  auto const& search = json["search"];
  CHECK(search["gpus"] == 8);
  CHECK(search["settings"] == search["excluded"].get<int>() + search["unfit"].get<int>() + search["planned"].get<int>());
  auto const& ranked = json["ranked"];
  REQUIRE(ranked.size() == 10);
  double last = 0;
  for (auto const& r : ranked) {
    CHECK(r["tensor"].get<int>() * r["stages"].get<int>() * r["context"].get<int>() * r["ranks"].get<int>() == 8);
    CHECK(r["packs_per_micro_batch"].get<int>() * r["micro_batches"].get<int>() * r["ranks"].get<int>() == 24);
    CHECK(r["modelled_ms"].get<double>() >= last);
    CHECK(r["mean_step_ms"] >= search["mean_step_ms"]);
    CHECK(r["memory"].size() == r["stages"]);
    for (auto const& bytes : r["memory"]) CHECK(bytes.get<std::int64_t>() <= std::int64_t{60} << 30);
    CHECK(r["limits"].contains("largest_loss"));
    last = r["modelled_ms"].get<double>();
  }
  auto const& first = ranked[0];
  CHECK(json["ranks"] == first["ranks"]);
  CHECK(json["micro_batches"] == first["micro_batches"]);
  CHECK(json["capacity"] == 8192 * first["packs_per_micro_batch"].get<int>());
  CHECK(json["model_plan"]["setting"]["tensor"] == first["tensor"]);
  CHECK(json["model_plan"]["setting"]["zero"] == first["zero"]);
  CHECK(json["model_plan"]["memory"].size() == first["stages"]);

  auto const words = in.ballast("plan f --capacity 8192 --gpus 4 --tp 1 --cp 1 --head-loss fused");
  CHECK(words.out.find("\nThe first is planned for all of the data:\n") != std::string::npos);
  CHECK(words.out.find(" settings of 4 GPUs: ") != std::string::npos);
}

TEST_CASE("plan --gpus: a step has the packs of --global-batch, or a sentence says that it has more", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const common = std::string("plan f --capacity 4096 --gpus 4 --head-loss fused --global-batch 13 ");
  auto const json = nlohmann::json::parse(in.ballast(common + "--json").out);
  CHECK(json["search"]["indivisible"] > 0);
  CHECK(json["search"]["per_pack"] == false);
  for (auto const& r : json["ranked"])
    CHECK(r["packs_per_micro_batch"].get<int>() * r["micro_batches"].get<int>() * r["ranks"].get<int>() == 13);
  auto const words = in.ballast(common).out;
  CHECK(words.find(" whose ranks and micro-batches do not divide the packs of --global-batch. With micro-batches") != std::string::npos);
  // few samples may be planned in more micro-batches that are less full
  CHECK(words.find(sanitized ? " --global-batch-size " : " --global-batch-size 13\n") != std::string::npos);
  auto const none = in.ballast(common + "--tp 1 --cp 1 --stages 1").out;
  CHECK(none.find(" planned. None divides the packs of --global-batch: each takes the next number") != std::string::npos);
}

TEST_CASE("plan --gpus: options fix what is searched", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const ranked = [&](std::string const& more) {
    auto const o = in.ballast("plan f --capacity 4096 --gpus 8 --head-loss fused --json " + more);
    CAPTURE(more, o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out)["ranked"];
  };
  for (auto const& r : ranked("--tp 2 --stages 2 --schedule zb1p,1f1b --oversize truncate")) {
    CHECK(r["tensor"] == 2);
    CHECK(r["stages"] == 2);
    CHECK((r["schedule"] == "zb1p" || r["schedule"] == "1f1b"));
    CHECK(r["packs_per_micro_batch"] == 1);
  }
  for (auto const& r : ranked("--cp 2 --zero 3 --stages 1 --model qwen3-30b-a3b --ep 8 --optimizer adam-8bit")) {
    CHECK(r["context"] == 2);
    CHECK(r["zero"] == 3);
    CHECK(r["expert"] == 8);
  }
  for (auto const& r : ranked("--stages 4 --schedule interleaved:2")) CHECK(r["schedule"] == "interleaved:2");
  in.file("images", "300 1\n700 2\n1200 4\n900 3\n2000 6\n");
  auto const o = in.ballast(
      "plan images --columns 2,1 --capacity 9,4096 --gpus 8 --global-batch 8 --model qwen2.5-vl-7b --freeze vision --head-loss fused "
      "--json");
  REQUIRE(o.code == 0);
  CHECK(nlohmann::json::parse(o.out)["model_plan"]["setting"]["freeze"][0] == "vision");
}

TEST_CASE("plan --gpus auto: the fewest that fit, or the cheapest that finish in time, as modelled", "[cli]") {
  scratch const in;
  in.file("f", lengths());
  auto const common = std::string("plan f --capacity 8192 --global-batch 48 --head-loss fused --optimizer adam --memory 40Gi ");
  auto const planned = [&](std::string const& more) {
    auto const o = in.ballast(common + more + " --json");
    CAPTURE(more, o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out);
  };
  auto const fewest = planned(sanitized ? "--gpus auto:1..8" : "--gpus auto:1..48");
  auto const& tried = fewest["gpus_tried"];
  auto const gpus = fewest["search"]["gpus"].get<int>();
  REQUIRE(tried.size() > 1);
  CHECK(tried.back()["gpus"] == gpus);
  for (auto const& t : tried) {
    CHECK(t["fits"] == (t["gpus"] == gpus));
    auto const alone = in.ballast(common + "--gpus " + std::to_string(t["gpus"].get<int>()));  // as if the number were given
    CHECK((alone.code == 0) == t["fits"].get<bool>());
  }
  CHECK(planned("--gpus " + std::to_string(gpus))["hash"] == fewest["hash"]);
  if (sanitized) return;  // times are of thousands of samples
  auto const all = planned("--gpus auto:8..48 --within 1000d");
  REQUIRE(all["gpus_tried"].size() == 6);  // all multiples of a node
  double most = 0, least = 1e300;
  for (auto const& t : all["gpus_tried"]) {
    if (!t["fits"].get<bool>()) continue;
    most = std::max(most, t["modelled_hours"].get<double>());
    least = std::min(least, t["modelled_hours"].get<double>());
    auto const hours = planned("--gpus " + std::to_string(t["gpus"].get<int>()))["modelled_run_ms"].get<double>() / 3.6e6;
    CHECK(std::fabs(t["modelled_hours"].get<double>() - hours) < 0.25 * hours);  // by some steps, and by all
    CHECK(std::fabs(t["gpu_hours"].get<double>() - t["gpus"].get<double>() * t["modelled_hours"].get<double>()) < 1e-9);
  }
  auto const minutes = (most + least) / 2 * 60;
  auto const sooner = planned("--gpus auto:8..48 --within " + std::to_string(minutes) + "min");
  CHECK(sooner["within_hours"].get<double>() < most);
  double cheapest = 1e300;
  int chosen = 0;
  for (auto const& t : sooner["gpus_tried"])
    if (t["fits"].get<bool>() && t["modelled_hours"] <= sooner["within_hours"] && t["gpu_hours"].get<double>() < cheapest) {
      cheapest = t["gpu_hours"].get<double>();
      chosen = t["gpus"].get<int>();
    }
  CHECK(sooner["search"]["gpus"] == chosen);
  auto const words = in.ballast(common + "--gpus auto:8..48 --within 1000d").out;
  CHECK(words.find("Tried, with the modelled time of one epoch: 8 (") == 0);
  CHECK(words.find(": of those that finish within ") != std::string::npos);
  auto const thrice = planned("--gpus auto:8..48 --within 1000d --epochs 3");
  CHECK(thrice["epochs"] == 3);
  for (std::size_t i = 0; i < thrice["gpus_tried"].size(); ++i) {
    auto const &once = all["gpus_tried"][i], &three = thrice["gpus_tried"][i];
    if (once["fits"].get<bool>()) CHECK(std::fabs(three["modelled_hours"].get<double>() - 3 * once["modelled_hours"].get<double>()) < 1e-9);
  }
  CHECK(in.ballast(common + "--gpus auto:8..48 --within 1000d --epochs 3").out.find("Tried, with the modelled time of 3 epochs: ") == 0);
  CHECK(words.find(" 0.0 GPU-hours") == std::string::npos);
  auto const late = in.ballast(common + "--gpus auto:8..16 --within 0.01min");
  CHECK(late.code == 3);
  CHECK(late.err.find("f: no number of GPUs finishes within 600.00 ms, by modelled times; tried: 8 (") == 0);
  auto const none = in.ballast(common + "--gpus auto:1..2");
  CHECK(none.code == 3);
  CHECK(none.err.find("f: on no number of GPUs does a setting fit that divides --global-batch; tried: 1 (none fits), 2 (none fits); ") ==
        0);
}

TEST_CASE("plan --within: durations as people write them", "[cli]") {
  scratch const in;
  in.file("f", "100\n200\n5000\n");
  auto const hours = [&](std::string const& text) {
    auto const o =
        in.ballast("plan f --capacity 8192 --model qwen2.5-0.5b --gpus auto:1..1 --global-batch 1 --json --within \"" + text + "\"");
    CAPTURE(text, o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out)["within_hours"].get<double>();
  };
  std::pair<char const*, double> const same[] = {{"90min", 1.5}, {"1h30min", 1.5}, {"1.5h", 1.5},    {"1 h 30 min", 1.5},
                                                 {"2d", 48},     {"2 days", 48},   {"1d12h", 36},    {"1h30m", 1.5},
                                                 {"3600s", 1},   {"1hour", 1},     {"0h45min", 0.75}};
  for (auto const& [text, expected] : same) CHECK(std::fabs(hours(text) - expected) < 1e-9);
  for (auto const* const text :
       {"3", "h", "1h2d", "1h1h", "1e3h", "0h", "1x", "1h30", "1..5h", "", "1h90min", "1h60m", "1d24h", "1min60s"}) {
    auto const o = in.ballast(std::string("plan f --capacity 8192 --gpus auto --global-batch 1 --within \"") + text + "\"");
    CAPTURE(text, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find("--within ") == 0);
  }
}

TEST_CASE("plan --gpus: what it does not take, and what does not fit", "[cli]") {
  scratch const in;
  in.file("f", "100\n200\n5000\n");
  struct {
    std::string options, sentence;
    int code = 2;
  } const cases[] = {
      {"--capacity 8192 --gpus 8 --ranks 2", "--ranks excludes --gpus"},
      {"--capacity 8192 --gpus 8 --micro-batches 2",
       "--micro-batches: --gpus chooses their number; --global-batch says how many packs a step has"},
      {"--capacity 8192 --gpus auto", "--gpus auto requires --global-batch, so that all numbers of GPUs train the same steps"},
      {"--capacity 8192 --gpus auto:8 --global-batch 8", "--gpus auto:8: expected a number, auto, or auto:FEWEST..MOST as in auto:8..512"},
      {"--capacity 8192 --gpus auto:9..8 --global-batch 8", "--gpus auto:9..8: expected a number, auto, or auto:FEWEST..MOST"},
      {"--capacity 8192 --gpus auto:9..15 --global-batch 8", "--gpus auto:9..15: has no multiple of a node of 8 GPUs, and no power of two"},
      {"--capacity 8192 --gpus auto --global-batch 8 --within 3", "--within 3: expected a time, as in 36h, 90min, 1h30min, 1.5h or 3d"},
      {"--capacity 8192 --gpus auto --global-batch 8 --within 1h90min", "--within 1h90min: min must be below 60 behind a larger unit"},
      {"--capacity 8192 --gpus 8 --within 3h", "--within: --gpus auto chooses the number of GPUs for it, and --gpus 8 gives one"},
      {"--capacity 8192 --gpus auto --levels auto", "--gpus auto: not with --levels, which are planned for a number of GPUs"},
      {"--capacity 8192 --gpus 8 --layers f", "--layers: --gpus needs a --model"},
      {"--gpus 8", "--capacity is required"},
      {"--capacity 8192 --ranks 2 --global-batch 3", "--global-batch 3: is no multiple of --ranks 2; 2 and 4 are\n"},
      {"--capacity 8192 --ranks 2 --zero 1", "--zero requires --stages or --gpus"},
      {"--capacity 8192 --ranks 2 --stages 2 --schedule 1f1b,zbv", "--schedule 1f1b,zbv: one schedule is planned"},
      {"--capacity 4096 --gpus 8", "f:3: 5000"},
      {"--capacity 8192 --gpus 8 --tp 3", "f: no setting uses all of 8 GPUs with these degrees", 3},
      {"--capacity 8192 --gpus 8 --memory 1Gi", "f: none of ", 3},
  };
  for (auto const& c : cases) {
    auto const o = in.ballast("plan f " + c.options);
    CAPTURE(c.options, o.out, o.err);
    CHECK(o.code == c.code);
    CHECK(o.out.empty());
    CHECK(o.err.starts_with(c.sentence));
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  }
}

}  // namespace test_cli_degree_choice
