// SPDX-License-Identifier: Apache-2.0
// `ballast compare` and `ballast schedule`: every method plans every batch, and a plan that is written is read and scored as it was.
#include "planning/schedulers.hpp"
#include "readers/shards.hpp"

#include "program.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <ballast/sharding/check.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace test_cli_compare {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Short samples, and one in twenty up to 40,000 tokens.
std::vector<std::int64_t> mixture(std::size_t n) {
  ballast::splitmix64 draw(31);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(between(20, i % 20 == 7 ? 40000 : 3000, draw));
  return out;
}

}  // namespace

TEST_CASE("compare: every method trains every sample once, and none is below its bound", "[cli][compare]") {
  scratch const in;
  auto const lengths = mixture(300);
  in.file("f", as_text(lengths));
  auto const o = in.ballast("compare f --gpus 8 --capacity 8192 --batch 100 --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const got = json::parse(o.out);
  CHECK(got["batches"] == 3);
  std::map<std::string, double> step;
  for (auto const& row : got["methods"]) {
    auto const name = row["method"].get<std::string>();
    CAPTURE(name);
    REQUIRE(!row.contains("no_plan"));
    CHECK(row["samples"].get<std::uint64_t>() + row["left"].get<std::uint64_t>() == 300);
    CHECK(row["steps"] == row["milliseconds_of_steps"].size());
    CHECK(row["gap"].get<double>() >= 0);
    CHECK(row["most_tokens"].get<std::int64_t>() <= 8192);
    auto const parts =
        row["compute"].get<double>() + row["exchange"].get<double>() + row["passes"].get<double>() + row["waiting"].get<double>();
    CHECK_THAT(parts, Catch::Matchers::WithinAbs(1.0, 1e-9));
    CHECK(row["waiting"].get<double>() >= -1e-9);
    if (row["left"] == 0) step[name] = row["step_milliseconds"].get<double>() * row["steps"].get<double>();
  }
  CHECK(got["methods"].size() == ballast_cli::schedulers().size());
  for (auto const& [name, time] : step) {
    CAPTURE(name, time, step["ballast"]);
    if (name != "ballast-any") CHECK(step["ballast"] <= time);
  }
  CHECK(step["ballast-lockstep"] <= step["homogeneous"]);
  CHECK(step["ballast-any"] <= step["ballast"]);
  CHECK(in.ballast("compare f --gpus 8 --capacity 8192 --batch 100").out.find("\nballast ") != std::string::npos);
}

TEST_CASE("compare: no capacity is what the memory holds; a sample without room is said", "[cli][compare]") {
  scratch const in;
  in.file("f", as_text(mixture(60)));
  auto const got = json::parse(in.ballast("compare f --gpus 8 --json").out);
  CHECK(got["capacity"] == got["tokens_with_memory"]);
  CHECK(got["capacity"] < 20'000);
  for (auto const& row : got["methods"])
    if (!row.contains("no_plan")) CHECK(row["memory_bytes"].get<std::int64_t>() <= 80'000'000'000);
  auto const more = json::parse(in.ballast("compare f --gpus 64 --json --methods static").out);
  CHECK(more["capacity"] > got["capacity"]);
  check_refused(in.ballast("schedule f --gpus 1"), "a GPU has memory for no token beside the states of llama-3.1-8b; more --gpus", 3);
  auto const none = json::parse(in.ballast("compare f --gpus 2 --capacity 8192 --methods static,ballast --json").out);
  REQUIRE(none["methods"].size() == 2);
  for (auto const& row : none["methods"]) CHECK(row["no_plan"].get<std::string>().find(" tokens, which has no room") != std::string::npos);
  check_refused(in.ballast("schedule f --gpus 2 --capacity 8192"), "batch 0: ballast finds no plan for its 60 samples", 3);
}

TEST_CASE("compare: any number of GPUs, and batches of few tokens; a method that cannot says why", "[cli][compare]") {
  scratch const in;
  in.file("f", as_text(mixture(60)));
  in.file("g", "5\n2\n1\n");
  for (auto const* gpus : {"1", "3", "6", "32"})
    for (auto const* file : {"f --capacity 40000", "g --capacity 5"}) {
      auto const o = in.ballast("compare " + std::string(file) + " --json --gpus " + gpus);
      CAPTURE(gpus, file, o.err);
      REQUIRE(o.code == 0);
      auto const rows = json::parse(o.out)["methods"];
      REQUIRE(rows.size() == ballast_cli::schedulers().size());
      for (auto const& row : rows)
        if (row["method"].get<std::string>().starts_with("ballast")) CHECK(!row.contains("no_plan"));
    }
  auto const o = in.ballast("compare f --gpus 6 --methods megatron-hybrid-cp");
  CHECK(o.out.find("no plan: megatron-hybrid-cp takes 1, 2, 4, ... GPUs, not 6") != std::string::npos);
}

TEST_CASE("compare: hbp plans an epoch in steps of its own, which count by their tokens", "[cli][compare]") {
  scratch const in;
  std::string text;
  for (int i = 0; i < 6; ++i) text += as_text(mixture(1000));
  in.file("f", text);
  auto const o = in.ballast("compare f --gpus 8 --capacity 8192 --batch 100 --batches 60 --methods hbp,flexsp,ballast");
  CAPTURE(o.out);
  CHECK(o.out.find(" own steps  packs and steps") != std::string::npos);
  CHECK(o.out.find("hbp makes steps of its own") == std::string::npos);
  auto const few = in.ballast("compare f --gpus 8 --capacity 8192 --batch 100 --methods hbp").out;
  CHECK(few.find("hbp makes steps of its own of all samples, here ") != std::string::npos);
  auto const rows =
      json::parse(in.ballast("compare f --gpus 8 --capacity 8192 --batch 100 --batches 60 --json --methods hbp,ballast").out)["methods"];
  auto const per_token = [](json const& row) {
    return row["step_milliseconds"].get<double>() * row["steps"].get<double>() / row["tokens"].get<double>();
  };
  CHECK(rows[0]["samples"] == 6000);
  CHECK(rows[0]["steps"].get<int>() > 60);
  CHECK(rows[1]["steps"] == 60);
  CHECK(rows[0]["delayed"] == 0);
  CHECK(per_token(rows[0]) < 1.25 * per_token(rows[1]));
  CHECK(per_token(rows[0]) > per_token(rows[1]));
}

TEST_CASE("compare: a model whose states fill the memory of a GPU is said to leave no room", "[cli][compare]") {
  scratch const in;
  in.file("f", "100\n200\n");
  auto const words = [&](std::string const& more) {
    return in.ballast("compare f --methods chunkflow --capacity 200 --model llama-3.1-8b " + more).out;
  };
  auto const none = std::string(" (a GPU has memory for none beside its states; more --gpus or a smaller --model make room); ");
  CHECK(words("--gpus 1").find(none) != std::string::npos);
  CHECK(words("--gpus 1").find("memory for 0") == std::string::npos);
  CHECK(words("--gpus 8").find(" tokens a pass (a GPU has memory for ") != std::string::npos);
  CHECK(words("--gpus 8").find(none) == std::string::npos);
}

TEST_CASE("compare and schedule: a number of GPUs that has no power of two with room", "[cli][compare]") {
  scratch const in;
  in.file("f", "2527\n16688\n");
  auto const o = in.ballast("compare f --gpus 3 --capacity 5564 --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  std::set<std::string> planned, without;
  auto const got = json::parse(o.out);
  for (auto const& row : got["methods"]) (row.contains("no_plan") ? without : planned).insert(row["method"].get<std::string>());
  CHECK(without == std::set<std::string>{"hbp", "megatron-hybrid-cp"});  // these share among 1, 2, 4, ... GPUs alone
  for (auto const& method : ballast_cli::schedulers()) {
    auto const name = std::string(method.word);
    CAPTURE(name);
    auto const code = name == "megatron-hybrid-cp" ? 2 : planned.count(name) == 0 ? 3 : 0;
    CHECK(in.ballast("schedule f --gpus 3 --capacity 5564 --method " + name).code == code);
  }
  check_refused(in.ballast("schedule f --gpus 3 --capacity 5564 --method hbp --out s"), "batch 0: hbp finds no plan for its 2 samples", 3);
  check_refused(in.ballast("compare f --gpus 1048576"), "--gpus 1048576: expected at most 1048575");
  CHECK(in.ballast("schedule f --gpus 1 --capacity 20000 --method flexsp").code == 0);
  in.file("one", "5000\n");
  auto const of_one = in.ballast("schedule one --gpus 2 --capacity 5000 --method wlb").out;  // the only sample waits until the data ends
  CHECK(of_one.find("\"left_out\":[0]}\n{\"batch\":1,") != std::string::npos);
  CHECK(of_one.ends_with("\"left_out\":[]}\n"));
}

TEST_CASE("schedule: attention of distca is that of all tokens, each where it says that they are", "[cli][compare]") {
  scratch const in;
  in.file("f", as_text(mixture(150)));
  std::istringstream lines(in.ballast("schedule f --gpus 8 --capacity 8192 --batch 64 --method distca").out);
  std::size_t batches = 0, away = 0;
  for (std::string line; std::getline(lines, line); ++batches) {
    auto const of = json::parse(line);
    using place = std::array<std::uint64_t, 3>;  // rank, pass and sample
    std::map<place, std::int64_t> held, asked;
    for (std::uint64_t rank = 0; rank < 8; ++rank)
      for (std::uint64_t pass = 0; pass < of["ranks"][rank].size(); ++pass) {
        for (auto const& p : of["ranks"][rank][pass]) held[{rank, pass, p[0]}] += p[2].get<std::int64_t>() - p[1].get<std::int64_t>();
        for (auto const& t : of["attention"][rank][pass]) {
          REQUIRE((t.size() == 4 || t.size() == 6));
          for (std::size_t at = 2; at < t.size(); at += 2)
            asked[{t[1], pass, t[0]}] += t[at + 1].get<std::int64_t>() - t[at].get<std::int64_t>();
          away += t[1] != rank;
        }
      }
    CHECK(held == asked);
  }
  CHECK((batches == 3 && away > 0));
  CHECK(in.ballast("schedule f --gpus 8 --capacity 8192 --batch 64").out.find("attention") == std::string::npos);
}

TEST_CASE("schedule: --costs are nanoseconds of each sample, by which batches are planned and timed", "[cli][compare]") {
  scratch const in;
  auto const at = [&](std::string const& options) { return in.ballast("schedule f --gpus 2 --capacity 8192 " + options); };
  in.file("f", "4000\n4000\n2000\n2000\n");
  in.file("c", "9000000000\n3000000000\n3000000000\n3000000000\n");  // one sample takes as long as the others: it is on a GPU alone
  for (std::string const method : {"ballast", "ballast-pure", "ballast-any", "ballast-lockstep"}) {
    auto const made = at("--costs c --micro-batch-overhead-ms 0 --method " + method);
    REQUIRE(made.code == 0);
    auto const plan = json::parse(made.out);
    CAPTURE(method, made.out);
    CHECK(plan["milliseconds"].get<double>() > 8999);
    CHECK(plan["milliseconds"].get<double>() < 9100);
  }
  auto const in_twos = at("--costs c --batch 2").out;  // each batch has the costs of its own samples
  CHECK(in_twos.find("\"batch\":1") != std::string::npos);
  in.file("two", "4000\n4000\n");
  in.file("d", "9000000000\n3000000000\n");
  CHECK(in_twos.starts_with(in.ballast("schedule two --gpus 2 --capacity 8192 --costs d").out));
  in.file("few", "5\n5\n");
  check_refused(at("--costs few"), "--costs few: has 2 entries for 4 samples; it takes one for each", 2);
  in.file("none", "5\n5\n0\n5\n");
  auto const wanted = std::string("--costs takes one column, a whole number of nanoseconds, at least 1, for each sample: ");
  check_refused(at("--costs none"), wanted + "none:3: 0 is not a length", 2);
  in.file("pairs", "5,5\n5,5\n5,5\n5,5\n");
  check_refused(at("--costs pairs"), wanted + "pairs: has 2 columns", 2);
  in.file("huge", "5\n5\n5\n9007199254740992\n");
  check_refused(at("--costs huge"), "huge:4: 9007199254740992 nanoseconds are 2^53 or more", 2);
  check_refused(at("--costs c --method verl"), "--costs: verl goes by lengths; --method takes one of ballast-lockstep, ballast-pure", 2);
  in.file("f", "4000\n4000\n0\n2000\n2000\n");  // a row that is left out has an entry, too
  in.file("e", "9000000000\n3000000000\n7\n3000000000\n3000000000\n");
  auto const skipped = at("--zero-length skip --costs e").out;
  in.file("f", "4000\n4000\n2000\n2000\n");
  CHECK(skipped == at("--costs c").out);
}

TEST_CASE("schedule: the shards of every method are valid, and compare scores them as the method", "[cli][compare]") {
  scratch const in;
  auto const lengths = mixture(150);
  in.file("f", as_text(lengths));
  for (auto const& method : ballast_cli::schedulers()) {
    auto const name = std::string(method.word);
    CAPTURE(name);
    REQUIRE(in.ballast("schedule f --gpus 8 --capacity 8192 --batch 64 --method " + name + " --out shards.jsonl").code == 0);
    auto const text = read_whole(in / "shards.jsonl");
    std::set<std::uint32_t> seen;
    for (auto const& plan : ballast_cli::read_shards(text, "shards.jsonl")) {
      std::set<std::uint32_t> here;
      for (auto const& p : plan.pieces) here.insert(p.sample);
      for (auto const i : here) CHECK(seen.insert(i).second);
      auto all = plan;
      for (std::uint32_t i = 0; i < lengths.size(); ++i)
        if (here.count(i) == 0) all.left_out.push_back(i);
      std::sort(all.left_out.begin(), all.left_out.end());
      all.left_out.erase(std::unique(all.left_out.begin(), all.left_out.end()), all.left_out.end());
      CHECK(check_shards(all, lengths, {.capacity = 8192, .ranks = 8}).valid());
    }
    auto const o = in.ballast("compare f --gpus 8 --capacity 8192 --batch 64 --batches 3 --json --plan shards.jsonl --methods " + name);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    auto const rows = json::parse(o.out)["methods"];
    REQUIRE(rows.size() == 2);
    CHECK(seen.size() == lengths.size());  // what a method leaves out comes in a later line
    CHECK(rows[1]["samples"] == seen.size());
    if (rows[0]["delayed"] == 0 && rows[0]["left"] == 0) {
      auto const of_method = rows[0]["step_milliseconds"].get<double>(), as_given = rows[1]["step_milliseconds"].get<double>();
      // Shards do not say that a runtime waits after each round, that samples are padded, or that forwards run again.
      if (name == "megatron-hybrid-cp" || name == "dynapipe" || name == "chunkflow" || name == "transformers" || name == "padded-cut")
        CHECK(as_given <= of_method);
      else if (name != "distca")  // its runtime moves attention
        CHECK(as_given == of_method);
      CHECK(rows[1]["left"] == 0);
    }
  }
}

TEST_CASE("compare: a plan with a fault is named, with its line or batch", "[cli][compare]") {
  scratch const in;
  in.file("f", "100\n200\n");
  auto const refused = [&](std::string const& plan, std::string const& sentence) {
    in.file("p", plan);
    check_refused(in.ballast("compare f --gpus 1 --capacity 200 --methods static --plan p"), sentence);
  };
  refused("", "p: there are no shards in it");
  refused("[1]\n", "p:1: expected a JSON object, one a line for each batch");
  refused("{\"ranks\":[]}", "p:1: the key \"execution\" must be");
  refused("{\"execution\":\"mixed\"}", "p:1: the key \"ranks\" is missing");
  refused("\n{\"execution\":\"mixed\",\"ranks\":[[[[0,1]]]]}", "p:2: a piece: expected [sample, begin, end]");
  refused("{\"execution\":\"mixed\",\"ranks\":[[[[0,0,-1]]]]}", "p:1: an end: expected a whole number from 0 to");
  refused("{\"execution\":\"mixed\",\"ranks\":[[[[0,0,100],[2,0,5]]]]}", "p: batch 0: sample 2 is beyond the data, which has 2");
  refused("{\"execution\":\"mixed\",\"ranks\":[[[[0,0,90]],[[1,0,200]]]]}", "p: batch 0: sample 0: token 90 is on no rank");
  refused("{\"execution\":\"mixed\",\"ranks\":[[[[0,0,100]]]]}\n{\"execution\":\"mixed\",\"ranks\":[[[[0,0,100]]]]}",
          "p: batch 1: sample 0 is in an earlier batch too");
  in.file("p", "{\"execution\":\"mixed\",\"ranks\":[[[[0,0,100]]]]}");
  auto const o = in.ballast("compare f --gpus 1 --capacity 200 --methods static --plan p --json");
  CAPTURE(o.err);
  CHECK(json::parse(o.out)["methods"][1]["left"] == 1);
  check_refused(in.ballast("compare f --gpus 1 --methods statik"), "--methods statik: expected one of static, homogeneous");
}

TEST_CASE("compare --report writes a page that names every method", "[cli][compare]") {
  scratch const in;
  in.file("f", as_text(mixture(60)));
  REQUIRE(in.ballast("compare f --gpus 8 --capacity 8192 --report p.html").code == 0);
  auto const page = read_whole(in / "p.html");
  for (auto const& method : ballast_cli::schedulers())
    CHECK(page.find("<th scope=\"row\">" + std::string(method.word) + "</th>") != std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
  CHECK(page.find("ballast: report of a comparison") != std::string::npos);
}

}  // namespace test_cli_compare
