// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace test_cli_offload {

namespace {

using namespace ballast_test;
using nlohmann::json;

std::string const tight =
    "offload --model llama-3.1-8b --length 8192 --memory 24Gi --host-memory 256Gi --recompute full --head-loss fused ";

}  // namespace

TEST_CASE("offload: the plan fits both memories and is faster than what offloads more") {
  scratch const in;
  auto const o = in.ballast(tight + "--link 25GB/s --work 100000 --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const got = json::parse(o.out);
  auto const gibi = std::int64_t{1} << 30;
  CHECK(got["device_bytes"] <= 24 * gibi);
  CHECK(got["host_bytes"] <= 256 * gibi);
  CHECK(got["lower_bound_ns"] <= got["step_ns"]);
  CHECK(got["without_offload_ns"] < got["lower_bound_ns"]);
  CHECK(got["gap"] < 0.05);
  REQUIRE(got["layers"].size() == 34);  // embedding, 32 layers, head
  CHECK(got["layers"][0]["layer"] == "embedding");
  REQUIRE(got["others"].size() == 6);
  for (auto const& other : got["others"])
    if (!other["step_ns"].is_null()) CHECK(got["step_ns"] <= other["step_ns"]);
  CHECK(got["others"][0]["step_ns"].is_null());  // nothing on the host does not fit
  CHECK(got["others"][1]["host"] == "everything");
  CHECK(in.ballast(tight + "--link 25GB/s --work 100000 --json").out == o.out);
  auto const words = in.ballast(tight + "--link 25GB/s --work 100000");
  CHECK(words.out.find("The planned step takes ") != words.out.npos);
  auto const slow = in.ballast(tight + "--link 25G --link-down 1GB/s --work 1000 --json");
  CHECK(json::parse(slow.out)["step_ns"] > got["step_ns"]);
}

TEST_CASE("offload: where everything fits, nothing is on the host") {
  scratch const in;
  auto const o = in.ballast("offload --model qwen2.5-0.5b --length 2048 --host-memory 0 --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const got = json::parse(o.out);
  CHECK(got["optimal"] == true);
  CHECK(got["host_bytes"] == 0);
  for (auto const& layer : got["layers"]) CHECK(layer["host"].empty());
}

TEST_CASE("offload: names the memory that is too small, and the option that is wrong") {
  scratch const in;
  check_refused(
      in.ballast("offload --model llama-3.1-8b --length 8192 --memory 8Gi --host-memory 256Gi --recompute full --head-loss fused"),
      "llama-3.1-8b: the device needs at least ", 3);
  auto const host =
      std::string("offload --model llama-3.1-8b --length 8192 --memory 24Gi --recompute full --head-loss fused --host-memory ");
  check_refused(in.ballast(host + "64Gi"), "llama-3.1-8b: the host needs at least ", 3);
  check_refused(in.ballast("offload --model llama-3.1-8b --length 8192 --memory 1Gi --host-memory 256Gi"),
                "llama-3.1-8b: activations take ", 3);
  check_refused(in.ballast(tight + "--link 25"), "--link 25: expected bytes a second from 1MB/s to 1000TB/s, as in 25GB/s\n");
  check_refused(in.ballast(tight + "--link fast"), "--link fast: expected bytes a second ");
  check_refused(in.ballast(tight + "--buffers 2000"), "buffers = 2000 must be in [1, 1024]\n");
  check_refused(in.ballast(tight + "--tp 3"), "--tp 3: must divide the 32 query heads of llama-3.1-8b\n");
  check_refused(in.ballast(tight + "--zero 4"), "--zero 4: expected a ZeRO stage from 0 to 3\n");
  check_refused(in.ballast("offload --model llama-3.1-8b --length 8192 --host-memory 256Gi --recompute some"),
                "--recompute some: expected one of none, selective, full; did you mean none?\n");
  check_refused(in.ballast(tight + "--optimizer sdg"), "--optimizer sdg: expected one of adam, ");
  check_refused(in.ballast("offload --model llama-3.1-8b --length 8192"), "--host-memory is required\n");
}

}  // namespace test_cli_offload
