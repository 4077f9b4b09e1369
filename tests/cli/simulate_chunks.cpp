// SPDX-License-Identifier: Apache-2.0
// `ballast simulate --lengths`: samples in chunks that depend on each other.
#include "program.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace test_cli_simulate_chunks {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Four stages of one layer, whose micro-batch has two tokens and a backward of two forwards, and ChunkFlow's four samples.
void files_of_the_example(scratch const& in) {
  std::string text = "name,forward,backward,activation_bytes,checkpoint_bytes\n";
  for (auto const* name : {"a", "b", "c", "d"}) text += std::string(name) + ",2,4,20,4\n";
  in.file("layers", text);
  in.file("lengths", "1\n1\n2\n4\n");
}

}  // namespace

TEST_CASE("simulate: ChunkFlow's example has its published bubbles, and the list order is proven optimal", "[cli][simulate_chunks]") {
  scratch const in;
  files_of_the_example(in);
  auto const of = [&](std::string const& options) {
    auto const o = in.ballast("simulate layers --stages 4 --lengths lengths --json " + options);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return json::parse(o.out);
  };
  auto const both = of("--chunk 2 --retain 2");
  CHECK(both["chunks"] == 4);
  CHECK(both["chains"] == 3);
  CHECK(both["forwards_again"] == 0);
  REQUIRE(both["orders"].size() == 2);
  CHECK(both["orders"][0]["order"] == "strict");
  CHECK(both["orders"][0]["makespan"] == 46);  // 47.83 % waiting
  CHECK(both["orders"][1]["makespan"] == 42);  // 42.86 %
  CHECK(both["lower_bound"] == 42);
  CHECK_THAT(both["orders"][0]["bubble"].get<double>(), Catch::Matchers::WithinAbs(22.0 / 46, 1e-12));
  CHECK(both["orders"][0]["stages"][0]["peak_memory"] == 80);
  for (auto const& stage : both["orders"][1]["stages"]) CHECK(stage["peak_memory"].get<int>() <= 80);

  auto const large = of("--chunk 4 --tokens 2");  // one sample a chunk: 60 %
  CHECK(large["chunks"] == 2);
  CHECK(large["orders"][0]["makespan"] == 60);
  std::string parts = "name,forward,backward,forward_per_batch,backward_per_batch,activation_bytes,checkpoint_bytes\n";
  for (auto const* name : {"a", "b", "c", "d"}) parts += std::string(name) + ",2,4,1,2,20,4\n";
  in.file("layers", parts);
  CHECK(of("--chunk 4 --tokens 2")["orders"][0]["makespan"] == 45);  // a chunk of twice the tokens takes 3 + 6 of 2 (2 + 4)
  CHECK(of("--chunk 2 --retain 2")["orders"] == both["orders"]);     // full chunks take what the file says
  CHECK(of("--chunk 1 --tokens 2 --retain 9")["orders"][1]["stages"][0]["busy"] ==
        8 * (2 + 3));  // each pays its part; halves are rounded up
  files_of_the_example(in);

  auto const one = of("--chunk 2 --search 50");
  CHECK(one["forwards_again"] == 1);
  REQUIRE(one["orders"].size() == 3);
  CHECK(one["orders"][2]["order"] == "search");
  CHECK(one["orders"][0]["stages"][0]["busy"] == 26);  // a forward of 2 more than 24
  CHECK(one["orders"][2]["makespan"] <= one["orders"][1]["makespan"]);
  CHECK(one["orders"][2]["makespan"] >= one["lower_bound"]);

  // Half of the time is attention: a sample of 4 tokens takes 0.5 * 2 + 0.5 * 4 = 3 of the file's micro-batch, one of 1 token 3 / 8.
  CHECK(of("--chunk 2 --retain 2 --attention 50")["orders"][0]["stages"][0]["busy"].get<double>() >= 6 * (1 + 3 + 0.75));
  CHECK(of("--chunk 2 --retain 2 --memory 60")["orders"][1]["makespan"] >= 42);

  in.file("lengths", "9\n");  // 4, 4 and 1 tokens take 16, 48 and 17; 4, 3 and 2 take 16, 33 and 32
  auto const makespan = [&](std::string const& more) {
    return of("--chunk 4 --retain 3 --attention 100" + more)["orders"][0]["makespan"].get<double>();
  };
  CHECK(makespan(" --equal-time") < makespan(""));
}

