// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "readers/expert_loads.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <ballast/balance/check_replicated.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_experts {

namespace {

using namespace ballast_test;
using nlohmann::json;

std::string const published = "90,132,40,61,104,165,39,4,73,56,183,86\n20,107,104,64,19,197,187,157,172,86,16,27\n";

}  // namespace

TEST_CASE("experts: the plans that are printed are valid and have the loads that are printed", "[cli][experts]") {
  scratch const in;
  in.file("loads.csv", published);
  for (std::string const options : {" --groups 4 --nodes 2", " --nodes 2", ""}) {
    CAPTURE(options);
    auto const o = in.ballast("experts loads.csv --ranks 8 --replicas 16 --json" + options);
    REQUIRE(o.code == 0);
    auto const figures = json::parse(o.out);
    auto const rows = ballast_cli::read_expert_loads(published, "f");
    ballast::replication_options const by{
        .ranks = 8, .slots = 16, .nodes = figures["nodes"].get<std::uint64_t>(), .groups = figures["groups"].get<std::uint64_t>()};
    REQUIRE(figures["layers"].size() == 2);
    for (std::size_t l = 0; l < 2; ++l) {
      auto const& layer = figures["layers"][l];
      auto const units = [&](json const& value) { return std::llround(value.get<double>() * ballast::row_units); };
      ballast::replicated_experts plan{.copies = layer["copies"], .expert_of = layer["physical_to_logical"], .loads = {}};
      for (auto const& load : layer["loads"]) plan.loads.push_back(units(load));
      plan.load = {units(layer["largest_load"]), units(layer["lower_bound"])};
      if (by.nodes > 1) plan.between = {units(layer["between_nodes"]), units(layer["between_nodes_lower_bound"])};
      CHECK(layer.contains("between_nodes") == (by.nodes > 1));
      CHECK(describe(ballast::check_replicated(plan, rows[l], by)) == "valid");
      CHECK(layer["optimal"] == true);
      CHECK(layer["largest_load"].get<double>() <= layer["eplb"].get<double>());
      CHECK(layer["largest_load"].get<double>() <= layer["lpt"].get<double>());
      CHECK(layer["lpt"].get<double>() <= layer["adjacent"].get<double>());
      for (std::size_t e = 0; e < 12; ++e) {
        CHECK(layer["logical_to_physical"][e].size() == plan.copies[e]);
        for (auto const& slot : layer["logical_to_physical"][e]) CHECK(plan.expert_of.at(slot) == e);
      }
    }
  }
  auto const words = in.ballast("experts loads.csv --ranks 8 --replicas 16 --groups 4 --nodes 2").out;
  CHECK(words.find("    0          151.0          151.0          156.0") != words.npos);
  CHECK(words.find("Every plan is proven to have the least load.") != words.npos);
}

TEST_CASE("experts: without --replicas there is one copy of each, and a header may stand above", "[cli][experts]") {
  scratch const in;
  in.file("loads.csv", "one two three four\n1 2 3 4\n0 0 0 0\n");
  auto const figures = json::parse(in.ballast("experts loads.csv --ranks 2 --json").out);
  CHECK(figures["replicas"] == 4);
  CHECK(figures["layers"][0]["largest_load"] == 5.0);
  CHECK(figures["layers"][0]["copies"] == json{1, 1, 1, 1});
  CHECK(figures["layers"][1]["largest_load"] == 0.0);
  CHECK(in.ballast("experts loads.csv --ranks 2").code == 0);
  CHECK(in.ballast("experts loads.csv --ranks 2 --replicas 12").code == 2);
  CHECK(in.ballast("experts loads.csv --ranks 2 --replicas 12 --share").code == 0);
  CHECK(in.shell("\"$B\" experts - --ranks 2 --work 1 < loads.csv").code == 0);
}

TEST_CASE("experts: input that cannot be used is named", "[cli][experts]") {
  scratch const in;
  auto const refused = [&](std::string const& loads, std::string const& options, std::string const& sentence) {
    in.file("l.csv", loads);
    check_refused(in.ballast("experts l.csv " + options), sentence);
  };
  refused("1,2\n1,2,3\n", "--ranks 1", "l.csv:2: 3 experts where the first layer has 2");
  refused("1,2\n1,-2\n", "--ranks 1", "l.csv:2: -2 is not a load: loads are whole numbers of rows from 0");
  refused("1,2\n1,x\n", "--ranks 1", "l.csv:2: x is not a load: loads are whole numbers of rows from 0");
  refused("1,2.5\n", "--ranks 1", "l.csv:1: 2.5 is not a load");
  refused("1,4398046511103\n", "--ranks 1", "l.csv:1: the loads of the layer add up to 2^42 rows or more");
  refused("\n", "--ranks 1", "l.csv: there are no loads in it");
  refused("1,2,3,4\n", "--ranks 0", "--ranks 0: expected a whole number from 1");
  refused("1,2,3,4\n", "--ranks 4 --replicas 6", "--replicas 6: expected a multiple of --ranks 4");
  refused("1,2,3,4\n", "--ranks 3",
          "--ranks 3: expected a divisor of 4 experts; --replicas gives them copies, up to a multiple of the ranks");
  refused("1,2,3,4\n", "--ranks 2 --replicas 2", "--replicas 2: expected at least one for each of 4 experts");
  refused("1,2,3,4\n", "--ranks 4 --nodes 3", "--ranks 4: expected a multiple of --nodes 3");
  refused("1,2,3,4\n", "--ranks 4 --groups 3", "--groups 3: expected a divisor of 4 experts");
  refused("1,2,3,4\n", "--ranks 4 --groups 2 --nodes 4", "--groups 2: expected a multiple of --nodes 4");
  refused("1,2,3,4\n", "--ranks 2 --replicas 10",
          "--replicas 10: 5 on a rank are more than the 4 experts that may be there; --share allows two copies of an expert on a rank");
  refused("1,2,3,4\n", "", "--ranks is required");
}

}  // namespace test_cli_experts
