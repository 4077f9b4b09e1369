// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace test_cli_shard {

namespace {

using namespace ballast_test;
using nlohmann::json;

json figures_of(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("shard " + arguments + " --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

}  // namespace

TEST_CASE("shard: every weight of every block, and the plans beside it", "[cli][shard]") {
  scratch const in;
  std::string const model = "--model llama-3.1-8b --ranks 8 --tokens 32768";
  auto const figures = figures_of(in, model);
  std::int64_t step = 0, bytes = 0, blocks = 0, matrices = 0;
  for (auto const& run : figures["runs"]) {
    auto const& layouts = figures["layouts"][run["layouts"].get<std::size_t>()];
    auto const count = run["blocks"].get<std::int64_t>();
    step += count * layouts["step_ps"].get<std::int64_t>();
    bytes += count * layouts["bytes"].get<std::int64_t>();
    matrices += count * static_cast<std::int64_t>(layouts["weights"].size());
    blocks += count;
  }
  CHECK(blocks == 34);
  CHECK(matrices == figures["matrices"]);
  auto const& planned = figures["planned"];
  CHECK(planned["step_ps"] == step);
  CHECK(planned["bytes"] == bytes);
  CHECK(bytes <= 80'000'000'000);
  CHECK(planned["lower_bound_ps"].get<std::int64_t>() <= step);
  CHECK(figures["megatron"]["step_ps"].get<std::int64_t>() > step);
  CHECK(figures["data_parallel"]["feasible"] == false);
  auto const mesh = figures_of(in, model + " --mesh");
  CHECK(mesh["planned"]["step_ps"].get<std::int64_t>() <= step);
  CHECK(mesh["ranks"] == 8);
  auto const chosen = figures_of(in, model + " --group " + mesh["group"].dump());
  CHECK(chosen["planned"]["step_ps"] == mesh["planned"]["step_ps"]);
  CHECK(chosen["runs"] == mesh["runs"]);
  auto const pairs = figures_of(in, model + " --group 2 --memory 1Ti");
  CHECK(pairs["group"] == 2);
  CHECK(pairs["tokens"] == 32768);
  CHECK(figures_of(in, model + " --mesh --memory 1Ti")["planned"]["step_ps"] <= pairs["planned"]["step_ps"]);
  auto const roomy = figures_of(in, model + " --memory 1Ti");  // the fastest layouts fit, which is proof enough
  CHECK(roomy["planned"]["step_ps"] == roomy["planned"]["lower_bound_ps"]);
  CHECK(roomy["data_parallel"]["feasible"] == true);
}

TEST_CASE("shard: what is not planned, in a sentence", "[cli][shard]") {
  scratch const in;
  auto const says = [&](std::string const& arguments, int code) {
    auto const o = in.ballast("shard " + arguments);
    CHECK(o.code == code);
    CHECK(o.out.empty());
    return o.err;
  };
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 32768 --memory 8Gi", 3)
            .find("are missing; a rank holds less with fewer --tokens, or where --ranks divide") != std::string::npos);
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 10000", 2) ==
        "--tokens 10000: expected a multiple of 4096, the tokens of a sequence (--length)\n");
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 8192 --mfu 200", 2) ==
        "--mfu 200: expected a share, as in 0.4, or a percentage, as in 40\n");
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 32768 --group 3", 2) ==
        "--group 3: expected a divisor of --ranks 8 whose groups have equally many of the 8 sequences\n");
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 4096 --group 2", 2) ==
        "--group 2: expected a divisor of --ranks 8 whose groups have equally many of the 1 sequence\n");
  CHECK(says("--model llama-3.1-8b --ranks 8 --tokens 8192 --group 2 --mesh", 2) ==
        "--mesh and --group: one chooses the size of groups, the other says it\n");
  CHECK(says("--model deepseek-v3 --ranks 8 --tokens 8192", 2) == "tap: models with kv_rank (latent attention) are not supported\n");
  CHECK(says("--model llama-3.1-8b --ranks 100000 --tokens 8192", 2) == "devices = 100000 must be in [1, 4096]\n");
}

}  // namespace test_cli_shard