TEST_CASE("simulate: words and picture of chunks", "[cli][simulate_chunks]") {
  scratch const in;
  files_of_the_example(in);
  auto const o = in.ballast("simulate layers --stages 4 --lengths lengths --chunk 2 --retain 2 --svg picture.svg");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  CHECK(o.out ==
        "lengths: 4 samples in 4 chunks of at most 2 tokens through 4 stages; 1 sample is cut into 2 chunks, of which 0 run their forward "
        "again.\n"
        "No order of these chunks takes less than 42.\n"
        "\n"
        "order             takes    waits       fullest stage\n"
        "strict               46  47.83 %  80 bytes\n"
        "list                 42  42.86 %  80 bytes\n");
  auto const svg = read_whole(in / "picture.svg");
  CHECK(svg.starts_with("<svg "));
  for (auto const* part : {"<style>", ">strict 0<", ">list 3<", ">a long sample<", "stages wait 42.86 %", "</svg>\n"})
    CHECK(svg.find(part) != std::string::npos);
  CHECK(in.ballast("simulate layers --stages 4 --lengths lengths --chunk 2 --retain 2 --memory 70")
            .out.find("\nThe strict order exceeds --memory, which it does not look at.\n") != std::string::npos);
}

TEST_CASE("simulate: options of chunks that make no sense are refused", "[cli][simulate_chunks]") {
  scratch const in;
  files_of_the_example(in);
  in.file("none", "");
  in.file("huge", "100000000\n");
  in.file("large", "name,forward,backward,parameter_bytes\na,1,2,100\n");
  auto const refused = [&](std::string const& options, std::string const& sentence, int code = 2) {
    CAPTURE(options);
    check_refused(in.ballast("simulate " + options), sentence, code);
  };
  refused("layers --stages 4", "simulate takes either --micro-batches, or --lengths with --chunk");
  refused("layers --stages 4 --micro-batches 2 --lengths lengths --chunk 2", "simulate takes either --micro-batches, or --lengths");
  refused("layers --stages 4 --lengths lengths", "--lengths requires --chunk");
  refused("layers --stages 4 --micro-batches 2 --retain 2", "--retain requires --lengths");
  refused("layers --stages 4 --lengths lengths --chunk 0", "--chunk 0: expected a whole number from 1");
  refused("layers --stages 4 --lengths lengths --chunk 2 --schedule zb1p", "--lengths is for --schedule 1f1b");
  refused("layers --stages 4 --lengths missing --chunk 2", "missing: cannot be read");
  refused("layers --stages 4 --lengths none --chunk 2", "none:");
  refused("layers --stages 4 --lengths huge --chunk 50000000", "a sample of 100000000 tokens: expected at most 2^26");
  refused("layers --stages 4 --lengths lengths --chunk 100000000", "--chunk 100000000: expected at most 2^26 tokens");
  refused("layers --stages 4 --lengths huge --chunk 1", "--chunk 1: up to 100,000,001 chunks in 4 stages are too many to simulate");
  refused("layers --stages 4 --lengths lengths --chunk 2 --retain 2 --memory 30", "layers: a sample in 2 chunks needs 40 bytes", 3);
  refused("large --stages 1 --lengths lengths --chunk 2 --memory 99", "large: the parameters of stage 0 take 100 bytes, more than --memory",
          3);
  refused("layers --stages 4 --micro-batches 4 --memory 99 --boundaries 0,1,2,3,4", "--memory decides the cut: give it or --boundaries");
}

}  // namespace test_cli_simulate_chunks
